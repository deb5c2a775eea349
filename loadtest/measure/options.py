"""The command line of the load test, and what that of peers.sh shares with it.

It turns words into checked values and knows nothing of servers or measuring.
"""

import argparse
import os
import re
import resource
import sys

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_TOOL_MISSING = 3

PEERS = ("nginx", "nginx-plain", "apache-prefork", "apache-worker", "apache-event",
         "lighttpd", "h2o", "caddy")
ALIASES = {"apache": [name for name in PEERS if name.startswith("apache-")]}

# Descriptors the server and the generator need beside one per client.
SPARE_DESCRIPTORS = 100

ARGUMENTS = """
OBJECT    a size (0, 1k, 6k, 64k, 1m ...), made for the run; or a path to a file,
          or its name below htdocs                                    default: 6k
CLIENTS   keep-alive connections                                      default: 10
DURATION  load of each server in each round, whole seconds or minutes,
          in turns of a second                                        default: 10s
"""

DESCRIPTION = "Measures every model of tetrad with the same load and prints one table.\n"

EPILOG = """\
exit status: 0 all rows measured, 1 a row failed, 2 wrong usage, 3 a tool is missing
examples:
  loadtest/loadtest.sh 6k 10 10s
  loadtest/loadtest.sh 6k 10 10s --same-cpu --models threads,greenthreads
  loadtest/loadtest.sh 64k 200 10s --peers nginx --json result.json
"""


MODELS_HELP = "only these models, separated by commas"
TETRAD_HELP = ("measure this binary and build nothing (also: the environment's TETRAD)")
TLOAD_HELP = ("measure this binary and build nothing; its tload must be beside it (also: "
              "the environment's TETRAD)")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write("%s: %s; see --help\n"
                         % (self.prog.rpartition(".")[0], message))
        sys.exit(EXIT_USAGE)


def parse_time(text):
    """Seconds of '500ms', '10s', '1m', '1h'; a bare number is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text)
    if not match:
        raise argparse.ArgumentTypeError(
            "not a time: '%s' (examples: 500ms, 10s, 1m)" % text)
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2] or "s"]


def parse_duration(text):
    """Whole seconds, because that is the unit of the load generator."""
    seconds = parse_time(text)
    if seconds < 1 or seconds != int(seconds):
        raise argparse.ArgumentTypeError(
            "'%s' is not a whole number of seconds, at least 1" % text)
    return int(seconds)


def parse_count(text):
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError("not a whole number of at least 1: '%s'" % text)
    return int(text)


def parse_seed(text):
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError("not a whole number: '%s'" % text)
    return int(text)


def split(text):
    names = [name for name in re.split(r"[,\s]+", text) if name]
    if not names:
        raise argparse.ArgumentTypeError("an empty list")
    return names


def check_once(names, text):
    if len(set(names)) != len(names):
        raise argparse.ArgumentTypeError("a name is given twice: '%s'" % text)
    return names


def parse_list(text):
    return check_once(split(text), text)


def parse_peers(text):
    names = []
    for name in split(text):
        if name not in PEERS and name not in ALIASES:
            raise argparse.ArgumentTypeError(
                "unknown peer '%s' (known: %s)" % (name, ", ".join(PEERS)))
        names += ALIASES.get(name, [name])
    return check_once(names, text)


def new_parser(prog, description, epilog=None):
    return Parser(prog=prog, description=description, epilog=epilog,
                  formatter_class=argparse.RawDescriptionHelpFormatter,
                  allow_abbrev=False)


def add_common(parser, tetrad=TETRAD_HELP, models=MODELS_HELP):
    """What every program understands; complete() does the rest of it."""
    parser.add_argument("--models", type=parse_list, metavar="LIST", help=models)
    parser.add_argument("--json", metavar="FILE", help="write every raw number to FILE")
    parser.add_argument("--tetrad", metavar="PATH", help=tetrad)


def add_seed(parser):
    parser.add_argument("--seed", type=parse_seed, metavar="N",
                        help="repeat the order of an earlier run")


def base_parser(prog, description, epilog):
    """What both programs understand."""
    parser = new_parser(prog, description + ARGUMENTS, epilog)
    parser.add_argument("words", nargs="*", metavar="OBJECT [CLIENTS [DURATION]]",
                        help="see above")
    parser.add_argument("--object", metavar="OBJECT", help="the same as the first word")
    parser.add_argument("--clients", metavar="N", type=parse_count,
                        help="the same as the second")
    parser.add_argument("--duration", metavar="TIME", type=parse_duration,
                        help="the same as the third")
    add_common(parser)
    parser.add_argument("--rounds", type=parse_count, default=3, metavar="N",
                        help="measurements of each server, in turns with the others (3)")
    parser.add_argument("--warmup", type=parse_time, default=2.0, metavar="TIME",
                        help="the same load before each measurement, discarded (2s)")
    parser.add_argument("--workers", type=parse_count, default=1, metavar="N",
                        help="workers of each server, and its CPUs as far as there are "
                             "some (1)")
    parser.add_argument("--same-cpu", action="store_true",
                        help="server and clients share one CPU, as in 1998")
    add_seed(parser)
    return parser


def take_words(parser, options):
    """The words without a name, each of which may be given by its option instead."""
    if len(options.words) > 3:
        parser.error("unrecognized arguments: %s" % " ".join(options.words[3:]))
    places = (("object", str, "6k"), ("clients", parse_count, 10),
              ("duration", parse_duration, 10))
    for place, (name, read, default) in enumerate(places):
        given = getattr(options, name, None)
        if place < len(options.words):
            if given is not None:
                parser.error("%s is given twice: '%s' and --%s"
                             % (name.upper(), options.words[place], name))
            try:
                given = read(options.words[place])
            except argparse.ArgumentTypeError as error:
                parser.error("argument %s: %s" % (name.upper(), error))
        setattr(options, name, default if given is None else given)


def check_descriptors(parser, clients):
    """Raises the soft limit, which the children inherit, and refuses what cannot fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + SPARE_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            parser.error("%d clients need %d descriptors, and the limit is %d"
                         % (clients, needed, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def check_json_target(parser, path):
    """A result that cannot be written is better refused before the run than after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder):
        parser.error("--json: cannot write '%s'" % path)
    target = path if os.path.exists(path) else folder
    if not os.access(target, os.W_OK):
        parser.error("--json: cannot write '%s'" % path)


def complete(parser, options):
    """Checks and completes what add_common and add_seed added."""
    options.tetrad = options.tetrad or os.environ.get("TETRAD")
    if options.json:
        check_json_target(parser, options.json)
    if "seed" in options and options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def finish(parser, arguments):
    """The checked options of either program."""
    options = parser.parse_intermixed_args(arguments)
    take_words(parser, options)
    check_descriptors(parser, options.clients)
    return complete(parser, options)


def parse(arguments):
    parser = base_parser("loadtest.sh", DESCRIPTION, EPILOG)
    parser.add_argument("--peers", type=parse_peers, default=[], metavar="LIST",
                        help="other servers as rows of the same rounds: %s; apache: all "
                             "of its" % ", ".join(PEERS))
    return finish(parser, arguments)
