"""What watches see of output that comes in pieces."""

import time
from pathlib import Path

import pytest

from toolcharter import ToolError
from toolcharter_process.watches import MAX_LINE_CHARS, MAX_NOTICES, Notices, Watches, compile_pattern


def seen(pattern: str, *pieces: bytes) -> list[str]:
    notices = Notices()
    watches = Watches("p-00000000", notices)
    watches.add(pattern)
    for piece in pieces:
        watches.feed(piece)
    watches.end("exited, status 0")
    return [notice["text"] for notice in notices.take()[0]]


def test_a_line_in_pieces_is_one_line() -> None:
    """A line is told once, whenever it first matches; characters may be cut in two."""
    assert seen("ready", b"get", b" rea", b"dy no", b"w\r\nready\n") == ["get ready no", "ready"]
    assert seen("\u00e9", b"caf\xc3", b"\xa9\n") == ["caf\u00e9"]


def test_steering_does_not_hide_a_match() -> None:
    """A pattern is held against what can be read."""
    assert seen("all done", b"\x1b[1mall \x1b[0mdone\n") == ["all done"]


def test_the_empty_pattern_stands_for_the_end() -> None:
    """And a pattern does not see the end."""
    assert seen("", b"text\n") == ["exited, status 0"]
    assert seen("exited") == []


def test_a_line_without_end_is_taken_for_several() -> None:
    """What is kept of a line has a bound."""
    assert len(seen("x", b"x" * (2 * MAX_LINE_CHARS + 1))) == 3


def test_the_latest_notices_are_kept() -> None:
    """And how many were dropped."""
    notices = Notices()
    watches = Watches("p-00000000", notices)
    watches.add("")
    for _ in range(MAX_NOTICES + 2):
        watches.end("x")

    kept, dropped = notices.take()

    assert (len(kept), dropped, notices.take()) == (MAX_NOTICES, 2, ([], 0))


def test_much_output_is_seen_in_linear_time() -> None:
    """Also without a line break, and in small pieces."""
    times = []
    for size in (10_000, 40_000):
        started = time.thread_time()
        seen("never", *[b"x" * 10] * (size // 10))
        times.append(time.thread_time() - started)

    assert times[1] < 10 * max(times[0], 0.05)


TOKEN = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4FgH7k"


@pytest.mark.parametrize("before", [450, 490, 3970, 3990])
def test_no_half_of_a_secret_is_told(before: int) -> None:
    """Neither where a notice is cut, nor where a long line is taken for two, nor where the rest is still to come."""
    line = f"{'go ' * (before // 3)}{TOKEN} end"

    told = [
        *seen("go|end", line.encode() + b"\n"),
        *seen("go|end", line[: before + 30].encode(), line[before + 30 :].encode()),
    ]

    assert [one for one in told if TOKEN[4:16] in one or TOKEN[-12:] in one] == []


def test_a_broken_pattern_writes_nothing_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 would repeat it there, and its lines would pass for events."""
    with pytest.raises(ToolError) as raised:
        compile_pattern('(\n{"event": "hook.tool.after"}\n')

    assert (raised.value.reason, capfd.readouterr().err) == ("invalid_pattern", "")


def test_every_pattern_of_re2_is_silent() -> None:
    """Whoever compiles one switches the log off, wherever the pattern comes from."""
    root = Path(__file__).parents[3]
    sources = [path for folder in ("core", "plugins") for path in (root / folder).rglob("*.py")]
    compiling = [path for path in sources if "re2.compile(" in (text := path.read_text()) or "re2.fullmatch(" in text]

    loud = [path.name for path in compiling if "log_errors = False" not in path.read_text()]

    assert (len(compiling) > 3, loud) == (True, [])
