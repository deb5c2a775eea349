"""What the rounds of scale.py say: the numbers of each row, goals, and the tables."""

import statistics
from collections import namedtuple

from measure import kernel, scaling, summary, tload

Goal = namedtuple("Goal", "text key most models")
Verdict = namedtuple("Verdict", "goal name value met")

GOALS = (
    Goal("user memory per idle connection, KiB", "user_kib", 0.6, ("greenthreads",)),
    Goal("user memory per idle connection, KiB", "user_kib", 0.8, ("eventloop",)),
    Goal("user memory per idle connection, KiB", "user_kib", 12, ("threads",)),
    Goal("CPU per request beside idle ones, over that of few", "over_few", 1.15, None),
    Goal("fastest connection over slowest, worst slice", "unevenness", 1.5, None),
)

COLUMNS = (("idle", "idle", "%d"), ("user KiB", "user_kib", "%.2f"),
           ("kernel KiB", "kernel_kib", "%.2f"), ("us few", "us_few", "%.2f"),
           ("us many", "us_many", "%.2f"), ("us beside", "us_beside", "%.2f"),
           ("beside/many", "over_many", "%.2f"), ("beside/few", "over_few", "%.2f"),
           ("p99 us", "p99_us", "%.0f"), ("fast/slow", "unevenness", "%.2f"),
           ("errors", "errors", "%d"))

CHURN_COLUMNS = (("conn/s", "churn_rate", "%.0f"), ("us/conn", "us_churn", "%.2f"),
                 ("errors", "churn_errors", "%d"))

LEGEND = """user KiB, kernel KiB: memory per idle connection: what the server's processes
hold of their own; and Slab, KernelStack and PageTables of the whole machine, so that both
ends of each connection are in it. us: CPU time of the server per request, with few and
with many clients, and with many beside the idle ones. p99: beside them, closed loop.
fast/slow: answers of the fastest connection over those of the slowest, in the worst slice
of many."""


def us_per_request(parts):
    answers = sum(part["tload"]["answers"] for part in parts)
    return sum(part["server_cpu_ns"] for part in parts) / 1000 / answers


def error_count(parts):
    return sum(tload.errors(part["tload"]) for part in parts)


def worst_unevenness(parts):
    found = [tload.unevenness(part["tload"]) for part in parts]
    return float("inf") if None in found else max(found)


def churn_values(parts):
    seconds = sum(part["tload"]["elapsed_ns"] for part in parts) / 1e9
    answers = sum(part["tload"]["answers"] for part in parts)
    return {"churn_rate": answers / seconds, "us_churn": us_per_request(parts),
            "churn_errors": error_count(parts)}


def values(result):
    """The numbers of the table from those of one cell."""
    memory, slices, idle = result["memory"], result["slices"], result["idle"]
    few, many, beside = (slices[kind] for kind in (scaling.FEW, scaling.MANY,
                                                   scaling.BESIDE))
    found = {
        "idle": idle,
        "user_kib": (memory["user_kib_after"] - memory["user_kib_before"]) / idle,
        "kernel_kib": kernel.difference_kib(memory["kernel_before"],
                                            memory["kernel_after"]) / idle,
        "us_few": us_per_request(few), "us_many": us_per_request(many),
        "us_beside": us_per_request(beside),
        "p99_us": tload.merge_percentiles(
            [part["tload"] for part in beside])["p99"] / 1000,
        "unevenness": worst_unevenness(many + beside),
        "errors": error_count(few + many + beside),
    }
    found["over_many"] = found["us_beside"] / found["us_many"]
    found["over_few"] = found["us_beside"] / found["us_few"]
    if slices[scaling.CHURN]:
        found.update(churn_values(slices[scaling.CHURN]))
    return found


def summarise(name, cells):
    """A row: medians of the rounds; the worst of errors and unevenness. A row with a
    failed cell is the reason."""
    own = [cell for cell in cells if cell["name"] == name]
    row = {"name": name, "kind": own[0]["kind"], "failure": None, "values": {}}
    for cell in own:
        if cell["failure"]:
            row["failure"] = "round %d: %s" % (cell["round"], cell["failure"])
            return row
    numbers = [values(cell) for cell in own]
    for key in numbers[0]:
        seen = [one[key] for one in numbers]
        worst = key in ("errors", "churn_errors", "unevenness")
        row["values"][key] = max(seen) if worst else statistics.median(seen)
        row.setdefault("spreads", {})[key] = summary.spread(seen)
    return row


def judge(rows):
    """A Verdict for each goal and model that was measured."""
    found = []
    for goal in GOALS:
        for row in rows:
            if row["failure"] or row["kind"] != "model":
                continue
            if goal.models is None or row["name"] in goal.models:
                value = row["values"][goal.key]
                found.append(Verdict(goal, row["name"], value, value <= goal.most))
    return found


def align(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join([line[0].ljust(widths[0])] +
                      [field.rjust(width) for field, width in zip(line[1:], widths[1:])])
            for line in lines]


def table(rows, columns):
    good = [row for row in rows if not row["failure"]]
    lines = [["model"] + [title for title, _, _ in columns]]
    lines += [[row["name"]] + [form % row["values"][key] for _, key, form in columns]
              for row in good]
    return align(lines) + ["%s  FAILED  %s" % (row["name"], row["failure"])
                           for row in rows if row["failure"]]


def goals(rows):
    lines = []
    for verdict in judge(rows):
        lines.append("%s: %s %.2f, at most %g: %s"
                     % (verdict.goal.text, verdict.name, verdict.value, verdict.goal.most,
                        "met" if verdict.met else "NOT met"))
    return lines


def spread_values(result):
    few = result["slices"][scaling.FEW]
    return {"unevenness": worst_unevenness(few), "us_few": us_per_request(few),
            "errors": error_count(few),
            "loops": ", ".join(sorted({"+".join(map(str, seen)) or "-"
                                       for seen in result["spread"]}))}


def spread_table(results):
    lines = [["model", "connections by loop", "fast/slow", "us/req", "errors"]]
    for result in results:
        if result["failure"]:
            continue
        found = spread_values(result)
        lines.append([result["name"], found["loops"], "%.2f" % found["unevenness"],
                      "%.2f" % found["us_few"], "%d" % found["errors"]])
    return align(lines) + ["%s  FAILED  %s" % (result["name"], result["failure"])
                           for result in results if result["failure"]]
