# Files of htdocs/.
