#!/usr/bin/env python3
"""Plays the case tables and generated requests to tetrad and to the peers that are installed,
and prints where tetrad stands alone, or accepts what nginx and Apache both refuse.

usage: garden.py [--seed N] [--count N] [--only PATTERN] [--all]

explained.txt beside this file lists the differences that are meant, and docs/garden.md says
why; --all prints these too. TETRAD is the program under test. Exit status: 0 if every
difference is explained, else 1.
"""
import argparse
import asyncio
import contextlib
import dataclasses
import fnmatch
import http.client
import os
import random
import re
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
PAGE = os.path.join(os.path.dirname(TESTS), 'docs', 'garden.md')
sys.path += [os.path.join(TESTS, 'behaviour'), os.path.join(TESTS, 'parity')]

from docroot import DocumentRoot, numbered  # noqa: E402
from generator import CASES, SHORT_CASES, mutate, valid  # noqa: E402
from observe import check_answers, observe  # noqa: E402
from peers import PEERS, Peer, find_program, version_of  # noqa: E402
from server import Program, Server, find_binary, list_models  # noqa: E402

AT_ONCE = 16
QUIET, QUIET_AGAIN = 0.3, 1.5
LITERAL_MOST = 1500
# What requests name by its tag: a file, and the codings that are accepted with it.
TAGGED = [('/a.txt', 'identity'), ('/coded/page.js', 'identity'), ('/coded/page.js', 'gzip')]


def valid_one(seed, number):
    """(id, bytes): a request of its own, half of them with a mutation."""
    rng = random.Random(f'{seed}/{number}')
    data, names = valid(rng), []
    target = data.split()[1].decode()
    if rng.random() < 0.5:
        data, names = mutate(rng, data, 1)
    return '+'.join([f'valid~{seed}.{number}:{target}', *names]), data


def mutated_row(seed, row):
    """(id, bytes): a row of the tables with a mutation, which depends on no other row."""
    data, names = mutate(random.Random(f'{seed}/{row.id}'), row.data, 1)
    return '+'.join([f'{row.id}~{seed}', *names]), data


def prepare(root):
    """No file that would be gigabytes, or hold up a peer for ever."""
    root.write('big.bin', numbered(1 << 20))
    root.write('huge.bin', b'no longer huge\n')
    os.unlink(root.at('fifo'))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(root.at('device'))
    os.unlink(root.at('null'))


# ---- which differences count

def refuses(outcome):
    statuses = outcome.partition('/')[0].split(',')
    return any(not status.startswith(('2', '3')) for status in statuses)


def accepts(outcome):
    return not refuses(outcome)


def judge(seen):
    """What is remarkable about the outcomes, or None."""
    mine = seen['tetrad']
    peers = {name: outcome for name, outcome in seen.items() if name != 'tetrad'}
    if accepts(mine) and all(refuses(peers[n]) for n in ('nginx', 'apache') if n in peers) and \
            {'nginx', 'apache'} & set(peers):
        return 'accepts'
    return 'alone' if mine not in peers.values() else None


# ---- explanations

@dataclasses.dataclass(frozen=True)
class Explanation:
    case: str                            # a pattern of the id, or /REGEX/ of the bytes
    outcome: str                         # a pattern of what tetrad did
    reason: str                          # a heading of docs/garden.md

    def covers(self, id, data, outcome):
        if not fnmatch.fnmatchcase(outcome, self.outcome):
            return False
        if self.case.startswith('/'):
            return bool(re.search(self.case[1:-1].encode(), data, re.DOTALL))
        return fnmatch.fnmatchcase(id, self.case)


def load_explanations():
    with open(os.path.join(HERE, 'explained.txt'), encoding='utf-8') as file:
        lines = [line.rstrip('\n') for line in file]
    rows = [Explanation(*line.split('\t')) for line in lines if line and line[0] != '#']
    with open(PAGE, encoding='utf-8') as file:
        headings = {line[3:].strip() for line in file if line.startswith('## ')}
    missing = {row.reason for row in rows} ^ headings
    if missing:
        raise SystemExit(f'only in one of explained.txt and docs/garden.md: {sorted(missing)}')
    return rows


def explain(rows, id, data, outcome):
    return next((row.reason for row in rows if row.covers(id, data, outcome)), None)


# ---- playing

