"""A hostile repository: nothing it names runs, nothing it points to is used."""

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ToolResult

WRITES = ["create_branch", "checkout", "add", "commit", "tag", "push"]
ALL: dict[str, Any] = {
    "allowed_actions": ["status", "log", "show", "rev_parse", "diff", "diff_since", *WRITES],
    "allow_push": True,
    "allowed_remotes": ["origin"],
    "tag_pattern": "v.*",
    "allow_worktree_dirty": True,
}


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """The file that exists if anything of the repository's choice ran."""
    return tmp_path / "canary"


@pytest.fixture
def trap(tmp_path: Path, canary: Path) -> str:
    """A program that leaves the canary and otherwise copies its input."""
    path = tmp_path / "trap.sh"
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> {shlex.quote(str(canary))}\ncat 2>/dev/null\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def use_all(repo, bare, call) -> Callable[..., dict[str, ToolResult]]:
    """Use every action once, with something for each to do; `arm` sets the trap just before."""

    def use(arm: Callable[[], object] = lambda: None) -> dict[str, ToolResult]:
        policy = {**ALL, "remote_urls": {"origin": f"file://{bare.path}"}}
        calls: list[dict[str, Any]] = [
            {"action": "status"},
            {"action": "log"},
            {"action": "show"},
            {"action": "show", "ref": "HEAD:a.txt"},
            {"action": "rev_parse"},
            {"action": "diff"},
            {"action": "diff", "ref": "HEAD~1", "head_ref": "HEAD"},
            {"action": "diff_since", "since": "2030-01-01"},
            {"action": "create_branch", "branch": "work"},
            {"action": "add", "paths": ["."]},
            {"action": "commit", "message": "Change"},
            {"action": "tag", "tag": "v1", "message": "One"},
            {"action": "push", "remote": "origin"},
            {"action": "checkout", "branch": "main"},
        ]
        repo.commit("b.txt", message="Second")
        repo.write("a.txt", "one\nchanged again\nthree\n")
        os.utime(repo.path / "b.txt", (1, 1))  # git has to read it again, through filters if there are any
        arm()
        return {f"{args['action']} {args.get('ref', '')}".strip(): call(policy=policy, **args) for args in calls}

    return use


def test_the_actions_work_on_a_harmless_repository(use_all) -> None:
    """The control: without traps all fourteen calls succeed, so that the tests below mean something."""
    results = use_all()

    assert {name: (each.outcome, each.message) for name, each in results.items()} == dict.fromkeys(
        results, ("ok", None)
    )


DEFUSED = {
    "first": [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
        "diff.external",
        "gpg.program",
        "alias.status",
        "alias.switch",
        "merge.trap.driver",
        "trailer.sign.command",
    ],
    "where the first is not": [
        "credential.helper",
        "diff.trap.command",
        "gpg.ssh.program",
        "interactive.diffFilter",
        "pager.log",
        "pager.diff",
        "pager.status",
        "sequence.editor",
    ],
    "where the second is not": ["credential.https://example.org.helper", "diff.trap.textconv"],
}
"""Keys that name a program; those of one row do not keep each other from being used."""


@pytest.mark.parametrize("keys", DEFUSED.values(), ids=DEFUSED)
def test_a_program_in_the_configuration_never_runs(repo, use_all, trap: str, canary: Path, keys: list[str]) -> None:
    """Every key whose program some action would start is replaced, and the actions work all the same."""

    def arm() -> None:
        repo.write(".gitattributes", "*.txt diff=trap merge=trap\n")
        for switch in ("commit.gpgSign", "tag.gpgSign", "push.gpgSign", "log.showSignature"):
            repo.git("config", switch, "true")
        if "gpg.ssh.program" in keys:
            repo.git("config", "gpg.format", "ssh")
        for key in keys:
            repo.git("config", key, trap)

    results = use_all(arm)

    assert ran(canary) == []
    assert {each.outcome for each in results.values()} == {"ok"}


HOOKS = ["pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-push", "post-index-change"]


@pytest.mark.parametrize("place", ["hooks", "elsewhere"])
def test_hooks_never_run(repo, use_all, trap: str, canary: Path, place: str) -> None:
    """Neither the hooks in `.git/hooks` nor those in a folder that the configuration names."""

    def arm() -> None:
        folder = repo.path / (".git/hooks" if place == "hooks" else "my-hooks")
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).symlink_to(trap)
        if place == "elsewhere":
            repo.git("config", "core.hooksPath", "my-hooks")

    results = use_all(arm)

    assert ran(canary) == []
    assert {each.outcome for each in results.values()} == {"ok"}


