"""tload: what it counts, against tetrad and against servers that misbehave."""

import json
import os
import re
import signal
import socket
import subprocess

import fake_http
import harness
import pytest

from measure import servers


@pytest.fixture
def tload(tetrad):
    path = os.path.join(os.path.dirname(tetrad), "loadtest", "tload")
    assert os.access(path, os.X_OK), "make builds it beside tetrad"
    return path


class Result:
    def __init__(self, status, text, errors, numbers):
        self.status, self.text, self.errors, self.numbers = status, text, errors, numbers

    def __getitem__(self, key):
        return self.numbers[key]

    def errors_by_kind(self):
        return {kind: count for kind, count in self["errors"].items() if count}


@pytest.fixture
def run(tload, tmp_path):
    def run_tload(*arguments):
        path = str(tmp_path / "result.json")
        done = subprocess.run([tload, "--json", path, *arguments], text=True, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        with open(path, encoding="utf-8") as file:
            return Result(done.returncode, done.stdout, done.stderr, json.load(file))
    return run_tload


@pytest.fixture
def site(tetrad, tmp_path):
    """A tetrad with a 6k; its URL, the path of its unix socket, and that of the file."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "6k").write_bytes(bytes(range(256)) * 24)
    for folder in (tmp_path, root):
        folder.chmod(0o755)
    address = str(tmp_path / "socket")
    command = [tetrad, "--port", "0", "--bind", "127.0.0.1", "--bind", "unix:" + address,
               "--workers", "1", "--access-log", str(tmp_path / "access.log"), str(root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env=servers.environment())
    try:
        ready = next(line for line in process.stdout if ", serving " in line)
        url = re.search(r"http://127\.0\.0\.1:\d+", ready)[0]
        yield url + "/6k", address, str(root / "6k")
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_numbers_agree_with_each_other(run, site):
    url, _, path = site
    result = run("-c", "4", "-t", "300ms", "--verify", path, url)
    answers, after = result["answers"], result["answers_after_end"]
    assert result.status == 0 and answers > 0 and result.errors_by_kind() == {}
    assert sum(result["answers_by_connection"]) == answers + after
    assert len(result["answers_by_connection"]) == 4
    assert result["slowest"] == min(result["answers_by_connection"])
    assert result["fastest"] == max(result["answers_by_connection"])
    assert sum(count for _, count in result["histogram_ns"]) == answers + after
    latency, percentiles = result["latency_ns"], result["percentiles_ns"]
    assert latency["count"] == answers + after
    assert latency["min"] <= latency["mean"] <= latency["max"]
    ordered = [latency["min"], *percentiles.values(), latency["max"]]
    assert ordered == sorted(ordered)
    assert result["body_bytes"] == 6144 * answers < result["bytes"]
    rate = answers * 1e9 / result["elapsed_ns"]
    assert result["req_per_s"] == pytest.approx(rate, rel=1e-3)
    assert (result["connections"], result["reconnections"]) == (4, 0)
    assert "answers        %d;" % answers in result.text


@pytest.mark.parametrize("arguments", [
    [], ["--http", "1.0"], ["--close"], ["--http", "1.0", "--close"], ["--sources", "3"],
    ["--rate", "2000"]])
def test_so_many_requests(run, site, arguments):
    result = run("-c", "3", "-n", "50", "--verify", site[2], *arguments, site[0])
    assert result.status == 0
    assert sum(result["answers_by_connection"]) == 50
    assert result["connections"] == (50 if "--close" in arguments else 3)


def test_it_counts_what_the_server_counts(run, site, tmp_path):
    result = run("-c", "4", "-t", "200ms", "--idle", "6", site[0])
    told = result["answers"] + result["answers_after_end"] + result["idle_opened"]
    log = tmp_path / "access.log"
    harness.wait_for(lambda: log.read_bytes().count(b"\n") >= told)
    assert log.read_bytes().count(b"\n") == told > 100


@pytest.mark.parametrize("arguments", [[], ["--close"]])
def test_a_unix_socket(run, site, arguments):
    result = run("-n", "50", "--unix", site[1], *arguments, "http://localhost/6k")
    assert (result.status, sum(result["answers_by_connection"])) == (0, 50)


def test_idle_connections_stay(run, site):
    result = run("-c", "2", "-n", "20", "--idle", "150", "--sources", "2", site[0])
    assert (result.status, result["idle_opened"], result["idle_open"]) == (0, 150, 150)
    assert result["connections"] == 2 and "150 idle connections are open" in result.errors


def test_idle_connections_alone(run, site):
    result = run("-c", "0", "-t", "100ms", "--idle", "3", site[0])
    assert (result.status, result["idle_open"], result["answers"]) == (0, 3, 0)


def test_an_idle_connection_that_is_closed_is_told(run):
    def first_two_close(server, connection, number):
        fake_http.answers(fake_http.HELLO, close=number < 2)(server, connection, number)
    with fake_http.Server(first_two_close) as server:
        result = run("-c", "0", "-t", "200ms", "--idle", "5", server.url)
    assert (result.status, result["idle_open"]) == (1, 3)


def reply(text, body=b"hello"):
    return b"HTTP/1.1 " + text.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("do, kind, said", [
    (fake_http.answers(reply("200 OK\nContent-Length: 9"), close=True), "short", ""),
    (fake_http.answers(b"HTTP/1.1 200 OK\r\nContent-", close=True), "short", ""),
    (fake_http.closes_at_once, "short", ""),
    (fake_http.answers(reply("404 None\nContent-Length: 5")), "status", ""),
    (fake_http.answers(reply("301 There\nContent-Length: 5")), "status", ""),
    (fake_http.answers(fake_http.HELLO + b"more"), "malformed", "bytes behind the"),
    (fake_http.answers(fake_http.HELLO * 2), "malformed", "bytes behind the answer"),
    (fake_http.answers(reply("200 OK\nTransfer-Encoding: chunked", b"0\r\n\r\n")),
     "malformed", "Transfer-Encoding"),
    (fake_http.answers(reply("200 OK")), "malformed", "neither a length"),
    (fake_http.answers(reply("200 OK\nContent-Length: 5\nContent-Length: 6")),
     "malformed", "two lengths"),
    (fake_http.answers(reply("200 OK\nContent-Length: +5")), "malformed", "no number"),
    (fake_http.answers(reply("200 OK\nContent-Length : 5")), "malformed", "no field"),
    (fake_http.answers(reply("100 Continue", b"") + fake_http.HELLO), "malformed",
     "interim"),
    (fake_http.answers(reply("200 OK\nX: " + 20000 * "x")), "malformed", "does not end"),
    (fake_http.answers(b"hello\r\n\r\n"), "malformed", "no status line"),
])
def test_each_answer_is_an_error(run, do, kind, said):
    with fake_http.Server(do) as server:
        result = run("-c", "2", "-n", "6", "--timeout", "5s", server.url)
    assert (result.status, result.errors_by_kind()) == (1, {kind: 6})
    assert said in (result["first_malformed"] or "") and said in result.text
    assert result["answers"] == 0


def test_another_length_than_the_first(run):
    longer = reply("200 OK\nContent-Length: 6", b"hello!")
    with fake_http.Server(fake_http.answers(fake_http.HELLO, longer)) as server:
        result = run("-c", "1", "-n", "4", server.url)
    assert (result.errors_by_kind(), result["answers"]) == ({"length": 3}, 1)


def test_other_bytes_than_the_file_s(run, tmp_path):
    (tmp_path / "body").write_bytes(b"hullo")
    with fake_http.Server(fake_http.answers(fake_http.HELLO)) as server:
        result = run("-n", "4", "--verify", str(tmp_path / "body"), server.url)
    assert result.errors_by_kind() == {"body": 4}


def test_nobody_listens(run):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = run("-c", "2", "-n", "4", "http://127.0.0.1:%d/" % port)
    assert (result.status, result.errors_by_kind()) == (1, {"connect": 4})
    assert "Connection refused" in result.text


def test_a_silent_server_leaves_requests_unanswered(run):
    with fake_http.Server(fake_http.silent) as server:
        result = run("-c", "3", "-t", "100ms", "--timeout", "300ms", server.url)
    assert (result.status, result["unanswered"], result["answers"]) == (1, 3, 0)
    assert result.errors_by_kind() == {}


def test_a_silent_server_times_out(run):
    with fake_http.Server(fake_http.silent) as server:
        result = run("-c", "3", "-n", "3", "--timeout", "100ms", server.url)
    assert (result.status, result.errors_by_kind()) == (1, {"timeout": 3})


def test_a_starved_connection_shows(run):
    with fake_http.Server(fake_http.answers_the_first(2)) as server:
        result = run("-c", "4", "-t", "200ms", "--timeout", "300ms", server.url)
    assert result.status == 1 and result["unanswered"] == 2
    assert sorted(result["answers_by_connection"])[:2] == [0, 0]
    assert (result["slowest"], result["slowest_over_mean"]) == (0, 0)
    assert result["fastest"] > 0
    assert "a connection got none" in result.text


def test_a_body_that_ends_with_its_connection(run):
    old = fake_http.answers(b"HTTP/1.0 200 OK\r\n\r\nhello", close=True)
    with fake_http.Server(old) as server:
        result = run("-c", "2", "-n", "10", "--http", "1.0", server.url)
    assert (result.status, result["answers"], result["document_length"]) == (0, 10, 5)
    assert (result["connections"], result["reconnections"]) == (10, 8)


def test_a_server_that_closes_each_third_time_and_says_so(run):
    last = reply("200 OK\nContent-Length: 5\nConnection: foo, Close")
    with fake_http.Server(fake_http.answers(fake_http.HELLO, fake_http.HELLO, last,
                                            close=True)) as server:
        result = run("-c", "1", "-n", "9", server.url)
    assert (result.status, result["answers"], result["connections"]) == (0, 9, 3)


def test_an_answer_in_pieces(run):
    with fake_http.Server(fake_http.in_pieces) as server:
        result = run("-c", "2", "-n", "10", server.url)
    assert (result.status, result["answers"]) == (0, 10)


STALL = 0.4


def slow_ones(result):
    return sum(count for end, count in result["histogram_ns"] if end > STALL / 4 * 1e9)


def test_a_stall_delays_one_request_of_a_closed_loop_and_many_of_an_open_one(run):
    with fake_http.Server(fake_http.stalls_once(20, STALL)) as server:
        closed = run("-c", "1", "-n", "100", server.url)
    with fake_http.Server(fake_http.stalls_once(20, STALL)) as server:
        opened = run("-c", "1", "-n", "100", "--rate", "200", server.url)
    assert slow_ones(closed) == 1 and closed["late"] == 0
    # 80 were due in that time, and three quarters of them 100 ms or more before its end.
    assert slow_ones(opened) >= 30 and opened["late"] >= 30
    assert opened["unsent"] == 0 and opened["answers"] == 100


def test_more_than_the_server_can_is_left_unsent(run):
    with fake_http.Server(fake_http.stalls_once(1, STALL)) as server:
        result = run("-c", "1", "-t", "200ms", "--rate", "100", "--timeout", "5s",
                     server.url)
    assert result["answers_after_end"] == 1 and result["unsent"] > 0


def test_what_is_sent(run, tmp_path):
    (tmp_path / "request").write_bytes(b"HEAD /y HTTP/1.1\r\nHost: h\r\n\r\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    with fake_http.Server(fake_http.answers(fake_http.HELLO)) as server:
        run("-n", "1", "--header", "X: y", "--sources", "3", "-c", "3", server.url)
        run("-n", "1", "--http", "1.0", server.url)
        run("-n", "1", "--close", "--timeout", "100ms", server.url)
    assert server.requests[0] == (b"GET /x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: y\r\n\r\n"
                                  % server.port)
    assert fake_http.field(server.requests[1], "Connection") == "Keep-Alive"
    assert fake_http.field(server.requests[2], "Connection") == "close"
    with fake_http.Server(fake_http.answers(head)) as server:
        result = run("-n", "6", "-c", "3", "--sources", "3", "--request",
                     str(tmp_path / "request"), server.url)
    assert server.requests == [b"HEAD /y HTTP/1.1\r\nHost: h\r\n\r\n"] * 6
    assert set(server.sources) == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
    assert result.status == 0


def test_an_interrupt_ends_it_with_the_report(tload):
    with fake_http.Server(fake_http.answers(fake_http.HELLO)) as server:
        process = subprocess.Popen([tload, "-c", "2", "-t", "10m", server.url], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            harness.wait_for(lambda: len(server.requests) > 10)
            process.send_signal(signal.SIGINT)
            text, _ = process.communicate(timeout=20)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0 and "(interrupted)" in text
    assert int(re.search(r"answers +(\d+);", text)[1]) > 5


@pytest.mark.parametrize("arguments", [
    [], ["-c", "x", "http://h/"], ["-t", "1q", "http://h/"], ["-t", "0", "http://h/"],
    ["https://h/"], ["http:///"], ["http://h:/"], ["http://127.0.0.1:1/", "x"],
    ["--http", "2", "http://h/"], ["--header", "no colon", "http://h/"],
    ["-c", "0", "http://127.0.0.1:1/"], ["--rate", "5", "--close", "http://127.0.0.1:1/"],
    ["--sources", "2", "http://192.0.2.1/"],
    ["--verify", "/nowhere", "http://127.0.0.1:1/"],
    ["--json", "/nowhere/x", "http://127.0.0.1:1/"],
    ["-c", "999999", "--idle", "999999", "http://127.0.0.1:1/"]])
def test_what_cannot_be_started(tload, arguments):
    done = subprocess.run([tload, *arguments], text=True, capture_output=True, timeout=20,
                          check=False)
    assert (done.returncode, done.stdout) == (2, "") and "tload: " in done.stderr


ZB = re.compile(r"""
---
Server:                 (?P<server>.*)
Document Length:        (?P<length>\d+)
Concurency Level:       (?P<concurrency>\d+)
Time taken for tests:   (?P<seconds>\d+\.\d{3}) seconds
Complete requests:      (?P<complete>\d+)
Failed requests:        (?P<failed>\d+)
(?:   \(Connect: \d+, Length: \d+, Exceptions: \d+\)
)?(?:Keep-Alive requests:    (?P<kept>\d+)
)?Bytes transferred:      (?P<bytes>\d+)
HTML transferred:       (?P<body>\d+)
(?:Requests per seconds:   (?P<rate>\d+\.\d\d)
Transfer rate:          (?P<transfer>\d+\.\d\d) kb/s
)?
Connnection Times \(ms\)
           min   avg   max
Connect:  *\d+  *\d+  *\d+
Total:    *\d+  *\d+  *\d+
---

$""")


@pytest.fixture
def zb(tload):
    def run_zb(port, *arguments):
        done = subprocess.run([os.path.join(os.path.dirname(tload), "zb"), "127.0.0.1",
                               "/6k", "-p", str(port), *arguments], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)
        match = ZB.match(done.stdout)
        assert match, done.stdout + done.stderr
        return done.returncode, match
    return run_zb


def test_the_line_of_1998(zb, site):
    port = int(site[0].rpartition(":")[2].partition("/")[0])
    status, found = zb(port, "-c", "10", "-t", "1", "-k")
    assert status == 0 and int(found["complete"]) == int(found["kept"]) > 0
    assert (found["length"], found["concurrency"], found["failed"]) == ("6144", "10", "0")
    assert int(found["body"]) == 6144 * int(found["complete"])
    status, found = zb(port, "-c", "2", "-n", "20")
    assert status == 0 and (found["complete"], found["kept"]) == ("20", None)


@pytest.mark.parametrize("fields, reused", [
    ("Connection: Keep-Alive\nContent-Length: 5", True),
    ("Connection: keep-alive\nContent-length: 5", True),
    ("Connection: keep-alive\ncontent-length: 5", False),
    ("Connection: keep-alive\nContent-Length:5", False),
    ("Connection: KEEP-ALIVE\nContent-Length: 5", False),
    ("Content-Length: 5", False),
])
def test_which_connection_was_used_again_in_1998(zb, fields, reused):
    answer = reply("200 OK\nServer: fake\n" + fields)
    with fake_http.Server(fake_http.answers(answer, close=not reused)) as server:
        status, found = zb(server.port, "-c", "1", "-n", "5", "-k")
    assert status == 0 and (found["complete"], found["failed"]) == ("5", "0")
    assert (found["kept"], found["server"]) == ("5" if reused else "0", "fake")
    assert len([r for r in server.requests if r]) == 5
    assert server.connections == (1 if reused else 5)
    assert server.requests[0] == (b"GET /6k HTTP/1.0\r\nUser-Agent: ZeusBench/1.0\r\n"
                                  b"Connection: Keep-Alive\r\nHost: 127.0.0.1\r\n"
                                  b"Accept: */*\r\n\r\n")


def test_a_head_of_512_bytes_was_too_long_in_1998(zb):
    start = "200 OK\nConnection: Keep-Alive\nContent-Length: 5\nX: "
    for size, failed in ((511, "0"), (512, "3")):
        answer = reply(start + "x" * (size - len(reply(start, b""))))
        assert answer.index(b"hello") == size
        with fake_http.Server(fake_http.answers(answer)) as server:
            status, found = zb(server.port, "-c", "1", "-n", "3", "-k")
        assert (found["failed"], status) == (failed, int(failed != "0"))
