"""Write the tables that are made from code into the pages, between their markers; `make docs` runs it.

    .venv/bin/python scripts/tables.py

It replaces each part of a page that begins with `<!-- table: NAME -->` and ends with `<!-- end -->`. A test fails if a
page is stale. For docstrings, code is parsed as text, so that every Python writes the same.
"""

import ast
import inspect
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import architecture
import service_tables
import toolcharter
from pages import ROOT, pages, regenerate
from toolcharter import hookspecs
from toolcharter.api import paths, runtime, tool
from toolcharter.api.reasons import CORE_REASONS, GUARD_REASONS, ReasonInfo
from toolcharter.guards.secrets.tables import tokens
from toolcharter.profile import settings
from toolcharter.profile.forms import FORMS, Expected, FormKey, OneOrMore, TextOr, key_descriptions, keys_of
from toolcharter.profile.schema import ProfileFile
from toolcharter.testing.readme import table_rows

Defaults = dict[str, str]


def spec_fields() -> str:
    """Return a table of the fields of `ToolSpec`, with defaults and docstrings."""
    defaults = _defaults(tool.ToolSpec.__init__)
    documented = _attributes(_class(tool, "ToolSpec"))
    return _table(
        ("field", "default", "what it says"),
        [(f"`{name}`", defaults.get(name, "required"), text) for name, text in documented],
    )


def runtime_members() -> str:
    """Return a table of the members of a constructor's `rt`."""
    return _members("ToolRuntime", "rt")


def context_members() -> str:
    """Return a table of the members of the object that `rt.start` returns."""
    return _members("ToolContext", "ctx")


def paths_members() -> str:
    """Return a table of the members of `rt.paths`."""
    return _members("Paths", "rt.paths")


def opened_members() -> str:
    """Return tables of the members of the objects that `rt.paths` opens."""
    return "\n\n".join(
        (
            _members("OpenFile", "file"),
            _members("OpenFolder", "folder"),
            _members("OpenPlace", "place"),
            _members("Entry", "entry"),
        )
    )


def completed_members() -> str:
    """Return a table of the members of the result of `rt.run`."""
    return _members("Completed", "completed")


def hooks() -> str:
    """Return each hook's signature and docstring."""
    return "\n\n".join(_hook(function) for function in _hook_functions())


def reasons() -> str:
    """Return a table of the core's reasons."""
    return _reasons(CORE_REASONS)


def guard_reasons() -> str:
    """Return a table of the guards' reasons."""
    return _reasons(GUARD_REASONS)


def tool_reasons() -> str:
    """Return a table of the reasons in the READMEs of this repository's plugins."""
    shared = {f"`{reason}`" for reason in (*CORE_REASONS, *GUARD_REASONS)}
    found: list[tuple[str, ...]] = []
    for folder in _plugin_folders():
        for row in table_rows((folder / "README.md").read_text()):
            if "reason" in row.cells and row.cells["reason"] not in shared:
                reason, outcome, *_, meaning = row.cells.values()
                found.append((reason, f"[{folder.name}](../plugins/{folder.name}/README.md)", outcome, meaning))
    return _table(("reason", "plugin", "outcome", "meaning"), found)


def names() -> str:
    """Return a table of the public names of `toolcharter`, with the first lines of their docstrings."""
    values = [(name, inspect.getdoc(getattr(toolcharter, name)) or "") for name in toolcharter.__all__]
    said = {
        "Approver": "What `build_tools(approver=...)` takes: asks somebody about an `ApprovalRequest`.",
        "TRACE": "A context variable: the trace of what runs in this thread or task; None if it is unknown.",
        "GIT_SETTINGS": "Settings that make any repository harmless for git, by key; the same for each program that starts git.",
        "GIT_VARIABLES": "Environment variables for the same purpose.",
        "hookimpl": "Marks a function, or an extension's method, as the implementation of a hook.",
    }
    return _table(("name", "what it is"), [(f"`{name}`", said.get(name, _first_line(doc))) for name, doc in values])


def plugins() -> str:
    """Return a table of this repository's plugins, with what each provides."""
    found: list[tuple[str, ...]] = []
    for folder in _plugin_folders():
        project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        groups: dict[str, dict[str, str]] = project.get("entry-points", {})
        provided = dict.fromkeys(name for group in groups.values() for name in group)
        listed = ", ".join(f"`{name}`" for name in provided)
        found.append((f"[{folder.name}](plugins/{folder.name}/README.md)", listed, project["description"]))
    return _table(("plugin", "provides", "what it does"), found)


