"""Each hook has a plugin of this repository that implements it, tests, and a page that names both."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.rows import each_row

from pages import quoted, rows
from toolcharter import hookspecs

ROOT = Path(__file__).parent.parent


def _marked(folder: Path, mark: str) -> Iterator[str]:
    """The names of the functions and methods in *folder* that bear the decorator *mark*, perhaps called."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = {ast.unparse(word).partition("(")[0] for word in node.decorator_list}
                if mark in marks:
                    yield node.name


PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
HOOKS = sorted(name for name in vars(hookspecs) if hasattr(getattr(hookspecs, name), f"{hookspecs.PROJECT}_spec"))


@cache
def _implemented() -> dict[str, set[str]]:
    """The hooks of each plugin; read when a test asks."""
    return {folder.name: set(_marked(folder, "hookimpl")) for folder in PLUGINS}


@cache
def _core_tests() -> list[str]:
    return [file.read_text() for file in (ROOT / "tests/core").rglob("test_*.py")]


def _plugins_of(hook: str) -> list[str]:
    return [name for name, hooks in _implemented().items() if hook in hooks]


def test_the_hooks_are_those_of_the_module() -> None:
    """What the tests below are asked about is what `hookspecs` declares."""
    declared = re.findall(
        r"^@hookspec.*\ndef (\w+)", (ROOT / "core/toolcharter/hookspecs.py").read_text(), re.MULTILINE
    )

    assert sorted(declared) == HOOKS
    assert "register_tools" in HOOKS


@each_row("hook", HOOKS)
def test_a_plugin_of_ours_implements_it(hook: str) -> None:
    """A hook that no plugin needs is not tried by anyone; that plugin has tests."""
    tested = [name for name in _plugins_of(hook) if any((ROOT / "tests/plugins" / name).glob("test_*.py"))]

    assert tested


@each_row("hook", HOOKS)
def test_a_test_names_it(hook: str) -> None:
    """The loader's or the gate's tests implement it, to try what a plugin of ours does not do."""
    assert any(hook in text for text in _core_tests())


def test_the_page_lists_the_hooks_with_our_plugins() -> None:
    """Each has its entry in the reference, and a row with all plugins that implement it."""
    page = (ROOT / "docs/hooks.md").read_text()
    listed = {quoted(row[0])[0]: re.findall(r"\(\.\./plugins/(\w+)/README\.md\)", row[1]) for row in rows(page, "hook")}

    assert listed == {hook: _plugins_of(hook) for hook in HOOKS}
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == set(HOOKS)
