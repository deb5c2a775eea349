#!/usr/bin/env python3
"""Measures which lines of the server the tests reach, and fails where a file of the protocol,
content or connection layer is below its bar.

usage: coverage.py FOLDER [--configure=ARGUMENT] [STEP...]     STEP: build unit behaviour report

Without a step: all of them, in that order. FOLDER is a build of its own, made here with gcc's
counters; which file belongs to which layer is read from server/local.mk, so that a new file has
its bar from its first day. TETRAD_MODELS limits the models. Exit status: 0 if every test passed
and every file is at its bar.
"""
import argparse
import contextlib
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from layers import Tree

SOURCE = Path(__file__).resolve().parent.parent
BARS = {1: 95, 2: 90, 3: 90}
NAMES = {0: 'base', 1: 'protocol', 2: 'content', 3: 'connection', 4: 'process'}
MODELS = len(NAMES)

# Counters of threads that run at once must not lose each other's lines.
FLAGS = '-O0 -g --coverage -fprofile-update=atomic'
PACKAGES = {'gcc': 'gcc', 'gcov': 'gcc', 'lcov': 'lcov', 'genhtml': 'lcov'}
# Unoptimised code with counters is slower.
PATIENCE = '3'
LINES_SHOWN = 12


def run(command, **more):
    """Returns whether it succeeded; its words pass through."""
    return subprocess.run([str(word) for word in command], check=False, **more).returncode == 0


def quietly(*command):
    """Something that has nothing to say unless it fails."""
    done = subprocess.run([str(word) for word in command], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f'{done.stdout}make coverage: {command[0]} failed')


def need_tools():
    missing = {package for tool, package in PACKAGES.items() if not shutil.which(tool)}
    if missing:
        raise SystemExit('make coverage: install the Debian packages ' + ' '.join(sorted(missing)))


# ---- build

def build(folder, arguments):
    """The program and all unit tests, with counters at zero."""
    folder.mkdir(parents=True, exist_ok=True)
    for counters in folder.rglob('*.gcda'):
        counters.unlink()
    if not (folder / 'config.status').exists():
        quietly('env', '-C', folder, SOURCE / 'configure', '-q', *arguments, 'CC=gcc',
                f'CFLAGS={FLAGS}')
    make = ['make', '-s', '-C', folder, f'-j{os.cpu_count()}']
    quietly(*make, 'all')
    quietly(*make, 'check', 'TESTS=')
    return True


# ---- tests

def open_to_all(place):
    """The servers under test are another user, who adds to the same counters."""
    for path in [place, *place.rglob('*')]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) | (0o777 if path.is_dir() else 0o666))


@contextlib.contextmanager
def counting(folder):
    """The environment of a test run whose counters are added to the build's. They are kept
    where any user may write meanwhile, which a build need not be."""
    place = Path(tempfile.mkdtemp(prefix='tetrad-coverage-'))
    environment = {**os.environ, 'GCOV_PREFIX': str(place), 'TETRAD_PATIENCE': PATIENCE,
                   'TETRAD': str(folder / 'tetrad')}
    try:
        for counters in folder.rglob('*.gcda'):
            copy = Path(f'{place}{counters}')
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(counters, copy)
        # Makes what is missing, the files of the program's own objects too.
        quietly('env', f'GCOV_PREFIX={place}', folder / 'tetrad', '--version')
        open_to_all(place)
        yield environment
        for counters in place.rglob('*.gcda'):
            shutil.copy(counters, str(counters)[len(str(place)):])
    finally:
        shutil.rmtree(place)


def unit(folder):
    """Unit tests, and the corpus of the fuzzers."""
    with counting(folder) as environment:
        return run(['make', '-k', '-C', folder, f'-j{os.cpu_count()}', 'check-unit'],
                   env=environment)


def behaviour(folder):
    several = ['-n', os.cpu_count()] if importlib.util.find_spec('xdist') else []
    with counting(folder) as environment:
        return run([sys.executable, '-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *several,
                    SOURCE / 'tests' / 'behaviour'], env=environment)


# ---- report

def read_lines(tracefile):
    """{path: {line: count}} of lcov's records."""
    files, lines = {}, {}
    for record in tracefile.read_text().splitlines():
        kind, _, value = record.partition(':')
        if kind == 'SF':
            lines = files.setdefault(value, {})
        elif kind == 'DA':
            number, count = value.split(',')[:2]
            lines[int(number)] = lines.get(int(number), 0) + int(count)
    return files


