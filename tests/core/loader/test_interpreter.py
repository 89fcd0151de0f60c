"""Which folders of a workspace hold code of the gate: facts of one interpreter, changed one at a time."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter.errors import ConfigurationError
from toolcharter.guards.inventory import make_inventory
from toolcharter.loader import interpreter
from toolcharter.loader.interpreter import find_gate_code, new_survey
from toolcharter.loader.scan import InstalledPlugins, find_installed
from toolcharter.loader.survey import names_of

Places = Callable[..., tuple[str, ...]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one site directory, outside of the workspace."""
    folder = tmp_path.resolve() / "site"
    folder.mkdir()
    monkeypatch.setattr(interpreter, "site_dirs", lambda: frozenset({str(folder)}))
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return folder


@pytest.fixture
def places(workspace: Path) -> Places:
    """What is protected, but for `.toolcharter`."""

    def look(index: InstalledPlugins | None = None) -> tuple[str, ...]:
        code = find_gate_code(workspace, index or InstalledPlugins((), None))
        return make_inventory(workspace, code.trusted).places[1:]

    return look


def distribution(site: Path, name: str, root: Path, *lines: str) -> None:
    """An editable install, with a `.pth` file for *root*."""
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("\n".join((f"Name: {name}", *lines, "", "Requires-Dist: not-this")))
    (metadata / "direct_url.json").write_text(json.dumps({"url": root.as_uri(), "dir_info": {"editable": True}}))
    (site / f"{name}.pth").write_text(f"# a comment\nimport sys\n\n{root}\n")
    sys.path.append(str(root))


def test_nothing_lies_in_an_ordinary_workspace(places: Places) -> None:
    """An interpreter elsewhere, no folder of `sys.path` there."""
    assert places() == ()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("prefix", "ws/env", ("env",)),
        ("exec_prefix", "ws/env", ("env",)),
        ("base_prefix", "ws/python", ("python",)),
        ("pycache_prefix", "ws/cache", ("cache",)),
        ("executable", "ws/env/bin/python", ("env/bin",)),
        ("executable", "", ()),
        ("prefix", "ws", ("bin", "include", "lib", "lib64", "pyvenv.cfg", "share")),
    ],
)
def test_the_interpreter_is_protected(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: tuple[str, ...]
) -> None:
    """Its prefixes, its program with the folder, its cache of bytecode; of a prefix above the workspace only the parts."""
    monkeypatch.setattr(sys, name, str(tmp_path.resolve() / value) if value else value)

    assert places() == expected


