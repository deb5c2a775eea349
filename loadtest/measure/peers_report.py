"""What peers.sh shows: rows beside their floors, models over peers, the goals, and with
which configurations. It works nothing out.
"""

import textwrap

from measure import floors, report, summary

SCHEMA = {"name": "tetrad-peers", "version": 1}

COLUMNS = ("req/s", "cpu us/req", "over its floor", "", "p50 us", "p99 us", "mem MiB",
           "slowest", "errors", "flags")

NOTES = """cpu us/req: user and system time of the server's whole process tree, median
of the rounds. Ratios are of cpu us/req, each the median over pairs of the same second
of the same round, with its 95 % interval (bootstrap of the pairs); (?) where there are
too few pairs for one. A floor is a bare loop that waits as the row does and answers
canned bytes: no parsing, no files. req/s, p50, p99: wrk's, closed loop. slowest: the
rate of the slowest client over the mean, of the worst round (h2load). mem: anonymous
and shared memory of the tree."""

# What is said of a machine on which the same model twice did not come out the same.
MARKS = {"different": "UNQUIET MACHINE", "unknown": "MACHINE NOT JUDGED"}


def show_ratio(ratio):
    if ratio is None:
        return "-"
    if ratio.low is None:
        return "%.3f (?)" % ratio.median
    return "%.3f (%.3f..%.3f)" % (ratio.median, ratio.low, ratio.high)


def align(lines, left=1):
    """Columns as wide as they must be; the first ones to the left, the last as it is."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    shown = []
    for line in lines:
        fields = [field.ljust(width) if i < left else field.rjust(width)
                  for i, (field, width) in enumerate(zip(line[:-1], widths[:-1]))]
        shown.append("  ".join(fields + [line[-1]]).rstrip())
    return shown


def rows_table(rows, compare):
    lines = [["server"] + list(COLUMNS)]
    failed = []
    for row in rows:
        if row["failure"]:
            failed.append("%s  FAILED  %s" % (row["name"], row["failure"]))
            continue
        values = row["values"]
        memory = values["memory_mib"]
        floor = floors.floor_of(row["name"])
        ratio = compare(row["name"], floor) if floor != row["name"] else None
        lines.append([
            row["name"], "%.0f" % values["req_per_s"]["median"],
            "%.2f" % values["cpu_us_per_request"]["median"],
            show_ratio(ratio), floor if ratio else "-",
            "%.0f" % values["p50_us"]["median"], "%.0f" % values["p99_us"]["median"],
            "%.1f" % memory["median"] if memory else "?",
            "%.2f" % values["slowest_client"]["min"],
            "%.0f" % values["errors"]["max"], "".join(row["flags"]) or "-"])
    shown = align(lines) + failed
    plain = compare("threads", "floor-threads")
    if plain:
        shown.append("threads over the floor without SCHED_BATCH, floor-threads: %s"
                     % show_ratio(plain))
    return shown


def peers_table(rows, compare):
    """A line for each peer and a column for each model: the model over the peer."""
    models = [row["name"] for row in rows if row["kind"] == "model"]
    peers = [row["name"] for row in rows if row["kind"] == "peer"]
    if not models or not peers:
        return []
    lines = [["cpu us/req over that of"] + models]
    lines += [[peer] + [show_ratio(compare(model, peer)) for model in models]
              for peer in peers]
    return align(lines)


def goals_table(results):
    lines = [["goal", "", "verdict", "ratio"]]
    for goal, verdict, ratio in results:
        bar = "below" if goal.most == 1 else "<= %.2f x" % goal.most
        lines.append([goal.name, "%s %s %s" % (goal.numerator, bar, goal.denominator),
                      verdict, show_ratio(ratio)])
    return align(lines, left=3)


def aa_lines(aa):
    """What the same model twice came to."""
    *earlier, last = aa["texts"]
    line = "A/A: %s twice: %s, %s" % (aa["model"], aa["verdict"], last)
    if earlier:
        line += "; before that: " + "; ".join(earlier)
    lines = [line]
    if aa["resolution"] is not None:
        lines.append("rows that differ by less than %.1f %% cannot be told apart by this "
                     "run" % (100 * aa["resolution"]))
    if aa["verdict"] != "same":
        lines.append("%s: %s; believe no ratio of this run"
                     % (MARKS[aa["verdict"]], aa["reason"]))
    return lines


def header(options, plan, facts, aa, absent):
    lines = report.header(options, plan, facts)
    lines.append("CPU time of whole process trees, in ns, by %s" % plan.accounts.name)
    if absent:
        lines.append("not installed: " + ", ".join(
            "%s (Debian package %s)" % pair for pair in absent))
    return lines + aa_lines(aa)


def legend(rounds):
    lines = textwrap.wrap(NOTES, report.WIDTH)
    for flag, meaning in summary.LEGEND:
        lines += textwrap.wrap("%s  %s" % (flag, meaning), report.WIDTH,
                               initial_indent="  ", subsequent_indent="     ")
    if rounds < summary.ROUNDS_FOR_RANKING:
        lines += textwrap.wrap(
            "%d round%s: an interval knows the seconds of these starts of the servers, "
            "and little of how one start differs from the next"
            % (rounds, "" if rounds == 1 else "s"), report.WIDTH)
    return lines


def configurations(texts):
    """The peers' configurations; PORT, ROOT and DIR differ in every start."""
    lines = []
    for name, text in texts.items():
        lines += ["---- %s (PORT, ROOT and DIR: of each start)" % name,
                  *text.rstrip().splitlines()]
    return lines
