"""Runs checks and tells of each by a TAP line, which is what `make check` counts. It must
never know what they check.
"""

import sys


def run(checks):
    """The exit status: 0 if all are well. A check is a function whose docstring is its name;
    it gives its faults, as one text or several, and none if it has nothing to say."""
    failed = False
    print(f"1..{len(checks)}")
    for number, check in enumerate(checks, 1):
        found = check()
        faults = [found] * bool(found) if isinstance(found, str) else list(found)
        failed = failed or bool(faults)
        print("not ok" if faults else "ok", number, "-", check.__doc__)
        for fault in faults:
            for line in fault.splitlines():
                print("#", line)
        sys.stdout.flush()
    return 1 if failed else 0
