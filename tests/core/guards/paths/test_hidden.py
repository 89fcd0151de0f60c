"""Hidden files: which names a glob means, what the path guard refuses, what a search of the disk finds."""

import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.rows import each_row

from toolcharter.api.runner import HiddenPath
from toolcharter.errors import Denied
from toolcharter.guards.paths import WorkspacePaths, hidden
from toolcharter.guards.paths.hidden import HiddenFiles, HiddenNames
from toolcharter.profile.settings import DEFAULT_HIDDEN, HiddenGlob

KEY = b"-----BEGIN " + b"PRIVATE KEY-----\nMIIE\n"


def names(*globs: str) -> HiddenNames:
    return HiddenNames([HiddenGlob(glob) for glob in globs])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def paths(workspace: Path) -> Iterator[WorkspacePaths]:
    opened = WorkspacePaths(workspace, hidden=DEFAULT_HIDDEN)
    yield opened
    opened.close()


@each_row(
    ("globs", "path", "expected"),
    [
        ([".env"], ".env", True),
        ([".env"], "packages/app/.env", True),
        ([".env"], ".ENV", True),
        ([".env"], ".env/inner/file", True),
        ([".env"], ".env2", False),
        ([".env"], "x.env", False),
        ([".env.*"], ".env.local", True),
        ([".env.*", "!.env.example"], "a/.env.example", False),
        (["!.env.example", ".env.*"], ".env.example", False),
        (["secrets", "!readme.md"], "secrets/readme.md", True),
        (["id_?"], "id_a", True),
        (["id_?"], "id_ab", False),
        (["a[b]"], "ab", False),
        (["a[b]"], "a[b]", True),
        (["config/secrets"], "config/secrets", True),
        (["config/secrets"], "config/secrets/a/b", True),
        (["config/secrets"], "x/config/secrets", False),
        (["config/secrets"], "config/secrets.md", False),
        (["config/*.yml"], "config/a.yml", True),
        (["config/*.yml"], "config/a/b.yml", False),
        (["**/.config/gcloud"], ".config/gcloud/x", True),
        (["**/.config/gcloud"], "home/me/.config/gcloud", True),
        (["data/**"], "data/a/b", True),
        (["data/**"], "data", False),
        (["a/**/z"], "a/z", True),
        (["a/**/z"], "a/b/c/z/d", True),
        (["keys/"], "a/keys/x", True),
        (["ﬁle"], "file", True),
        ([], ".env", False),
    ],
)
def test_a_path_is_hidden_by_its_name_or_a_folder_on_its_way(globs: list[str], path: str, *, expected: bool) -> None:
    """Without a slash by the name of any component, with one from the top, without regard to case."""
    assert names(*globs).covers(path.split("/")) is expected


def test_the_usual_names_of_credentials_are_hidden() -> None:
    """Templates of them are not, nor are certificates and settings by their name alone."""
    usual = HiddenNames(DEFAULT_HIDDEN)
    kept = [
        ".env.example",
        ".env.sample",
        ".env.template",
        "cacert.pem",
        ".npmrc",
        "env.py",
        "keys.md",
        "src/id_rsa.py",
    ]
    secret = [".env", ".env.production", "deploy/id_ed25519", ".aws/credentials", ".kube/config", "a/.netrc", "x.p12"]

    assert [name for name in kept if usual.covers(name.split("/"))] == []
    assert [name for name in secret if not usual.covers(name.split("/"))] == []
    assert {name: usual.conditions([name]) for name in ("a.pem", ".npmrc", "a.txt")} == {
        "a.pem": (b"PRIVATE KEY",),
        ".npmrc": (b"_auth", b"_password"),
        "a.txt": (),
    }


def test_exceptions_count_for_what_a_file_holds_too() -> None:
    """`!public.pem` shows that file, whatever it holds."""
    both = HiddenNames([HiddenGlob("*.pem", "KEY"), HiddenGlob("!public.pem")])

    assert (both.conditions(["public.pem"]), both.conditions(["a", "b.pem"])) == ((), (b"KEY",))


@pytest.mark.parametrize("name", [".env", "a/.env.local", ".ssh/config", "link", "key.pem", "linked.pem"])
def test_what_is_hidden_is_not_opened(workspace: Path, paths: WorkspacePaths, name: str) -> None:
    """By its name, through a link, or for what it holds; for reading and for every kind of change."""
    for folder in ("a", ".ssh"):
        (workspace / folder).mkdir()
    for file in (".env", "a/.env.local", ".ssh/config"):
        (workspace / file).write_text("x")
    (workspace / "key.pem").write_bytes(KEY)
    (workspace / "link").symlink_to(".env")
    (workspace / "linked.pem").symlink_to("key.pem")

    refused: list[str] = []
    for attempt in (
        lambda: paths.open_file(name),
        lambda: paths.writable(lambda: None).open_place(name, "write"),
        *((lambda use=use: paths.writable(lambda: None).open_place(name, use)) for use in ("move", "delete")),
    ):
        if name.startswith("link") and len(refused) >= 2:
            break  # a link itself may be moved and deleted: it holds nothing
        with pytest.raises(Denied) as denied:
            attempt()
        refused.append(f"{denied.value.reason}: {denied.value.message}")

    assert set(refused) == {f"protected_path: '{name}' is hidden by the profile."}


