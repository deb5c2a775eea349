#!/usr/bin/env python3
"""Checks threadbench as its user sees it, one TAP line per check, with tiny counts: right
answers on every runtime, the kernel threads that were counted, one line and status 2 for a
wrong command line, and nothing left behind by a run that was ended.

TETRAD_BUILD names the build that holds the program.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import tap

PROGRAM = Path(os.environ["TETRAD_BUILD"]) / "loadtest/threadbench/threadbench"
# Threads of these are known to the kernel.
KERNEL = ["pthread", "process", "nspr"]
# Rows of "pipes" in which one thread waits for all.
EVENTS = ["select", "poll", "epoll", "epoll-et", "io_uring", "uv", "busy"]
# What may be missing on a machine, and then says so.
OPTIONAL = {"pth", "st", "nspr", "erlang", "io_uring"}
MORE = {"yield": ["hybrid-system", "ucontext"], "io": ["hybrid-system"],
        "message": ["uv", "erlang"], "ctx": ["uv"], "pipe": ["uv"], "pipes": EVENTS}
BYTES = "bytes read = bytes written"
# A sanitizer may have a thread of its own in each process, so there the bound is a lower one.
PLAIN = not re.search(rb"__(tsan|asan)_init", PROGRAM.read_bytes())

# Words, the answer, and the threads that stand at the line, without the first one.
BENCHES = [
    ("message --threads=7 --messages=9", "63", 7),
    ("message --threads=7 --messages=9 --mailbox=rendezvous", "63", 7),
    ("message --threads=7 --messages=9 --mailbox=unbounded", "63", 7),
    ("message --threads=7 --messages=9 --mailbox=4", "63", 7),
    ("message --threads=1 --messages=1", "1", 1),
    ("yield --reps=50 --threads=4", "4 x 50", 4),
    ("io --reps=5 --threads=3", "3 x 5", 3),
    ("aqueue --items=500", "sum 124750, in order", 2),
    ("aqueue --items=500 --alloc=ring", "sum 124750, in order", 2),
    ("aqueue --items=500 --cap=1 --signal=empty", "sum 124750, in order", 2),
    ("aqueue --items=500 --cap=70 --signal=empty --alloc=ring", "sum 124750, in order", 2),
    ("create --count=20", "20 ran", 2),
    ("create --count=23 --creators=2 --live=3", "23 ran", 8),
    ("create --count=2 --creators=3 --live=5", "2 ran", 5),
    ("ctx --threads=3 --rounds=20 --size=4096", "token 60", 3),
    ("pipe --trips=20", "20 right", 2),
    ("pipe --mode=flood --trips=20", "20 right", 2),
    ("pipes --mode=chain --handles=7 --active=3 --writes=40 --turns=3", BYTES, 7),
    ("pipes --mode=chain --handles=3 --over=unix --batch=1", BYTES, 3),
    ("pipes --mode=chain --handles=4 --over=tcp --writes=0", BYTES, 4),
    ("hack --groups=2 --members=3 --loops=5", "90 messages", 12),
    ("hack --groups=1 --members=2 --loops=40 --size=4096 --over=pipe", "160 messages", 4),
    ("wake --messengers=2 --workers=3 --reps=20", "120 requests", 8),
]


def run(*words):
    return subprocess.run([PROGRAM, *words], text=True, capture_output=True, check=False)


def runtimes():
    """What the program says that it has."""
    return re.search(r"^Runtimes: (.*)$", run("--help").stdout, re.M).group(1).split()


def runtimes_here():
    """Those that can be measured in this build."""
    rows = json.loads(run("io", "--reps=1", "--runs=1", "--json").stdout)["rows"]
    return [row["runtime"] for row in rows if "absent" not in row]


def kernel_threads_fit(runtime, counted, threads):
    if runtime == "erlang":
        return counted >= 1
    if runtime in KERNEL:
        expected = 1 + threads
    else:
        expected = {"hybrid": 2, "hybrid-system": 2 + threads}.get(runtime, 1)
    return counted == expected if PLAIN else counted >= expected


def missing(row, words):
    """True if a row may have no number: what is not installed, and a chain of the busy loop."""
    if row["runtime"] == "busy":
        return "absent" in row and "--mode=chain" in words
    if row["runtime"] == "ucontext":
        return "absent" in row and not PLAIN
    return "absent" in row and row["runtime"] in OPTIONAL


def check_bench(words, answer, threads, folder):
    words = words.split()
    words += [f"--dir={folder}"] if words[0] == "io" else []
    done = run(*words, "--runs=2", "--json")
    if done.returncode != 0 or done.stderr:
        yield f"status {done.returncode}: {done.stdout}{done.stderr}"
        return
    result = json.loads(done.stdout)
    if [row["runtime"] for row in result["rows"]] != runtimes() + MORE.get(words[0], []):
        yield f"other runtimes: {result['rows']}"
    for row in result["rows"]:
        if missing(row, words):
            continue
        if row.get("answer") != answer or len(row["runs"]) != 2 or not row["loaded"]:
            yield f"{row}"
            continue
        for one in row["runs"]:
            if not kernel_threads_fit(row["runtime"], one["kernel_threads"], threads):
                yield f"{row['runtime']}: {one['kernel_threads']} kernel threads"
            used_s = one["user_s"] + one["sys_s"]
            if min(one["user_s"], one["sys_s"]) < 0 or one["peak_kib"] <= 0:
                yield f"used: {one}"
            # Of one CPU nobody can use more than there is; what is read one after the other
            # differs a little, or with a sanitizer's own threads a lot.
            if one["real_s"] <= 0 or (PLAIN and used_s > 1.2 * one["real_s"] + 0.02):
                yield f"times: {one}"


def check_benches():
    """right answers and kernel threads on every runtime, and no file left"""
    with tempfile.TemporaryDirectory(prefix="threadbench-") as folder:
        for words, answer, threads in BENCHES:
            for fault in check_bench(words, answer, threads, folder):
                yield f"{words}: {fault}"
        if os.listdir(folder):
            yield f"left in --dir: {os.listdir(folder)}"


def crew_faults(folder, program, **how):
    """Searches folder for "node" on each runtime, and compares with grep."""
    grep = subprocess.run(["grep", "-rlF", "--exclude=.*", "--exclude-dir=.?*", "node", folder],
                          text=True, capture_output=True, check=False, **how)
    expected = sorted(grep.stdout.splitlines())
    for runtime in runtimes_here():
        done = subprocess.run([program, "crew", "node", folder, f"--rt={runtime}", "--runs=1"],
                              text=True, capture_output=True, check=False, **how)
        hits = sorted(re.findall(r"^Thread [0-3] found (.*)$", done.stdout, re.M))
        if done.returncode != 0 or done.stderr or not expected or hits != expected:
            yield f"{runtime}: status {done.returncode}: {hits}, not {expected}: {done.stderr}"
    done = subprocess.run([program, "crew", "--string=node", f"--dir={folder}", "--json",
                           "--runs=1"], text=True, capture_output=True, check=False, **how)
    for row in json.loads(done.stdout)["rows"]:
        if "absent" not in row and row["runs"][0]["notices"] != 3:
            yield f"{row}: not the link, the pipe and the folder"


def odd_files(folder):
    """What the crew of old stumbled over: a hit across two blocks, a link, a hidden file, a
    pipe without a writer, a folder that cannot be read."""
    for at in (32766, 65534, 65536 - 3):
        (folder / f"across{at}").write_bytes(b"n" * at + b"node" + b"e" * 9)
    (folder / "near").write_text("nod" * 40000)
    (folder / "link").symlink_to("across32766")
    (folder / ".hidden").write_text("node")
    (folder / "empty").touch()
    os.mkfifo(folder / "fifo")
    (folder / "secret").mkdir(mode=0)


def check_crew():
    """the crew finds what grep finds, and a folder that cannot be read does not stop it"""
    with tempfile.TemporaryDirectory(prefix="threadbench-") as place:
        tree = Path(place) / "tree"
        made = run("mktree", str(tree), "--files=90")
        if made.returncode != 0 or made.stdout or made.stderr:
            yield f"mktree: status {made.returncode}: {made.stdout}{made.stderr}"
        if run("mktree", str(tree)).returncode != 1:
            yield "mktree makes what there is"
        odd_files(tree)
        program, how = PROGRAM, {}
        if os.geteuid() == 0:
            # Root reads everything, so somebody else searches, with a program in his reach.
            program, how = Path(place) / "threadbench", {"user": 65534, "cwd": "/"}
            shutil.copy(PROGRAM, program)
            os.chmod(place, 0o755)
        yield from crew_faults(str(tree), program, **how)
        os.chmod(tree / "secret", 0o700)


def check_storm():
    """a storm over more pipes than select of the C library knows, by every row"""
    done = run("pipes", "-n", "700", "-t", "1", "-e", "64", "--runs=1", "--json")
    for row in json.loads(done.stdout)["rows"]:
        if "absent" in row:
            if row["runtime"] not in OPTIONAL:
                yield f"{row}"
            continue
        one = row["runs"][0] if "runs" in row else {}
        threads = one.get("kernel_threads", 0)
        if row.get("answer") != BYTES or not one["events_per_s"] > 0:
            yield f"{row}"
        elif row["runtime"] not in EVENTS:
            if not kernel_threads_fit(row["runtime"], threads, 701):
                yield f"{row['runtime']}: {threads} kernel threads"
        elif threads != 2 if PLAIN else threads < 2:
            yield f"{row['runtime']}: {threads} kernel threads"
    if done.returncode != 0 or done.stderr:
        yield f"status {done.returncode}: {done.stderr}"
    # Few pipes, so that the writer overtakes the reader by a round.
    done = run("pipes", "-n", "3", "-i", "-t", "1", "--rt=busy,epoll-et,green", "--runs=1")
    if done.returncode != 0 or BYTES not in done.stdout:
        yield f"status {done.returncode}: {done.stdout}{done.stderr}"


def check_absent():
    """what is not installed says so, and is no failure"""
    done = subprocess.run([PROGRAM, "message", "--rt=erlang,green", "--messages=3", "--runs=1"],
                          text=True, capture_output=True, check=False,
                          env={**os.environ, "PATH": "/nonexistent"})
    if done.returncode != 0 or not re.search("^erlang   not installed: ", done.stdout, re.M):
        yield f"status {done.returncode}: {done.stdout}{done.stderr}"
    if "answer 1500" not in done.stdout:
        yield done.stdout


def check_table():
    """the table has a row for each runtime, and says what was loaded"""
    done = run("yield", "--reps=10", "--runs=1", "--rt=process,green")
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines[0].startswith("bench yield  reps 10  threads 10"):
        yield f"status {done.returncode}: {done.stdout}{done.stderr}"
    if [line.split()[0] for line in lines[3:]] != ["runtime", "process", "green"]:
        yield done.stdout
    if "tetrad N:1" not in lines[-1]:
        yield lines[-1]


def check_layouts():
    """the published spellings print the published layouts"""
    done = run("test1", "30", "3", "--rt=green", "--runs=1")
    rows = re.findall(r"^ +\d+ +30 +[\d.]+ +[\d.]+ +30$", done.stdout, re.M)
    if len(rows) != 3 or "Total elapsed time: " not in done.stdout:
        yield done.stdout + done.stderr
    if not re.search(r"^# [\d.]+ ns per yield, [\d.]+ ns per switch seen$", done.stdout, re.M):
        yield done.stdout
    done = run("message", "3", "--threads=5", "--rt=green", "--runs=1")
    if done.stdout.splitlines()[1:] != ["15"]:
        yield done.stdout + done.stderr
    done = run("aqueue", "-n", "30", "--rt=green", "--runs=1")
    if done.stdout.splitlines()[1:3] != ["pusher started", "poper started"]:
        yield done.stdout + done.stderr


def check_usage():
    """a wrong command line: one line and status 2"""
    for words in ([], ["nope"], ["yield", "--rt=nope"], ["yield", "--reps=0"],
                  ["yield", "--cpus=4096"], ["message", "1", "2"], ["yield", "--json=1"]):
        done = run(*words)
        if (done.returncode != 2 or done.stdout or done.stderr.count("\n") != 1
                or not done.stderr.startswith("threadbench: ")):
            yield f"{words}: status {done.returncode}: {done.stdout}{done.stderr}"
    for words in (["--help"], ["io", "--help"]):
        done = run(*words)
        if done.returncode != 0 or done.stderr or "usage: threadbench" not in done.stdout:
            yield f"{words}: status {done.returncode}: {done.stdout}{done.stderr}"


def check_failure():
    """a run that cannot be made is a failed row and status 1"""
    for more in ([], ["--json"]):
        done = run("io", "--dir=/nonexistent", "--runs=1", *more)
        if done.returncode != 1 or done.stdout.count("No such file") != len(runtimes_here()):
            yield f"status {done.returncode}: {done.stdout}{done.stderr}"


def descendants_left(group):
    """Processes of the session that the program was the leader of."""
    left = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdigit() and int(fields[3]) == group and fields[0] != "Z":
            left.append(entry.name)
    return left


def endless(runtime, *words):
    """A run that would take hours, in a session of its own."""
    return subprocess.Popen(
        [PROGRAM, "message", "--threads=4", "--messages=100000000", f"--rt={runtime}", "--runs=1",
         *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def check_timeout():
    """a run that does not end is ended, whole"""
    with endless("process", "--timeout=1") as program:
        out, err = program.communicate(timeout=60)
    if program.returncode != 1 or "FAILED in run 1: not done after 1 s" not in out:
        yield f"status {program.returncode}: {out}{err}"
    if descendants_left(program.pid):
        yield f"left: {descendants_left(program.pid)}"


def poll_for_run(pid):
    """Returns once the program has a child."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not children.read_text().strip():
        select.select([], [], [], 0.01)


def check_interrupt():
    """an interrupt ends all processes of a run"""
    for runtime in ["pthread", "green", "process"]:
        with endless(runtime) as program:
            poll_for_run(program.pid)
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=60)
        if program.returncode != 130 or out or err:
            yield f"{runtime}: status {program.returncode}: {out}{err}"
        if descendants_left(program.pid):
            yield f"{runtime}: left: {descendants_left(program.pid)}"


CHECKS = [check_benches, check_storm, check_absent, check_crew, check_table, check_layouts, check_usage,
          check_failure, check_timeout, check_interrupt]


if __name__ == "__main__":
    sys.exit(tap.run(CHECKS))
