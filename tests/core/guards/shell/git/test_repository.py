"""Where git may run, with repositories on disk."""

import os
import subprocess
from pathlib import Path

import pytest

from toolcharter.guards.shell.git import repository as git_repository
from toolcharter.guards.shell.git.repository import blame_objection, objection

pytestmark = pytest.mark.needs_program("git")


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace with a fresh repository and a folder."""
    folder = tmp_path / "space"
    (folder / "src").mkdir(parents=True)
    _init(folder)
    return folder


def test_plain_repository_is_welcome(space: Path) -> None:
    """What `git init` makes is not objected to, nor its folders, nor a workspace without one."""
    none = space.parent / "none"
    none.mkdir()

    assert (objection(space, space), objection(space / "src", space), objection(none, none)) == (None, None, None)


def test_usual_settings_are_welcome(space: Path) -> None:
    """Names, remotes, branches, aliases and what is switched off by name do no harm."""
    _set(
        space,
        '[user]\nname = a\n[remote "o"]\nurl = u\nfetch = f\n[branch "b"]\nremote = o\n[alias]\nruncommand = !x\n',
    )
    _set(
        space,
        '[submodule "a"]\nupdate = rebase\n[submodule "b"]\nupdate=none\n'
        "[core]\nfsmonitor = x\nhooksPath = y\npager = z\nsshCommand = s\n[credential]\nhelper = c\n[gpg]\nprogram = p\n",
    )

    assert objection(space, space) is None


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ('[filter "x"]\nclean = e', "filter.clean"),
        ('[filter "x"]\nsmudge = e', "filter.smudge"),
        ('[filter "x"]\nprocess = e', "filter.process"),
        ('[diff "x"]\ntextconv = e', "diff.textconv"),
        ('[diff "x"]\ncommand = e', "diff.command"),
        ("[diff]\nexternal = e", "diff.external"),
        ('[merge "x"]\ndriver = e', "merge.driver"),
        ("[core]\nworktree = /", "core.worktree"),
        ("[core]\nalternateRefsCommand = e", "core.alternaterefscommand"),
        ("[core]\ngitProxy = e", "core.gitproxy"),
        ("[include]\npath = e", "include.path"),
        ('[includeIf "gitdir:/"]\npath = e', "includeif.path"),
        ('[remote "x"]\nuploadpack = e', "remote.uploadpack"),
        ('[remote "x"]\npromisor = true', "remote.promisor"),
        ('[trailer "x"]\ncmd = e', "trailer.cmd"),
        ('[hook "x"]\ncommand = e', "hook.command"),
        ('[submodule "x"]\nignore = none', "submodule.ignore"),
        ('[submodule "x"]\nupdate = !e', "submodule.update"),
        ('[submodule "x"]\nupdate = rebase\nupdate = "!e"', "submodule.update"),
    ],
)
def test_setting_that_cannot_be_switched_off_is_refused(space: Path, setting: str, key: str) -> None:
    """Git does not run where a key of any name may start a program or lead elsewhere."""
    _set(space, setting)

    assert objection(space, space) == f".git/config sets {key!r}, which may start a program or lead elsewhere."


def test_settings_of_the_work_tree_count(space: Path) -> None:
    """Some repositories keep settings in a second file."""
    (space / ".git/config.worktree").write_text("[diff]\nexternal = e\n")

    assert objection(space, space) == (
        ".git/config.worktree sets 'diff.external', which may start a program or lead elsewhere."
    )


def test_settings_of_submodules_count(space: Path) -> None:
    """A submodule may say where its files are, and start nothing."""
    module = space / ".git/modules/a"
    module.mkdir(parents=True)
    (module / "config").write_text("[core]\nworktree = ../../../a\n")
    before = objection(space, space)
    (module / "config").write_text('[filter "x"]\nclean = e\n')

    assert before is None
    assert objection(space, space) == (
        ".git/modules/a/config sets 'filter.clean', which may start a program or lead elsewhere."
    )


def test_submodules_say_nothing_of_being_ignored(space: Path) -> None:
    """`.gitmodules` could have git look into a submodule after all."""
    (space / ".gitmodules").write_text('[submodule "a"]\npath = a\nurl = u\nignore = none\n')

    assert (
        objection(space, space) == ".gitmodules sets 'submodule.ignore', which may start a program or lead elsewhere."
    )


def test_too_many_submodules_are_refused(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much to look at is not trusted."""
    monkeypatch.setattr(git_repository, "_MAX_FOLDERS", 2)
    (space / ".git/modules/a").mkdir(parents=True)
    at_the_limit = objection(space, space)
    (space / ".git/modules/b").mkdir()

    assert (at_the_limit, objection(space, space)) == (None, "It has more submodules than can be looked at.")


