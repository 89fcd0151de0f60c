"""Makes parts of docs/architecture.md from code: the core's folders, their imports, the gate's layers, every module.

`scripts/tables.py` writes them into the page. Sources are parsed as text; nothing of the core is imported.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pages import ROOT

CORE = ROOT / "core/toolcharter"
Arrows = dict[str, set[str]]
"""For each part of the core, the parts that it imports."""


def contract(name: str) -> list[list[str]]:
    """Return the layers of an import contract in `pyproject.toml`, top first. Parts of a row are independent."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found = next(each for each in settings["contracts"] if each["name"] == name)
    return [row.split(" | ") for row in found["layers"]]


def parts() -> list[str]:
    """Return the folders and modules directly below `toolcharter/`, in the order of the layers."""
    return [part for row in contract("Imports go one way") for part in row]


def arrows() -> Arrows:
    """Return which part imports which, for any purpose: at run time, lazily, or for types."""
    known = set(parts())
    found: Arrows = {part: set() for part in parts()}
    for path in CORE.rglob("*.py"):
        part = path.relative_to(CORE).parts[0].removesuffix(".py")
        if part in known:
            found[part] |= (set(_imported(ast.parse(path.read_text()))) & known) - {part}
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            root, _, rest = name.partition(".")
            if root == "toolcharter" and rest:
                yield rest.partition(".")[0]


def drop_implied(found: Mapping[str, set[str]]) -> Arrows:
    """Return *found*, which has no circle, without arrows whose end can also be reached through another arrow."""
    reached: Arrows = {}

    def reach(part: str) -> set[str]:
        if part not in reached:
            reached[part] = found[part].union(*(reach(other) for other in found[part]))
        return reached[part]

    return {
        part: {one for one in near if not any(one in reach(other) for other in near if other != one)}
        for part, near in found.items()
    }


def figure() -> str:
    """Return the imports between the parts of the core as a figure that GitHub draws."""
    lines = ["```mermaid", "flowchart TD", "    plugins([plugins]) --> root([toolcharter])"]
    lines += [
        f"    {part} --> {other}"
        for part, near in drop_implied(arrows()).items()
        for other in sorted(near, key=parts().index)
    ]
    return "\n".join([*lines, "```"])


def folders() -> str:
    """Return a table with the imports and the first line of each part of the core."""
    found = arrows()
    rows = ["| part | imports | what it is |", "|---|---|---|"]
    for part in parts():
        path = CORE / part / "__init__.py" if (CORE / part).is_dir() else CORE / f"{part}.py"
        about = _first_line(path)
        imported = ", ".join(f"`{other}`" for other in parts() if other in found[part]) or "nothing of the core"
        rows.append(f"| `{path.relative_to(CORE).as_posix().removesuffix('__init__.py')}` | {imported} | {about} |")
    return "\n".join(rows)


def gate_layers() -> str:
    """Return the layers inside the gate, as import-linter checks them."""
    rows = contract("Inside the gate, imports go one way")
    lines = [" | ".join(name.removeprefix("toolcharter.gate.") for name in row) for row in rows]
    return "\n".join(["```text", *lines, "```"])


def modules() -> str:
    """Return the first line of every module of the core, the plugins, the scripts and the benchmarks, by folder."""
    packages = sorted(path.parent for path in ROOT.glob("plugins/*/toolcharter_*/__init__.py"))
    tops = [
        CORE,
        *(CORE / part for part in parts() if (CORE / part).is_dir()),
        *packages,
        ROOT / "scripts",
        ROOT / "benchmarks",
    ]
    return "\n\n".join(_listed(top) for top in tops)


def _listed(top: Path) -> str:
    """Return a collapsed list: the page stays short, and a text search still finds each line."""
    found = top.glob("*.py") if top == CORE else top.rglob("*.py")
    paths = sorted(path for path in found if "versions" not in path.parts)
    names = [path.relative_to(top).as_posix() for path in paths]
    width = max(map(len, names))
    lines = [f"{name:{width}}  {_first_line(path)}" for name, path in zip(names, paths, strict=True)]
    folder = top.relative_to(ROOT).as_posix()
    return "\n".join(
        [f"<details><summary><code>{folder}/</code></summary>", "", "```text", *lines, "```", "</details>"]
    )


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