def profile_keys() -> str:
    """Return a table of the keys of a profile; keys below them have their own tables."""
    return _table(("key", "value", "meaning"), [row[:2] + row[3:] for row in _key_rows(ProfileFile, depth=0)])


def _below(*path: str, heading: str = "", depth: int = 0) -> Callable[[], str]:
    """Return a function that makes the table of the keys below a key of a profile, with defaults."""

    def table() -> str:
        found = list(_key_rows(_form_at(path), depth=depth))
        return _table((heading or f"key of `{'.'.join(path)}`", "value", "default", "meaning"), found)

    return table


def default_hidden() -> str:
    """Return a table of the files that are hidden by default."""
    rows = [
        (f"`{one.glob}`", f"that hold `{one.containing}`" if one.containing else "") for one in settings.DEFAULT_HIDDEN
    ]
    return _table(("glob", "only files"), rows)


def secrets() -> str:
    """Return a table of the kinds of tokens that the scrubber recognises by their form."""
    kinds = sorted(tokens(), key=lambda kind: (kind.provider.lower(), kind.name))
    return _table(("provider", "kind", "source"), [(kind.provider, f"`{kind.name}`", kind.source) for kind in kinds])


TABLES: dict[str, Callable[[], str]] = {
    "profile-keys": profile_keys,
    "default-hidden": default_hidden,
    "rule-keys": _below("deny", heading="key of a rule"),
    "capabilities-keys": _below("capabilities"),
    "approvals-keys": _below("approvals"),
    "guards-keys": _below("session_guards", depth=1),
    "limits-keys": _below("limits"),
    "notify-keys": _below("notify"),
    "events-keys": _below("events"),
    "case-keys": _below("cases", heading="key of a case"),
    "spec-fields": spec_fields,
    "runtime": runtime_members,
    "context": context_members,
    "paths": paths_members,
    "opened": opened_members,
    "completed": completed_members,
    "hooks": hooks,
    "core-reasons": reasons,
    "guard-reasons": guard_reasons,
    "tool-reasons": tool_reasons,
    "names": names,
    "plugins": plugins,
    "secrets": secrets,
    "import-figure": architecture.figure,
    "core-folders": architecture.folders,
    "gate-layers": architecture.gate_layers,
    "modules": architecture.modules,
    "service-routes": service_tables.routes,
    "service-keys": service_tables.service_keys,
    "worker-keys": service_tables.worker_keys,
}


def refresh_page(text: str) -> str:
    """Return *text*, a page, with its tables regenerated from code."""
    return regenerate(text, lambda name: TABLES[name]())


def main() -> None:
    """Rewrite the pages that are stale."""
    for page in pages():
        text = page.read_text()
        if (new := refresh_page(text)) != text:
            page.write_text(new)
            print(page.relative_to(ROOT))


def _form_at(path: Sequence[str]) -> Any:
    kind: Any = ProfileFile
    for key in path:
        below = form_below(keys_of(kind)[key])
        assert below is not None, f"nothing stands below {key!r}"
        kind = below
    return kind


def form_below(key: FormKey) -> Any:
    """Return the form that a key holds: as a mapping, in a list, or as the long form of a text; None without one."""
    return _form_of(key.annotation)


def _form_of(annotation: Any) -> Any:
    kind, metadata = _parts(annotation)
    if kind in FORMS:
        return next((one.long for one in metadata if isinstance(one, TextOr)), kind)
    long = next((one.long for one in metadata if isinstance(one, TextOr)), None)
    return _form_of(get_args(kind)[0]) if long is None and get_origin(kind) is tuple and get_args(kind) else long


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its metadata, and the metadata in reverse order."""
    metadata = getattr(annotation, "__metadata__", ())
    return (annotation.__origin__ if metadata else annotation), metadata[::-1]


def _key_rows(kind: Any, prefix: str = "", *, depth: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each key of a form: its name, its type, its default and its purpose."""
    about = key_descriptions(kind)
    for name, key in keys_of(kind).items():
        default = "required" if key.fix is not None else _shown_default(key.default)
        yield f"`{prefix}{name}`", _shown_type(key.annotation), default, about[name].replace("|", r"\|")
        below = form_below(key)
        if depth and below is not None:
            yield from _key_rows(below, f"{prefix}{name}.", depth=depth - 1)


