"""Programs that another process of ours starts: in sandboxes as if they had been started here."""

import os
import pickle
from collections.abc import Callable

import pytest
from tests.plugins.bwrap.conftest import job, living, wait_until

from toolcharter import Detached
from toolcharter_bwrap.runner import BwrapRunner

pytestmark = pytest.mark.needs_program("bwrap", package="bubblewrap")


def test_a_runner_can_be_had_elsewhere(open_runner: Callable[..., BwrapRunner]) -> None:
    """For the same scope, with the same policy; what it starts is its own to end."""
    runner, number = open_runner(".toolcharter"), f"92{os.getpid()}"
    carried = pickle.dumps(Detached(runner.elsewhere(), job("bash", "-c", f"mkdir .toolcharter; sleep {number}")))

    opened, running = pickle.loads(carried).start()

    runner.close()
    assert wait_until(lambda: living("sleep", number) != [])
    assert b"File exists" in running.read(1000)
    opened.close()
    assert living("sleep", number) == []