def tag_at(address, target, coding):
    """What this server calls the version of a file."""
    connection = http.client.HTTPConnection(*address, timeout=10)
    try:
        connection.request('GET', target, headers={'Accept-Encoding': coding})
        return connection.getresponse().getheader('ETag').encode()
    finally:
        connection.close()


class Player:
    """Knows the servers, and what each calls the versions of files: requests name a version
    by tetrad's tag, which says nothing to a peer, and its own is put in its place."""

    def __init__(self, addresses):
        self._addresses = addresses
        self._tags = {name: [tag_at(address, *version) for version in TAGGED]
                      for name, address in addresses.items()}

    def _said_to(self, name, data):
        for own, its in zip(self._tags['tetrad'], self._tags[name]):
            data = data.replace(own, its)
        return data

    async def play(self, data, quiet):
        outcomes = await asyncio.gather(*(
            observe(address, self._said_to(name, data), quiet,
                    check_answers if name == 'tetrad' else None)
            for name, address in self._addresses.items()))
        return dict(zip(self._addresses, outcomes))


async def play_all(player, cases):
    """{id: outcomes}; what is remarkable is played again, alone and with more time."""
    gate = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(data):
        nonlocal done
        async with gate:
            seen = await player.play(data, QUIET)
            done += 1
            if done % 200 == 0:
                print(f'{done} of {len(cases)} cases', flush=True)
            return seen
    results = await asyncio.gather(*(one(data) for data in cases.values()))
    seen = dict(zip(cases, results))
    for id, outcomes in seen.items():
        if judge(outcomes):
            seen[id] = await player.play(cases[id], QUIET_AGAIN)
    return seen


def collect(options):
    cases = {case.id: case.data for case in CASES}
    cases.update(mutated_row(options.seed, row) for row in SHORT_CASES)
    cases.update(valid_one(options.seed, number) for number in range(options.count))
    return {id: data for id, data in cases.items() if fnmatch.fnmatchcase(id, options.only)}


def describe(kind, id, seen, data):
    literal = repr(data)
    if len(literal) > LITERAL_MOST:
        literal = literal[:LITERAL_MOST] + f'... ({len(data)} bytes)'
    outcomes = '  '.join(f'{name} {outcome}' for name, outcome in seen.items())
    return f'{kind}: {id}\n  {outcomes}\n  {literal}'


def report(cases, seen, show_all):
    """Prints what is not explained; returns how many there are."""
    rows, used, explained, left = load_explanations(), set(), 0, 0
    for id, outcomes in seen.items():
        kind = judge(outcomes)
        reason = kind and explain(rows, id, cases[id], outcomes['tetrad'])
        if reason:
            explained += 1
            used.add(reason)
        left += bool(kind and not reason)
        if kind and (show_all or not reason):
            print(describe(kind, id, outcomes, cases[id]))
            print(f'  {"explained: " + reason if reason else "UNEXPLAINED"}')
    print(f'{len(cases)} cases: {explained} differences explained by {len(used)} reasons, '
          f'{left} unexplained')
    return left


def arguments():
    parser = argparse.ArgumentParser(description='Compares tetrad with its peers.')
    parser.add_argument('--seed', type=int, default=1, help='of the generated requests')
    parser.add_argument('--count', type=int, default=400, help='of the requests beside the tables')
    parser.add_argument('--only', default='*', help='pattern of ids')
    parser.add_argument('--all', action='store_true', help='print what is explained too')
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    options = arguments()
    names = [name for name in PEERS if find_program(PEERS[name][0])]
    if not names:
        print(f'none of {", ".join(PEERS)} is installed: there is nothing to compare with')
        return 1
    binary = find_binary()
    with contextlib.ExitStack() as stack:
        program = Program(binary)
        stack.callback(program.remove)
        root = DocumentRoot()
        stack.callback(root.remove)
        prepare(root)
        server = Server(program, list_models(binary)[0][0], root.path)
        stack.callback(server.kill)
        addresses = {'tetrad': server.address}
        for name in names:
            peer = Peer(name, root.path, program.user)
            stack.callback(peer.stop)
            addresses[name] = peer.address
        print('peers:', ', '.join(f'{name} {version_of(name)}' for name in names), flush=True)
        cases = collect(options)
        seen = asyncio.run(play_all(Player(addresses), cases))
        return 1 if report(cases, seen, options.all) else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
