"""How near to its floor, and how far below its peers, each model is to be: the goals, as
ratios of CPU time per request. Pure data and functions.
"""

from collections import namedtuple

from measure import paired

Goal = namedtuple("Goal", "name numerator denominator most")
Result = namedtuple("Result", "goal verdict ratio")

# The models that wait as lighttpd and h2o do are to be well below them.
WELL_BELOW = 0.85

FLOOR_GOALS = (
    Goal("G1", "greenthreads", "floor-epoll", 1.06),
    Goal("G2", "eventloop", "floor-epoll", 1.08),
    Goal("G3", "threads", "floor-threads-batch", 1.06),
    Goal("G4", "prefork", "floor-processes", 1.06),
)


def goals(models):
    """All of them, for these models of tetrad."""
    chosen = list(FLOOR_GOALS)
    chosen += [Goal("G5", model, "nginx", 1.0) for model in models]
    chosen += [Goal("G5", model, peer, WELL_BELOW)
               for model in ("greenthreads", "eventloop") for peer in ("lighttpd", "h2o")]
    return chosen


def missed(results):
    """Whether a goal is not met beyond doubt."""
    return any(result.verdict == "not met" for result in results)


def judge_all(models, compare):
    """Each goal's Result; compare(numerator, denominator) gives a Ratio or None."""
    found = []
    for goal in goals(models):
        ratio = compare(goal.numerator, goal.denominator)
        verdict = paired.judge(ratio, goal.most) if ratio else "not measured"
        found.append(Result(goal, verdict, ratio))
    return found