def by_layer(files, layers):
    """{layer: {name: {line: count}}}; models are a layer of their own."""
    found = {layer: {} for layer in [*NAMES, MODELS]}
    for path, lines in files.items():
        name = Path(path).relative_to(SOURCE)
        if name.parts[0] == 'models':
            found[MODELS][str(name)] = lines
        elif name.name in layers:
            found[layers[name.name]][name.name] = lines
    return found


def share(lines):
    """Of lines that were reached, in per cent."""
    return 100 * sum(count > 0 for count in lines.values()) / len(lines)


def faults(found, layers, counted):
    """What is below its bar, one line each. counted: says whether gcc counts in a source; one
    with counters and without lines is a table."""
    for layer, bar in BARS.items():
        for name, lines in sorted(found[layer].items()):
            if share(lines) < bar:
                yield f'{name}: {share(lines):.1f} % is below {bar} %'
        for name in sorted(name for name in layers if layers[name] == layer):
            if name.endswith('.c') and name not in found[layer] and not counted(name):
                yield f'{name}: nothing was counted'


def check_judgement(found, layers):
    """One line unreached too many in each file, and each source without counters, must be a
    fault: else this check has gone blind."""
    for layer, bar in BARS.items():
        for name, lines in found[layer].items():
            spared = len(lines) * bar // 100 - 1
            poor = {number: int(i < spared) for i, number in enumerate(lines)}
            worse = {**found, layer: {**found[layer], name: poor}}
            if not any(f.startswith(f'{name}:') for f in faults(worse, layers, lambda _: True)):
                raise SystemExit(f'make coverage: no fault is seen in a poor {name}')
    nothing = {layer: {} for layer in found}
    missing = len(list(faults(nothing, layers, lambda _: False)))
    if missing != sum(layers[n] in BARS and n.endswith('.c') for n in layers):
        raise SystemExit('make coverage: a source without counters is not seen')


def print_row(title, lines):
    left = [str(number) for number, count in sorted(lines.items()) if count == 0]
    shown = ' '.join(left[:LINES_SHOWN]) + (' ...' if len(left) > LINES_SHOWN else '')
    print(f'  {title:30} {len(lines):6} {share(lines):7.1f}  {shown}'.rstrip())


def print_table(found):
    print(f'  {"file":30} {"lines":>6} {"%":>7}  not reached')
    for layer, files in found.items():
        title = f'{layer} {NAMES[layer]}' if layer in NAMES else 'models'
        print(title + (f': at least {BARS[layer]} % in each' if layer in BARS else ''))
        if layer in BARS:
            for name, lines in sorted(files.items()):
                print_row(name, lines)
        whole = {(name, number): count for name, lines in files.items()
                 for number, count in lines.items()}
        print(f'  {"all":30} {len(whole):6} {share(whole):7.1f}')


def report(folder):
    """The table, and pages with every line in FOLDER/html."""
    tracefile = folder / 'lines.info'
    quietly('lcov', '-q', '--capture', '--directory', folder, '--output-file', tracefile)
    quietly('lcov', '-q', '--extract', tracefile, SOURCE / 'server/*', SOURCE / 'models/*',
            '--output-file', tracefile)
    quietly('genhtml', '-q', '--output-directory', folder / 'html', tracefile)
    layers = Tree(SOURCE, None).layers
    found = by_layer(read_lines(tracefile), layers)
    check_judgement(found, layers)
    print_table(found)
    print(f'each line: {folder}/html/index.html')
    wrong = list(faults(found, layers, lambda name: any(
        (folder / 'server').glob(f'*-{Path(name).stem}.gcno'))))
    print('\n'.join(wrong or ['every file is at its bar']))
    return not wrong


def main():
    parser = argparse.ArgumentParser(description='Which lines do the tests reach?')
    parser.add_argument('folder', type=lambda text: Path(text).resolve())
    parser.add_argument('--configure', action='append', default=[], help='an argument for it')
    parser.add_argument('steps', nargs='*', metavar='STEP', help='build unit behaviour report')
    options = parser.parse_args()
    need_tools()
    os.environ.pop('MAKEFLAGS', None)
    steps = {'build': lambda: build(options.folder, options.configure),
             'unit': lambda: unit(options.folder),
             'behaviour': lambda: behaviour(options.folder),
             'report': lambda: report(options.folder)}
    failed = [name for name in options.steps or steps if not steps[name]()]
    if failed:
        print(f'failed: {", ".join(failed)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