def _shown_default(value: Any) -> str:
    if value is None or type(value) in FORMS or value in ((), {}):
        return ""
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _shown_type(annotation: Any) -> str:
    kind, metadata = _parts(annotation)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(kind))
    if any(isinstance(one, OneOrMore) for one in metadata):
        return f"{_shown_type(get_args(kind)[0])}; or a list"
    words = (one if isinstance(one, Expected) else getattr(one, "words", None) for one in metadata)
    long = _form_of(annotation)
    found = next((one for one in words if one is not None), None if long is None else FORMS[long].words)
    assert found is not None, f"{annotation} has no words"
    return found.expected


def _plugin_folders() -> list[Path]:
    return sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def _reasons(known: dict[Any, ReasonInfo]) -> str:
    return _table(
        ("reason", "outcome", "retry", "meaning"),
        [
            (f"`{reason}`", info.outcome, "yes" if info.retryable else "no", info.meaning)
            for reason, info in known.items()
        ],
    )


def _class(module: Any, name: str) -> ast.ClassDef:
    found = (node for node in _tree(module).body if isinstance(node, ast.ClassDef) and node.name == name)
    return next(found)


def _tree(module: Any) -> ast.Module:
    return ast.parse(Path(module.__file__).read_text())


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the annotated attributes of a class, each with its docstring."""
    for attribute, below in zip(node.body, node.body[1:], strict=False):
        if isinstance(attribute, ast.AnnAssign) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value)
            yield ast.unparse(attribute.target), _one_line(text)


def _defaults(function: Callable[..., Any]) -> Defaults:
    given = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    shown = {name: f'`"{value}"`' if isinstance(value, str) else _plain(value) for name, value in given.items()}
    return {name: text for name, text in shown.items() if given[name] is not inspect.Parameter.empty}


def _plain(value: Any) -> str:
    return f"`{value!r}`" if value is None or isinstance(value, bool | tuple) else "`{}`"


def _members(kind: str, owner: str) -> str:
    """Return a table of the attributes and methods of a class in `toolcharter.api.runtime` or `paths`, as *owner*'s."""
    node = _class(paths if hasattr(paths, kind) else runtime, kind)
    said = dict(_attributes(node))
    members = [
        (f"{owner}.{ast.unparse(item.target)}", said.get(ast.unparse(item.target), f"`{ast.unparse(item.annotation)}`"))
        for item in node.body
        if isinstance(item, ast.AnnAssign)
    ]
    methods = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
    members += [(_call(item, owner), _said(item)) for item in methods if not item.name.startswith("_")]
    return _table((f"`{owner}`", "what it is"), [(f"`{member}`", text) for member, text in members])


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> str:
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f"{owner}.{node.name}"
    wait = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{wait}{owner}.{node.name}({_arguments(node)})"


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return only the names of the arguments, with `name=` for those with a default; editors show the types."""
    given = node.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args) if argument.arg != "self"]
    required = len(positional) - len(given.defaults)
    shown = [*positional[:required], *(f"{name}=" for name in positional[required:])]
    shown += [f"{argument.arg}=" for argument in given.kwonlyargs]
    return ", ".join([*shown, f"**{given.kwarg.arg}"] if given.kwarg else shown)


def _said(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return _first_line(ast.get_docstring(node) or "")


def _hook_functions() -> list[ast.FunctionDef]:
    return [
        node
        for node in _tree(hookspecs).body
        if isinstance(node, ast.FunctionDef) and any("hookspec" in ast.unparse(word) for word in node.decorator_list)
    ]


def _hook(node: ast.FunctionDef) -> str:
    """Return a heading and the docstring; its sections become paragraphs that begin in bold."""
    parts = inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")
    names = ", ".join(argument.arg for argument in node.args.args)
    quoted = node.returns.value if isinstance(node.returns, ast.Constant) else None
    answer = quoted if isinstance(quoted, str) else ast.unparse(node.returns or ast.Constant(None))
    told = "\n\n".join(_section(part) for part in parts)
    return f"### {node.name}\n\n`{node.name}({names}) -> {answer}`\n\n{told}"


def _section(part: str) -> str:
    heading, _, rest = part.partition("\n")
    if heading in {"Args:", "Returns:", "Raises:"}:
        word = {"Args:": "With", "Returns:": "Answer", "Raises:": "Failure"}[heading]
        said = _one_line(rest).removeprefix("Exception: ")
        name, colon, text = said.partition(": ")
        return f"**{word}.** `{name}`: {text}" if heading == "Args:" and colon else f"**{word}.** {said}"
    return _one_line(part)


def _first_line(text: str) -> str:
    return _one_line(text.split("\n\n", maxsplit=1)[0])


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("*tool*", "`tool`")


if __name__ == "__main__":
    main()
