"""`GateFinder`: what is imported, by whom, while a folder of `sys.path` lies in a workspace."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from toolcharter.loader.imports import GateFinder, keep_imports_out, python_command
from toolcharter.loader.interpreter import GateCode

CODE = GateCode((), (), frozenset({"toolcharter"}))
Run = Callable[[str, str, str], ModuleType]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def finder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GateFinder]:
    """A finder ahead of all others, for a workspace that is on `sys.path`; what is imported meanwhile is forgotten."""
    before = dict(sys.modules)
    monkeypatch.syspath_prepend(str(workspace))
    finder = GateFinder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    (workspace / "before.py").write_text("")
    finder.exclude_workspace(workspace, CODE, ("kept",))
    yield finder
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


def by(module: str, file: Path | str, code: str) -> None:
    """Run *code* as that of a module."""
    exec(compile(code, str(file), "exec"), {"__name__": module})


def test_a_name_that_is_found_elsewhere_is_imported_from_there(finder: GateFinder, workspace: Path) -> None:
    """Whoever asks, also for a module that a tool wrote under a name of the standard library's."""
    (workspace / "colorsys.py").write_text("raise SystemExit")
    sys.modules.pop("colorsys", None)

    by("agent", workspace / "agent.py", "import colorsys; assert colorsys.hls_to_rgb")

    assert finder.find_spec("colorsys") is not None


def test_what_only_the_workspace_has_is_for_the_users_own_code(finder: GateFinder, workspace: Path) -> None:
    """The gate, and the standard library at the top of its modules, are refused it; nothing of it runs."""
    (workspace / "written.py").write_text("import sys; sys.written = 1")

    for module, file in (
        ("toolcharter.gate", "/x/gate.py"),
        ("pickle", f"{Path(subprocess.__file__).parent}/pickle.py"),
    ):
        with pytest.raises(ModuleNotFoundError, match="'written' is found nowhere else; install it"):
            by(module, file, "import written")
    assert not hasattr(sys, "written")

    by("agent", workspace / "agent.py", "import written")

    assert sys.written == 1  # type: ignore[attr-defined]
    del sys.written  # type: ignore[attr-defined]


def test_a_name_that_nothing_has_is_missing_as_ever(finder: GateFinder) -> None:
    """An optional module is looked for and not found, by the gate and by others."""
    for module in ("toolcharter.gate", "agent"):
        with pytest.raises(ModuleNotFoundError):
            by(module, "/x/y.py", "import no_such_module_anywhere")


def test_a_module_of_the_users_that_was_there_first_stays_his(finder: GateFinder, workspace: Path) -> None:
    """A folder `test` of a project is what its own code means by that name, and not what the gate means."""
    (workspace / "test").mkdir()
    (workspace / "test/__init__.py").write_text("MINE = True")
    finder.exclude_workspace(workspace, CODE, ("kept",))
    sys.modules.pop("test", None)

    by("agent", workspace / "agent.py", "import test; assert test.MINE")
    sys.modules.pop("test", None)
    by("toolcharter.gate", "/x/gate.py", "import test; assert not hasattr(test, 'MINE')")


