"""The command line of peers.sh; what it shares with the load test's is in options.py."""

import argparse

from measure import floors
from measure import options as common

NONE = "none"

DESCRIPTION = """\
Measures tetrad's models beside bare loops, which do nothing but answer, and beside other
servers: CPU time per request, as ratios by pairs of the same second, with an interval.
"""

EPILOG = """\
exit status: 0 all rows measured, 1 a row failed, the same server twice did not come out
the same, or with --gate a goal is not met; 2 wrong usage, 3 a tool is missing
examples:
  loadtest/peers.sh 6k 10 10s
  loadtest/peers.sh --same-cpu --models threads,greenthreads --peers apache
  loadtest/peers.sh 1m 10 10s --rounds 5 --json result.json
"""


def parse_floors(text):
    if text == NONE:
        return []
    names = common.parse_list(text)
    for name in names:
        if name not in floors.ALL_MODES:
            raise argparse.ArgumentTypeError("unknown floor '%s' (known: %s)"
                                             % (name, ", ".join(floors.ALL_MODES)))
    return names


def parse_peers(text):
    return [] if text == NONE else common.parse_peers(text)


def parse(arguments):
    """options.peers is None without --peers: all that are installed."""
    parser = common.base_parser("peers.sh", DESCRIPTION, EPILOG)
    parser.add_argument("--peers", type=parse_peers, metavar="LIST",
                        help="these servers instead of all that are installed: %s; "
                             "apache: all of its; none" % ", ".join(common.PEERS))
    parser.add_argument("--floors", type=parse_floors, default=list(floors.MODES),
                        metavar="LIST",
                        help="these bare loops instead of the first six: %s; none"
                        % ", ".join(floors.ALL_MODES))
    parser.add_argument("--gate", action="store_true",
                        help="fail when a goal is not met, beyond doubt")
    return common.finish(parser, arguments)
