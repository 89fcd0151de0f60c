"""What a lease keeps of a glob: two expressions, for the path guard, which knows no globs."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from time import monotonic

from toolcharter import Claim, Lease, ToolError
from toolcharter_files.globs import Glob, alternatives, name_expression, parse_whole, path_expression
from toolcharter_files.overlap import meeting

_DEEP = "**"
_BELOW = "(?s:.+)"


def claim(text: str) -> Claim:
    """The paths that a glob matches.

    Raises:
        InvalidGlob: As `parse_whole`.
    """
    glob = parse_whole(text)
    ways = alternatives(glob.rest)
    paths = _either(path_expression(way, anchored=glob.anchored) for way in ways)
    return Claim(text, paths, _either(_folders(way, anchored=glob.anchored) for way in ways))


def in_the_way(held: Sequence[Lease], wanted: Sequence[Glob], deadline: float) -> Iterator[Lease]:
    """The leases that share a path with one of *wanted*, of `parse_whole`.

    Raises:
        ToolError: `timed_out`, if *deadline* comes first, on `time.monotonic`'s clock.
    """
    for lease in held:
        if monotonic() > deadline:
            raise ToolError("The locks could not be compared in time.", reason="timed_out", retryable=True)
        glob = parse_whole(lease.name)
        if any(meeting(glob, each) is not None for each in wanted):
            yield lease


def _either(ways: Iterator[str]) -> str:
    return "|".join(f"(?:{way})" for way in ways)


def _folders(way: str, *, anchored: bool) -> str:
    """The folders below which something could match: `a` and `a/*` for `a/*/b`, all below `a` for `a/**/b`."""
    parts = way.split("/") if anchored else [_DEEP]
    plain = list(takewhile(lambda part: part != _DEEP, parts))
    # Nested, not listed: a list of all beginnings would grow with the square of their number.
    inner = _BELOW if len(plain) < len(parts) else ""
    for part in reversed(plain if inner else plain[:-1]):
        name = name_expression(part)
        inner = f"{name}(?:/{inner})?" if inner else name
    return inner or "[^\\x00-\\x{10ffff}]"  # nothing: what lies at the top has no folder above it
