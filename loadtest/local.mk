# Files of loadtest/.
