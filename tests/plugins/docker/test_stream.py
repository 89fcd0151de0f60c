"""Frames of two streams on one connection."""

from hypothesis import given
from hypothesis import strategies as st

from toolcharter_docker.stream import STDERR, STDOUT, BoundedBuffer, Frames


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(
    st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=40))),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_frames_come_apart_wherever_the_connection_cuts(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    """What each stream said arrives whole and in order, in whatever pieces it was read."""
    data = b"".join(frame(*part) for part in frames)
    taken = Frames()
    said = {STDOUT: b"", STDERR: b""}

    position = turn = 0
    while position < len(data):
        size = cuts[turn % len(cuts)]
        for stream, part in taken.feed(data[position : position + size]):
            said[stream] += part
        position, turn = position + size, turn + 1

    assert said == {name: b"".join(text for stream, text in frames if stream == name) for name in said}


def test_kept_bytes_end_at_the_limit() -> None:
    """At the limit nothing is lost; one byte past it the stream is truncated."""
    kept = BoundedBuffer(4)

    kept.add(b"abc")
    kept.add(b"d")
    assert (bytes(kept.data), kept.truncated) == (b"abcd", False)
    kept.add(b"e")
    assert (bytes(kept.data), kept.truncated) == (b"abcd", True)
