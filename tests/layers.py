#!/usr/bin/env python3
"""Checks the layers of the source tree, one TAP line per rule.

Which layer a file of server/ belongs to is read from the lists in server/local.mk. Every
rule is tried twice: on the tree as it is, where it must find nothing, and on a copy with
one violation put in, which it must find; so a rule that has gone blind fails too.

TETRAD_SOURCE names the tree and TETRAD_BUILD a build of it, whose objects are read; NM and
CC name the tools. Exit status: 0 if every line is "ok".
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ISO_C_HEADERS = set(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath "
    "threads time uchar wchar wctype".split()
)
# strncasecmp, in slice.h, is POSIX and as pure as the rest.
PROTOCOL_SYSTEM_HEADERS = {f"{name}.h" for name in ISO_C_HEADERS} | {
    "strings.h",
    "sys/types.h",
    "sys/uio.h",
}
# ISO C too, but a clock, a file or a global state.
PROTOCOL_SYSTEM_HEADERS -= {"time.h", "signal.h", "locale.h", "threads.h", "setjmp.h"}
PROTOCOL_BASE_HEADERS = {"attributes.h", "buffer_pool.h"}
PROTOCOL_SYMBOLS = re.compile(
    r"_*(mem\w+|bcmp|str(n?case)?(cmp|chr|rchr|len|nlen|spn|cspn|str|n?cpy|pbrk)(_chk)?"
    r"|(isoc\d+_)?strtou?l{0,2}|v?snprintf(_chk)?|bsearch|qsort|abs|malloc|calloc|realloc"
    r"|free|abort|assert_fail|stack_chk_fail|ctype_\w+|tolower|toupper|(a|ub|t)san_\w+"
    r"|sanitizer_\w+|GLOBAL_OFFSET_TABLE_|llhttp_\w+)$"
)

MODEL_HEADERS = set(
    "attributes.h clock.h config.h conn.h direct_calls.h inbox.h listener.h log.h model.h "
    "options.h refuser.h serve_blocking.h server.h signals.h supervisor.h timeout_queue.h "
    "transport.h transport_socket.h wake_timer.h work.h worker.h".split()
)
MODEL_WORDS = re.compile(r"HTTP/1\.|Content-|keep-alive|writev|sendfile\(")
HIDDEN_FROM_CONN = re.compile(r"(http_\w+|site|file_\w+)\.h$")

LIBRARY_OWNERS = {
    "llhttp.h": re.compile(r"server/http_parser\.c$"),
    "uv.h": re.compile(
        r"models/eventloop/|loadtest/threadbench/uv_loop\.c$|loadtest/floor_uv\.c$"),
    "pth.h": re.compile(r"loadtest/threadbench/rt_pth\.c$"),
    "st.h": re.compile(r"loadtest/threadbench/rt_st\.c$"),
    "nspr.h": re.compile(r"loadtest/threadbench/rt_nspr\.c$"),
    "liburing.h": re.compile(r"models/greenthreads/\w*uring\w*\.[ch]$"),
}

LINES_OF_SOURCE, LINES_OF_HEADER, LINES_OF_FUNCTION = 500, 150, 60
OUTSIDE_LIBRARY = {"main.c", "model_table.c"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# A test waits for a condition. Who polls for one, or plays a slow peer, says so in its name.
SLEEP = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)\s*\(|^\s*sleep\s+[\d.$]")
SLEEPER = re.compile(r"_*(wait|poll|pace|holds)_\w+$")


class Tree:
    """The sources under one root, and the objects of one build (None: not built)."""

    def __init__(self, root, build):
        self.root = Path(root)
        self.build = Path(build) if build else None
        self.layers = self._read_layers()

    def _read_layers(self):
        makefile = (self.root / "server/local.mk").read_text()
        layers = {}
        for layer, names in re.findall(r"^LAYER_(\d) =((?:.*\\\n)*.*\n)", makefile, re.MULTILINE):
            for name in re.findall(r"server/(\S+)", names):
                layers[name] = int(layer)
        return layers

    def sources(self, *folders, suffixes=(".c", ".h", ".S")):
        found = []
        for folder in folders:
            found += [p for p in (self.root / folder).rglob("*") if p.suffix in suffixes]
        return sorted(found)

    def name(self, path):
        return str(path.relative_to(self.root))

    def includes(self, path):
        """Pairs of the kind of an include, '"' or '<', and what it names."""
        return INCLUDE.findall(path.read_text())


def rule_layers_are_listed(tree):
    """every file of server/ is in one list of server/local.mk"""
    for path in tree.sources("server"):
        if path.name not in tree.layers and path.name not in OUTSIDE_LIBRARY:
            yield f"{tree.name(path)}: in no layer of server/local.mk"
    for name in tree.layers:
        if not (tree.root / "server" / name).exists():
            yield f"server/local.mk: {name} does not exist"


def rule_includes_go_down(tree):
    """a file includes its own layer or a lower one"""
    for path in tree.sources("server"):
        if path.name in OUTSIDE_LIBRARY:
            continue
        own = tree.layers.get(path.name, -1)
        for kind, header in tree.includes(path):
            if kind == "<" or header == "config.h" or header in LIBRARY_OWNERS:
                continue
            if tree.layers.get(header, 99) > own:
                yield f"{tree.name(path)}: layer {own} includes {header}"


def rule_protocol_is_pure(tree):
    """the protocol layer includes itself, the buffer pool and pure C headers"""
    for path in tree.sources("server"):
        if tree.layers.get(path.name) != 1:
            continue
        for kind, header in tree.includes(path):
            pure = (
                header in PROTOCOL_SYSTEM_HEADERS
                or header in PROTOCOL_BASE_HEADERS
                or tree.layers.get(header) == 1
                or (header == "llhttp.h" and path.name == "http_parser.c")
            )
            if not pure:
                yield f"{tree.name(path)}: includes {header}"


def rule_models_know_little(tree):
    """a model includes the few headers made for models, and its own folder"""
    for path in tree.sources("models"):
        for kind, header in tree.includes(path):
            if kind == "<" and not (tree.root / "server" / header).exists():
                continue
            own = "/" not in header and (path.parent / header).exists()
            if header not in MODEL_HEADERS and not own:
                yield f"{tree.name(path)}: includes {header}"


def rule_conn_hides_protocol(tree):
    """what conn.h includes, however deep, is neither protocol nor content"""
    seen, queue = set(), ["conn.h"]
    while queue:
        header = queue.pop()
        if header in seen:
            continue
        seen.add(header)
        if HIDDEN_FROM_CONN.match(header):
            yield f"conn.h reaches {header}"
        path = tree.root / "server" / header
        if path.exists():
            queue += [name for _, name in tree.includes(path)]


def rule_core_knows_no_model(tree):
    """server/ includes nothing of models/, and only the table names a model"""
    models = {p.name for p in tree.sources("models", suffixes=(".h",))}
    for path in tree.sources("server"):
        for _, header in tree.includes(path):
            if "models/" in header or (header in models and header not in tree.layers):
                yield f"{tree.name(path)}: includes {header}"
        if path.name == "model_table.c":
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
            for line in re.findall(r"^[ \t]*extern\b.*", text, re.MULTILINE):
                if not re.match(r"extern const struct model \w+(, \w+)*;$", line):
                    yield f"server/model_table.c: declares more than models: {line}"
        elif re.search(r"^extern const struct model [^*]", path.read_text(), re.MULTILINE):
            yield f"{tree.name(path)}: names a model"


def rule_library_has_no_program(tree):
    """main.c and model_table.c stay outside libtetrad.a"""
    for name in sorted(OUTSIDE_LIBRARY & set(tree.layers)):
        yield f"server/local.mk: {name} is in a layer"
    if tree.build:
        for symbol in re.findall(r" [A-TV-Z] (main|model_table)$", nm(tree.build / "libtetrad.a"), re.M):
            yield f"libtetrad.a defines {symbol}"


def rule_libraries_have_owners(tree):
    """llhttp, libuv, liburing and each library of threads have one place that includes them"""
    for path in tree.sources("server", "models", "tests", "loadtest"):
        for _, header in tree.includes(path):
            owner = LIBRARY_OWNERS.get(os.path.basename(header))
            if owner and not owner.match(tree.name(path)):
                yield f"{tree.name(path)}: includes {header}"


def rule_protocol_objects_are_pure(tree):
    """the protocol layer's objects need no socket, file or time symbol"""
    if not tree.build:
        yield "no build to look into: set TETRAD_BUILD"
        return
    stems = [n[:-2] for n, layer in tree.layers.items() if layer == 1 and n.endswith(".c")]
    objects = {stem: tree.build / f"server/libtetrad_a-{stem}.o" for stem in stems}
    helpers = [tree.build / "server/libtetrad_a-buffer_pool.o"]
    defined = set()
    for path in [*objects.values(), *helpers]:
        defined |= set(re.findall(r" [A-TV-Z] (\S+)$", nm(path), re.MULTILINE))
    for stem in stems:
        for symbol in re.findall(r"^\s+U (\S+)$", nm(objects[stem]), re.MULTILINE):
            if symbol not in defined and not PROTOCOL_SYMBOLS.match(symbol):
                yield f"server/{stem}.c: needs {symbol}"


