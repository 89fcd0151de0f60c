"""All that a plugin may import: one list, every name of it importable, nothing loaded before its use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rows import each_row

import toolcharter

HEAVY = {
    "asyncio",
    "click",
    "jsonschema_rs",
    "orjson",
    "packaging",
    "pluggy",
    "pydantic",
    "re2",
    "rich",
    "structlog",
    "subprocess",
    "yaml",
}


def names_for_type_checkers() -> list[str]:
    tree = ast.parse(Path(toolcharter.__file__).read_text())
    blocks = (node for node in tree.body if isinstance(node, ast.If))
    (block,) = (node for node in blocks if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    return [alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names]


def test_type_checkers_see_the_same_names() -> None:
    """What is loaded lazily, what is listed and what type checkers read are one list."""
    assert sorted(names_for_type_checkers()) == toolcharter.__all__


@each_row("name", toolcharter.__all__)
def test_public_name_is_importable(name: str) -> None:
    """Every name loads, bears itself, and is the same object the second time."""
    value = getattr(toolcharter, name)

    assert getattr(toolcharter, name) is value
    assert getattr(value, "__name__", name) in (name, "HookimplMarker", "Callable")  # `hookimpl` and `Approver`


def test_unknown_name_is_refused() -> None:
    """A misspelt import fails like that of any module."""
    with pytest.raises(AttributeError, match=r"^module 'toolcharter' has no attribute 'ToolSpek'$"):
        _ = toolcharter.ToolSpek


def test_names_are_listed() -> None:
    """`dir` shows what may be imported before any of it was."""
    assert set(toolcharter.__all__) <= set(dir(toolcharter))


def test_import_loads_nothing_heavy() -> None:
    """`import toolcharter` costs next to nothing in a fresh process."""
    code = "import sys; before = set(sys.modules); import toolcharter; print(*set(sys.modules) - before)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.startswith("toolcharter")} == {"toolcharter", "toolcharter._own_imports"}
