"""Stage 4 for commands: what letters promise is held against files, programs and repositories that are there."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.descriptors import open_descriptors

from toolcharter.api.command import DiskPreconditions, PathAccess
from toolcharter.errors import ToolError
from toolcharter.gate.commands import analyse_commands
from toolcharter.gate.stages.s4_confine import Confinement
from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths import glob_expand as patterns
from toolcharter.guards.process import programs

HERE = (".",)
Objection = Callable[..., tuple[str, str | None] | None]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace with links that lead out of it, and with links that stay."""
    folder = tmp_path / "ws"
    (folder / "sub/deep").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "elsewhere").mkdir()
    links = {
        "in": "a.txt",
        "out": "../secret",
        "missing": "../nothing",
        "away": "../elsewhere",
        "sub/deep/top": "../..",
        "sub/out": "../../secret",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture
def objection(space: Path) -> Iterator[Objection]:
    """Reason and message of what speaks against a world."""
    lookout = Confinement(space)

    def told(world: DiskPreconditions) -> tuple[str, str | None] | None:
        denied = lookout.find_objection(world)
        return None if denied is None else (denied.reason, denied.message)

    yield told
    lookout.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mv sub/deep/rel l && cat l", "not_understood"),
        ("cp -P sub/deep/rel l && cat l", "not_understood"),
        ("cp -a sub/deep l && cat l/rel", "not_understood"),
        ("cp -a sub/de* l && cat l/deep/rel", "not_understood"),
        ("mv sub/deep l && cat a.txt", "not_understood"),
        ("rsync -a sub/deep/ l && cat l/rel", "not_understood"),
        ("cat l & mv sub/deep/rel l", "not_understood"),
        ("mv a.txt b.txt && cat b.txt", None),
        ("cp -a plain l && ls l", None),
        ("mv sub/deep/rel l", None),
        ("cat sub/deep/rel", None),
        ("mv missing.txt l && cat l", None),
    ],
)
def test_links_are_carried_nowhere_by_a_line_that_looks_at_files(
    space: Path, objection: Objection, line: str, said: str | None
) -> None:
    """A relative link leads elsewhere from its new folder, which the look before the line cannot see."""
    (space / "sub/deep/top").unlink()
    (space / "sub/out").unlink()
    (space / "sub/file").write_text("inside")
    (space / "sub/deep/rel").symlink_to("../file")  # from the top, it leads out
    (space / "plain").mkdir()

    found = objection(analyse_commands([line], str(space)).preconditions or DiskPreconditions())

    assert (found and found[0]) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cd sub; cd ..; ls", None),
        ("cd sub; cat ../a.txt", None),
        ("cd nothing; cat ../a.txt", "not_understood"),
        ("cd a.txt; cat ../a.txt", "not_understood"),
        ("cd away; cat ../a.txt", "path_outside_workspace"),
        ("cd sub/deep/top; cat ../a.txt", "path_outside_workspace"),
        ("cd shut; cat ../a.txt", "not_understood"),
    ],
)
def test_a_folder_from_which_a_line_leads_up_can_be_entered(
    space: Path, objection: Objection, line: str, said: str | None
) -> None:
    """Otherwise `cd` would fail, and what follows would look from the workspace itself."""
    (space / "shut").mkdir(mode=0o600)

    found = objection(analyse_commands([line], str(space)).preconditions or DiskPreconditions())

    if "shut" not in line or os.geteuid():  # to root, no folder is shut
        assert (found and found[0]) == said


@pytest.mark.parametrize("line", ["for f in away/*; do :; done", "for f in */*; do :; done"])
def test_a_loop_does_not_make_the_shell_look_outside(space: Path, objection: Objection, line: str) -> None:
    """The shell itself lists what is behind a link, though no command ever sees a name."""
    world = analyse_commands([line], str(space)).preconditions
    assert world is not None

    told = objection(world)

    assert told is not None
    assert told[0] == "path_outside_workspace"
    assert (
        objection(analyse_commands(["for f in sub/*; do :; done"], str(space)).preconditions or DiskPreconditions())
        is None
    )


