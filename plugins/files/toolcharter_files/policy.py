"""Turn the entries of `writable` into globs, and refuse entries that would not mean what their author meant."""

from collections.abc import Iterable, Iterator

from toolcharter_files.globs import Glob, expand_braces, is_plain, parse_whole_glob

_PARTNERS = {"[": "]", "{": "}", "}": "{"}


def parse_writable(entries: Iterable[str]) -> list[Glob]:
    """Return the globs of `writable`. A plain path matches that path and everything below it.

    Raises:
        InvalidGlob: As for `parse_whole_glob`.
    """
    return [parse_whole_glob(glob) for entry in entries for glob in _expand_entry(entry)]


def require_meaningful(entry: str) -> None:
    """Refuse an entry that was meant as a pattern but would match only names that contain its special characters.

    Raises:
        ValueError: The entry begins with `!`, or a brace or bracket has no partner. The text says what to write.
        InvalidGlob: Its braces have too many alternatives.
    """
    if entry.startswith("!"):
        raise ValueError(
            f"{entry!r} excludes nothing; list the path in `protected`, or write '\\{entry}' for the literal name"
        )
    signs = (sign for each in expand_braces(entry) for part in each.split("/") for sign in _unpaired_signs(part))
    if sign := next(signs, None):
        raise ValueError(
            f"{entry!r} has {sign!r} without {_PARTNERS[sign]!r}; write both, or '\\{sign}' for the character itself"
        )


def _expand_entry(entry: str) -> tuple[str, ...]:
    return (entry, f"{entry}/**") if is_plain(entry) and entry and not entry.endswith("/") else (entry,)


def _unpaired_signs(name: str) -> Iterator[str]:
    """Yield the brackets and braces of one component without a partner, which `name_expression` takes literally."""
    at = 0
    while at < len(name):
        if name[at] == "[" and (end := name.find("]", at + 2 + (name[at + 1 : at + 2] == "!"))) > 0:
            at = end
        elif name[at] in _PARTNERS:
            yield name[at]
        at += 2 if name[at] == "\\" else 1
