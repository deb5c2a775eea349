"""Servers under test: how tetrad and its peers are started, how it shows that they are
ready, and how they are stopped so that nothing stays behind.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

from measure import processes

READY_LINE = re.compile(
    r"^tetrad: (?P<model>\S+), \d+ workers?, serving .* at (?P<url>http://\S+)$", re.M)

START_SECONDS = 10
# tetrad's default grace time of 10 s, and some to end in.
STOP_SECONDS = 15
# What is granted to servers whose numbers nobody wants any more, before they are killed.
INTERRUPTED_SECONDS = 2
# Another program may take a peer's port between the choice and the bind.
PORT_ATTEMPTS = 3

PEER_PACKAGES = {"nginx": "nginx-light", "lighttpd": "lighttpd", "h2o": "h2o"}


class ServerError(Exception):
    """A server did not do as it should; the text says what."""


class Server:
    """One running server: the leader of its own session, with its output in a file."""

    def __init__(self, command, cpus, folder):
        self.log_path = os.path.join(folder, "server.log")
        with open(self.log_path, "wb") as log:
            self.process = processes.start(command, cpus, log, log, session=True,
                                           environment=environment())
        self.tree = processes.Tree(self.process.pid)

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
    """A row of the table: tetrad under one of its models."""

    kind = "model"

    def __init__(self, name, binary):
        self.name = name
        self.binary = binary

    def command(self, root, workers):
        return [self.binary, "--model", self.name, "--port", "0",
                "--workers", str(workers), root]

    def launch(self, root, workers, cpus, folder, register):
        """Starts it; register is given the server before anything can go wrong."""
        server = Server(self.command(root, workers), cpus, folder)
        register(server)
        match = server.wait_ready(lambda: READY_LINE.search(server.log()))
        if match["model"] != self.name:
            raise ServerError("asked for %s, got %s" % (self.name, match["model"]))
        return match["url"]


class Peer:
    """A row of the table: another server, tuned, with one template of configuration."""

    kind = "peer"

    def __init__(self, name, source, object_size):
        self.name = name
        self.program = find_program(name)
        self.template = os.path.join(source, "loadtest", "peers", name + ".conf")
        # A small file is copied into the head's own write; a large one is better sent
        # from the page cache.
        self.small = object_size <= 32768

    def command(self, config, folder):
        return {"nginx": [self.program, "-e", "stderr", "-p", folder, "-c", config],
                "lighttpd": [self.program, "-D", "-f", config],
                "h2o": [self.program, "-m", "worker", "-c", config]}[self.name]

    def write_config(self, root, workers, folder, port):
        values = {"PORT": str(port), "ROOT": root, "DIR": folder,
                  "WORKERS": str(workers),
                  # lighttpd counts the processes beside a watching one; none is one.
                  "EXTRA_WORKERS": str(workers if workers > 1 else 0),
                  "SENDFILE": "off" if self.small else "on",
                  "USER": "user root root;" if os.geteuid() == 0 else "",
                  "H2O_USER": "user: root" if os.geteuid() == 0 else ""}
        text = processes.read_text(self.template)
        text = re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match[1]], text)
        path = os.path.join(folder, self.name + ".conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def launch(self, root, workers, cpus, folder, register):
        for attempt in range(PORT_ATTEMPTS):
            port = free_port()
            config = self.write_config(root, workers, folder, port)
            server = Server(self.command(config, folder), cpus, folder)
            register(server)
            try:
                server.wait_ready(lambda: accepts(port))
                return "http://127.0.0.1:%d" % port
            except ServerError:
                taken = "in use" in server.log()
                if not taken or attempt == PORT_ATTEMPTS - 1:
                    raise
                abandon([server])
        raise AssertionError("unreachable")


def find_program(name):
    """Servers live in sbin, which a user's PATH may lack."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    return shutil.which(name, path=path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
