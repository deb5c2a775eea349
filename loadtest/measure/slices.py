"""What the slices of a cell add up to, and the numbers of the table from that.

Pure functions over dictionaries. A sum is a sum of what was counted; shares, rates and
percentiles are made from sums, never from shares, rates and percentiles.
"""

import statistics

from measure import processes

# The quantile function of a slice in units of 0.05 %; wrk_report.lua has the same steps.
QUANTILE_STEPS = [step for step in range(10, 2001) if step % 10 == 0 or step > 1960]
QUANTILE_UNITS = QUANTILE_STEPS[-1]

PERCENTILES = {"p50": 1000, "p75": 1500, "p90": 1800, "p99": 1980}

SUMMED = ("requests", "seconds", "cpu_ns", "elapsed", "server_cpu_ns",
          "server_user_ticks", "server_system_ticks", "switches_voluntary",
          "switches_involuntary", "busy_ticks", "steal_ticks", "all_ticks", "own_cpu_ns")


def merge_quantiles(weighted):
    """The percentiles of several distributions together, from [(weight, quantiles)]: a
    distribution of so many samples, and its values at QUANTILE_STEPS. {} without any."""
    masses = {}
    for weight, values in weighted:
        before = 0
        for step, value in zip(QUANTILE_STEPS, values):
            masses[value] = masses.get(value, 0) + weight * (step - before)
            before = step
    total = sum(masses.values())
    found = {}
    reached = 0
    for value in sorted(masses):
        reached += masses[value]
        for name, step in PERCENTILES.items():
            if name not in found and reached * QUANTILE_UNITS >= step * total > 0:
                found[name] = value
    return found


def latency(parts):
    total = sum(part["requests"] for part in parts)
    if total == 0:
        return None
    merged = merge_quantiles([(part["requests"], part["latency_us"]["quantiles"])
                              for part in parts])
    merged["mean"] = sum(part["requests"] * part["latency_us"]["mean"]
                         for part in parts) / total
    merged["max"] = max(part["latency_us"]["max"] for part in parts)
    return merged


def paces(parts):
    """{'server', 'client'}: the median of all looks at that CPU's pace, or None."""
    found = {}
    for side in ("server", "client"):
        seen = [pace for part in parts for pace in part["paces"][side]]
        found[side] = statistics.median(seen) if seen else None
    return found


def add_up(parts):
    """The load of a cell from its slices."""
    load = {key: sum(part[key] for part in parts) for key in SUMMED}
    load["errors"] = {name: sum(part["errors"][name] for part in parts)
                      for name in parts[0]["errors"]}
    others_ns = (load["busy_ticks"] * processes.TICK_NS - load["server_cpu_ns"]
                 - load["cpu_ns"] - load["own_cpu_ns"])
    load.update({
        "req_per_s": load["requests"] / load["seconds"],
        "latency_us": latency(parts),
        "generator_share": load["cpu_ns"] / 1e9 / load["elapsed"],
        "steal_share": load["steal_ticks"] / max(1, load["all_ticks"]),
        "others_share": max(0, others_ns) / 1e9 / load["elapsed"],
        "most_connections_seen": max(part["connections_seen"] for part in parts),
        "pace": paces(parts),
    })
    return load


def derive(load, fairness, memory):
    """Numbers of the table from the raw ones of one cell."""
    requests = load["requests"]
    switches = load["switches_voluntary"] + load["switches_involuntary"]
    errors = sum(load["errors"].values()) + fairness["failed"]
    slowest = fairness["slowest"] / fairness["mean"] if fairness["mean"] else 0.0
    return {"req_per_s": load["req_per_s"],
            "p50_us": load["latency_us"]["p50"],
            "p99_us": load["latency_us"]["p99"],
            "cpu_us_per_request": load["server_cpu_ns"] / 1000 / requests,
            "switches_per_request": switches / requests,
            "slowest_client": slowest,
            "errors": errors,
            "memory_mib": memory["kib"] / 1024 if memory.get("kib") else None}
