#!/usr/bin/env python3
"""Plays generated scripts to every model and compares what comes back.

usage: compare.py [--seed N] [--first N] [--count N] [--script LITERAL]

--script plays one script, as a difference prints it. TETRAD is the program under test. Exit
status: 0 if the models cannot be told apart, else 1.
"""
import argparse
import ast
import asyncio
import concurrent.futures
import contextlib
import os
import random
import signal
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TESTS, 'behaviour'))

import h11  # noqa: E402

from docroot import DocumentRoot  # noqa: E402
from generator import prepare, script  # noqa: E402
from play import QUIET, QUIET_AGAIN, outcome, play, read  # noqa: E402
from server import Program, Server, find_binary, list_models  # noqa: E402

# No deadline may end what a loaded machine makes slow.
OPTIONS = ['--listing', '--header-timeout', '60s', '--keepalive-timeout', '60s',
           '--body-timeout', '60s', '--send-timeout', '60s']
AT_ONCE = 24                             # scripts under way in one process
BATCH = 100                              # scripts for one task
LITERAL_MOST = 20000
FAULTS = ('refused by the reader', 'left open', 'never ended', 'dropped', 'reset', 'late')


class Difference(Exception):
    """Says what differs in one script."""


async def play_judged(model, address, steps, quiet):
    played = await play(address, steps, quiet)
    try:
        return outcome(played, read(played, steps))
    except (AssertionError, h11.ProtocolError) as error:
        tail = played.raw[-600:]
        return 'refused by the reader', (f'{model}: {error}', played.end, tail)


async def compare(addresses, steps):
    """Plays to all models at the same time; returns the number of answers of each."""
    models = list(addresses)
    for quiet in (QUIET, QUIET_AGAIN):
        seen = await asyncio.gather(*(play_judged(m, addresses[m], steps, quiet) for m in models))
        if 'late' not in [end for end, _ in seen]:
            break
    if any(end in FAULTS for end, _ in seen) or any(result != seen[0] for result in seen):
        rows = [f'  {model}: {summary(result)}' for model, result in zip(models, seen)]
        raise Difference('\n'.join(rows + heads(models, seen)))
    return len(seen[0][1])


def summary(result):
    end, answers = result
    if end == 'refused by the reader':
        return f'{end}: {answers}'
    return f'{end} {[answer[0] for answer in answers]} {[answer[3][:8] for answer in answers]}'


def heads(models, seen):
    """The first answer that differs from the first model's."""
    rows = []
    for model, (_, answers) in zip(models[1:], seen[1:]):
        for index, (first, other) in enumerate(zip(seen[0][1], answers)):
            if first != other:
                rows.append(f'  answer {index}: {models[0]} {first}\n    {model} {other}')
                break
    return rows


async def run_batch(addresses, seed, numbers):
    """(answers, differences), where a difference is (number, text)."""
    gate = asyncio.Semaphore(AT_ONCE)
    differences = []

    async def one(number):
        async with gate:
            try:
                return await compare(addresses, script(seed, number))
            except Difference as error:
                differences.append((number, str(error)))
                return 0
    answers = sum(await asyncio.gather(*(one(number) for number in numbers)))
    return answers, differences


def run_in_process(addresses, seed, numbers):
    return asyncio.run(run_batch(addresses, seed, numbers))


def describe(seed, number, text):
    literal = repr(script(seed, number))
    if len(literal) > LITERAL_MOST:
        literal = f'too long to print; play it by --seed {seed} --first {number} --count 1'
    return f'DIFFERENCE in script {number} of seed {seed}:\n{text}\n  script: {literal}'


def run_all(addresses, seed, first, count):
    """Plays all scripts, telling how far it is; returns the number of differences."""
    start = time.monotonic()
    done = answers = failed = 0
    batches = [range(i, min(i + BATCH, first + count)) for i in range(first, first + count, BATCH)]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as workers:
        tasks = [workers.submit(run_in_process, addresses, seed, batch) for batch in batches]
        try:
            for task in concurrent.futures.as_completed(tasks):
                more, differences = task.result()
                answers += more
                failed += len(differences)
                done = sum(len(batch) for batch, t in zip(batches, tasks) if t.done())
                for number, text in sorted(differences):
                    print(describe(seed, number, text))
                print(f'{done} of {count} scripts, {answers} answers each, {failed} differences, '
                      f'{time.monotonic() - start:.0f} s', flush=True)
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise
    return failed


def run_literal(addresses, text):
    steps = [tuple(step) for step in ast.literal_eval(text)]
    try:
        print(f'{asyncio.run(compare(addresses, steps))} equal answers')
    except Difference as error:
        print(f'DIFFERENCE:\n{error}')
        return 1
    return 0


def arguments():
    parser = argparse.ArgumentParser(description='Plays generated scripts to every model.')
    parser.add_argument('--seed', type=int, default=random.randrange(10**6))
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--count', type=int, default=10000)
    parser.add_argument('--script')
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    options = arguments()
    binary = find_binary()
    with contextlib.ExitStack() as stack:
        program = Program(binary)
        stack.callback(program.remove)
        root = DocumentRoot()
        stack.callback(root.remove)
        prepare(root)
        addresses = {}
        for model, *_ in list_models(binary):
            server = Server(program, model, root.path, OPTIONS)
            stack.callback(server.kill)
            stack.callback(server.stop)
            addresses[model] = server.address
        if options.script:
            return run_literal(addresses, options.script)
        print(f'seed {options.seed}: {options.count} scripts to {", ".join(addresses)}', flush=True)
        failed = run_all(addresses, options.seed, options.first, options.count)
        print(f'seed {options.seed}: {options.count} scripts, {len(addresses)} models, '
              f'{failed} differences')
        return 1 if failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
