"""Programs that another process of ours starts, and how it knows those that agents have started."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import job, living, wait_until

from toolcharter import ConfigurationError, Denied, Detached, Fault, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter.api.runner import ProgramRunner
from toolcharter.guards.process import GovernedRunner, HostProgramRunner, NoRunner
from toolcharter.guards.process.local import LocalRunner
from toolcharter.guards.process.marks import is_marked
from toolcharter.testing import toolbox_of


class Bound(HostProgramRunner):
    """A runner that can be had in one process only."""

    elsewhere = LocalRunner.elsewhere  # type: ignore[assignment]


def governed(runner: ProgramRunner, workspace: Path) -> GovernedRunner:
    return GovernedRunner(lambda: runner, workspace, deadline=lambda: float("inf"), check=lambda: None)


def test_a_detached_program_is_started_where_it_is_taken_to(host: HostProgramRunner, workspace: Path) -> None:
    """By a runner of its own, like the one that was asked; nothing runs before."""
    runner = governed(host, workspace)
    number = f"95{os.getpid()}"
    carried = pickle.dumps(runner.detach(["sleep", number]))
    assert living("sleep", number) == []

    opened, running = pickle.loads(carried).start()

    assert (runner.outlives(), opened is host) == (True, False)
    assert wait_until(lambda: len(living("sleep", number)) == 1)
    host.close()
    assert running.exit_code is None
    opened.close()
    assert living("sleep", number) == []


@pytest.mark.parametrize("kind", [Bound, NoRunner])
def test_a_runner_that_cannot_be_elsewhere_refuses(workspace: Path, kind: Callable[..., ProgramRunner]) -> None:
    """Before anything is promised."""
    runner = governed(kind() if kind is NoRunner else kind(workspace), workspace)

    with pytest.raises(Denied, match="starts no programs that outlive the toolbox") as caught:
        runner.detach(["true"])

    assert (caught.value.reason, runner.outlives()) == ("sandbox_unavailable", False)


def test_a_runner_whose_program_does_not_start_is_closed(workspace: Path) -> None:
    """Nobody else could."""
    opened: list[HostProgramRunner] = []

    class Seen(HostProgramRunner):
        def close(self) -> None:
            opened.append(self)

    detached = Detached(lambda: Seen(workspace), job("no-such-program"))

    with pytest.raises(ToolError, match="no-such-program"):
        detached.start()

    assert len(opened) == 1


def test_what_a_runner_has_started_is_known(host: HostProgramRunner) -> None:
    """By any process of ours; who started one that cannot be looked at is not known."""
    number = f"93{os.getpid()}"
    running = host.start(job("sleep", number))
    assert wait_until(lambda: living("sleep", number) != [])

    [pid] = living("sleep", number)

    assert (is_marked(pid), is_marked(os.getpid()), is_marked(2**22 + 1)) == (True, False, True)
    running.close()


def test_a_constructor_learns_what_its_profile_can(workspace: Path) -> None:
    """The profile's name, and whether programs can outlive the toolbox: never, where none can run."""
    seen: list[ToolRuntime] = []

    def build(_: Path, __: ToolPolicy, rt: ToolRuntime) -> Callable[[], str]:
        seen.append(rt)

        def look() -> str:
            """Look."""
            return f"{rt.profile} {rt.outlives}"

        return look

    with toolbox_of(ToolSpec("look", ToolPolicy, build), workspace=workspace) as toolbox:
        assert str(toolbox["look"]()) == f"{toolbox.profile} True"

    assert seen[0].outlives is False


def test_a_constructor_may_refuse_its_policy(workspace: Path) -> None:
    """It is the profile's fault then, in the constructor's own words."""
    fault = Fault("profile 'test'", "tools.look", "This cannot be.", "Write something else.")

    def build(_: Path, __: ToolPolicy, ___: ToolRuntime) -> Callable[[], str]:
        raise ConfigurationError([fault])

    with pytest.raises(ConfigurationError) as caught:
        toolbox_of(ToolSpec("look", ToolPolicy, build), workspace=workspace)

    assert list(caught.value.faults) == [fault]
