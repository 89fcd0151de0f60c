"""Reads git's index: the tracked files, and the repositories among them. Pure, linear and strict.

Source: gitformat-index(5) of git 2.39, versions 2 to 4, with names of objects of 20 bytes.
"""

from os import fsdecode
from struct import unpack_from
from typing import Final

_GITLINK: Final = b"\x00\x00\xe0\x00"
_HEADER_SIZE: Final = 12
_MODE_AT: Final = 24
_FLAGS_AT: Final = 60
_PREFIX_COMPRESSED: Final = 4
"""The version in which an entry holds only the part of its path that differs from the previous path."""
_MAX_NUMBER_BYTES: Final = 5
_MAX_EXPANSION: Final = 8
"""The greatest total length of all paths, as a multiple of the size of an index that shortens them."""
_EXTENDED_FLAG: Final = 0x4000
_LENGTH_MASK: Final = 0xFFF
_HASH_SIZE: Final = 20


class UnreadableIndexError(ValueError):
    """The index has an unknown format; the text says how it differs."""


def list_gitlinks(index: bytes) -> tuple[str, ...]:
    """The folders of the work tree that *index* lists as repositories of their own.

    Raises:
        UnreadableIndexError: The index may list some, and cannot be read.
    """
    if _GITLINK not in index:
        return ()
    try:
        entries, _ = _read_entries(index)
    except ValueError as fault:
        raise UnreadableIndexError(str(fault)) from fault
    return tuple(path for path, mode in entries if mode == _GITLINK)


def list_paths(index: bytes) -> tuple[str, ...]:
    """All paths that *index* lists, relative to the top of the work tree.

    Raises:
        UnreadableIndexError: The index cannot be read, or other files belong to it.
    """
    try:
        entries, at = _read_entries(index)
        _check_extensions(index, at)
    except ValueError as fault:
        raise UnreadableIndexError(str(fault)) from fault
    return tuple(path for path, _ in entries)


def _check_extensions(index: bytes, at: int) -> None:
    """Refuse extensions that change the meaning of the entries: a shared index, or folders in place of files."""
    end = len(index) - _HASH_SIZE
    while at < end:
        signature, size = unpack_from(">4sI", index, at)
        if not b"A" <= signature[:1] <= b"Z":
            raise ValueError("a part of it is kept in another way.")
        at += 8 + size
    if at != end:
        raise ValueError("it does not end where it says.")


def _read_entries(index: bytes) -> tuple[list[tuple[str, bytes]], int]:
    """Every path with its mode, and the end of the entries."""
    if len(index) < _HEADER_SIZE:
        raise ValueError("it is cut short.")
    version, count = unpack_from(">II", index, 4)
    if version not in {2, 3, _PREFIX_COMPRESSED}:
        raise ValueError(f"version {version} is not known.")
    at, path = _HEADER_SIZE, b""
    entries: list[tuple[str, bytes]] = []
    left = _MAX_EXPANSION * len(index)
    for _ in range(count):
        flags = int.from_bytes(index[at + _FLAGS_AT : at + _FLAGS_AT + 2], "big")
        start = at + _FLAGS_AT + (4 if flags & _EXTENDED_FLAG else 2)
        shared = 0
        if version == _PREFIX_COMPRESSED:
            taken, start = _read_number(index, start)
            shared = len(path) - taken
        end = index.index(b"\0", start)
        path = path[:shared] + index[start:end]
        left -= len(path)
        if left < 0:
            raise ValueError("its paths are longer than any work tree's.")
        if shared < 0 or flags & _LENGTH_MASK != min(len(path), _LENGTH_MASK):
            raise ValueError("a path has another length than it says.")
        entries.append((fsdecode(path), index[at + _MODE_AT : at + _MODE_AT + len(_GITLINK)]))
        at = end + 1 if version == _PREFIX_COMPRESSED else at + (end - at + 8) // 8 * 8
    return entries, at


def _read_number(index: bytes, at: int) -> tuple[int, int]:
    """A number of variable length and its end: how many bytes of the previous path an entry does not share."""
    number = -1
    for place in range(at, min(at + _MAX_NUMBER_BYTES, len(index))):
        number = (number + 1) << 7 | index[place] & 0x7F
        if not index[place] & 0x80:
            return number, place + 1
    raise ValueError("it is cut short.")
