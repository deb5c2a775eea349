# Files of docs/.
