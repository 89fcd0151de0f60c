"""Find the ripgrep program, run it and parse its output.

Ripgrep only finds names and line numbers. It opens files by their paths, so the tools open each file that it names
again through `rt.paths` before they show anything of it. They leave out files that cannot be opened there.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import NamedTuple

import orjson

from toolcharter import Completed, OpenFolder, ToolError, ToolRuntime
from toolcharter_files.globs import Glob, expand_braces

MAX_OUTPUT_BYTES = 16_000_000
FOUND, FOUND_NOTHING, FAILED = range(3)  # rg(1), EXIT STATUS
BASE_OPTIONS = (
    "--no-config",
    "--color=never",
    "--hidden",  # `.github` is worth finding; protected names are left out by other options
    "--no-require-git",  # ignore files count also in folders that are not repositories
    "--no-ignore-global",
    "--no-ignore-messages",
    "--no-messages",
    "--no-follow",
    "--no-mmap",  # a file that shrinks while it is mapped kills the program
    "--sort=path",
    "--regex-size-limit=10M",
    "--dfa-size-limit=10M",  # a gigabyte by default
)
# Globs that ripgrep's file types and `globs` parse alike. No `:`, which ends a type's name.
_PLAIN_GLOB = re.compile(r"[\w.*? -]+", re.ASCII)


class RawMatch(NamedTuple):
    """One matching line as ripgrep saw it."""

    name: str
    """Relative to the folder that was searched."""
    line: int
    raw: bytes
    """The line without its newline; converted to UTF-8 if the file is UTF-16."""


@cache
def ripgrep_path() -> str:
    """Return the absolute path of the program that the `ripgrep` wheel installed.

    Raises:
        ToolError: `program_not_found`.
    """
    try:
        files = distribution("ripgrep").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.name in {"rg", "rg.exe"}:
            return str(file.locate().resolve())  # type: ignore[attr-defined] # a Path, whatever the stub says
    raise ToolError("The distribution 'ripgrep' is not installed.", reason="program_not_found")


def list_names(rt: ToolRuntime, folder: OpenFolder, globs: Iterable[Glob]) -> tuple[list[str], bool]:
    """Return the names of the files below *folder* that are not ignored, and whether the list was cut.

    The list contains all files that match *globs*, but may contain others.
    """
    ended = _run(rt, folder, [*_filter_options(folder, globs), "--files", "--null"])
    names = (name.decode(errors="surrogateescape") for name in ended.stdout.split(b"\0")[:-1])
    return [name.removeprefix("./") for name in names], ended.truncated


def search_folder(
    rt: ToolRuntime, folder: OpenFolder, globs: Iterable[Glob], options: Iterable[str]
) -> tuple[list[RawMatch], bool]:
    """Return the matching lines of files below *folder*, and whether the list was cut.

    The list contains all matching lines of files that match *globs*, but may contain lines of other files.
    """
    ended = _run(rt, folder, [*_filter_options(folder, globs), "--json", *options])
    return list(_parse_matches(ended.stdout)), ended.truncated


def search_bytes(rt: ToolRuntime, content: bytes, options: Iterable[str]) -> tuple[list[RawMatch], bool]:
    """Return the matching lines of one file's *content*, and whether the list was cut."""
    ended = _run(rt, None, ["--json", *options], stdin=content)
    return list(_parse_matches(ended.stdout)), ended.truncated


def _run(rt: ToolRuntime, folder: OpenFolder | None, options: list[str], stdin: bytes = b"") -> Completed:
    where = "-" if folder is None else "./"
    # Ignore files above the workspace may belong to other users, so a search from its top skips them. A search from a
    # folder below needs its parents: they hold the workspace's own ignore files.
    parents = ["--no-ignore-parent"] if folder is not None and folder.path == "." else []
    ended = rt.inspect(
        [ripgrep_path(), *BASE_OPTIONS, *parents, *options, "--", where],
        cwd=folder,
        stdin=stdin,
        max_output_bytes=MAX_OUTPUT_BYTES,
    )
    if ended.timed_out:
        raise ToolError("The search took longer than the call may.", reason="timed_out", retryable=True)
    complaint = ended.stderr.decode(errors="replace").strip().removeprefix("rg: ")
    if ended.exit_code == FAILED and complaint:
        raise ToolError(complaint, reason="invalid_query")
    # Exit code 2 without a message: only some files could not be read, which `--no-messages` keeps quiet.
    if ended.exit_code not in {FOUND, FOUND_NOTHING, FAILED}:
        raise ToolError(f"ripgrep ended with status {ended.exit_code}. {complaint}".strip())
    return ended


def _filter_options(folder: OpenFolder, globs: Iterable[Glob]) -> list[str]:
    """Options that let ripgrep skip files that are dropped later anyway. Not `--glob=X`: it overrules ignore files."""
    hidden = [f"--iglob=!{pattern}" for pattern in folder.hidden()]
    names = {each.rpartition("/")[2] for glob in globs for each in expand_braces(glob.rest)}
    if not names or not all(map(_PLAIN_GLOB.fullmatch, names)) or "**" in names:
        return hidden
    return [*hidden, *(f"--type-add=wanted:{name}" for name in sorted(names)), "--type=wanted"]


def _parse_matches(output: bytes) -> Iterator[RawMatch]:
    for line in output.split(b"\n"):
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # empty, or cut at the limit of output
        if message["type"] == "match":
            data = message["data"]
            name = _decode_value(data["path"]).decode(errors="surrogateescape").removeprefix("./")
            yield RawMatch(name, data["line_number"], _decode_value(data["lines"]).removesuffix(b"\n"))


def _decode_value(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