def test_repository_within_is_refused(space: Path) -> None:
    """Git would use the nearest repository, which another hand may have made."""
    _init(space / "src")
    (space / "src/deep").mkdir()

    assert objection(space / "src/deep", space) == "src is a repository within the workspace."
    assert objection(space, space) is None


def _embed(space: Path) -> Path:
    """A repository in the folder `inner`, which the index of the outer one names."""
    inner = space / "inner"
    inner.mkdir()
    _init(inner)
    for folder, words in [(inner, ["commit", "--quiet", "--allow-empty", "-m", "a"]), (space, ["add", "inner"])]:
        names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)
    return inner


def test_repository_that_the_index_names_is_looked_at(space: Path) -> None:
    """Git looks for changes in it, under its own settings."""
    inner = _embed(space)
    plain = objection(space, space)
    _set(inner, '[filter "x"]\nclean = e')

    assert plain is None
    assert objection(space, space) == ("inner/.git sets 'filter.clean', which may start a program or lead elsewhere.")


def test_submodule_s_repository_lies_in_modules(space: Path) -> None:
    """A file says where, and it has been looked at there and nowhere else; without one there is nothing to start."""
    inner = _embed(space) / ".git"
    (space / ".git/modules").mkdir()
    inner.rename(space / ".git/modules/inner")
    none = objection(space, space)
    inner.write_text("gitdir: ../.git/modules/inner\n")
    known = objection(space, space)
    inner.write_text("gitdir: ../elsewhere\n")

    assert (none, known, objection(space, space)) == (None, None, "inner/.git leads elsewhere.")


def test_index_that_may_name_repositories_is_read(space: Path) -> None:
    """Whoever writes what cannot be read hides what it names."""
    index = space / ".git/index"
    index.write_bytes(b"DIRC" + bytes([0, 0, 0, 4, 0, 0, 0, 1]) + b"\0\0\xe0\0")

    assert objection(space, space) == ".git/index cannot be read: it is cut short."


def test_bare_repository_is_refused(space: Path) -> None:
    """A folder with the parts of a repository is one to git."""
    subprocess.run(["git", "init", "--quiet", "--bare", "evil.git"], cwd=space, check=True)

    assert objection(space / "evil.git", space) == "evil.git looks like a repository itself."


def test_folder_of_a_work_tree_is_refused(space: Path) -> None:
    """Git takes one with `commondir` for a repository whose other parts lie elsewhere."""
    (space / "src/HEAD").write_text("ref: refs/heads/main\n")
    before = objection(space / "src", space)
    (space / "src/commondir").write_text("/somewhere\n")

    assert (before, objection(space / "src", space)) == (None, "src looks like a repository itself.")


def test_folder_outside_is_refused(space: Path) -> None:
    """The caller says where the workspace is."""
    assert objection(space.parent, space) == "It would run outside the workspace."


def test_git_that_leads_elsewhere_is_refused(space: Path) -> None:
    """`.git` is a folder of its own, no link to one and no file that names one."""
    git = space / ".git"
    git.rename(space.parent / "elsewhere")
    git.symlink_to(space.parent / "elsewhere")
    of_link = objection(space, space)
    git.unlink()
    git.write_text(f"gitdir: {space.parent}/elsewhere\n")

    assert (of_link, objection(space, space)) == (".git is a link or a file, and leads elsewhere.",) * 2


