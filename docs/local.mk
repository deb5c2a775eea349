# The manual page, and the pages that say why.

dist_man1_MANS = docs/tetrad.1
EXTRA_DIST += docs
