"""How the commands under `toolcharter events` read files: plain, rotated, compressed, with a bar on a terminal."""

import bz2
import gzip
import json
import lzma
import os
import pty
import random
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from toolcharter.events import files
from toolcharter.events.files import event_lines, with_rotated

TS = "2026-11-21T10:15:37.042Z"


def after(call_id: str = "c") -> bytes:
    """A line of `hook.tool.after`, as far as counting reads it."""
    event = {"event": "hook.tool.after", "tool": "echo", "outcome": "ok", "elapsed_ms": 1.0, "redactions": 0}
    empty = dict.fromkeys(("agent", "user", "action", "rule", "reason"))
    return orjson.dumps({**event, **empty, "call_id": call_id, "profile": "demo", "ts": TS}) + b"\n"


@pytest.mark.parametrize(
    ("name", "packed"),
    [("e.gz", gzip.compress), ("e.bz2", bz2.compress), ("e.xz", lzma.compress), ("-", bytes)],
)
def test_compressed_files_and_standard_input_are_read(run, desk, name, packed) -> None:
    """All of a rotated file's forms, after a plain one; long enough to move the bar."""
    many = after() * 2001
    Path("plain.jsonl").write_bytes(many)
    Path(desk / name).write_bytes(packed(many))

    found = run("events", "stats", "--json", "plain.jsonl", name, stdin=many)

    assert json.loads(found.stdout)["calls"] == 4002


@pytest.mark.parametrize(
    "words", [("stats",), ("check",), ("tail",), ("tail", "--no-follow"), ("diff", "./demo.yaml", "./demo.yaml")]
)
def test_what_is_no_regular_file_is_refused(run, desk, words) -> None:
    """A pipe would be waited for without end; a folder has no lines."""
    os.mkfifo("e.fifo")

    found = [run("events", *words, name) for name in ("e.fifo", ".")]

    assert [result.exit_code for result in found] == [2, 2]
    assert found[0].stderr.endswith("e.fifo: it is no regular file.\nRead a pipe from standard input: '-'.\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.jsonl", None, "no.jsonl: No such file or directory."),
        (
            "e.zst",
            b"",
            "e.zst: this compression is not supported.\nDecompress it, and read it from standard input: '-'.",
        ),
        (
            "cut.gz",
            gzip.compress(b"{}" * 999, mtime=0)[:-9],
            "cut.gz: cannot be read to its end: Compressed file ended",
        ),
        ("no.xz", b"plain", "no.xz: cannot be read to its end: Input format not supported"),
        ("cut.xz", lzma.compress(b"{}")[:-9], "cut.xz: cannot be read to its end: it ends within compressed data."),
    ],
)
def test_what_cannot_be_read_is_named(run, desk, name, content, message) -> None:
    """No file is passed over: exit status 2, and what is wrong with it."""
    if content is not None:
        (desk / name).write_bytes(content)

    result = run("events", "stats", name)

    assert (message in result.stderr, result.exit_code) == (True, 2)


def test_xz_streams_one_after_the_other_are_one_file(tmp_path, monkeypatch) -> None:
    """As `xz` appends them, with zeros between; the last may be followed by zeros, too."""
    monkeypatch.setattr(files, "_BLOCK_BYTES", 64)  # A block may hold nothing but the head of a stream.
    packed = tmp_path / "e.xz"
    noise = random.Random(1).randbytes(200_000).replace(b"\n", b"") + b"\n"  # Longer than what is read at once.
    zeros = bytes(1 << 17)
    packed.write_bytes(lzma.compress(b"1\n") + zeros + lzma.compress(noise + b"2\n3") + bytes(4))

    assert [line.raw for line in event_lines([str(packed)])] == [b"1\n", noise, b"2\n", b"3"]


def test_an_xz_file_cannot_ask_for_any_memory(tmp_path, monkeypatch, run, desk) -> None:
    """Its header says how much is needed to decompress it."""
    monkeypatch.setattr(files, "MAX_XZ_MEMORY", 1 << 20)
    (desk / "e.xz").write_bytes(lzma.compress(after(), preset=6))

    result = run("events", "stats", "e.xz")

    assert ("e.xz: cannot be read to its end: Memory usage limit exceeded" in result.stderr, result.exit_code) == (
        True,
        2,
    )


def test_rotated_files_are_read_oldest_first(run, desk) -> None:
    """Dates before numbers, high numbers before low; what merely looks similar is left alone."""
    rotated = ["e.jsonl-20260102", "e.jsonl-20260103.gz", "e.jsonl.10.bz2", "e.jsonl.2.gz", "e.jsonl.1", "e.jsonl"]
    for name in (*rotated, "e.jsonl.old", "other.jsonl.1", "e.jsonl.1.gz.part"):
        packed = {".gz": gzip.compress(after(name)), ".bz2": bz2.compress(after(name))}
        (desk / name).write_bytes(packed.get(Path(name).suffix, after(name)))

    assert with_rotated("e.jsonl") == rotated
    shown = run("events", "tail", "--rotated", "--no-follow", "--json", "e.jsonl").stdout.splitlines()
    assert [json.loads(line)["call_id"] for line in shown] == rotated


def test_lines_longer_than_any_event_come_in_pieces(tmp_path, monkeypatch) -> None:
    """Memory does not grow with a line, of a compressed file neither."""
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 4)
    (tmp_path / "e.gz").write_bytes(gzip.compress(b"abcdefghij\nk\n"))

    assert [line.raw for line in event_lines([str(tmp_path / "e.gz")])] == [b"abcd", b"efgh", b"ij\n", b"k\n"]


@pytest.mark.slow
@pytest.mark.parametrize("packed", ["plain.jsonl", "bomb.xz"])
def test_memory_does_not_grow_with_the_file(tmp_path, packed) -> None:
    """60 MB of events, and 256 MB of nothing in a few kilobytes, by a process that may have 200 MB of data."""
    path = tmp_path / packed
    if packed == "plain.jsonl":
        path.write_bytes(after() * 300_000)
    else:
        squeezer = lzma.LZMACompressor(preset=0)
        with path.open("wb") as file:
            for _ in range(256):
                file.write(squeezer.compress(bytes(1 << 20)))
            file.write(squeezer.flush())
    program = (
        "import resource, sys\n"
        "from toolcharter.cli import main\n"
        "limit = 200 << 20\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))\n"
        "sys.argv = ['toolcharter', 'events', 'stats', '--json', sys.argv[1]]\n"
        "main()\n"
    )

    ran = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True)

    found = json.loads(ran.stdout)
    assert (found["calls"], found["unreadable_lines"]) == ((300_000, 0) if packed == "plain.jsonl" else (0, 16))


def test_a_bar_is_shown_on_a_terminal_alone(tmp_path) -> None:
    """On standard error, so that the tables can go into a file."""
    (tmp_path / "e.jsonl").write_bytes(after() * 4000)
    words = [sys.executable, "-m", "toolcharter", "events", "stats", str(tmp_path / "e.jsonl")]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, check=True)
        os.close(theirs)
        shown = terminal.read(4096)

    assert (b"%" in shown, b"%" in ran.stdout) == (True, False)
    assert subprocess.run(words, capture_output=True, check=True).stderr == b""
