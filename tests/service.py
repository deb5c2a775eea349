#!/usr/bin/env python3
"""Checks the unit of systemd, one TAP line per check, with systemd's own tools.

TETRAD_BUILD names the build that holds the unit and the program. The program is not
installed when this runs, so the unit is checked in a copy that names the one of the build.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tap

BUILD = Path(os.environ["TETRAD_BUILD"])
UNIT = (BUILD / "server/tetrad.service").read_text()
PROGRAM = BUILD / "tetrad"
# Of 10, which is a service without any restriction. What is left is the network and the
# right to bind a port below 1024.
EXPOSURE_MAX = "20"


def run(*command):
    """How the command ended and what it said; "" if it ended well."""
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError:
        return f"{command[0]} not found; Debian package: systemd"
    return "" if done.returncode == 0 else f"status {done.returncode}: {done.stdout}"


def analyze(*arguments, text=UNIT):
    with tempfile.TemporaryDirectory(prefix="tetrad-unit-") as folder:
        unit = Path(folder) / "tetrad.service"
        unit.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={PROGRAM}", text, flags=re.M))
        return run("systemd-analyze", *arguments, str(unit))


def check_paths():
    """every path of the installation was filled in"""
    found = re.findall(r"@\w+@", UNIT)
    if not re.search(r"^ExecStart=/\S+/tetrad \$\{TETRAD_DIR\}$", UNIT, re.M):
        found.append("no ExecStart with an absolute path")
    return "; ".join(found)


def check_options():
    """every variable that it sets is an option"""
    text = subprocess.run([PROGRAM, "--help"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    options = {"TETRAD_" + name.upper().replace("-", "_")
               for name in re.findall(r"--([a-z-]+)", text)}
    named = set(re.findall(r"^Environment=(\w+)=", UNIT, re.M))
    return " ".join(named - options - {"TETRAD_DIR"})


def check_verify():
    """systemd-analyze verify has nothing to say"""
    return analyze("verify", "--man=no", "--recursive-errors=no")


def check_verify_sees():
    """systemd-analyze verify would say what is wrong"""
    wrong = UNIT.replace("NoNewPrivileges=yes", "NoNewPrivileges=perhaps")
    said = analyze("verify", "--man=no", "--recursive-errors=no", text=wrong)
    return "" if "perhaps" in said else f"a value that is wrong went unseen: {said}"


def check_security():
    """systemd-analyze security finds little exposed"""
    return analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}")


CHECKS = [check_paths, check_options, check_verify, check_verify_sees, check_security]


if __name__ == "__main__":
    sys.exit(tap.run(CHECKS))
