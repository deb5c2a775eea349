"""Makes tables and plots of the results that are kept in docs/performance.

    results.py keep FILE...     copies the results of peers.sh and others there, without
                                what only a debugger of the measurement would read
    results.py plot             makes the plots from what is there, by gnuplot

It must never know how a number was measured.
"""

import json
import os
import shutil
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs",
                      "performance")

# Of each slice: the distribution of latencies and the looks at the pace of the machine.
LEFT_OUT = ("latency_us", "paces")

SERVERS = ("floor-epoll", "prefork", "threads", "greenthreads", "hybrid", "eventloop",
           "nginx", "lighttpd", "h2o")

PLOT = """\
set terminal svg size 760,420 font "sans-serif,12" background "white"
set output "%(name)s.svg"
set title "%(title)s"
set xlabel "%(label)s"
set ylabel "CPU us per request"
set logscale xy
set key outside right
set grid
plot %(lines)s
"""


def without_details(value):
    if isinstance(value, dict):
        return {key: without_details(one) for key, one in value.items()
                if key not in LEFT_OUT}
    if isinstance(value, list):
        return [without_details(one) for one in value]
    return value


def keep(paths):
    os.makedirs(FOLDER, exist_ok=True)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = without_details(json.load(file))
        # Where it was run says nothing to others.
        document["command"] = [os.path.basename(word)
                               for word in document.get("command", [])]
        target = os.path.join(FOLDER, os.path.basename(path))
        with open(target, "w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")


def read_points():
    """[(bytes, clients, {server: CPU us per request})] of all results of peers.sh."""
    points = []
    for name in sorted(os.listdir(FOLDER)):
        if not (name.startswith("peers-") and name.endswith(".json")):
            continue
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            document = json.load(file)
        points.append((document["object"]["bytes"], document["clients"],
                       {row["name"]: row["values"]["cpu_us_per_request"]["median"]
                        for row in document["rows"] if not row["failure"]}))
    return points


def plot(name, title, label, points):
    """points: [(x, {server: y})]."""
    points = sorted(points, key=lambda point: point[0])
    names = [one for one in SERVERS if sum(one in values for _, values in points) > 1]
    blocks, lines = [], []
    for index, one in enumerate(names):
        blocks.append("\n".join("%g %g" % (x, values[one]) for x, values in points
                                if one in values))
        lines.append('$data index %d with linespoints title "%s"' % (index, one))
    if not lines:
        return
    script = "$data << END\n%s\nEND\n" % "\n\n\n".join(blocks) + PLOT % {
        "name": name, "title": title, "label": label, "lines": ", \\\n     ".join(lines)}
    subprocess.run(["gnuplot"], input=script, text=True, cwd=FOLDER, check=True)


def main(arguments):
    if arguments[:1] == ["keep"] and len(arguments) > 1:
        keep(arguments[1:])
    elif arguments == ["plot"]:
        if not shutil.which("gnuplot"):
            sys.stderr.write("results: gnuplot not found; Debian package: gnuplot-nox\n")
            return 3
        points = read_points()
        plot("sizes", "10 clients", "bytes of the object",
             [(size, values) for size, clients, values in points if clients == 10])
        plot("clients", "6 KB object", "keep-alive clients",
             [(clients, values) for size, clients, values in points if size == 6144])
    else:
        sys.stderr.write(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
