"""Servers under test: how one is started, how it shows that it is ready, and how it is
stopped so that nothing stays behind; and tetrad's models. Other servers are in peers.py,
the bare loops in floors.py.
"""

import os
import re
import signal
import subprocess
import time
import urllib.parse

from measure import processes

READY_LINE = re.compile(
    r"^(?:tetrad|floor): (?P<model>\S+), \d+ workers?, serving .* at (?P<url>http://\S+)$",
    re.M)

START_SECONDS = 10
# Of a server that has answered all requests.
QUIET_SECONDS = 10
# tetrad's default grace time of 10 s, and some to end in.
STOP_SECONDS = 15
# What is granted to servers whose numbers nobody wants any more, before they are killed.
INTERRUPTED_SECONDS = 2


class ServerError(Exception):
    """A server did not do as it should; the text says what."""


class Server:
    """One running server: the leader of its own session, with its output in a file and
    an account of its CPU time."""

    def __init__(self, command, plan, folder, extra_environment=None):
        self.log_path = os.path.join(folder, "server.log")
        self.group = plan.accounts.new()
        try:
            with open(self.log_path, "wb") as log:
                self.process = processes.start(
                    command, plan.placement.server, log, log, session=True,
                    environment={**environment(), **(extra_environment or {})},
                    join=self.group and self.group.join)
        except BaseException:
            self.close_account()
            raise
        self.tree = processes.Tree(self.process.pid, self.group)

    def close_account(self):
        """Once no process of it is left."""
        if self.group:
            self.group.close()

    def log(self):
        return processes.read_text(self.log_path)

    def last_words(self):
        lines = [line for line in self.log().strip().splitlines()
                 if not READY_LINE.match(line)]
        return ": " + lines[-1] if lines else ""

    def wait_ready(self, look):
        """Waits until look() gives something, and returns that."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = look()
            if found:
                return found
            if processes.wait_ended(self.process.pid, 0.01):
                raise ServerError("did not start, %s%s"
                                  % (describe(self.process.wait()), self.last_words()))
        raise ServerError("not ready within %d s%s" % (START_SECONDS, self.last_words()))

    def wait_announced(self, name):
        """The URL of the line that says it is ready, and that it is what was asked for."""
        match = self.wait_ready(lambda: READY_LINE.search(self.log()))
        if match["model"] != name:
            raise ServerError("asked for %s, got %s" % (name, match["model"]))
        return match["url"]

    def wait_quiet(self):
        """Waits until every task of it sleeps, having done all that it was asked."""
        if not processes.wait_states(self.tree.pids(), "S", QUIET_SECONDS):
            raise ServerError("not quiet within %d s%s" % (QUIET_SECONDS, self.last_words()))

    def check_alive(self):
        if self.process.poll() is not None:
            raise ServerError("ended under load, %s%s"
                              % (describe(self.process.returncode), self.last_words()))

    def stop(self):
        """Ends the server as an operator would, and holds it to what it promises."""
        self.check_alive()
        self.process.terminate()
        if not processes.wait_ended(self.process.pid, STOP_SECONDS):
            raise ServerError("did not stop within %d s of SIGTERM" % STOP_SECONDS)
        status = self.process.wait()
        if status != 0:
            raise ServerError("%s after SIGTERM%s"
                              % (describe(status), self.last_words()))
        left = [pid for pid in self.tree.pids() if not processes.is_zombie(pid)]
        if left:
            raise ServerError("left processes running: %d" % len(left))


def abandon(running):
    """Whatever state these servers are in: afterwards no process of them is left."""
    living = [server.process for server in running if server.process.poll() is None]
    for process in living:
        process.terminate()
    deadline = time.monotonic() + INTERRUPTED_SECONDS
    for process in living:
        processes.wait_ended(process.pid, deadline - time.monotonic())
    for server in running:
        server.tree.kill()
        server.process.wait()
        server.tree.reap()
        server.close_account()


def serve(subject, plan, folder, use):
    """Starts subject, hands its server and port to use, and stops it: what use gives."""
    running = []
    try:
        url = subject.launch(plan, folder, running.append)
        result = use(running[-1], urllib.parse.urlsplit(url).port)
        running[-1].stop()
        return result
    finally:
        abandon(running)


def describe(status):
    if status < 0:
        return "killed by %s" % signal.Signals(-status).name
    return "exit status %d" % status


def environment():
    """Without TETRAD_ variables: they are options, and would change what is measured."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("TETRAD_")}


def list_models(binary):
    """Names of the models that a tetrad has, in its own order."""
    try:
        result = subprocess.run([binary, "--list-models"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=10, check=False, env=environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError("%s does not run: %s" % (binary, error)) from error
    names = [line.split("\t")[0] for line in result.stdout.splitlines() if line.strip()]
    if result.returncode != 0 or not names:
        raise ServerError("%s --list-models: exit status %d, %d models: %s"
                          % (binary, result.returncode, len(names),
                             result.stderr.strip()))
    return names


class Model:
    """A row of the table: tetrad under one of its models. label: the row's name, where
    that is not the model's."""

    kind = "model"

    def __init__(self, name, binary, label=None):
        self.name = label or name
        self.model = name
        self.binary = binary

    def command(self, plan):
        return [self.binary, "--model", self.model, "--port", "0",
                "--workers", str(plan.workers), plan.root]

    def launch(self, plan, folder, register):
        """Starts it; register is given the server before anything can go wrong."""
        server = Server(self.command(plan), plan, folder)
        register(server)
        return server.wait_announced(self.model)
