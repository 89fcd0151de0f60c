"""What the index of a repository says of repositories within its work tree."""

import struct

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.git.index import UnreadableIndexError, list_gitlinks, list_paths

LINK, FILE = 0o160000, 0o100644


def index(*entries: tuple[int, bytes, int], version: int = 2) -> bytes:
    """An index of *entries*: mode, path, and flags besides the length."""
    data = struct.pack(">4sII", b"DIRC", version, len(entries))
    for mode, path, flags in entries:
        head = bytes(24) + struct.pack(">I", mode) + bytes(32) + struct.pack(">H", flags | min(len(path), 0xFFF))
        entry = head + (bytes(2) if flags & 0x4000 else b"") + path
        data += entry + bytes(8 - len(entry) % 8)
    return data


def shortened(*paths: bytes) -> bytes:
    """An index of version 4, in which each path goes on behind the whole of the one before."""
    data, whole = struct.pack(">4sII", b"DIRC", 4, len(paths)), b""
    for path in paths:
        whole += path
        head = bytes(24) + struct.pack(">I", LINK) + bytes(32) + struct.pack(">H", min(len(whole), 0xFFF))
        data += head + b"\0" + path + b"\0"
    return data


def test_paths_may_be_shortened() -> None:
    """Version 4 leaves out what a path shares with the one before; git itself is asked in the test of runners."""
    assert list_gitlinks(shortened(b"lib/on", b"e", b"/two") + bytes(20)) == ("lib/on", "lib/one", "lib/one/two")


def test_only_repositories_are_named() -> None:
    """Of all lengths of paths, with and without further flags."""
    paths = [b"a" * length for length in (1, 2, 7, 8, 9, 5000)]
    entries = [entry for path in paths for entry in ((LINK, path, 0), (FILE, b"b" + path, 0), (LINK, path, 0x4000))]

    assert list_gitlinks(index(*entries, version=3)) == tuple(path.decode() for path in paths for _ in range(2))


def test_index_without_repositories_is_not_read() -> None:
    """Most have none, and whatever they look like."""
    assert list_gitlinks(index((FILE, b"a", 0), version=4)) == list_gitlinks(b"") == ()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\0\0\xe0\0", "it is cut short."),
        (index((LINK, b"a", 0), version=5), "version 5 is not known."),
        (index((LINK, b"a", 0), version=4).replace(b"a", b"\7"), "a path has another length than it says."),
        (index((LINK, b"\xff" * 9, 0), version=4), "it is cut short."),
        (shortened(b"a" * 4000, *[b""] * 900), "its paths are longer than any work tree's."),
        (index((LINK, b"a", 0))[:70], "subsection not found"),
        (index((LINK, b"a", 0)).replace(b"a", b"\0"), "a path has another length than it says."),
    ],
)
def test_index_that_cannot_be_read_is_an_error(data: bytes, why: str) -> None:
    """Nothing in it is skipped."""
    with pytest.raises(UnreadableIndexError, match=f"^{why}$"):
        list_gitlinks(data)


def extended(*extensions: tuple[bytes, bytes], end: bytes = bytes(20)) -> bytes:
    """An index of one file, with further parts behind it, and its checksum."""
    parts = (struct.pack(">4sI", signature, len(data)) + data for signature, data in extensions)
    return index((FILE, b"a", 0)) + b"".join(parts) + end


def test_all_that_is_tracked_is_named() -> None:
    """Files and repositories, whatever git keeps beside them to be quick."""
    assert list_paths(index((FILE, b"a", 0), (LINK, b"b/c", 0)) + bytes(20)) == ("a", "b/c")
    assert list_paths(extended((b"TREE", b"xyz"), (b"EOIE", b""))) == ("a",)


@each_row(
    ("data", "why"),
    [
        (extended((b"link", bytes(20))), "a part of it is kept in another way."),
        (extended((b"sdir", b"")), "a part of it is kept in another way."),
        (extended((b"TREE", b"xyz"), end=bytes(19)), "it does not end where it says."),
        (extended(end=bytes(24)), "a part of it is kept in another way."),
        (index((FILE, b"a", 0)), "it does not end where it says."),
        (b"", "it is cut short."),
    ],
)
def test_an_index_that_may_track_more_is_an_error(data: bytes, why: str) -> None:
    """A part of it lies in another file, or stands for a whole folder."""
    with pytest.raises(UnreadableIndexError, match=f"^{why}$"):
        list_paths(data)
