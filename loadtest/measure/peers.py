"""Other servers as rows of the table: what each is called, how it is started with a
private configuration from loadtest/conf, and in which package it is.
"""

import os
import re
import shutil
import socket
from collections import namedtuple

from measure import processes, servers

# Another program may take a peer's port between the choice and the bind.
PORT_ATTEMPTS = 3

APACHE_MODULES = "/usr/lib/apache2/modules"

# Up to here a file is copied into the head's own write; a larger one is better sent from
# the page cache.
SMALL_BYTES = 32768

# program and package; conf: the template; arguments and version: those of the program;
# mpm: which of Apache's.
Kind = namedtuple("Kind", "program package conf arguments version mpm", defaults=[""])

_NGINX = (["-e", "stderr", "-p", "{folder}", "-c", "{config}"], "-v")
_APACHE = ("apache2", "apache2-bin", "apache.conf",
           ["-D", "FOREGROUND", "-d", "{folder}", "-f", "{config}"], "-v")

KINDS = {
    "nginx": Kind("nginx", "nginx-light", "nginx.conf", *_NGINX),
    "nginx-plain": Kind("nginx", "nginx-light", "nginx-plain.conf", *_NGINX),
    "apache-prefork": Kind(*_APACHE, "prefork"),
    "apache-worker": Kind(*_APACHE, "worker"),
    "apache-event": Kind(*_APACHE, "event"),
    "lighttpd": Kind("lighttpd", "lighttpd", "lighttpd.conf", ["-D", "-f", "{config}"],
                     "-V"),
    "h2o": Kind("h2o", "h2o", "h2o.conf", ["-m", "worker", "-c", "{config}"], "-v"),
    "caddy": Kind("caddy", "caddy", "caddy.json", ["run", "--config", "{config}"],
                  "version"),
}


def find_program(name):
    """The program of a peer, or None. Servers live in sbin, which a PATH may lack."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    return shutil.which(KINDS[name].program, path=path)


def missing(names):
    """{program: Debian package} of those that are not installed."""
    return {KINDS[name].program: KINDS[name].package for name in names
            if not find_program(name)}


def version_commands(names):
    return {KINDS[name].program: [find_program(name), KINDS[name].version]
            for name in names}


class Peer:
    """A row of the table: another server, tuned, with one template of configuration."""

    kind = "peer"

    def __init__(self, name, source):
        self.name = name
        self.as_named = KINDS[name]
        self.program = find_program(name)
        self.template = os.path.join(source, "loadtest", "conf", self.as_named.conf)

    def values(self, plan):
        """What the template's names stand for, but for what is new in each start."""
        root = os.geteuid() == 0
        small = plan.object.size <= SMALL_BYTES
        # Connections of one slice may still be closing when those of the next come.
        connections = 2 * plan.clients + 16
        return {"WORKERS": str(plan.workers),
                # lighttpd counts the processes beside a watching one; none is one.
                "EXTRA_WORKERS": str(plan.workers if plan.workers > 1 else 0),
                "SENDFILE": "off" if small else "on",
                "CONNECTIONS": str(connections),
                "ALL_THREADS": str(connections * plan.workers),
                "MPM": self.as_named.mpm, "MODULES": APACHE_MODULES,
                "USER": "user root root;" if root else "",
                "H2O_USER": "user: root" if root else "",
                # Apache serves nobody as root.
                "APACHE_USER": "User nobody\nGroup nogroup" if root else ""}

    def configuration(self, plan, port="PORT", root="ROOT", folder="DIR"):
        values = dict(self.values(plan), PORT=port, ROOT=root, DIR=folder)
        return re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match[1]],
                      processes.read_text(self.template))

    def write_config(self, plan, folder, port):
        path = os.path.join(folder, self.as_named.conf)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.configuration(plan, str(port), plan.root, folder))
        return path

    def command(self, config, folder):
        return [self.program] + [word.format(config=config, folder=folder)
                                 for word in self.as_named.arguments]

    def environment(self, plan, folder):
        """Whatever it writes, it writes in its own folder; and a Go program counts CPUs
        that it is not allowed to use unless it is told."""
        return {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder,
                "GOMAXPROCS": str(plan.workers)}

    def launch(self, plan, folder, register):
        for attempt in range(PORT_ATTEMPTS):
            port = free_port()
            config = self.write_config(plan, folder, port)
            server = servers.Server(self.command(config, folder), plan, folder,
                                    self.environment(plan, folder))
            register(server)
            try:
                server.wait_ready(lambda: accepts(port))
                return "http://127.0.0.1:%d" % port
            except servers.ServerError:
                taken = "in use" in server.log()
                if not taken or attempt == PORT_ATTEMPTS - 1:
                    raise
                servers.abandon([server])
        raise AssertionError("unreachable")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
