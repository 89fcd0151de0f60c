"""Values that are declared secret: those of the environment, and those of a store.

They are masked in clear text, in base64 in any alignment, also encoded twice, and percent-encoded.
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

from toolcharter.guards.secrets.places import KEY_NAME, PAGE_TOKEN

_IN_PATHS = (ascii_letters + digits + "_.@+-/").encode()
_SHORTEST = 8
"""In bytes: a shorter value occurs in too many harmless words."""
_GROUP_BYTES = 1 << 17
"""The size of all forms in one group. With its memory limit, google-re2 cannot compile a set of five times this size. A
longer form is searched for in pieces."""


class _Known:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: set[bytes] | None = None
        self.forms: list[tuple[bytes, ...]] = []
        self.is_read = False


_state = _Known()


def add(values: Iterable[str]) -> bool:
    """Add *values*, and return whether any of them is new, long enough and no placeholder."""
    wanted = {value.encode("utf-8", "surrogateescape") for value in values}
    with _state.lock:
        before = _values()
        fresh = {
            value for value in wanted - before if len(value) >= _SHORTEST and not _heuristics().is_placeholder(value)
        }
        if fresh:
            _state.values = before | fresh
            _add_forms(_forms_of(fresh))
        return bool(fresh)


def forms() -> tuple[tuple[bytes, ...], ...]:
    """Return all forms to mask, in groups, the longest form of each group first.

    The first group holds the values that were known at the first call. It never changes, so it is compiled only once.
    Later groups of about the same size are merged. So *n* values are in about log2 *n* groups, and each value is
    compiled again about log2 *n* times, not with every new value. A full group stays as it is.
    """
    with _state.lock:
        _values()
        _state.is_read = True
        return tuple(_state.forms)


def _values() -> set[bytes]:
    if _state.values is None:
        _state.values = {value.encode("utf-8", "surrogateescape") for value in _environment_secrets()}
        _add_forms(_forms_of(_state.values))
    return _state.values


def _add_forms(fresh: set[bytes]) -> None:
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


def _environment_secrets() -> Iterator[str]:
    for name, value in os.environ.items():
        data = value.encode("utf-8", "surrogateescape")
        if (
            not _is_path(data)
            and is_telling(name)
            and _heuristics().is_safe_to_mask(data)
            and not _heuristics().is_path_or_address(data)
        ):
            yield value


def _is_path(value: bytes) -> bool:
    """Whether *value* is a plain absolute path, as in `PWD`: a part of `is_path_or_address`, without its import."""
    return value.startswith(b"/") and b"//" not in value and not value.translate(None, _IN_PATHS)


# Imported and compiled on first use, so that a start without secrets does not pay for it.


def is_telling(name: str) -> bool:
    """Whether the name of a variable or of a JSON member says that its value is a secret."""
    return _telling().search(name) is not None and _page_token().search(name) is None


@cache
def _telling() -> "re.Pattern[str]":
    return re.compile(KEY_NAME)


@cache
def _page_token() -> "re.Pattern[str]":
    return re.compile(PAGE_TOKEN)


@cache
def _heuristics() -> Any:
    return import_module("toolcharter.guards.secrets.heuristics")


def _forms_of(values: Iterable[bytes]) -> set[bytes]:
    forms = (form for value in values for form in _forms(value))
    return {form[at : at + _GROUP_BYTES] for form in forms for at in range(0, len(form), _GROUP_BYTES)}


def _forms(value: bytes) -> Iterator[bytes]:
    # Line by line, as all texts are searched.
    yield from (line for line in value.splitlines() if len(line) >= _SHORTEST)
    quote = import_module("urllib.parse").quote
    yield quote(value, safe="").encode()
    yield quote(value).encode()
    for part in _encoded(value):
        yield part
        yield part.translate(bytes.maketrans(b"+/", b"-_"))
        yield from _encoded(part)


def _encoded(value: bytes) -> Iterator[bytes]:
    """Yield the base64 of *value* for each alignment: the part that does not depend on the neighbouring bytes."""
    for before in range(3):
        text = b64encode(b"\0" * before + value)
        yield text[(before * 8 + 5) // 6 : (before + len(value)) * 8 // 6]