def ran(canary: Path) -> list[str]:
    """The command lines of the traps that ran."""
    return canary.read_text().splitlines() if canary.exists() else []


@pytest.mark.parametrize("key", ["clean", "smudge", "process"])
def test_filters_are_off_for_reading_and_refused_for_writing(repo, use_all, trap: str, canary: Path, key: str) -> None:
    """A filter never runs; storing or checking out without it would damage files, so that is denied."""

    def arm() -> None:
        repo.write(".gitattributes", "*.txt filter=a=b\n")
        repo.git("config", f"filter.a=b.{key}", trap)
        repo.git("config", "filter.a=b.required", "true")

    results = use_all(arm)

    assert not canary.exists()
    writing = {name: (each.outcome, each.reason) for name, each in results.items() if name in WRITES}
    assert writing == dict.fromkeys(WRITES, ("denied", "unsafe_repository_config"))
    assert {each.outcome for name, each in results.items() if name not in WRITES} == {"ok"}


@pytest.mark.parametrize(
    ("key", "command"),
    [
        pytest.param("core.fsmonitor", ["status"], id="fsmonitor"),
        pytest.param("diff.external", ["diff"], id="external diff"),
        pytest.param("diff.trap.textconv", ["diff"], id="textconv"),
        pytest.param("filter.trap.clean", ["diff"], id="filter"),
    ],
)
def test_plain_git_walks_into_these_traps(repo, trap: str, canary: Path, key: str, command: list[str]) -> None:
    """The control: the traps above are live, it is our call of git that defuses them."""
    repo.commit(".gitattributes", "*.txt diff=trap filter=trap\n")
    repo.write("a.txt", "one\nchanged\nthree\n")
    repo.git("config", key, trap)

    with suppress(AssertionError):
        repo.git(*command)

    assert canary.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("include.path", "more", id="include"),
        pytest.param("includeIf.gitdir:/.path", "more", id="conditional include"),
        pytest.param("core.worktree", "/", id="another worktree"),
        pytest.param("core.alternateRefsCommand", "true", id="alternate refs"),
        pytest.param("uploadpack.packObjectsHook", "true", id="server hook"),
        pytest.param("gpg.ssh.defaultKeyCommand", "true", id="key command"),
        pytest.param("hook.mine.command", "true", id="hook by name"),
        pytest.param("future.thing.command", "true", id="unknown program"),
    ],
)
def test_what_cannot_be_replaced_is_refused(repo, call, key: str, value: str) -> None:
    """Keys that lead elsewhere, and unknown ones that look like a program's, deny every action."""
    repo.git("config", key, value)

    results = [call("status", policy=ALL), call("commit", policy=ALL, message="x")]

    assert [(each.outcome, each.reason) for each in results] == [("denied", "unsafe_repository_config")] * 2
    assert key.rpartition(".")[2].lower() in str(results[0].message)


def test_the_configuration_of_the_worktree_is_judged_too(repo, call, trap: str, canary: Path) -> None:
    """`config.worktree` is read by git where the extension is on."""
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "include.path", "more")

    assert verdict(call("status")) == ("denied", "unsafe_repository_config")


def test_a_configuration_that_git_cannot_read_is_refused(repo, call) -> None:
    """What cannot be parsed is not guessed at."""
    repo.write(".git/config", "[broken")

    assert verdict(call("status")) == ("denied", "unsafe_repository_config")


def test_a_changed_configuration_is_judged_again(repo, build_git) -> None:
    """What was learned of the configuration holds as long as its content."""
    git = build_git(repo.path)
    before = [git(action="status"), git(action="status")]
    repo.git("config", "include.path", "more")

    assert [*map(verdict, before), verdict(git(action="status"))] == [
        *[("ok", None)] * 2,
        ("denied", "unsafe_repository_config"),
    ]


def _as_file(repo: Any, outside: Path) -> None:
    (repo.path / ".git").rename(outside)
    (repo.path / ".git").write_text(f"gitdir: {outside}\n")


