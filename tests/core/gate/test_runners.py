"""Where programs run: opened once, when the first one starts, and never somewhere else instead."""

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.job import Job
from toolcharter.api.runner import Ended, RunnerScope
from toolcharter.errors import Denied
from toolcharter.gate.runners import Opener, Repositories, Runners
from toolcharter.guards.process import HostProgramRunner, NoRunner


class Sandbox:
    """Stands for a runner of a plugin."""

    name = "sandbox"
    is_sandbox = True

    def __init__(self) -> None:
        self.closed = 0

    def run(self, job: Job) -> Ended:
        raise NotImplementedError

    start = run

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def scope(tmp_path: Path) -> RunnerScope:
    return RunnerScope(tmp_path.resolve(), (".toolcharter",))


def refusal(act: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(Denied) as caught:
        act()
    return caught.value.reason, caught.value.message


@pytest.mark.parametrize(
    ("name", "bounded", "expected"),
    [(None, True, "host"), (None, False, ""), ("host", False, "host"), ("box", True, "box"), ("box", False, "box")],
)
def test_a_profile_names_the_runner_of_all_its_tools(
    scope: RunnerScope,
    name: str | None,
    expected: str,
    *,
    bounded: bool,
) -> None:
    """Without one, tools that their own policy bounds run on the host, and others run nothing."""
    assert Runners(name, lambda _: Sandbox(), scope).name_for(bounded=bounded) == expected


def test_without_a_runner_nothing_unbounded_runs(scope: RunnerScope) -> None:
    """And what is bounded runs on the host."""
    runners = Runners(None, None, scope)

    assert isinstance(runners.runner_for(bounded=False), NoRunner)
    assert isinstance(runners.runner_for(bounded=True), HostProgramRunner)
    assert (runners.is_sandbox_for(bounded=False), runners.is_sandbox_for(bounded=True)) == (False, False)
    reason, _ = refusal(lambda: runners.runner_for(bounded=False).run(Job(("true",))))
    assert reason == "sandbox_unavailable"
    runners.close()


def test_the_host_is_one_if_the_profile_says_so(scope: RunnerScope) -> None:
    """For every tool, and it contains nothing."""
    runners = Runners("host", None, scope)
    runner = runners.runner_for(bounded=False)

    assert runner.run(Job(("echo", "hi"), env={"PATH": "/usr/bin:/bin"})) == Ended(
        0, b"hi\n", b"", truncated=False, timed_out=False
    )
    assert runners.is_sandbox_for(bounded=False) is False
    runners.close()


def test_a_sandbox_is_opened_once_and_closed_once(scope: RunnerScope) -> None:
    """For the scope that the harness has chosen; many threads may be the first."""
    given, made = list[RunnerScope](), list[Sandbox]()

    def opener(one: RunnerScope) -> Sandbox:
        given.append(one)
        made.append(Sandbox())
        return made[-1]

    runners = Runners("box", opener, scope)
    assert given == []
    threads = [threading.Thread(target=lambda: runners.runner_for(bounded=False)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (given, runners.is_sandbox_for(bounded=False)) == ([scope], True)
    runners.close()
    runners.close()
    assert [one.closed for one in made] == [1]


def test_nothing_is_opened_after_the_end(scope: RunnerScope) -> None:
    """A body that its call has abandoned would leave a sandbox that nobody closes."""
    made = list[Sandbox]()
    runners = Runners("box", lambda _: made.append(Sandbox()), scope)
    runners.close()

    assert refusal(lambda: runners.runner_for(bounded=False)) == ("sandbox_unavailable", "The toolbox is closed.")
    assert refusal(lambda: runners.runner_for(bounded=True)) == ("sandbox_unavailable", "The toolbox is closed.")
    assert made == []


def _failing(error: Exception) -> Opener:
    def opener(_: RunnerScope) -> Any:
        raise error

    return opener


@pytest.mark.parametrize(
    ("opener", "message"),
    [
        (None, "No plugin opens the runner 'box'."),
        (_failing(OSError("secret")), "The runner 'box' could not be opened: OSError."),
        (_failing(Denied("sandbox_unavailable", "No bwrap.")), "No bwrap."),
        (lambda _: None, "The runner 'box' could not be opened: its plugin returned NoneType."),
    ],
)
def test_what_cannot_be_opened_refuses(scope: RunnerScope, opener: Opener | None, message: str) -> None:
    """Nothing falls back to the host."""
    runners = Runners("box", opener, scope)

    assert refusal(lambda: runners.runner_for(bounded=True)) == ("sandbox_unavailable", message)
    assert runners.is_sandbox_for(bounded=False) is False
    runners.close()


def test_the_next_call_tries_again(scope: RunnerScope) -> None:
    """What was missing may have come."""
    answers: list[Opener] = [_failing(OSError()), lambda _: Sandbox()]

    def opener(one: RunnerScope) -> Any:
        return answers.pop(0)(one)

    runners = Runners("box", opener, scope)

    assert [runners.is_sandbox_for(bounded=False) for _ in range(2)] == [False, True]


def git(folder: Path, *words: str) -> None:
    settings = ("user.name=a", "user.email=a@b", "protocol.file.allow=always", "core.hooksPath=/dev/null")
    options = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", *options, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    """A repository with a commit, to be a submodule of others."""
    made = tmp_path / "inner"
    made.mkdir()
    git(made, "init", "--quiet")
    git(made, "commit", "--quiet", "--allow-empty", "--message=x")
    return made


@pytest.mark.parametrize("version", ["2", "4"])
def test_programs_may_not_write_where_git_looks_for_repositories(tmp_path: Path, inner: Path, version: str) -> None:
    """`git status` runs git in each submodule, by the settings that lie there; a new one counts at once."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    repositories = Repositories(workspace)
    before = repositories()
    git(workspace, "init", "--quiet")
    git(workspace, "config", "index.version", version)
    (workspace / "a").write_text("")
    git(workspace, "add", "a")
    with_files = repositories()

    git(workspace, "submodule", "--quiet", "add", str(inner), "lib/one")
    git(workspace, "submodule", "--quiet", "add", str(inner), "lib/only")
    git(workspace, "update-index", "--index-version", version)

    assert (before, with_files) == ((".git",), (".git",))
    assert repositories() == (".git", "lib/one/.git", "lib/only/.git")


def test_a_work_tree_has_its_index_elsewhere(tmp_path: Path, inner: Path) -> None:
    """Its `.git` is a file that says where."""
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "--quiet")
    git(top, "submodule", "--quiet", "add", str(inner), "sub")
    git(top, "commit", "--quiet", "--message=x")
    git(top, "worktree", "add", "--quiet", "../tree")

    assert Repositories(tmp_path / "tree")() == (".git", "sub/.git")


def test_an_index_that_cannot_be_read_stops_programs(tmp_path: Path) -> None:
    """A submodule may be in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(b"\0\0\xe0\0")

    reason, message = refusal(Repositories(tmp_path))

    assert (reason, message) == (
        "sandbox_unavailable",
        "The index of the workspace's repository cannot be read: it is cut short.",
    )
