"""However a run is ended, nothing of it stays."""

import os
import signal

import pytest
from harness import STAND_IN, wait_for


def start_and_wait_for(runner, program, models, duration="60s"):
    process = runner.start("6k", "4", duration, "--warmup", "0", "--tetrad", STAND_IN,
                           "--models", models)
    wait_for(lambda: program in runner.programs().values())
    return process


def start_and_wait_for_load(runner, model):
    return start_and_wait_for(runner, "wrk", model)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("model", ["threads", "processes", "stubborn"])
def test_a_signal_under_load(runner, number, model):
    process = start_and_wait_for_load(runner, model)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "nothing is left running" in errors
    runner.assert_nothing_left()


@pytest.mark.parametrize("program, duration", [
    ("fake_tetrad.py", "60s"), ("curl", "60s"), ("wrk", "60s"), ("h2load", "1s")])
def test_a_signal_with_several_servers(runner, program, duration):
    process = start_and_wait_for(runner, program, "threads,processes,stubborn", duration)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    runner.assert_nothing_left()


def test_ctrl_c_reaches_the_whole_group_and_may_be_pressed_again(runner):
    process = start_and_wait_for_load(runner, "stubborn")
    os.killpg(process.pid, signal.SIGINT)
    wait_for(lambda: "wrk" not in runner.programs().values())
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    runner.assert_nothing_left()


def test_even_a_killed_run_takes_its_server_along(runner):
    process = start_and_wait_for_load(runner, "threads")
    process.kill()
    process.communicate(timeout=30)
    wait_for(lambda: not runner.programs())
