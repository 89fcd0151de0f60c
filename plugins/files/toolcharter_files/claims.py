"""Globs as claims for leases: two regular expressions each, because the path guard does not parse globs."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from time import monotonic

from toolcharter import Claim, Lease, ToolError
from toolcharter_files.globs import Glob, expand_braces, name_expression, parse_whole_glob, path_expression
from toolcharter_files.overlap import common_path

_DOUBLE_STAR = "**"
_BELOW = "(?s:.+)"


def build_claim(text: str) -> Claim:
    """Return the claim for the paths that a glob matches.

    Raises:
        InvalidGlob: As `parse_whole_glob`.
    """
    glob = parse_whole_glob(text)
    ways = expand_braces(glob.rest)
    paths = _alternation(path_expression(way, anchored=glob.anchored) for way in ways)
    return Claim(text, paths, _alternation(_folder_expression(way, anchored=glob.anchored) for way in ways))


def find_conflicts(held: Sequence[Lease], wanted: Sequence[Glob], deadline: float) -> Iterator[Lease]:
    """Yield the leases that share a path with one of *wanted*.

    Args:
        held: The leases of other owners.
        wanted: Globs from `parse_whole_glob`.
        deadline: On `time.monotonic`'s clock.

    Raises:
        ToolError: `timed_out`, if the deadline passes first.
    """
    for lease in held:
        if monotonic() > deadline:
            raise ToolError("The locks could not be compared in time.", reason="timed_out", retryable=True)
        glob = parse_whole_glob(lease.name)
        if any(common_path(glob, each) is not None for each in wanted):
            yield lease


def _alternation(ways: Iterator[str]) -> str:
    return "|".join(f"(?:{way})" for way in ways)


def _folder_expression(way: str, *, anchored: bool) -> str:
    """An expression for folders that could contain a match: `a` and `a/*` for `a/*/b`, all below `a` for `a/**/b`."""
    parts = way.split("/") if anchored else [_DOUBLE_STAR]
    plain = list(takewhile(lambda part: part != _DOUBLE_STAR, parts))
    # Nested, not listed: a list of all prefixes would grow with the square of their number.
    inner = _BELOW if len(plain) < len(parts) else ""
    for part in reversed(plain if inner else plain[:-1]):
        name = name_expression(part)
        inner = f"{name}(?:/{inner})?" if inner else name
    return inner or "[^\\x00-\\x{10ffff}]"  # matches nothing: a name at the top has no folder above it
