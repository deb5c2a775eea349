# Files of tests/.
