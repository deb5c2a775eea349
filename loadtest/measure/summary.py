"""What the rounds add up to: medians, spreads, flags, and ratios between rows.

Pure functions over the dictionaries of the cells.
"""

import statistics

# The limits beyond which a number is marked rather than trusted.
STARVED_SHARE = 0.10         # slowest client's rate over the mean
STARVED_EFFECTIVE = 0.90     # clients being served on average, over those there are
CLIENT_BOUND_SHARE = 0.90    # the generator's CPU time over its core
SPREAD_SHARE = 0.10          # (max - min) over the median of a row's own rate
STEAL_SHARE = 0.01           # time the hypervisor gave to others
PACE_SHARE = 0.05            # (max - min) over the median of a CPU's pace
TOGETHER_SHARE = 0.05        # (max - min) over the median of all rows' mean rate
OTHERS_SHARE = 0.10          # CPU time of programs that are not part of the run

# Below this many rounds no order between close rows is more than an impression.
ROUNDS_FOR_RANKING = 5

LEGEND = (
    ("S", "starved: a client got under 10 % of the mean rate, or under 90 % of the "
          "clients were being served at a time"),
    ("C", "client-bound: wrk used over 90 % of its core, so req/s is a lower bound"),
    ("E", "errors: failed, refused, timed out or non-2xx answers"),
    ("K", "keep-alive not held: wrk, which says nothing of it, had to reconnect"),
    ("V", "varying: req/s over the other rows' of the same round (their geometric mean) "
          "spread over more than 10 % of the median; for a single row, plain req/s"),
    ("T", "the machine changed: stolen time over 1 % of the CPUs used; or between rounds "
          "the pace of the server's or the clients' CPU, or the geometric mean of all "
          "rows' req/s, differed by over 5 %"),
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
        "K": load["most_connections_seen"] > clients,
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


def differ(numbers, share):
    """Whether numbers spread over more than a share of their median."""
    found = spread(numbers)
    return found is not None and found["max"] - found["min"] > share * found["median"]


def pace_varied(cells):
    """Whether a CPU was itself faster in one of the cells than in another."""
    return any(differ([cell["load"]["pace"][side] for cell in cells], PACE_SHARE)
               for side in ("server", "client"))


def rates(cells):
    """{name: req/s of each round} of the rows that were measured in every round. A row
    that was not is left out of all: a mean over other rows would be another mean."""
    found, failed = {}, set()
    for cell in sorted(cells, key=lambda cell: cell["round"]):
        if cell["failure"]:
            failed.add(cell["name"])
        else:
            found.setdefault(cell["name"], []).append(cell["values"]["req_per_s"])
    return {name: numbers for name, numbers in found.items() if name not in failed}


def means(lists):
    """The geometric mean of each round."""
    return [statistics.geometric_mean(numbers) for numbers in zip(*lists)]


def row_varied(name, all_rates):
    """Whether a row's req/s varied in a way that the others' of its rounds did not."""
    own = all_rates[name]
    others = [numbers for other, numbers in all_rates.items() if other != name]
    if others:
        own = [rate / mean for rate, mean in zip(own, means(others))]
    return differ(own, SPREAD_SHARE)


def rows_varied_together(all_rates):
    """Whether the rounds differ in what all rows did: that is the machine's doing."""
    return len(all_rates) > 1 and differ(means(all_rates.values()), TOGETHER_SHARE)


def summarise(name, kind, cells):
    """A row of the table from the cells of all subjects. A row with a failed cell has
    the reason instead of numbers: the others alone would flatter it."""
    own = [cell for cell in cells if cell["name"] == name]
    row = {"name": name, "kind": kind, "rounds": len(own), "failure": None,
           "flags": [], "values": {}}
    for cell in own:
        if cell["failure"]:
            row["failure"] = "round %d: %s" % (cell["round"], cell["failure"])
            return row
    for key in own[0]["values"]:
        row["values"][key] = spread([cell["values"][key] for cell in own])
    seen = {flag for cell in own for flag in cell["flags"]}
    all_rates = rates(cells)
    if row_varied(name, all_rates):
        seen.add("V")
    if pace_varied(own) or rows_varied_together(all_rates):
        seen.add("T")
    row["flags"] = [flag for flag, _ in LEGEND if flag in seen]
    return row


def ratio(cells, numerator, denominator, key):
    """Spread of the ratios numerator/denominator, one of each round; None when a round
    lacks one of them. Within a round both took turns on the same machine."""
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
