"""What the rounds add up to: medians, spreads, flags, and ratios between rows.

Pure functions over the dictionaries of the cells.
"""

import statistics

# The limits beyond which a number is marked rather than trusted.
STARVED_SHARE = 0.10         # slowest client's rate over the mean
STARVED_EFFECTIVE = 0.90     # clients being served on average, over those there are
CLIENT_BOUND_SHARE = 0.90    # the generator's CPU time over its core
SPREAD_SHARE = 0.10          # (max - min) over the median of req/s
STEAL_SHARE = 0.01           # time the hypervisor gave to others
PACE_SHARE = 0.05            # (max - min) over the median of the machine's pace
OTHERS_SHARE = 0.10          # CPU time of programs that are not part of the run

# Below this many rounds no order between close rows is more than an impression.
ROUNDS_FOR_RANKING = 5

LEGEND = (
    ("S", "starved: a client got under 10 % of the mean rate, or under 90 % of the "
          "clients were being served at a time"),
    ("C", "client-bound: wrk used over 90 % of its core, so req/s is a lower bound"),
    ("E", "errors: failed, refused, timed out or non-2xx answers"),
    ("K", "keep-alive not held: wrk, which says nothing of it, had to reconnect"),
    ("V", "varying: req/s of the rounds spread over more than 10 % of the median"),
    ("T", "stolen time: the hypervisor took over 1 % of the CPUs used, or gave CPUs whose "
          "speed differed by over 5 % between the rounds"),
    ("B", "busy machine: other programs used over 10 % of a CPU used here"),
)


def cell_flags(cell, clients):
    """Flags of one measured cell."""
    load, fairness = cell["load"], cell["fairness"]
    tests = {
        "S": (cell["values"]["slowest_client"] < STARVED_SHARE
              or fairness["effective_clients"] < STARVED_EFFECTIVE * clients),
        "C": load["generator_share"] > CLIENT_BOUND_SHARE,
        "E": cell["values"]["errors"] > 0,
        "K": load["connections_seen"] > clients,
        "T": load["steal_share"] > STEAL_SHARE,
        "B": load["others_share"] > OTHERS_SHARE,
    }
    return [flag for flag, seen in tests.items() if seen]


def spread(numbers):
    """{'median', 'min', 'max'} of numbers; None when one is unknown."""
    if not numbers or None in numbers:
        return None
    return {"median": statistics.median(numbers), "min": min(numbers),
            "max": max(numbers)}


def pace_varied(cells):
    """Whether the machine itself was faster in one of the cells than in another."""
    pace = spread([cell["load"]["pace"] for cell in cells])
    return pace is not None and pace["max"] - pace["min"] > PACE_SHARE * pace["median"]


def summarise(name, kind, cells):
    """A row of the table from the cells of one subject. A row with a failed cell has
    the reason instead of numbers: the others alone would flatter it."""
    row = {"name": name, "kind": kind, "rounds": len(cells), "failure": None,
           "flags": [], "values": {}}
    for cell in cells:
        if cell["failure"]:
            row["failure"] = "round %d: %s" % (cell["round"], cell["failure"])
            return row
    for key in cells[0]["values"]:
        row["values"][key] = spread([cell["values"][key] for cell in cells])
    seen = {flag for cell in cells for flag in cell["flags"]}
    rate = row["values"]["req_per_s"]
    if rate["max"] - rate["min"] > SPREAD_SHARE * rate["median"]:
        seen.add("V")
    if pace_varied(cells):
        seen.add("T")
    row["flags"] = [flag for flag, _ in LEGEND if flag in seen]
    return row


def ratio(cells, numerator, denominator, key):
    """Spread of the ratios numerator/denominator, one of each round; None when a round
    lacks one of them. Within a round both saw the machine in much the same state."""
    by_round = {}
    for cell in cells:
        if cell["failure"] is None:
            by_round.setdefault(cell["round"], {})[cell["name"]] = cell["values"][key]
    ratios = []
    for round_number in sorted({cell["round"] for cell in cells}):
        values = by_round.get(round_number, {})
        if numerator not in values or not values.get(denominator):
            return None
        ratios.append(values[numerator] / values[denominator])
    return spread(ratios)