def test_what_is_protected_in_the_workspace_may_be_imported(
    finder: GateFinder, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """As from a virtual environment there: no tool can write it."""
    (workspace / "kept").mkdir()
    (workspace / "kept/needed.py").write_text("")
    monkeypatch.syspath_prepend(str(workspace / "kept"))

    by("toolcharter.gate", "/x/gate.py", "import needed")

    assert str(workspace / "kept") in finder.search_path()
    assert str(workspace) not in finder.search_path()


def test_parts_of_a_package_come_from_where_no_tool_writes(finder: GateFinder, workspace: Path, tmp_path: Path) -> None:
    """A package of which the workspace holds a share gives only the other shares to the gate."""
    for folder in (workspace, tmp_path / "safe"):
        (folder / "shared").mkdir(parents=True)
    (workspace / "shared/theirs.py").write_text("")
    (tmp_path / "safe/shared/ours.py").write_text("")
    sys.path.append(str(tmp_path / "safe"))

    by("toolcharter.gate", "/x/gate.py", "import shared.ours")
    with pytest.raises(ModuleNotFoundError):
        by("toolcharter.gate", "/x/gate.py", "import shared.theirs")


def test_a_folder_above_the_workspace_gives_nothing_of_it(finder: GateFinder, workspace: Path, tmp_path: Path) -> None:
    """The workspace's own name would be that of a package there."""
    (workspace / "__init__.py").write_text("raise SystemExit")
    sys.path.append(str(tmp_path))

    with pytest.raises(ModuleNotFoundError):
        by("toolcharter.gate", "/x/gate.py", "import ws")


def test_a_closed_toolbox_leaves_nothing_behind(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a workspace that is on no path; another toolbox of the same one counts, and so does an entry of `sys.path`."""
    finder = GateFinder()
    finder.exclude_workspace(workspace, CODE, ())
    finder.exclude_workspace(workspace, CODE, ())
    seen = []
    for _ in range(2):
        finder.forget_workspace(workspace)
        monkeypatch.syspath_prepend(str(workspace))
        seen.append(str(workspace) in finder.search_path())
        monkeypatch.undo()

    assert seen == [False, True]


@pytest.mark.parametrize("holds", ["nothing", "toolcharter"])
def test_the_current_folder_is_passed_over_unless_the_gate_lies_there(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: str
) -> None:
    """Who works on the source of a plugin starts in its folder; an empty entry of `sys.path` is passed over always."""
    current = tmp_path / "current"
    (current / holds).mkdir(parents=True)
    monkeypatch.chdir(current)
    monkeypatch.setattr(sys, "path", ["", str(current), Path("/not-text"), *sys.path])
    finder = GateFinder()
    finder.exclude_workspace(workspace, CODE, ())

    found = finder.search_path()

    assert (str(current) in found, "" in found) == (holds == "toolcharter", False)


def test_the_finder_stands_first_and_once(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody has put another one ahead of it meanwhile."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    ends = [keep_imports_out(workspace, CODE)]
    other = type("Other", (), {"find_spec": staticmethod(lambda *_: None)})
    sys.meta_path.insert(0, other)  # type: ignore[arg-type]
    ends += [keep_imports_out(workspace, CODE), keep_imports_out(workspace, CODE)]

    kinds = [type(finder).__name__ for finder in sys.meta_path]
    for end in ends:
        end()

    assert (kinds[0], kinds.count("GateFinder")) == ("GateFinder", 1)


def test_a_child_process_imports_from_safe_folders_alone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither its folder, `PYTHONPATH`, `.pth` files nor a `sitecustomize` decide what it runs."""
    for name in ("sitecustomize", "json", "_winapi"):
        (workspace / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(str(workspace))
    end = keep_imports_out(workspace, CODE)
    importlib.invalidate_caches()

    code = "import json, subprocess, toolcharter.errors, sys; print(json.dumps(sys.argv[1:]))"
    ended = subprocess.run(python_command(code), cwd=workspace, capture_output=True, text=True, check=False)
    end()

    assert (ended.stdout, ended.stderr) == ("[]\n", "")
    assert not (tmp_path / "ran").exists()


def test_what_a_site_directory_links_to_the_workspace_is_not_imported_by_the_gate(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link lies outside, so that no folder of `sys.path` is a tool's to write; what it leads to is."""
    site = tmp_path / "site"
    site.mkdir()
    (workspace / "linked_by_hand.py").write_text("MINE = True")
    (site / "linked_by_hand.py").symlink_to(workspace / "linked_by_hand.py")
    monkeypatch.syspath_prepend(str(site))
    finder = GateFinder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    finder.exclude_workspace(workspace, CODE._replace(linked=frozenset({"linked_by_hand"})), ())

    with pytest.raises(ModuleNotFoundError, match="'linked_by_hand' is found nowhere else; install it"):
        by("toolcharter.gate", "/x/gate.py", "import linked_by_hand")
    by("agent", workspace / "agent.py", "import linked_by_hand; assert linked_by_hand.MINE")
    del sys.modules["linked_by_hand"]