def rule_models_speak_no_http(tree):
    """no word of HTTP and no send loop in models/"""
    for path in tree.sources("models"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if MODEL_WORDS.search(line):
                yield f"{tree.name(path)}:{number}: {line.strip()}"


def rule_benchmarks_know_no_runtime(tree):
    """what measures includes its own headers, and those of a model only in threadbench's rt_*.c"""
    own = {p.name for p in tree.sources("loadtest", suffixes=(".h",))}
    of_models = {p.name for p in tree.sources("models", suffixes=(".h",))}
    for path in tree.sources("loadtest"):
        for kind, header in tree.includes(path):
            core = (tree.root / "server" / header).exists() and header != "attributes.h"
            model = header in of_models and not path.name.startswith("rt_")
            stray = kind == '"' and header not in own | of_models | {"config.h", "attributes.h"}
            if core or model or stray:
                yield f"{tree.name(path)}: includes {header}"


def rule_files_are_short(tree):
    """at most 500 lines in a file and 150 in a header of the program"""
    for path in tree.sources("server", "models", "tests", "loadtest"):
        lines = len(path.read_text().splitlines())
        contract = path.suffix == ".h" and not tree.name(path).startswith("tests/")
        most = LINES_OF_HEADER if contract else LINES_OF_SOURCE
        if lines > most:
            yield f"{tree.name(path)}: {lines} lines"


def functions(text):
    """Name, first line and length of each function of a C file in the project's layout. The
    rows of a constant table in a function are data and do not count."""
    start, name, data = None, "?", False
    for number, line in enumerate(text.splitlines(), 1):
        called = re.match(r"[A-Za-z_].*?\b(\w+)\(", line)
        if called:
            name = called.group(1)
        if line == "{":
            start, length = number, 0
        data = start and (data or re.match(r"    static const .*(=|\{)$", line))
        if start and not data:
            length += 1
        if data and line.endswith("};"):
            data = False
        if line.startswith("}") and start:
            yield name, start, length
            start = None


def rule_functions_are_short(tree):
    """at most 60 lines in a function"""
    for path in tree.sources("server", "models", "tests", "loadtest", suffixes=(".c", ".h")):
        for name, first, length in functions(path.read_text()):
            if length > LINES_OF_FUNCTION:
                yield f"{tree.name(path)}:{first}: {name} has {length} lines"


def rule_files_say_their_purpose(tree):
    """every C file opens with a comment that says what it is for"""
    for path in tree.sources("server", "models", "tests", "loadtest"):
        if not path.read_text().startswith("/* "):
            yield f"{tree.name(path)}: does not open with a comment"


def sleeps_in_python(text):
    """Pairs of a line that sleeps and the innermost function around it. The programs that a
    test writes to run them are strings and do not count."""
    def walk(node, function):
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Call):
                called = getattr(child.func, "attr", getattr(child.func, "id", None))
                if called == "sleep":
                    yield child.lineno, function
            yield from walk(child, inner)

    yield from walk(ast.parse(text), "?")