def test_what_is_hidden_is_not_listed(workspace: Path, paths: WorkspacePaths) -> None:
    """Neither by its name nor for what it holds now."""
    for file, content in {".env": b"x", "a.pem": KEY, "cacert.pem": b"CERTIFICATE", ".env.example": b"A="}.items():
        (workspace / file).write_bytes(content)

    def listed() -> list[str]:
        with paths.open_folder() as folder:
            return [entry.name for entry in folder.entries()]

    before = listed()
    (workspace / "cacert.pem").write_bytes(KEY)

    assert (before, listed()) == ([".env.example", "cacert.pem"], [".env.example"])


def test_what_a_file_holds_is_looked_at_each_time(workspace: Path, paths: WorkspacePaths) -> None:
    """A file that was shown may hold a secret later."""
    (workspace / ".npmrc").write_text("engine-strict=true\n")
    with paths.open_file(".npmrc") as file:
        first = file.read(100)
    (workspace / ".npmrc").write_text("//registry.example/:_auth" + "Token=x\n")

    assert first == b"engine-strict=true\n"
    with pytest.raises(Denied, match="is hidden by the profile"):
        paths.open_file(".npmrc")


def test_a_folder_with_something_hidden_is_not_moved(workspace: Path, paths: WorkspacePaths) -> None:
    """Its path would be another, which no glob may mean."""
    (workspace / "config").mkdir()
    (workspace / "config" / "key.pem").write_bytes(KEY)

    with pytest.raises(Denied, match=r"'config/key\.pem' is hidden by the profile"):
        paths.writable(lambda: None).open_place("config", "move")


def find(workspace: Path, *globs: HiddenGlob) -> list[tuple[str, bool]]:
    return sorted(HiddenFiles(workspace, globs or DEFAULT_HIDDEN)())


def test_a_search_finds_all_that_is_hidden(workspace: Path) -> None:
    """Files and folders at any depth, what a hidden link leads to, and files for what they hold; nothing in `.git`."""
    for folder in ("a/b/.ssh/deep", ".git", "real"):
        (workspace / folder).mkdir(parents=True)
    for file in (".env", "a/b/.env.local", "a/b/.ssh/config", ".git/.env", "real/settings", "a/b/.env.example"):
        (workspace / file).write_text("x")
    (workspace / "a/key.pem").write_bytes(KEY)
    (workspace / "a/cacert.pem").write_bytes(b"CERTIFICATE")
    (workspace / "a/.env.link").symlink_to("../real/settings")
    (workspace / "a/.env.outside").symlink_to("/etc/hostname")
    (workspace / "a/.env.dangling").symlink_to("nothing")

    assert find(workspace) == [
        (".env", False),
        ("a/b/.env.local", False),
        ("a/b/.ssh", True),
        ("a/key.pem", False),
        ("real/settings", False),
    ]
    assert find(workspace, HiddenGlob("real")) == [("real", True)]


def test_a_second_search_sees_what_has_changed(workspace: Path, monkeypatch) -> None:
    """A folder that has not changed is not listed again; one that has is."""
    (workspace / "a").mkdir()
    (workspace / "b").mkdir()
    long_ago = time.time() - 60
    for folder in ("a", "b", "."):
        os.utime(workspace / folder, (long_ago, long_ago))
    monkeypatch.setattr(hidden, "_SETTLED_NS", 0)
    search = HiddenFiles(workspace, DEFAULT_HIDDEN)
    listed: list[str] = []
    scandir = os.scandir

    def counting(path: str) -> Iterator[os.DirEntry[str]]:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)

    found = [search()]
    (workspace / "b" / ".env").write_text("x")
    found.append(search())
    (workspace / "b" / ".env").unlink()
    found.append(search())

    assert found == [(), (HiddenPath("b/.env", is_folder=False),), ()]
    assert sorted(Path(path).name for path in listed) == ["a", "b", "b", "b", "ws"]


