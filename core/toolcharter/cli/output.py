"""Prints the output of commands: JSON lines, plain columns for pipes, tables of rich on a terminal."""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click
import orjson

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import json

    from rich import box, console
    from rich import table as rich_table
    from rich import text as rich_text
    from rich import tree as rich_tree
else:
    json = lazy("json")
    box = lazy("rich.box")
    console = lazy("rich.console")
    rich_table = lazy("rich.table")
    rich_text = lazy("rich.text")
    rich_tree = lazy("rich.tree")

# A tool's output must not control the terminal: C0 except tab and newline, DEL, C1, and bidirectional controls.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def encode_json(value: Any) -> bytes:
    """Encode *value* as one line of JSON, whatever a tool has put into it."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # orjson refuses a lone surrogate or a huge integer; ASCII JSON can hold both.
        return json.dumps(value, default=str).encode()


def write_line(stream: BinaryIO, value: Any) -> None:
    """Write one line of JSON and flush it: the reader may wait for it."""
    stream.write(encode_json(value) + b"\n")
    stream.flush()


def print_json(value: Any) -> None:
    """Print one indented JSON document, for people and programs."""
    click.echo(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2))


def print_text(text: str, style: str = "") -> None:
    """Print a tool's text; on a terminal, with its control characters escaped."""
    if not is_terminal():
        click.echo(text.encode("utf-8", "backslashreplace"), nl=not text.endswith("\n"))
        return
    _console().print(escape_controls(text), style=style, markup=False, highlight=False, soft_wrap=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows below their columns' names. Without a terminal, each row is one line.

    Args:
        columns: *n* names.
        rows: Any number of rows of *n* texts each.
        styles: Up to *n* styles of rich.
    """
    if is_terminal():
        _print_rich(columns, rows, styles)
        return
    rows = [columns, *([in_one_line(text) for text in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


class Branch(NamedTuple):
    """A line of a tree and the branches below it."""

    text: str
    style: str = ""
    children: "Sequence[Branch]" = ()


def print_tree(root: Branch) -> None:
    """Print a tree. Control characters are escaped, so that text from tools and models cannot control the terminal."""
    if is_terminal():
        _console().print(_tree_of_rich(root))
        return
    for line in _plain_tree(root):
        click.echo(line.encode("utf-8", "backslashreplace"))


def _plain_tree(branch: Branch, depth: int = 0) -> Iterator[str]:
    first, *rest = escape_controls(branch.text).splitlines() or [""]
    yield "  " * depth + first
    for line in rest:
        yield "  " * (depth + 2) + line
    for child in branch.children:
        yield from _plain_tree(child, depth + 1)


def _tree_of_rich(root: Branch) -> Any:
    def line(branch: Branch) -> rich_text.Text:
        return rich_text.Text(escape_controls(branch.text), style=branch.style, overflow="fold")

    def grow(tree: rich_tree.Tree, branch: Branch) -> rich_tree.Tree:
        for child in branch.children:
            grow(tree.add(line(child)), child)
        return tree

    return grow(rich_tree.Tree(line(root), guide_style="dim"), root)


def escape_controls(text: str) -> str:
    """Return *text* with its control characters escaped."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def in_one_line(text: str) -> str:
    """Return *text* on one line with its control characters escaped: it may come from a model."""
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
    table = rich_table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, style=styles[index] if index < len(styles) else None, overflow="fold")
    for row in rows:
        table.add_row(*(rich_text.Text(escape_controls(text)) for text in row))
    _console().print(table)


def _console() -> Any:
    return console.Console()
