"""Values that are declared secret: the environment's, and those of a store.

They are masked as they are, in base64 however they are aligned, also twice, and percent-encoded.
"""

import os
import re
import threading
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from string import ascii_letters, digits
from typing import Any

from toolcharter.guards.secrets.patterns import KEY_NAME
from toolcharter.guards.secrets.places import PAGE_TOKEN

_IN_PATHS = (ascii_letters + digits + "_.@+-/").encode()
_SHORTEST = 8
"""In bytes: a shorter value is part of too many harmless words."""
_GROUP_BYTES = 1 << 17
"""Of all forms in one group: google-re2 compiles no set of five times as much in the memory that it is given. A longer form is
looked for in pieces."""


class _Known:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: set[bytes] | None = None
        self.forms: list[tuple[bytes, ...]] = []
        self.is_read = False


_state = _Known()


def add(values: Iterable[str]) -> bool:
    """Note *values*; whether any of them is new, long enough and no place to fill in."""
    wanted = {value.encode("utf-8", "surrogateescape") for value in values}
    with _state.lock:
        before = _values()
        fresh = {value for value in wanted - before if len(value) >= _SHORTEST and not _shapes().is_fill_in(value)}
        if fresh:
            _state.values = before | fresh
            _note(_forms_of(fresh))
        return bool(fresh)


def forms() -> tuple[tuple[bytes, ...], ...]:
    """All that is to be masked, in groups, the longest of each first.

    The first group is what was known when this was first called, and stays: whoever compiles it does so once. The later
    ones are put together when they are of about one size, so that *n* values are in some log2 *n* groups, and each is
    compiled again as often, not with every new value. A group that is full stays as it is.
    """
    with _state.lock:
        _values()
        _state.is_read = True
        return tuple(_state.forms)


def _values() -> set[bytes]:
    if _state.values is None:
        _state.values = {value.encode("utf-8", "surrogateescape") for value in _of_environment()}
        _note(_forms_of(_state.values))
    return _state.values


def _note(fresh: set[bytes]) -> None:
    """Add the forms *fresh* to the groups."""
    groups, kept = _state.forms, 1 if _state.is_read else 0
    while len(groups) > kept and (not kept or len(groups[-1]) <= 2 * len(fresh)):
        if sum(map(len, chain(groups[-1], fresh))) > _GROUP_BYTES:
            break
        fresh = fresh.union(groups.pop())
    group: list[bytes] = []
    size = 0
    for form in sorted(fresh, key=lambda form: (-len(form), form)):
        if group and size + len(form) > _GROUP_BYTES:
            groups.append(tuple(group))
            group, size = [], 0
        group.append(form)
        size += len(form)
    groups.append(tuple(group))


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        data = value.encode("utf-8", "surrogateescape")
        if not _is_path(data) and is_telling(name) and _shapes().is_unusual(data) and not _shapes().is_place(data):
            yield value


def _is_path(value: bytes) -> bool:
    """Yes for the paths that `PWD` and the like hold: some of what `is_place` knows, without its import."""
    return value.startswith(b"/") and b"//" not in value and not value.translate(None, _IN_PATHS)


# Imported and compiled on first use: a start that meets no secret does without.


def is_telling(name: str) -> bool:
    """Yes if the name of a variable or of a JSON member says that its value is a secret."""
    return _telling().search(name) is not None and _page_token().search(name) is None


@cache
def _telling() -> "re.Pattern[str]":
    return re.compile(KEY_NAME)


@cache
def _page_token() -> "re.Pattern[str]":
    return re.compile(PAGE_TOKEN)


@cache
def _shapes() -> Any:
    return import_module("toolcharter.guards.secrets.heuristics")


def _forms_of(values: Iterable[bytes]) -> set[bytes]:
    forms = (form for value in values for form in _forms(value))
    return {form[at : at + _GROUP_BYTES] for form in forms for at in range(0, len(form), _GROUP_BYTES)}


def _forms(value: bytes) -> Iterator[bytes]:
    # By lines, as all else is looked at.
    yield from (line for line in value.splitlines() if len(line) >= _SHORTEST)
    quote = import_module("urllib.parse").quote
    yield quote(value, safe="").encode()
    yield quote(value).encode()
    for part in _encoded(value):
        yield part
        yield part.translate(bytes.maketrans(b"+/", b"-_"))
        yield from _encoded(part)


def _encoded(value: bytes) -> Iterator[bytes]:
    """*value* in base64, for each way that it may be aligned: as much of it as is always the same."""
    for before in range(3):
        text = b64encode(b"\0" * before + value)
        yield text[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]
