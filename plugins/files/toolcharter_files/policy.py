"""What `writable` means: its entries as globs, and entries that would be read as something else than was meant."""

from collections.abc import Iterable, Iterator

from toolcharter_files.globs import Glob, alternatives, is_plain, parse_whole

_PARTNERS = {"[": "]", "{": "}", "}": "{"}


def scope(entries: Iterable[str]) -> list[Glob]:
    """The globs of `writable`. A plain path is that path, and all that lies below it if it is a folder.

    Raises:
        InvalidGlob: As `parse_whole`.
    """
    return [parse_whole(glob) for entry in entries for glob in _meant(entry)]


def require_sense(entry: str) -> None:
    """Refuse what could match only names that hold the signs of a pattern, and was meant as the pattern.

    Raises:
        ValueError: It begins with `!`, or a brace or bracket has no partner; says what to write.
        InvalidGlob: Its braces stand for too many alternatives.
    """
    if entry.startswith("!"):
        raise ValueError(
            f"{entry!r} takes nothing out; name it in `protected`, or write '\\{entry}' for a name with that sign"
        )
    signs = (sign for each in alternatives(entry) for part in each.split("/") for sign in _alone(part))
    if sign := next(signs, None):
        raise ValueError(
            f"{entry!r} has {sign!r} without {_PARTNERS[sign]!r}; write both, or '\\{sign}' for the sign itself"
        )


def _meant(entry: str) -> tuple[str, ...]:
    return (entry, f"{entry}/**") if is_plain(entry) and entry and not entry.endswith("/") else (entry,)


def _alone(name: str) -> Iterator[str]:
    """The signs in one component that `name_expression` takes literally, though they begin or end something."""
    at = 0
    while at < len(name):
        if name[at] == "[" and (end := name.find("]", at + 2 + (name[at + 1 : at + 2] == "!"))) > 0:
            at = end
        elif name[at] in _PARTNERS:
            yield name[at]
        at += 2 if name[at] == "\\" else 1
