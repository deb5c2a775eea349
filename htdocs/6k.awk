# Writes 6,144 bytes: 96 lines of 63 printable characters from a fixed pseudo-random
# sequence (the minimal standard generator; its products stay exact in a double).
BEGIN {
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,;:-+*/=()[]"
    seed = 6144
    for (line = 0; line < 96; line++) {
        text = ""
        for (column = 0; column < 63; column++) {
            seed = (seed * 16807) % 2147483647
            text = text substr(alphabet, seed % length(alphabet) + 1, 1)
        }
        print text
    }
}