def _as_link(repo: Any, outside: Path) -> None:
    (repo.path / ".git").rename(outside)
    (repo.path / ".git").symlink_to(outside)


def _linked(name: str) -> Callable[[Any, Path], None]:
    def move(repo: Any, outside: Path) -> None:
        (repo.path / ".git" / name).rename(outside)
        (repo.path / ".git" / name).symlink_to(outside)

    return move


def _file(name: str, content: str) -> Callable[[Any, Path], None]:
    def write(repo: Any, outside: Path) -> None:
        repo.write(f".git/{name}", content)

    return write


def _fifo(repo: Any, outside: Path) -> None:
    (repo.path / ".git" / "config").unlink()
    os.mkfifo(repo.path / ".git" / "config")


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(_as_file, id="a file that names a folder elsewhere"),
        pytest.param(_as_link, id="a link"),
        pytest.param(_linked("objects"), id="linked objects"),
        pytest.param(_linked("refs"), id="linked refs"),
        pytest.param(_linked("config"), id="linked config"),
        pytest.param(_linked("HEAD"), id="linked HEAD"),
        pytest.param(_linked("refs/heads"), id="linked heads"),
        pytest.param(_file("commondir", "/elsewhere"), id="common folder"),
        pytest.param(_file("objects/info/alternates", "/elsewhere"), id="alternates"),
        pytest.param(_file("config", "#" * 2_000_000), id="huge config"),
        pytest.param(_fifo, id="config is a pipe"),
    ],
)
def test_a_repository_that_lies_elsewhere_is_refused(repo, call, tmp_path: Path, arrange: Any) -> None:
    """The workspace's repository is a folder that holds everything itself."""
    arrange(repo, tmp_path / "elsewhere")

    assert verdict(call("status")) == ("denied", "unsafe_repository")


def test_a_repository_above_the_workspace_is_not_found(repo, build_git) -> None:
    """No search goes upwards from where the workspace ends."""
    (repo.path / "sub").mkdir()

    assert verdict(build_git(repo.path / "sub")(action="status")) == ("error", "git_status_failed")


def test_a_workspace_that_is_itself_a_bare_repository_is_not_one(bare, build_git) -> None:
    """A tree of files that looks like a repository could have been checked in."""
    assert verdict(build_git(bare.path)(action="log")) == ("error", "git_log_failed")


def test_a_nested_repository_is_not_entered(repo, call, trap: str, canary: Path) -> None:
    """Its programs do not run when the outer one is looked at, tracked or not, and it is not added."""
    inner = type(repo)(repo.path / "inner")
    inner.path.mkdir()
    inner.git("init", "-q", "-b", "main")
    inner.commit("x.txt")
    repo.git("add", "inner")
    repo.git("commit", "-q", "-m", "Inner")
    inner.commit("y.txt")
    inner.git("config", "core.fsmonitor", trap)

    results = [call("status"), call("diff"), call("add", policy=ALL, paths=["."])]

    assert not canary.exists()
    assert list(map(verdict, results)) == [("ok", None), ("ok", None), ("denied", "nested_repository")]


def test_an_untracked_nested_repository_is_not_added(repo, call) -> None:
    """It would be stored as a bare pointer to a commit that nobody has."""
    inner = type(repo)(repo.path / "inner")
    inner.path.mkdir()
    inner.git("init", "-q", "-b", "main")
    inner.commit("x.txt")

    assert verdict(call("add", policy=ALL, paths=["inner"])) == ("denied", "nested_repository")


@pytest.mark.parametrize("url", ["ext::sh -c '{trap}'", "ssh://host.invalid/x", "{other}"])
def test_a_partial_clone_fetches_nothing(repo, call, tmp_path: Path, trap: str, canary: Path, url: str) -> None:
    """A missing object is an error, not a reason to start the program of a remote."""
    lost = repo.head("HEAD:a.txt")
    (repo.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    for name, value in (
        ("url", url.format(trap=trap, other=tmp_path)),
        ("promisor", "true"),
        ("uploadpack", trap),
    ):
        repo.git("config", f"remote.origin.{name}", value)
    repo.git("config", "core.sshCommand", trap)
    repo.git("config", "protocol.allow", "always")

    result = call("show", ref="HEAD:a.txt")

    assert not canary.exists()
    assert verdict(result) == ("error", "git_show_failed")


def verdict(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason
