"""Waiting for conditions, never for a length of time alone.

Every limit is multiplied by TETRAD_PATIENCE (default 1), for builds that are slow by
design, such as those with sanitizers, and lengthened by what this machine itself was late
meanwhile: on a busy one, a process that is due may have to wait for a CPU.
"""
import collections
import os
import threading
import time

PATIENCE = float(os.environ.get('TETRAD_PATIENCE', '1'))
POLL = 0.005

# What "at once" means, for every model.
AT_ONCE = 0.3


def patient(seconds):
    return seconds * PATIENCE


class LatenessGauge:
    """A thread that wants to wake at short intervals, and keeps how late it was when."""

    INTERVAL = 0.02
    # From the server's wake-up to the test's: each of them can be late.
    WAKE_UPS = 2

    def __init__(self):
        self._seen = collections.deque(maxlen=4096)
        self._due = time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        never = threading.Event()
        while True:
            self._due = time.monotonic() + self.INTERVAL
            never.wait(self.INTERVAL)
            now = time.monotonic()
            self._seen.append((now, now - self._due))

    def since(self, start):
        """How much later than due, by this machine's own fault, something may be that was
        waited for since then."""
        worst = max((late for when, late in list(self._seen) if when >= start), default=0)
        return self.WAKE_UPS * max(worst, time.monotonic() - self._due, 0)


GAUGE = LatenessGauge()


class Stopwatch:
    """Runs from its creation."""

    def __init__(self):
        self.start = time.monotonic()

    @property
    def now(self):
        return time.monotonic() - self.start

    def over(self, seconds):
        """True once that time has passed, the machine's own lateness aside."""
        return self.now > patient(seconds) and \
            self.now > patient(seconds) + GAUGE.since(self.start)

    def check_deadline(self, seconds, slack=AT_ONCE):
        """That something which was due after so many seconds happens just now."""
        took = self.now
        late = took - seconds - GAUGE.since(self.start)
        assert seconds - 0.02 <= took and late <= patient(slack), \
            f'after {took:.3f} s, due after {seconds} s'


def wait_until(predicate, within, what=None, poll=POLL):
    """Polls until the predicate holds and returns its value; fails after the limit."""
    watch = Stopwatch()
    while True:
        value = predicate()
        if value:
            return value
        if watch.over(within):
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
