"""What is said on standard error while a run lasts: where it is, and what came out."""

import sys

# Without a terminal, about so many lines tell of a round's slices.
LINES_OF_SLICES = 4

ERASE_LINE = "\r\x1b[K"


class Progress:
    """On a terminal, what is under way is one line that changes, and results stay. In a
    file every line stays, and there are fewer."""

    def __init__(self, rounds, stream=sys.stderr, what="round"):
        self.rounds, self.stream, self.what = rounds, stream, what
        self.changing = stream.isatty()

    def write(self, number, text, stays):
        begin, end = (ERASE_LINE, "\n" if stays else "") if self.changing else ("", "\n")
        self.stream.write("%s%s %d/%d, %s%s" % (begin, self.what, number, self.rounds,
                                                text, end))
        self.stream.flush()

    def preparing(self, number, name):
        self.write(number, "%s: starting, warming up" % name, False)

    def slice_done(self, number, done, count):
        if self.changing or done == count or done % -(-count // LINES_OF_SLICES) == 0:
            self.write(number, "slice %d of %d" % (done, count), False)

    def finishing(self, number, name):
        if self.changing:
            self.write(number, "%s: fairness, memory, stop" % name, False)

    def failed(self, number, result):
        self.write(number, "%s: FAILED: %s" % (result["name"], result["failure"]), True)

    def measured(self, number, result):
        values = result["values"]
        self.write(number, "%s: %.0f req/s, %.2f us/req  %s"
                   % (result["name"], values["req_per_s"], values["cpu_us_per_request"],
                      "".join(result["flags"])), True)