def test_a_folder_that_changed_just_now_is_listed_again(workspace: Path) -> None:
    """The clock of a file system is coarse: a second change may bear the time of the first."""
    search = HiddenFiles(workspace, DEFAULT_HIDDEN)
    search()
    status = workspace.stat()
    (workspace / ".env").write_text("x")
    os.utime(workspace, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert search() == (HiddenPath(".env", is_folder=False),)


def test_a_search_goes_to_another_process(workspace: Path) -> None:
    """A runner that is opened elsewhere hides the same."""
    (workspace / ".env").write_text("x")
    search = HiddenFiles(workspace, DEFAULT_HIDDEN)
    search()

    assert pickle.loads(pickle.dumps(search))() == (HiddenPath(".env", is_folder=False),)


def test_a_workspace_that_is_too_large_is_refused(workspace: Path, monkeypatch) -> None:
    """What cannot be searched may hold what is hidden."""
    monkeypatch.setattr(hidden, "MAX_FOLDERS", 2)
    for name in ("a", "b", "c"):
        (workspace / name).mkdir()

    with pytest.raises(Denied, match="more than 2 folders, too many to look for hidden files") as denied:
        find(workspace)

    assert denied.value.reason == "sandbox_unavailable"


@pytest.fixture
def as_a_user() -> Iterator[Path]:
    """A workspace of an ordinary user, as whom the test runs: for root nothing is closed."""
    with TemporaryDirectory() as name:
        folder, user = Path(name).resolve(), os.geteuid() or 65534
        os.chown(folder, user, -1)
        before = os.geteuid()
        os.seteuid(user)
        try:
            yield folder
        finally:
            os.seteuid(before)
            folder.chmod(0o700)
            for closed in folder.iterdir():
                closed.chmod(0o700)


def test_what_is_closed_to_us_is_hidden(as_a_user: Path) -> None:
    """A program in a sandbox could close a folder or file of its user's, and a later program could open it and read."""
    for folder in ("closed", "listed", "open"):
        (as_a_user / folder).mkdir()
        (as_a_user / folder / ".env").write_text("x")
        (as_a_user / folder / "key.pem").write_bytes(KEY)
    (as_a_user / "open/key.pem").chmod(0)
    (as_a_user / "closed").chmod(0o100)
    (as_a_user / "listed").chmod(0o400)

    assert find(as_a_user) == [
        ("closed", True),
        ("listed/.env", False),
        ("listed/key.pem", False),
        ("open/.env", False),
        ("open/key.pem", False),
    ]


def test_a_workspace_that_is_closed_to_us_is_refused(as_a_user: Path) -> None:
    """What cannot be searched may hold what is hidden."""
    as_a_user.chmod(0)

    with pytest.raises(Denied, match="cannot be searched for hidden files") as denied:
        find(as_a_user)

    assert denied.value.reason == "sandbox_unavailable"


def test_without_globs_nothing_is_searched(workspace: Path, monkeypatch) -> None:
    """`hidden: []` costs nothing."""
    monkeypatch.setattr(os, "scandir", None)

    assert HiddenFiles(workspace, ())() == ()


def test_what_is_no_file_is_not_read(workspace: Path) -> None:
    """A pipe of such a name would wait for its writer."""
    os.mkfifo(workspace / "pipe.pem")

    assert find(workspace) == []


def test_the_other_names_of_a_hidden_file_are_found(workspace: Path) -> None:
    """For runners: a sandbox covers paths, and each of them shows the file."""
    (workspace / ".ssh").mkdir()
    (workspace / "app").mkdir()
    (workspace / ".ssh/id").write_text("x")
    (workspace / "app/id").hardlink_to(workspace / ".ssh/id")
    (workspace / ".ssh/again").hardlink_to(workspace / ".ssh/id")
    (workspace / "one").write_text("x")
    (workspace / "two").hardlink_to(workspace / "one")

    found = HiddenFiles(workspace, [HiddenGlob(".ssh")])()

    assert found == (HiddenPath(".ssh", is_folder=True), HiddenPath("app/id", is_folder=False))


def test_a_name_that_is_new_is_known_at_once(paths: WorkspacePaths, workspace: Path) -> None:
    """One search serves many files, but none that has got a name since."""
    (workspace / "one").write_text("x")
    (workspace / "two").hardlink_to(workspace / "one")
    (workspace / ".env").write_text("A=1")
    with paths.open_file("two") as file:
        assert file.read(9) == b"x"

    (workspace / "three").hardlink_to(workspace / ".env")

    with pytest.raises(Denied, match="'three' is hidden by the profile"):
        paths.open_file("three")


def test_many_files_with_several_names_cost_one_search(
    paths: WorkspacePaths, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installers link whole trees: only one of their files makes the guard look for hidden ones."""
    searches = list[str]()
    search = HiddenFiles.paths

    def counted(files: HiddenFiles) -> list[str]:
        searches.append("")
        return search(files)

    monkeypatch.setattr(HiddenFiles, "paths", counted)
    monkeypatch.setattr(hidden, "_FRESH_S", 600.0)
    for number in range(9):
        (workspace / f"a{number}").write_text("x")
        (workspace / f"b{number}").hardlink_to(workspace / f"a{number}")
    time.sleep(0.15)

    for number in range(9):
        paths.open_file(f"b{number}").close()

    assert searches == [""]
