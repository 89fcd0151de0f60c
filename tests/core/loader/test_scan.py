import gc
import os
import sys
import warnings
import zipfile
from importlib.metadata import MetadataPathFinder

import pytest

from toolcharter.loader import scan
from toolcharter.loader.scan import EXTENSIONS, TOOLS, EntryPoint, find_installed, normalise


def test_entry_points_are_listed_with_their_distribution_and_nothing_is_imported(site, index) -> None:
    """The index holds each line of both groups, read from metadata alone."""
    site.package("acme_git", "raise SystemExit('imported')")
    text = """
        # a comment
        [console_scripts]
        git = elsewhere
        [toolcharter]
        git = acme_git
        # tag = acme_git
        a line without a value
        [toolcharter.extensions]
        watch=acme_git.watch
    """
    site.metadata("Acme.Git", text, folder="Acme.Git-2.1+local.dist-info")

    found = index()

    owner = ("acme-git", "2.1+local", str(site.folder), "Acme.Git-2.1+local.dist-info", True)
    git = EntryPoint(TOOLS, "git", "acme_git", *owner)
    watch = EntryPoint(EXTENSIONS, "watch", "acme_git.watch", *owner)
    assert (found.entry_points, found.tools, found.extensions) == ((git, watch), {"git": git}, {"watch": watch})
    assert git.metadata_dir == str(site.folder / "Acme.Git-2.1+local.dist-info")
    assert "acme_git" not in sys.modules


@pytest.mark.parametrize(
    ("folder", "file", "owner"),
    [
        pytest.param("acme.egg-info", "PKG-INFO", "acme-git 1.0", id="egg-info"),
        pytest.param("acme.dist-info", "METADATA", "acme-git 1.0", id="no-version"),
        pytest.param("acme.dist-info", "OTHER", "acme-dist-info 0", id="no-metadata"),
    ],
)
def test_name_and_version_come_from_the_metadata_file_if_the_folder_has_none(site, index, folder, file, owner) -> None:
    """Older installers leave folders without a version; the description is no header."""
    metadata = site.metadata("acme-git", "[toolcharter]\ngit = acme_git\n", folder=folder)
    (metadata / "METADATA").rename(metadata / file)

    assert [entry.owner for entry in index().entry_points] == [owner]


def test_what_cannot_be_read_offers_nothing(site, index, tmp_path) -> None:
    """Folders without entry points, files in their place, a FIFO, leftovers and absent folders are passed over."""
    (site.folder / "empty-1.0.dist-info").mkdir()
    (site.folder / "file-1.0.dist-info").write_text("")
    (site.folder / "folder-1.0.dist-info/entry_points.txt").mkdir(parents=True)
    (site.folder / "fifo-1.0.dist-info").mkdir()
    os.mkfifo(site.folder / "fifo-1.0.dist-info/entry_points.txt")
    site.metadata("old", "[toolcharter]\nold = old\n", folder="~ld-1.0.dist-info")
    site.metadata("other", "[console_scripts]\nold = old\n")

    assert index(tmp_path / "absent").entry_points == ()


@pytest.mark.parametrize("filler", [16_384 - 34, 40_000], ids=["one-chunk", "several-chunks"])
def test_long_metadata_is_read_whole(site, index, filler) -> None:
    """An entry point behind many lines of other groups is found."""
    site.metadata("acme", "[x]\n" + "#" * filler + "\n[toolcharter]\ngit = acme\n")

    assert list(index().tools) == ["git"]


def test_metadata_is_read_up_to_one_mebibyte(site, index) -> None:
    """A file without end cannot hang the start."""
    metadata = site.metadata("acme", "")
    (metadata / "entry_points.txt").unlink()
    (metadata / "entry_points.txt").symlink_to("/dev/zero")

    assert index().entry_points == ()


def test_a_site_directory_further_up_hides_the_same_distribution_below_it(site, tmp_path) -> None:
    """As in Python, the first of two site directories wins; side by side both stay."""
    lower = type(site)(tmp_path / "lower")
    for folder in ("acme-1.0.dist-info", "acme-2.0.dist-info"):
        site.metadata("acme", "[toolcharter]\ngit = acme\n", folder=folder)
    lower.metadata("acme", "[toolcharter]\ngit = acme\n", folder="acme-3.0.dist-info")
    both = [str(site.folder), str(lower.folder)]

    assert [entry.version for entry in find_installed(path=both, sites=both).entry_points] == ["1.0", "2.0"]


