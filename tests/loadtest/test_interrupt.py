"""However a run is ended, nothing of it stays."""

import os
import signal

import pytest
from harness import STAND_IN, wait_for


def start_and_wait_for_load(runner, model):
    process = runner.start("6k", "4", "60s", "--warmup", "0", "--tetrad", STAND_IN,
                           "--models", model)
    wait_for(lambda: "wrk" in runner.programs().values())
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("model", ["threads", "processes", "stubborn"])
def test_a_signal_under_load(runner, number, model):
    process = start_and_wait_for_load(runner, model)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "nothing is left running" in errors
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
