"""Finding profiles by name and by path, and opening nothing but small regular files."""

import errno
import os
from pathlib import Path

import pytest

from toolcharter.errors import ConfigurationError
from toolcharter.profile.find import MAX_BYTES, shipped_profiles
from toolcharter.profile.read import list_profiles, load_profile, read_profile


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch) -> str:
    """Stand in for the shipped profiles, whose number and content are not this test's matter."""
    folder = str(tmp_path / "shipped")
    monkeypatch.setattr("toolcharter.profile.find.shipped_profiles", lambda: folder)
    return folder


def refusal(profile: str | Path, search=()) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load_profile(profile, search=search)
    return str(refused.value)


@pytest.mark.parametrize(
    ("file", "profile"),
    [
        pytest.param("profiles/mine.yaml", "mine", id="name in ./profiles"),
        pytest.param("profiles/mine.yml", "mine", id="short suffix"),
        pytest.param("shipped/mine.yaml", "mine", id="shipped"),
        pytest.param("plugin/mine.yaml", "mine", id="plugin"),
        pytest.param("mine.yaml", "mine.yaml", id="path in the current folder"),
        pytest.param("a/b/mine.txt", "a/../a/b/mine.txt", id="path with folders"),
        pytest.param("mine", Path("mine"), id="a Path is never a name"),
    ],
)
def test_a_profile_is_a_name_or_a_path(write, file, profile) -> None:
    """Names are looked up in three kinds of places; everything else is a path."""
    write(file, "profile: found")

    assert load_profile(profile, search=["plugin"]).name == "found"


def test_a_name_keeps_the_path_where_it_was_found(write, shipped) -> None:
    """Places repeat relative folders as they are, and absolute ones as they are."""
    write("profiles/mine.yaml", "profile: mine")
    write("shipped/other.yaml", "profile: other")

    files = [read_profile(name).files for name in ("mine", "other")]

    assert files == [(Path("profiles/mine.yaml"),), (Path(shipped, "other.yaml"),)]


def test_a_path_is_repeated_as_it_was_given(write) -> None:
    """`./x.yaml` stays `./x.yaml` in every message."""
    write("x.yaml", "profile: x\nb: 1")

    assert refusal("./x.yaml").splitlines()[0] == "./x.yaml:2:1: b: unknown key 'b'."


@pytest.mark.parametrize("installed", [pytest.param("shipped", id="shipped"), pytest.param("plugin", id="plugin")])
def test_equal_copies_of_a_name_are_the_installed_profile(write, tmp_path, installed) -> None:
    """An unchanged copy of an installed profile is not ambiguous, and is not read."""
    write("profiles/mine.yaml", "profile: mine")
    write(f"{installed}/mine.yaml", "profile: mine")

    assert read_profile("mine", search=[tmp_path / "plugin"]).files == (tmp_path / installed / "mine.yaml",)


@pytest.mark.parametrize(
    "second", [pytest.param("plugin/mine.yaml", id="two folders"), pytest.param("profiles/mine.yml", id="two suffixes")]
)
def test_a_name_with_two_contents_is_refused(write, second) -> None:
    """Which one was meant cannot be known."""
    write("profiles/mine.yaml", "profile: mine")
    write(second, "profile: mine # changed")

    assert refusal("mine", ["plugin"]) == (
        f"profile 'mine': the name 'mine' means different profiles: 'profiles/mine.yaml' and '{second}'.\n"
        "Rename yours, or give the path of the one you mean. Two files are the same profile if they have the same text "
        "and the same parents."
    )


def test_a_copy_that_cannot_be_compared_differs(write, tmp_path) -> None:
    """What cannot be read may say anything."""
    write("profiles/mine.yaml", "profile: mine")
    (tmp_path / "plugin/mine.yaml").mkdir(parents=True)

    assert refusal("mine", ["plugin"]).startswith("profile 'mine': the name 'mine' means different profiles")


def test_an_unknown_name_gets_near_matches(write, shipped) -> None:
    """A misspelt name is answered with the nearest one and where was looked."""
    write("plugin/reviewer.yaml", "profile: reviewer")

    assert [refusal("reviwer", ["plugin"]), refusal("x")] == [
        (
            f"profile 'reviwer': there is no profile named 'reviwer'.\n"
            f"Did you mean 'reviewer'? Looked in: 'profiles', {shipped!r}, 'plugin'."
        ),
        f"profile 'x': there is no profile named 'x'.\nLooked in: 'profiles', {shipped!r}.",
    ]