def test_each_name_of_a_linked_path_is_protected(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link, where it leads, and the same for a relative path from the current folder."""
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    monkeypatch.chdir(workspace)

    assert names_of(str(workspace / "real")) == (str(workspace / "real"),)
    assert sorted(names_of("link/x")) == [str(workspace / "link/x"), str(workspace / "real/x")]
    assert sorted(names_of(str(workspace / "link"))) == [str(workspace / "link"), str(workspace / "real")]
    assert names_of(str(tmp_path.resolve() / "none")) == (str(tmp_path.resolve() / "none"),)


def test_a_folder_of_sys_path_is_protected(places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not the workspace itself, where only what bears the name of a package of the gate is."""
    (workspace / "toolcharter").mkdir()
    monkeypatch.setattr(sys, "path", ["", str(workspace / "vendor"), str(workspace), *sys.path])

    assert places() == ("toolcharter", "vendor")


def test_the_sources_of_what_the_gate_needs_are_protected(places: Places, workspace: Path, site: Path) -> None:
    """A plugin, and what that needs, are; a project of the user's is not, but for what Python imports by itself."""
    for name in ("plugin", "needed", "mine"):
        (workspace / name / "src").mkdir(parents=True)
    distribution(site, "acme-plugin", workspace / "plugin", 'Requires-Dist: acme.Needed (>=1); extra == "x"')
    distribution(site, "acme_needed", workspace / "needed/src", "Requires-Dist: absent")
    distribution(site, "mine", workspace / "mine/src", "Requires-Dist: acme-plugin")
    (site / "absent.egg-info").mkdir()
    (site / "absent.egg-info/PKG-INFO").write_text(
        "Requires-Dist: x\nRequires-Dist: bare\nRequires-Dist: acme-plugin\n"
    )
    (site / "bare-1.dist-info").mkdir()
    (site / "broken-1.dist-info").mkdir()
    (site / "broken-1.dist-info/direct_url.json").write_text("{")
    (site / "web-1.dist-info").mkdir()
    (site / "web-1.dist-info/direct_url.json").write_text('{"url": "https://example.invalid/x.whl"}')
    (site / "folder.pth").mkdir()
    (site / "acme-plugin-1.0.dist-info/entry_points.txt").write_text("[toolcharter]\nacme = acme_plugin\n")

    found = places(find_installed([str(site)], [str(site)]))

    assert found[-2:] == ("needed/src", "plugin")
    assert {place.rpartition("/")[0] for place in found[:-2]} == {"mine/src"}
    assert {"mine/src/sitecustomize", "mine/src/sitecustomize.py", "mine/src/usercustomize.py"} <= {*found}
    assert all("customize" in place for place in found[:-2])


def test_a_finder_of_a_build_backend_is_heeded(
    places: Places, workspace: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it finds lies in no folder of `sys.path`. pytest's finder looks nowhere else, and costs no toolbox anything."""
    (workspace / "plugin").mkdir()
    distribution(site, "acme-plugin", workspace / "plugin")
    (site / "acme-plugin-1.0.dist-info/entry_points.txt").write_text("[toolcharter]\nacme = acme_plugin\n")
    (site / "acme-plugin.pth").unlink()
    sys.path.pop()
    index = find_installed([str(site)], [str(site)])
    harmless = ("_pytest", "_frozen_importlib", "importlib_metadata")  # and what other tests have imported
    ours = [finder for finder in sys.meta_path if str(getattr(finder, "__module__", "")).startswith(harmless)]
    monkeypatch.setattr(sys, "meta_path", ours)
    found = places(index)
    finder = type("Finder", (), {"__module__": "__editable___acme_finder"})()
    monkeypatch.setattr(sys, "meta_path", [*ours, finder])

    assert (found, places(index)) == ((), ("plugin",))


def test_a_site_directory_that_is_missing_is_no_fault(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start may find one there: it is protected."""
    monkeypatch.setattr(interpreter, "site_dirs", lambda: frozenset({str(workspace / "site")}))
    monkeypatch.setattr(sys, "path", [str(workspace / "vendor"), *sys.path])

    assert places() == ("site", "vendor")


def test_an_imported_module_that_hides_another_is_protected(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate uses what is imported already; a module of the user's that hides nothing is his."""
    monkeypatch.setattr(sys, "path", [str(workspace), *sys.path])
    for name in ("colorsys", "mine_alone", "pluggy_like"):
        (workspace / f"{name}.py").write_text("")
        monkeypatch.setitem(sys.modules, name, type(sys)(name))
        monkeypatch.setattr(sys.modules[name], "__file__", str(workspace / f"{name}.py"), raising=False)

    assert places() == ("colorsys.py",)


def test_a_package_of_the_gate_that_is_imported_from_the_workspace_is_protected(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its further modules are imported from there."""
    module = type(sys)("toolcharter")
    module.__path__ = [str(workspace / "src/toolcharter")]
    monkeypatch.setitem(sys.modules, "toolcharter", module)

    assert places() == ("src/toolcharter",)


@pytest.mark.parametrize("where", ["site", "package"])
def test_a_workspace_from_which_the_gate_imports_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """To protect it would leave nothing to write."""
    if where == "site":
        monkeypatch.setattr(interpreter, "site_dirs", lambda: frozenset({str(workspace.parent)}))
    else:
        module = type(sys)("toolcharter")
        module.__path__ = [str(workspace)]
        monkeypatch.setitem(sys.modules, "toolcharter", module)

    with pytest.raises(ConfigurationError, match="tools could change what the gate runs"):
        find_gate_code(workspace, InstalledPlugins((), None))


def test_a_module_that_answers_no_question_is_passed_over(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lazy module of somebody's own may raise anything."""

    class Lazy(type(sys)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> object:
            raise RuntimeError(name)

    monkeypatch.setitem(sys.modules, "toolcharter", Lazy("toolcharter"))

    assert places() == ()


def test_the_commands_of_a_user_are_protected(places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the workspace is a home, `pip install --user` has put the command of the next start into it."""
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.USER_BASE", f"{workspace}/user")

    assert places() == ("user/bin",)


def test_a_second_look_of_one_build_asks_the_disk_no_more_and_sees_what_was_imported(
    workspace: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two looks plugins are imported: what that changes counts, what is installed meanwhile is for the next build."""
    seen, index = new_survey(), InstalledPlugins((), None)
    first = {*find_gate_code(workspace, index, seen).trusted}
    (site / "late.pth").write_text(f"{workspace}/late\n")
    module = type(sys)("toolcharter")
    module.__file__ = str(workspace / "elsewhere.py")
    monkeypatch.setitem(sys.modules, "toolcharter", module)

    second = {*find_gate_code(workspace, index, seen).trusted}
    next_build = {*find_gate_code(workspace, index).trusted}

    assert second - first == {str(workspace / "elsewhere.py")}
    assert next_build - second == {str(workspace / "late")}
