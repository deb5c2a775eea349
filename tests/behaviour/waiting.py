"""Waiting for conditions, never for a length of time alone.

Every limit is multiplied by TETRAD_PATIENCE (default 1), for builds that are slow by
design, such as those with sanitizers.
"""
import os
import time

PATIENCE = float(os.environ.get('TETRAD_PATIENCE', '1'))
POLL = 0.005

# What "at once" means, for every model.
AT_ONCE = 0.3


def patient(seconds):
    return seconds * PATIENCE


def wait_until(predicate, within, what=None, poll=POLL):
    """Polls until the predicate holds and returns its value; fails after the limit."""
    limit = time.monotonic() + patient(within)
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > limit:
            name = what or getattr(predicate, '__name__', 'condition')
            raise AssertionError(f'not within {patient(within):g} s: {name}')
        time.sleep(poll)


def holds_for(predicate, seconds):
    """True if the predicate held at every look during that time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if not predicate():
            return False
        time.sleep(POLL)
    return True
