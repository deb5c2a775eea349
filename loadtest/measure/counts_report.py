"""What the exact counts show: table, calls by name, functions, JSON file."""

import sys

from measure import report

SCHEMA = {"name": "tetrad-counts", "version": 1}

FUNCTIONS_SHOWN = 12
LONGEST_FUNCTION = 50

COLUMNS = ("calls/req", "at most", "calls/req", "at most", "instr/hit", "at most", "")

# Calls that are rarer than this in a request are named together.
RARE = 0.005


def value(number, form):
    return "-" if number is None else form % number


def table_row(row):
    fields = [row["name"]]
    for form in row["calls"] or [{"per_request": None, "most": None}] * 2:
        fields += [value(form["per_request"], "%.3f"), value(form["most"], "%.2f")]
    counted = row["instructions"] or {"per_request": None, "most": None}
    fields += [value(counted["per_request"], "%.1f"), value(counted["most"], "%.0f")]
    return fields + ["over: " + ", ".join(row["over"]) if row["over"] else "ok"]


def table(rows, connections):
    """Aligned lines. A failed row is its name and the reason."""
    cells = [["", "one in flight", "", "%d at once" % connections, "", "", "", ""],
             ["model", *COLUMNS]]
    cells += [table_row(row) for row in rows if not row["failure"]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]) - 1)]
    widths[0] = max([widths[0]] + [len(row["name"]) for row in rows])

    def align(line):
        fields = [line[0].ljust(widths[0])]
        fields += [text.rjust(width) for text, width in zip(line[1:], widths[1:])]
        return "  ".join(fields + [line[-1]]).rstrip()

    made = iter(cells[2:])
    return [align(line) for line in cells[:2]] + [
        "%s  FAILED  %s" % (row["name"].ljust(widths[0]), row["failure"])
        if row["failure"] else align(next(made)) for row in rows]


def names_of_calls(form):
    """sendto 1.000, ...: the calls of a request by name."""
    found = {name: count / form["requests"] for name, count in form["calls"].items()}
    parts = ["%s %.3f" % (name, count) for name, count in found.items() if count >= RARE]
    rare = sum(count for count in found.values() if count < RARE)
    return ", ".join(parts + (["others %.3f" % rare] if rare else []))


def calls_by_name(rows):
    lines = []
    for row in rows:
        for form in row["calls"] or []:
            lines.append("%s, %s: %s" % (row["name"], form["form"], names_of_calls(form)))
    return ["calls per request by name"] + lines if lines else []


def largest(functions):
    ranked = sorted(functions.items(), key=lambda item: -item[1])
    return ranked[:FUNCTIONS_SHOWN]


def functions(row):
    """Two columns: the functions by what their own code takes, and with what they call."""
    counted = row["instructions"]
    lines = ["%s: instructions per hit, of a function's own, and with what it calls"
             % row["name"]]
    for own, under in zip(largest(counted["own"]), largest(counted["under"])):
        lines.append("%8.1f  %-*s  %8.1f  %s" % (
            own[1], LONGEST_FUNCTION, own[0][:LONGEST_FUNCTION], under[1],
            under[0][:LONGEST_FUNCTION]))
    return lines


def header(facts, size, request):
    commit = facts["git"]["commit"]
    return ["cached object of %d bytes, request of %d bytes; %s, Linux %s, commit %s%s"
            % (size, len(request), facts["cpu_model"], facts["kernel"],
               commit[:12] if commit else "unknown",
               " with changes" if facts["git"]["dirty"] else "")]


def show(rows, facts, thing, request, connections, with_functions):
    parts = [header(facts, thing.size, request), table(rows, connections),
             calls_by_name(rows)]
    if with_functions:
        parts += [functions(row) for row in rows if row["instructions"]]
    print("\n\n".join("\n".join(part) for part in parts if part))


def write_json(path, rows, facts, thing, request, connections):
    report.write_json(path, {
        "schema": SCHEMA,
        "command": sys.argv[1:],
        "object": {"bytes": thing.size, "sha256": thing.sha256},
        "request": request.decode("latin-1"),
        "connections": connections,
        "environment": facts,
        "rows": rows,
    })
