"""What a request may cost at most, and whether a count keeps to it. It knows nothing of
how anything is counted.
"""

import argparse
import re
from collections import namedtuple

CALLS, INSTRUCTIONS = "calls", "instructions"

# calls: those that every request makes. waits: and its part of a wait, which the requests
# that are ready at the same time share. instructions: None where there is no bar.
Bar = namedtuple("Bar", "calls waits instructions")

BARS = {
    "prefork": Bar(2, False, None),
    "threads": Bar(2, False, None),
    "greenthreads": Bar(2, True, 1500),
    "hybrid": Bar(2, True, None),
    "eventloop": Bar(2, True, 2200),
}
NO_BAR = Bar(None, True, None)

# What happens with time and not with requests, such as looking at a file again: granted
# are so many calls a request, and on a slow machine so many a second.
CALLS_OF_TIME, CALLS_A_SECOND = 0.02, 20


def of_model(name, changes):
    """The bars of a model, after the command line's changes: {(model, what): number}."""
    bar = BARS.get(name, NO_BAR)
    return bar._replace(**{what: number for (model, what), number in changes.items()
                           if model == name})


def most_calls(bar, ready, requests, seconds):
    """How many calls a request may make when so many are ready at once, of so many
    requests in so many seconds."""
    if bar.calls is None:
        return None
    granted = max(CALLS_OF_TIME, CALLS_A_SECOND * seconds / requests)
    return bar.calls + (1 / ready if bar.waits else 0) + granted


def exceeded(value, most):
    return most is not None and value > most


def parse(text):
    """MODEL.calls=N or MODEL.instructions=N: ((model, what), number)."""
    match = re.fullmatch(r"([\w-]+)\.(%s|%s)=(\d+(?:\.\d+)?)" % (CALLS, INSTRUCTIONS),
                         text)
    if not match:
        raise argparse.ArgumentTypeError(
            "not a bar: '%s' (example: greenthreads.instructions=1400)" % text)
    return (match[1], match[2]), float(match[3])
