"""Ratios of two rows by pairs, with an interval, and what may be concluded from it.

A pair is the same turn of one second of the same round: both were measured within the few
seconds that a turn of all servers takes. Pure functions; the same seed gives the same
interval.
"""

import random
import statistics
from collections import namedtuple

RESAMPLES = 2000

# Of fewer pairs not even the whole range holds the median in 95 of 100 cases: with n of
# them it does so in 1 - 2 ** (1 - n).
FEWEST_PAIRS = 6

# An A/A pair may differ by so much.
SAME_SHARE = 0.01

# median of the pairs' ratios; low and high: its 95 % interval, None of too few pairs.
Ratio = namedtuple("Ratio", "median low high pairs")


def cpu_us_of_turns(cells, name):
    """{(round, turn): CPU us per request} of a row; {} when one of its cells failed, or
    when there is no such row. A turn without an answer has no such number."""
    found = {}
    for cell in cells:
        if cell["name"] != name:
            continue
        if cell["failure"]:
            return {}
        for turn, part in enumerate(cell["slices"]):
            if part["requests"] > 0:
                found[cell["round"], turn] = (
                    part["server_cpu_ns"] / 1000 / part["requests"])
    return found


def ratios(numerator, denominator):
    """The ratio of each pair of two rows' numbers, in order of time."""
    return [numerator[key] / denominator[key] for key in sorted(numerator)
            if denominator.get(key, 0) > 0]


def interval(numbers, seed):
    """The 95 % interval of the median, by the percentiles of resampled medians."""
    chooser = random.Random(seed)
    medians = sorted(statistics.median(chooser.choices(numbers, k=len(numbers)))
                     for _ in range(RESAMPLES))
    return medians[RESAMPLES * 25 // 1000], medians[RESAMPLES * 975 // 1000 - 1]


def ratio_of(numbers, seed):
    """The Ratio of these ratios; None without any."""
    if not numbers:
        return None
    low = high = None
    if len(numbers) >= FEWEST_PAIRS:
        low, high = interval(numbers, seed)
    return Ratio(statistics.median(numbers), low, high, len(numbers))


def compare(cells, numerator, denominator, seed):
    """The Ratio of two rows' CPU time per request; None when either lacks numbers."""
    return ratio_of(ratios(cpu_us_of_turns(cells, numerator),
                           cpu_us_of_turns(cells, denominator)), seed)


def is_same(ratio):
    """Whether two rows that are the same may be called so; None of too few pairs. Either
    the interval holds 1, or it is so near that the difference does not matter."""
    if ratio is None or ratio.low is None:
        return None
    return (ratio.low <= 1 <= ratio.high
            or (ratio.low >= 1 - SAME_SHARE and ratio.high <= 1 + SAME_SHARE))


def resolution(ratio):
    """How far from 1 the interval of two rows that are the same reaches: what differs by
    less cannot be told from them. None of too few pairs."""
    if ratio is None or ratio.low is None:
        return None
    return max(1 - ratio.low, ratio.high - 1, 0)


def judge(ratio, most):
    """'met' when the whole interval is at most the bar, 'not met' when all of it is
    beyond, else 'undecided'."""
    if ratio is None or ratio.low is None or ratio.low <= most < ratio.high:
        return "undecided"
    return "met" if ratio.high <= most else "not met"