@pytest.mark.parametrize("part", ["config", "objects", "refs", "HEAD", "info"])
def test_part_that_is_a_link_is_refused(space: Path, part: str) -> None:
    """Nothing of the repository lies elsewhere."""
    (space / ".git" / part).rename(space.parent / "part")
    (space / ".git" / part).symlink_to(space.parent / "part")

    assert objection(space, space) == f".git/{part} is a link."


@pytest.mark.parametrize(
    "part",
    [
        "COMMIT_EDITMSG",
        "MERGE_MSG",
        "info/exclude",
        "logs/HEAD",
        "logs/refs/heads/main",
        "refs/heads/deep/x",
        "objects/00",
        "rebase-merge/done",
        "modules",
    ],
)
def test_link_anywhere_in_the_repository_is_refused(space: Path, part: str) -> None:
    """A commit's message and log would be written where it leads, the rules of what is ignored shown."""
    link = space / ".git" / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(space.parent / "elsewhere")

    assert objection(space, space) == f".git/{part} is a link."


@pytest.mark.parametrize("part", ["hooks/pre-commit", "lfs/objects", "annex", "objects/00/11", "modules/a/HEAD"])
def test_link_that_no_git_of_ours_follows_is_welcome(space: Path, part: str) -> None:
    """Hooks are switched off; objects are known by what they hold."""
    link = space / ".git" / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(space.parent / "elsewhere")

    assert objection(space, space) is None


def test_too_many_folders_of_a_repository_are_refused(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much to look at is not trusted."""
    monkeypatch.setattr(git_repository, "_MAX_SUBFOLDERS", 3)

    assert objection(space, space) == ".git has more folders than can be looked at."


@pytest.mark.parametrize("part", ["commondir", "objects/info/alternates"])
def test_file_that_leads_elsewhere_is_refused(space: Path, part: str) -> None:
    """Objects and references are the repository's own."""
    (space / ".git" / part).write_text("/elsewhere\n")

    assert objection(space, space) == f".git/{part} leads elsewhere."


def test_settings_that_cannot_be_read_are_refused(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is not plain, nor what is too long, nor what is no file."""
    config = space / ".git/config"
    config.write_text("x")
    unclear = objection(space, space)
    monkeypatch.setattr(git_repository, "_MAX_BYTES", 10)
    config.write_text("[a]\nbc = 1")
    at_the_limit = objection(space, space)
    config.write_text("[a]\nbc = 12")
    longer = objection(space, space)
    config.unlink()
    os.mkfifo(config)

    assert unclear == ".git/config cannot be read: line 1: neither a section nor a setting."
    assert (at_the_limit, longer) == (None, ".git/config is too long to be looked at.")
    assert objection(space, space) == ".git/config is no regular file."


def test_what_the_system_refuses_is_refused(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that cannot be looked at is not trusted."""

    def lstat(_: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("toolcharter.guards.shell.git.repository.os.lstat", lstat)

    assert objection(space, space) == "The repository cannot be looked at: Permission denied."


def _init(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


def _set(folder: Path, text: str) -> None:
    with (folder / ".git/config").open("a") as config:
        config.write(text + "\n")


@pytest.mark.parametrize("file", [".git/config", ".git/config.worktree"])
def test_blame_reads_no_list_that_the_repository_names(space: Path, file: str) -> None:
    """Git prints the first line that is no commit: of a hidden file, or of one outside."""
    before = blame_objection(space)
    with (space / file).open("a") as config:
        config.write("[blame]\nignoreRevsFile = /etc/passwd\n")

    assert (before, blame_objection(space)) == (
        None,
        f"{file} sets 'blame.ignorerevsfile', by which git blame may show lines of any file. Take it out.",
    )
    assert objection(space, space) is None
    (space / file).write_text("?")
    assert blame_objection(space) == f"{file} cannot be read."