def test_an_archive_on_the_path_is_listed_and_not_trusted(site, index, tmp_path) -> None:
    """A wheel on `PYTHONPATH` can claim a tool, so it must be seen; a broken one claims nothing."""
    wheel, other = tmp_path / "acme-1.0-py3-none-any.whl", tmp_path / "other-1.0-py3-none-any.whl"
    for archive, text in ((wheel, "[toolcharter]\ngit = acme_git\n"), (other, "[console_scripts]\nx = y:z\n")):
        with zipfile.ZipFile(archive, "w") as written:
            written.writestr("acme-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
            written.writestr("acme-1.0.dist-info/entry_points.txt", text)

    (found,) = index(wheel, other).entry_points

    assert found == EntryPoint(TOOLS, "git", "acme_git", "acme", "1.0", str(wheel), "acme-1.0.dist-info", trusted=False)
    # importlib.metadata leaves closing the archive to the collector, which would warn in a later test.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        MetadataPathFinder().invalidate_caches()
        gc.collect()


@pytest.mark.parametrize(
    ("value", "permitted"),
    [
        pytest.param(None, ["git", "hg", "svn"], id="unset"),
        pytest.param("", [], id="empty"),
        pytest.param(" Git,", ["git"], id="short"),
        pytest.param("toolcharter_git,ACME.hg", ["git", "hg"], id="whole-names"),
        pytest.param("hg", [], id="short-name-of-a-stranger"),
    ],
)
def test_the_variable_restricts_which_distributions_load(site, index, monkeypatch, value, permitted) -> None:
    """Names are compared as PEP 503 says; the short form is for `toolcharter-*` alone."""
    for name, tool in (("toolcharter-git", "git"), ("acme-hg", "hg"), ("acme-svn", "svn")):
        site.metadata(name, f"[toolcharter]\n{tool} = x\n")
    if value is not None:
        monkeypatch.setenv("TOOLCHARTER_PLUGINS", value)

    assert list(index().tools) == permitted


def test_names_are_compared_as_pep_503_says() -> None:
    """Runs of `-`, `_` and `.` are one hyphen; case does not count."""
    assert [normalise(name) for name in ("Acme__Git", " a.-_b ", "plain")] == ["acme-git", "a-b", "plain"]


def test_the_path_of_the_process_is_searched_and_its_site_directories_are_trusted(site, monkeypatch) -> None:
    """Without arguments, `sys.path` counts, and a folder that was put there is not trusted."""
    site.metadata("acme", "[toolcharter]\nloader_test_tool = acme\n")

    (entry,) = find_installed().offers(TOOLS, "LOADER_test_tool")

    assert (entry.name, entry.trusted) == ("loader_test_tool", False)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_user_site_counts_where_it_is_enabled(monkeypatch, tmp_path, enabled) -> None:
    """`python -s` and environments switch it off; then it is a folder like any other."""
    monkeypatch.setattr("site.ENABLE_USER_SITE", enabled)
    monkeypatch.setattr("site.getusersitepackages", lambda: str(tmp_path))

    assert (str(tmp_path.resolve()) in scan.site_dirs()) is enabled


def test_a_distribution_that_is_gone_has_no_summary(site, index) -> None:
    """It was uninstalled since it was listed: its line is left empty."""
    site.metadata("Acme.Git", "[toolcharter]\ngit = acme_git\n", folder="acme_git-2.1.dist-info")
    listed = index().tools["git"]

    found = scan.summary(listed), scan.summary(listed._replace(folder=str(site.folder / "gone")))

    assert found == ("", "")


def test_many_paths_are_resolved_as_each_alone(tmp_path, monkeypatch) -> None:
    """Links in the folder, as the last part, in a circle and to nowhere; relative, with dots, and the root."""
    (tmp_path / "real/inner").mkdir(parents=True)
    for name, target in (("link", "real"), ("real/up", ".."), ("loop", "loop"), ("gone", "nowhere"), ("root", "/")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.chdir(tmp_path)
    below = (
        "real/inner",
        "link/inner",
        "link/up",
        "link/up/real",
        "loop/x",
        "gone",
        "gone/x",
        "root/etc",
        "link/../real",
    )
    dotted = ("link/", "link/.", "link/..", "link/up/..", "none/../real")
    paths = [
        *below,
        *dotted,
        *(f"{tmp_path}/{name}" for name in (*below, *dotted)),
        "",
        ".",
        "..",
        "/",
        "//",
        "/etc",
        "x",
        "loop//x/y",
        f"{tmp_path}/loop//x",
        "real//x/y",
        "/".join("x" * 2000),
    ]

    assert scan.real_paths(paths) == [os.path.realpath(path) for path in paths]
