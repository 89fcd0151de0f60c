"""`LocalRunner`: what a runner of a plugin gets from it."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import over_time, shell, wait_until
from tests.descriptors import open_descriptors

from toolcharter.api.job import Job
from toolcharter.api.runner import Ended
from toolcharter.errors import Denied
from toolcharter.guards.process.launch import Launch
from toolcharter.guards.process.limits import limited
from toolcharter.guards.process.local import LocalRunner
from toolcharter.guards.process.marks import Mark


class Holding(LocalRunner):
    """Holds each program in a shell, gives it a descriptor, and refuses what ended with 9."""

    name = "holding"
    is_sandbox = True
    ended = 0

    @contextmanager
    def prepared(self, job: Job, mark: Mark, *, on_terminal: bool) -> Generator[Launch]:
        assert not on_terminal
        given = os.memfd_create("given")
        os.write(given, b"given")
        inner = limited(("/bin/sh", *job.argv[1:]), job.limits, mark)
        yield Launch(
            argv=("/bin/sh", "-c", '"$@"; exit $?', "sh", *inner, str(given)),
            name="inner",
            cwd=self.folder_of(job),
            env=job.env,
            expires=job.expires,
            pass_fds=(given,),
            mark=mark,
            is_contained=True,
            exit_code=lambda code: code + 1,
            check=refuse_nine,
        )
        self.ended += 1


def refuse_nine(ended: Ended) -> None:
    if ended.exit_code == 10:
        raise Denied("sandbox_unavailable")


@pytest.fixture
def holding(workspace: Path) -> Holding:
    return Holding(workspace)


def test_a_launch_gives_descriptors_away(holding: Holding) -> None:
    """They are there for what is around the program, and closed here once it has been started."""
    before = open_descriptors()

    ended = holding.run(shell("test -e /proc/$PPID/fd/$0 && echo there"))
    holding.close()

    assert (ended, holding.ended) == (Ended(1, b"there\n", b"", truncated=False, timed_out=False), 1)
    assert open_descriptors() == before


@pytest.mark.slow
def test_what_holds_a_program_hears_no_request(holding: Holding, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program does, and its holder tells how it ended; a running one is told so, too."""
    monkeypatch.setattr("toolcharter.guards.process.supervise.GRACE_S", 60.0)
    script = "trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.05; done"
    said = bytearray()

    def is_ready() -> bool:
        said.extend(program.read(100))
        return said == b"ready\n"

    ended = over_time(lambda seconds: holding.run(shell(script, seconds=seconds)), b"ready\n")
    before = holding.ended
    program = holding.start(shell(script))
    assert wait_until(is_ready)
    program.signal(15)

    assert (ended.exit_code, ended.stdout, ended.timed_out) == (5, b"ready\nbye\n", True)
    assert program.wait(60) == 5
    holding.close()
    assert (program.exit_code, holding.ended) == (5, before + 1)


def test_a_launch_may_refuse_how_it_ended(holding: Holding) -> None:
    """When it was not the program that failed."""
    with pytest.raises(Denied):
        holding.run(shell("exit 9"))

    holding.close()
