"""Serves a usual day in short under each model: what train.sh starts. The program that
is trained writes its profile when it ends; nothing here is measured, and nothing here
knows of a compiler.

Most requests are for a cached file on a kept connection, from a load generator and from a
browser; some ask whether a file changed, for a part of it, or for what is not there; some
connections are for one request.
"""

import contextlib
import http.client
import os
import sys

from measure import cell, client, machine, objects, options, servers, session

DESCRIPTION = """\
Runs every model of a tetrad with a mixed load, for the compiler's profile. make profiled
calls it with the program that it has built for that.
"""

CLIENTS, HITS, ROUNDS = 10, 20000, 300

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.5",
    "Accept-Encoding": "gzip, deflate, br",
    "Connection": "keep-alive",
    "Upgrade-Insecure-Requests": "1",
}

LONG_AGO = "Thu, 01 Jan 1998 00:00:00 GMT"


def ask(connection, path, status, method="GET", body=None, **fields):
    """One request as a browser sends it; the answer's ETag."""
    headers = {**BROWSER, **{name.replace("_", "-"): value
                             for name, value in fields.items()}}
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != status:
        raise client.ClientError("%s %s: %d instead of %d"
                                 % (method, path, answer.status, status))
    return answer.headers["ETag"]


def browse(port):
    """Several pages, again and again, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port,
                                            timeout=client.ANSWER_SECONDS)
    for number in range(ROUNDS):
        etag = ask(connection, "/6k", 200)
        ask(connection, "/style.css", 200)
        ask(connection, "/6k", 304, If_None_Match=etag)
        ask(connection, "/", 200)
        if number % 10 == 0:
            ask(connection, "/6k", 200, If_Modified_Since=LONG_AGO)
            ask(connection, "/1m", 206, Range="bytes=1000-70000")
            ask(connection, "/1m", 200)
            ask(connection, "/6k?page=%d" % number, 200, method="HEAD")
            ask(connection, "/missing-%d" % number, 404)
            ask(connection, "/6k", 405, method="POST", body=b"a=1")
    connection.close()


def visit(port):
    """Connections for one request."""
    for _ in range(ROUNDS):
        connection = http.client.HTTPConnection("127.0.0.1", port,
                                                timeout=client.ANSWER_SECONDS)
        ask(connection, "/6k", 200, Connection="close")
        connection.close()


def load(port, body):
    with client.Client(port, body, CLIENTS) as clients:
        clients.in_turn(HITS // 2)
        clients.at_once(HITS // 2 // CLIENTS, contextlib.nullcontext)
    browse(port)
    visit(port)


def provide(root):
    os.mkdir(root, mode=0o755)
    for name in ("6k", "1m"):
        objects.write_object(os.path.join(root, name), objects.size_of(name))
    for name, text in (("index.html", "<!doctype html><title>t</title>\n" * 60),
                       ("style.css", "body { margin: 0 }\n" * 200)):
        with open(os.path.join(root, name), "w", encoding="ascii") as file:
            file.write(text)


def work(asked, scratch):
    binary = session.find_binary(asked)
    root = os.path.join(scratch, "htdocs")
    provide(root)
    with open(os.path.join(root, "6k"), "rb") as file:
        body = file.read()
    plan = cell.Plan(None, root, CLIENTS, 0, 0, 1, machine.place(1, False))
    for name in session.choose_models(asked, binary):
        sys.stderr.write("train: %s\n" % name)
        folder = os.path.join(scratch, name)
        os.mkdir(folder)
        try:
            servers.serve(servers.Model(name, binary), plan, folder,
                          lambda _server, port: load(port, body))
        except (client.ClientError, http.client.HTTPException) as error:
            raise servers.ServerError("%s: %s" % (name, error)) from error
    return options.EXIT_OK


def parse(arguments):
    parser = options.new_parser("train.sh", DESCRIPTION, None)
    parser.add_argument("--models", type=options.parse_list, metavar="LIST",
                        help=options.MODELS_HELP)
    parser.add_argument("--tetrad", metavar="PATH", default=os.environ.get("TETRAD"),
                        help="train this binary (also: the environment's TETRAD)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(session.run("train", parse, work, missing=lambda asked: {}))