@pytest.mark.parametrize(
    "path",
    ["a.txt", "in", "sub", ".", "pipe", "nothing", "a.txt/x", "sub/deep/top/a.txt", "sub/../a.txt", "sub/deep/.."],
)
def test_what_lies_in_the_workspace_may_be_looked_at(objection: Objection, path: str) -> None:
    """Files, folders and what is neither; and what is not there."""
    assert objection(DiskPreconditions((PathAccess(path, is_pattern=False, folders=HERE),))) is None


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("out", HERE),
        ("missing", HERE),
        ("away/x", HERE),
        ("away/../secret", HERE),
        ("sub/deep/top/../secret", HERE),
        ("../secret", HERE),
        ("out", (".", "sub")),
        ("out", ("sub",)),
        ("deep/top/out", ("sub",)),
    ],
)
def test_what_leads_out_is_refused(objection: Objection, path: str, folders: tuple[str, ...]) -> None:
    """By a link at the end, on the way, or one that stays within and makes `..` lead out; from any of the folders."""
    denied = objection(
        DiskPreconditions(
            (PathAccess("a.txt", is_pattern=False, folders=HERE), PathAccess(path, is_pattern=False, folders=folders))
        )
    )

    seen = path if folders[0] == "." else f"{folders[0]}/{path}"
    assert denied == ("path_outside_workspace", f"{seen!r} leads out of the workspace.")


def test_an_absolute_path_is_seen_from_nowhere(objection: Objection, space: Path) -> None:
    """Whatever the folder."""
    assert objection(DiskPreconditions((PathAccess(f"{space}/a.txt", is_pattern=False, folders=("sub",)),))) is None
    assert objection(DiskPreconditions((PathAccess(f"{space}/out", is_pattern=False, folders=("sub",)),))) == (
        "path_outside_workspace",
        f"'{space}/out' leads out of the workspace.",
    )


@pytest.mark.parametrize(
    ("pattern", "folder", "refused"),
    [
        ("a.*", ".", None),
        ("*.none", ".", None),
        ("o*", ".", "out"),
        ("*", "sub", "sub/out"),
        ("s*/out", ".", "sub/out"),
        ("./**/o*", "sub", "sub/./out"),
        ("sub/[[:alpha:]]ut", ".", "sub/out"),
        ("aw*/*", ".", "./away"),
    ],
)
def test_a_glob_is_all_that_it_matches(objection: Objection, pattern: str, folder: str, refused: str | None) -> None:
    """One link among the names is enough."""
    expected = None if refused is None else ("path_outside_workspace", f"{refused!r} leads out of the workspace.")

    assert objection(DiskPreconditions((PathAccess(pattern, is_pattern=True, folders=(folder,)),))) == expected


def test_a_glob_must_not_become_an_option(objection: Objection, space: Path) -> None:
    """A file may be called like one; behind a folder it is none."""
    (space / "sub/-delete").write_text("")

    (space / "sub/out").unlink()
    assert objection(DiskPreconditions((PathAccess("sub/-*", is_pattern=True, folders=HERE),))) is None
    assert objection(DiskPreconditions((PathAccess("*", is_pattern=True, folders=("sub",)),))) == (
        "not_understood",
        "The glob '*' matches '-delete', which would be read as an option.",
    )


def test_a_name_that_we_cannot_open_may_be_open_to_programs(objection: Objection, space: Path) -> None:
    """A link whose name is no Unicode leads out as well as any other."""
    (space / os.fsdecode(b"sub/deep/\xff")).symlink_to("../../../secret")

    assert objection(DiskPreconditions((PathAccess("*f*", is_pattern=True, folders=("sub/deep",)),))) is None
    assert objection(DiskPreconditions((PathAccess("?", is_pattern=True, folders=("sub/deep",)),))) == (
        "not_understood",
        "The path 'sub/deep/\\udcff' is not Unicode text. Programs may resolve it differently.",
    )