def test_a_short_name_gets_a_near_match_and_each_folder_once(write, shipped, tmp_path) -> None:
    """Of two letters one may be wrong; one folder by two paths is one."""
    write("profiles/wx.yaml", "profile: wx")

    assert refusal("wy", [tmp_path / "profiles"]) == (
        f"profile 'wy': there is no profile named 'wy'.\nDid you mean 'wx'? Looked in: 'profiles', {shipped!r}."
    )


def make_pipe(file: Path) -> None:
    os.mkfifo(file)


def make_loop(file: Path) -> None:
    file.symlink_to(file)


def make_large(file: Path) -> None:
    file.write_text("profile: large\n#" + " " * MAX_BYTES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(Path.mkdir, "is a folder, not a file.\nGive the path of a YAML file.", id="folder"),
        pytest.param(make_pipe, "is a pipe or a device, not a file.\nGive the path of a YAML file.", id="pipe"),
        pytest.param(make_loop, "cannot be opened: Too many levels of symbolic links.", id="link to itself"),
        pytest.param(make_large, "is larger than 1048576 bytes.\nSplit it with `extends`.", id="large"),
        pytest.param(lambda file: None, "there is no such file.\nDid you mean 'p.yml'?", id="absent"),
    ],
)
def test_only_a_small_file_is_opened(write, tmp_path, make, message) -> None:
    """Nothing blocks, and nothing but a regular file of at most 1 MiB is read."""
    write("p.yml", "profile: p")
    make(tmp_path / "p.yaml")

    assert refusal("p.yaml") == f"p.yaml: {message}"


def test_a_file_at_the_size_limit_is_read(write) -> None:
    """1 MiB is not too large."""
    text = "profile: large\n#"

    assert load_profile(write("p.yaml", text + " " * (MAX_BYTES - len(text)))).name == "large"


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        pytest.param("a\0.yaml", "a\0.yaml: cannot be opened: its path holds a NUL.", id="NUL"),
        pytest.param("no/such/p.yaml", "no/such/p.yaml: there is no such file.", id="absent folder"),
        pytest.param("", ": there is no such file.", id="empty"),
        pytest.param("x" * 300 + ".yaml", "x" * 300 + ".yaml: cannot be opened: File name too long.", id="long path"),
    ],
)
def test_impossible_paths_are_refused(write, profile, message) -> None:
    """A path that no file can have is a fault like any other."""
    assert refusal(profile) == message


def test_the_list_holds_every_profile_that_a_name_finds(write) -> None:
    """Broken profiles are listed with their faults, equal copies once, differing ones each with the clash."""
    write("profiles/b.yaml", "profile: b\ndescription: From the child.")
    write("profiles/child.yml", "profile: c\nextends: [b]")
    write("profiles/not a name.yaml", "profile: x")
    write("profiles/notes.txt", "profile: x")
    write("plugin/b.yaml", "profile: b\ndescription: From the child.")
    write("plugin/broken.yaml", "[")
    write("plugin/child.yaml", "profile: other")

    found = list_profiles(["plugin", "absent"])

    clash = "the name 'child' means different profiles: 'profiles/child.yml' and 'plugin/child.yaml'."
    assert [(one.name, one.description, one.place, [fault.what for fault in one.faults]) for one in found] == [
        ("b", "From the child.", "plugin/b.yaml", []),
        (
            "broken",
            None,
            "plugin/broken.yaml",
            ["not valid YAML: did not find expected node content while parsing a flow node (line 2, column 1)."],
        ),
        ("child", "From the child.", "profiles/child.yml", [clash]),
        ("child", None, "plugin/child.yaml", [clash]),
    ]


def test_shipped_profiles_lie_in_the_package_or_at_the_root_of_a_checkout(tmp_path) -> None:
    """A wheel carries them beside the code; `core/` without the project's file around it is no checkout."""
    checkout = tmp_path / "clone/core/toolcharter"
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone/pyproject.toml").touch()

    folders = [shipped_profiles(tmp_path / home) for home in (checkout, "site/toolcharter", "core/toolcharter")]

    assert folders == [
        tmp_path / "clone/profiles",
        tmp_path / "site/toolcharter/profiles",
        tmp_path / "core/toolcharter/profiles",
    ]


def test_a_file_that_cannot_be_read_is_refused(write, monkeypatch) -> None:
    """A disk that fails in the middle is a fault of the file."""

    def fail(descriptor, count):
        raise OSError(errno.EIO, "Input/output error")

    write("p.yaml", "profile: p")
    monkeypatch.setattr(os, "read", fail)

    assert refusal("p.yaml") == "p.yaml: cannot be read: Input/output error."
