"""The command line of the exact counts. It turns words into checked values and knows
nothing of servers or counting.
"""

from measure import bars, options

PEERS = ("nginx",)

DESCRIPTION = """\
Counts what one request for a cached file of 6 KB costs each model of tetrad: system calls,
by strace, and user instructions, by valgrind's callgrind. The request is wrk's, to the
byte. Fails if a model exceeds a bar.
"""

EPILOG = """\
exit status: 0 all within their bars, 1 a bar is exceeded or a row failed, 2 wrong usage,
             3 a tool is missing
examples:
  loadtest/counts.sh
  loadtest/counts.sh --models greenthreads --only instructions --functions
  loadtest/counts.sh --peers nginx --json counts.json
"""


def build_parser():
    parser = options.new_parser("counts.sh", DESCRIPTION, EPILOG)
    options.add_common(parser)
    parser.add_argument("--only", choices=(bars.CALLS, bars.INSTRUCTIONS),
                        help="count only these")
    parser.add_argument("--functions", action="store_true",
                        help="show the functions with the most instructions")
    parser.add_argument("--peers", type=options.parse_list, default=[], metavar="LIST",
                        help="count the system calls of these, too: %s" % ", ".join(PEERS))
    parser.add_argument("--bar", type=bars.parse, action="append", default=[],
                        metavar="MODEL.calls=N|MODEL.instructions=N",
                        help="another bar; repeatable")
    return parser


def parse(arguments):
    parser = build_parser()
    found = parser.parse_args(arguments)
    for name in found.peers:
        if name not in PEERS:
            parser.error("unknown peer '%s' (known: %s)" % (name, ", ".join(PEERS)))
    found.bars = dict(found.bar)
    return options.complete(parser, found)