def test_a_failure_of_ours_permits_nothing(objection: Objection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free descriptor nothing can be told; nor where the system fails in any other way."""

    def fail(error: Exception) -> Callable[..., Any]:
        def raising(*_: object) -> None:
            raise error

        return raising

    world = DiskPreconditions((PathAccess("a.txt", is_pattern=False, folders=HERE),))
    monkeypatch.setattr(
        WorkspacePaths, "open_file", fail(ToolError("'a.txt' cannot be read: x.", reason="read_failure"))
    )
    unread = objection(world)
    monkeypatch.setattr(WorkspacePaths, "open_file", fail(OSError("x")))

    assert unread == ("not_understood", "'a.txt' cannot be read: x. Programs may resolve it differently.")
    assert objection(world) == ("not_understood", "The commands cannot be checked against the disk: OSError.")


def test_a_hidden_place_is_refused(space: Path) -> None:
    """As it is to tools: the folders from which this very interpreter imports."""
    (space / "site").mkdir()
    lookout = Confinement(space, Inventory(space, ("site",), sealed=("site",)))

    denied = lookout.find_objection(DiskPreconditions((PathAccess("site/x.py", is_pattern=False, folders=HERE),)))
    lookout.close()

    assert denied is not None
    assert (denied.reason, denied.message) == ("protected_path", "'site/x.py' is protected.")


def test_one_call_has_one_budget_of_names(objection: Objection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many globs cost no more than one may, and the same glob is looked at once."""
    monkeypatch.setattr(patterns, "MAX_NAMES", 8)
    once = PathAccess("*", is_pattern=True, folders=("sub/deep",))

    assert objection(DiskPreconditions((once, once, once))) is None
    assert objection(
        DiskPreconditions(tuple(PathAccess("*" + "?" * n, is_pattern=True, folders=("sub/deep",)) for n in range(9)))
    ) == (
        "not_understood",
        "The globs of the command have to be compared with more than 8 names.",
    )


def test_a_program_that_leads_into_the_workspace_is_refused(
    objection: Objection, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that the system knows must not be the agent's own work."""
    (space / "tool").write_text("#!/bin/sh\n")
    (space / "tool").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").symlink_to(space / "tool")
    monkeypatch.setattr(programs, "SEARCH_FOLDERS", (str(tmp_path / "bin"), "/usr/bin", "/bin"))

    assert objection(DiskPreconditions(programs=("env", "cd", "no-such-program"))) is None
    assert objection(DiskPreconditions(programs=("env", "tool"))) == (
        "protected_path",
        "The program 'tool' lies in the workspace.",
    )


@pytest.mark.needs_program("git")
def test_a_repository_that_chooses_programs_is_refused(objection: Objection, space: Path) -> None:
    """Of each folder in which git would run."""
    subprocess.run(["git", "init", "-q", "."], cwd=space, check=True)
    plain = objection(DiskPreconditions(repositories=(".", "sub")))
    subprocess.run(["git", "config", "filter.x.clean", "touch pwned"], cwd=space, check=True)
    denied = objection(DiskPreconditions(repositories=("sub",)))

    assert plain is None
    message = ".git/config sets 'filter.clean', which may start a program or lead elsewhere."
    assert denied == ("protected_path", message)


def test_nothing_is_opened_before_it_is_needed(space: Path) -> None:
    """A toolbox whose calls run no commands holds no descriptor."""
    before = open_descriptors()
    lookout = Confinement(space)
    lookout.find_objection(DiskPreconditions())
    lookout.close()

    assert open_descriptors() == before
    assert lookout.find_objection(DiskPreconditions((PathAccess("out", is_pattern=False, folders=HERE),))) is not None
    assert open_descriptors() > before
    lookout.close()
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("git add -f nested && git add -A", "protected_path", id="looked into by the next add"),
        pytest.param("git add .; git describe --dirty", "protected_path", id="looked into by describe"),
        pytest.param("git add . && git commit -m x", None, id="commit looks into nothing"),
        pytest.param("git describe --dirty && git add .", None, id="looked before"),
    ],
)
def test_one_line_adds_no_repository_and_looks_into_it(tmp_path, line, reason) -> None:
    """A call is looked at once, before its line has made a link of the repository: git would run what that one names."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "a" / "nested" / ".git").mkdir(parents=True)
    world = analyse_commands((line,), str(tmp_path)).preconditions
    assert world is not None

    denied = Confinement(tmp_path).find_objection(world)

    assert (denied and denied.reason) == reason


@pytest.mark.needs_program("git")
def test_git_blame_is_refused_where_the_repository_names_a_list_of_commits(objection: Objection, space: Path) -> None:
    """Git would print a line of the file that is named; commands that do not read it go on."""
    subprocess.run(["git", "init", "--quiet", space], check=True)
    with (space / ".git/config").open("a") as config:
        config.write("[blame]\nignoreRevsFile = /etc/passwd\n")

    answers = [
        objection(analyse_commands([line], str(space)).preconditions)
        for line in ("git blame a.txt", "git annotate a.txt")
    ]

    said = ".git/config sets 'blame.ignorerevsfile', by which git blame may show lines of any file. Take it out."
    assert answers == [("protected_path", said)] * 2
    assert objection(analyse_commands(["git log"], str(space)).preconditions) is None