def sleeps_in_text(text):
    """The same for C, where a function begins in column 0, and for the shell."""
    function = "?"
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"(?:[A-Za-z_].*\b)?(\w+) ?\(", line)
        if found and not line.startswith(" "):
            function = found.group(1)
        if SLEEP.search(line):
            yield number, function


def rule_tests_do_not_sleep(tree):
    """no test sleeps, but functions named wait_, poll_, pace_ or holds_, and stand-ins"""
    for path in tree.sources("tests", suffixes=(".c", ".h", ".py", ".sh")):
        if path.name.startswith("fake_"):
            continue
        find = sleeps_in_python if path.suffix == ".py" else sleeps_in_text
        for number, function in find(path.read_text()):
            if not SLEEPER.match(function):
                yield f"{tree.name(path)}:{number}: {function} sleeps"


def nm(path):
    command = [*shlex.split(os.environ.get("NM", "nm")), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def append(tree, name, text):
    path = tree.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def compile_into(tree, stem, text):
    source = tree.root / "injected.c"
    source.write_text(text)
    command = [*shlex.split(os.environ.get("CC", "cc")), "-c", str(source), "-o"]
    subprocess.run([*command, str(tree.build / f"server/libtetrad_a-{stem}.o")], check=True)


def replace_in(tree, name, old, new):
    path = tree.root / name
    path.write_text(path.read_text().replace(old, new, 1))


# Each rule, and the violations that it must find.
RULES = [
    (rule_layers_are_listed, [lambda t: append(t, "server/stray.c", "/* Stray. */\n")]),
    (
        rule_includes_go_down,
        [
            lambda t: append(t, "server/clock.c", '#include "conn.h"\n'),
            lambda t: append(t, "server/conn.h", '#include "listener.h"\n'),
            lambda t: append(t, "server/log.h", '#include "nowhere.h"\n'),
        ],
    ),
    (
        rule_protocol_is_pure,
        [
            lambda t: append(t, "server/range.c", "#include <sys/socket.h>\n"),
            lambda t: append(t, "server/target.c", "#include <time.h>\n"),
            lambda t: append(t, "server/output.c", '#include "log.h"\n'),
        ],
    ),
    (
        rule_models_know_little,
        [
            lambda t: append(t, "models/threads/threads.c", '#include "http_conn.h"\n'),
            lambda t: append(t, "models/threads/threads.c", "#include <site.h>\n"),
            lambda t: append(t, "models/prefork/prefork.c", '#include "../threads/thread_pool.h"\n'),
        ],
    ),
    (
        rule_conn_hides_protocol,
        [lambda t: append(t, "server/timeout_queue.h", '#include "http_conn.h"\n')],
    ),
    (
        rule_core_knows_no_model,
        [
            lambda t: append(t, "server/conn.c", '#include "../models/threads/thread_pool.h"\n'),
            lambda t: append(t, "server/conn.c", "extern const struct model model_threads;\n"),
            lambda t: append(t, "server/model_table.c", "extern int other(void);\n"),
        ],
    ),
    (
        rule_library_has_no_program,
        [lambda t: replace_in(t, "server/local.mk", "LAYER_4 = ", "LAYER_4 = server/main.c ")],
    ),
    (
        rule_libraries_have_owners,
        [
            lambda t: append(t, "server/head_guard.c", "#include <llhttp.h>\n"),
            lambda t: append(t, "models/threads/threads.c", "#include <uv.h>\n"),
            lambda t: append(t, "server/conn.c", "#include <liburing.h>\n"),
            lambda t: append(t, "loadtest/threadbench/pipes.c", "#include <uv.h>\n"),
            lambda t: append(t, "loadtest/floor_epoll.c", "#include <uv.h>\n"),
            lambda t: append(t, "loadtest/threadbench/rt_st.c", "#include <pth.h>\n"),
        ],
    ),
    (
        rule_benchmarks_know_no_runtime,
        [
            lambda t: append(t, "loadtest/threadbench/bench_pipe.c", '#include "scheduler.h"\n'),
            lambda t: append(t, "loadtest/threadbench/rt_green.c", '#include "conn.h"\n'),
            lambda t: append(t, "loadtest/threadbench/run.c", '#include "nowhere.h"\n'),
            lambda t: append(t, "loadtest/floor.c", '#include "conn.h"\n'),
        ],
    ),
    (
        rule_protocol_objects_are_pure,
        [
            lambda t: compile_into(t, "range", "#include <time.h>\nlong f(void);\n"
                                   "long f(void)\n{\n    return (long)time(NULL);\n}\n"),
            lambda t: compile_into(t, "output", "#include <unistd.h>\nint f(void);\n"
                                   "int f(void)\n{\n    return close(0);\n}\n"),
        ],
    ),
    (
        rule_models_speak_no_http,
        [
            lambda t: append(t, "models/prefork/child.c", "/* sends HTTP/1.1 */\n"),
            lambda t: append(t, "models/prefork/child.c", "/* calls writev */\n"),
        ],
    ),
    (
        rule_files_are_short,
        [
            lambda t: append(t, "server/clock.c", "\n" * (LINES_OF_SOURCE + 1)),
            lambda t: append(t, "server/clock.h", "\n" * (LINES_OF_HEADER + 1)),
            lambda t: append(t, "loadtest/threadbench/rt.h", "\n" * LINES_OF_HEADER),
        ],
    ),
    (
        rule_functions_are_short,
        [
            lambda t: append(t, "server/clock.c", "static void clock_idle(void)\n{\n"
                             + "    ;\n" * (LINES_OF_FUNCTION - 1) + "}\n"),
            lambda t: append(t, "server/clock.c", "static void clock_idle(void)\n{\n"
                             "    static const int table[] = {\n        1,\n    };\n"
                             + "    ;\n" * (LINES_OF_FUNCTION - 1) + "}\n"),
        ],
    ),
    (
        rule_files_say_their_purpose,
        [
            lambda t: append(t, "server/stray.c", "int stray;\n"),
            lambda t: append(t, "loadtest/threadbench/stray.c", "int stray;\n"),
        ],
    ),
    (
        rule_tests_do_not_sleep,
        [
            lambda t: append(t, "tests/unit/test_stray.c", "static void test_a(void **state)\n{\n"
                             "    usleep(1000);\n}\n"),
            lambda t: append(t, "tests/behaviour/test_stray.py", "def test_a():\n    time.sleep(1)\n"),
            lambda t: append(t, "tests/stray.sh", "sleep 1\n"),
        ],
    ),
]


def finds(rule, violate, root, build):
    """True if the rule finds, in a copy, what violate puts into it, and found nothing before."""
    with tempfile.TemporaryDirectory(prefix="tetrad-layers-") as place:
        copy = Path(place)
        for folder in ("server", "models", "tests", "loadtest"):
            shutil.copytree(root / folder, copy / folder,
                            ignore=shutil.ignore_patterns("*.o", "*.log", "*.trs", "__pycache__",
                                                          "results"))
        copied_build = None
        if build:
            copied_build = copy / "build"
            (copied_build / "server").mkdir(parents=True)
            shutil.copy(build / "libtetrad.a", copied_build)
            for item in (build / "server").glob("libtetrad_a-*.o"):
                shutil.copy(item, copied_build / "server")
        for path in [copy, *copy.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        before = set(rule(Tree(copy, copied_build)))
        violate(Tree(copy, copied_build))
        return bool(set(rule(Tree(copy, copied_build))) - before)


def main():
    root = Path(os.environ.get("TETRAD_SOURCE") or Path(__file__).resolve().parent.parent)
    build = os.environ.get("TETRAD_BUILD")
    build = Path(build) if build else None
    failed = False
    print(f"1..{2 * len(RULES)}")
    for index, (rule, violations) in enumerate(RULES):
        found = list(rule(Tree(root, build)))
        blind = [i for i, violate in enumerate(violations, 1) if not finds(rule, violate, root, build)]
        failed = failed or bool(found) or bool(blind)
        print("not ok" if found else "ok", 2 * index + 1, "-", rule.__doc__)
        for line in found:
            print("#", line)
        print("not ok" if blind else "ok", 2 * index + 2, "- a violation is found:", rule.__doc__)
        for number in blind:
            print(f"# violation {number} went unseen")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
