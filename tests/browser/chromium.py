"""A headless Chromium, spoken to over a pipe with its DevTools protocol: JSON and NUL.

It reaches no other host than this machine, has a profile of its own for each start, and is
ended with all of its processes. It must never know what a test is about.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
         '--no-first-run', '--no-default-browser-check', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-default-apps',
         '--disable-breakpad', '--mute-audio', '--remote-debugging-pipe',
         '--autoplay-policy=no-user-gesture-required',
         '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']
LIMIT = 20


def find_program():
    """None if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One process with one page."""

    def __init__(self, limit=LIMIT):
        self.folder = tempfile.mkdtemp(prefix='tetrad-chromium-')
        self.limit = limit
        self.events = []             # (method, parameters) not yet taken
        self._number, self._buffer = 0, b''
        self._output = open(os.path.join(self.folder, 'output'), 'wb')
        try:
            self._start()
            self._session = None
            target = self.call('Target.createTarget', url='about:blank')['targetId']
            self._session = self.call('Target.attachToTarget', targetId=target,
                                      flatten=True)['sessionId']
            for domain in ('Page', 'Runtime', 'Network', 'Log'):
                self.call(f'{domain}.enable')
        except BaseException:
            self.close()
            raise

    def _start(self):
        from_us, self._to = os.pipe()
        self._from, to_us = os.pipe()

        def place():                     # it reads from 3 and writes to 4
            high = os.dup(from_us) + 100, os.dup(to_us) + 100
            os.dup2(from_us, high[0])
            os.dup2(to_us, high[1])
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
        command = [find_program(), *FLAGS, f'--user-data-dir={self.folder}/profile']
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output,
            env={**os.environ, 'HOME': self.folder}, pass_fds=(3, 4), preexec_fn=place,
            start_new_session=True)
        os.close(from_us)
        os.close(to_us)

    def close(self):
        with contextlib.suppress(Exception):     # it may have ended, or never begun
            self._session = None
            self.call('Browser.close')
            self.process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._to)
        os.close(self._from)
        self._output.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the protocol

    def call(self, method, **parameters):
        """Its result. Events that come meanwhile are kept."""
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': parameters}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._to, json.dumps(message).encode() + b'\0')
        limit = time.monotonic() + self.limit
        while True:
            answer = self._receive(limit, method)
            if answer.get('id') == self._number:
                assert 'error' not in answer, f'{method}: {answer["error"]}'
                return answer['result']

    def _receive(self, limit, what):
        """The next message; an event is kept as well."""
        while b'\0' not in self._buffer:
            ready = select.select([self._from], [], [], max(0, limit - time.monotonic()))[0]
            data = os.read(self._from, 1 << 20) if ready else None
            assert data is not None, f'{what}: nothing within {self.limit} s'
            assert data, f'{what}: the browser has ended'
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b'\0')
        message = json.loads(text)
        if 'method' in message:
            self.events.append((message['method'], message['params']))
        return message

    def wait_event(self, method, matches=lambda parameters: True):
        """Takes the first such event, and forgets those before it of the same name."""
        limit = time.monotonic() + self.limit
        while True:
            for i, (name, parameters) in enumerate(self.events):
                if name == method and matches(parameters):
                    self.events = [e for e in self.events[:i] if e[0] != method] + \
                        self.events[i + 1:]
                    return parameters
            self._receive(limit, method)

    # ---- the page

    def open(self, url):
        """Navigates and waits until all of the page is there."""
        self.forget('Page.loadEventFired')
        result = self.call('Page.navigate', url=url)
        assert 'errorText' not in result, f'{url}: {result["errorText"]}'
        self.wait_event('Page.loadEventFired')

    def forget(self, *methods):
        self.events = [event for event in self.events if event[0] not in methods]

    def seen(self, method):
        return [parameters for name, parameters in self.events if name == method]

    def evaluate(self, script):
        """The value of an expression, or of the promise that it is."""
        result = self.call('Runtime.evaluate', expression=script, awaitPromise=True,
                           returnByValue=True, userGesture=True)
        assert 'exceptionDetails' not in result, f'{script}: {result["exceptionDetails"]}'
        return result['result'].get('value')
