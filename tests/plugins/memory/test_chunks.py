"""Chunks: at most 1,000 characters, of one writer, at blank lines; together they are the text."""

from hypothesis import given
from hypothesis import strategies as st

from toolcharter_memory.chunks import MAX_CHARS, split_chunks
from toolcharter_memory.records import Span


def span(line: int) -> Span:
    """Who wrote from *line* on."""
    return Span(start_line=line, author=f"from {line}", session="", trust="untrusted", written_at="")


def lines_of(content: str, *starts: int) -> list[tuple[int, int, str]]:
    """First line, last line and text of each chunk."""
    return [(one.start_line, one.end_line, one.text) for one in split_chunks(content, [span(1), *map(span, starts)])]


def test_paragraphs_are_joined_while_they_fit() -> None:
    """A chunk ends at a blank line, before it would be too long."""
    first, second = "a" * 600, "b" * 398
    assert lines_of(f"{first}\n\n{second}\n") == [(1, 3, f"{first}\n\n{second}")]
    assert lines_of(f"{first}\n\n{second}b\n") == [(1, 1, first), (3, 3, f"{second}b")]


def test_a_long_paragraph_is_cut_at_lines_and_a_long_line_at_blanks() -> None:
    """Where there is none, after 1,000 characters."""
    line = "c" * 499
    assert lines_of("\n".join([line] * 3)) == [(1, 2, f"{line}\n{line}"), (3, 3, line)]
    words = " ".join(["word"] * 250)
    assert [len(text) for _, _, text in lines_of(words)] == [999, 250]
    assert [len(text) for _, _, text in lines_of("x" * 2_500)] == [1_000, 1_000, 500]


def test_no_chunk_has_two_writers() -> None:
    """However short their parts are."""
    assert lines_of("one\n\ntwo\nthree\n", 3, 4) == [(1, 1, "one"), (3, 3, "two"), (4, 4, "three")]


@given(st.lists(st.text(alphabet="a \n\tß", max_size=1_500), max_size=4).map("\n\n".join))
def test_nothing_is_lost(content: str) -> None:
    """All but white space is in a chunk, in order, in the lines that it says."""
    lines = content.removesuffix("\n").split("\n")
    chunks = lines_of(content)

    assert "".join("".join(text.split()) for _, _, text in chunks) == "".join(content.split())
    for start, end, text in chunks:
        assert 0 < len(text) <= MAX_CHARS
        assert text in "\n".join(lines[start - 1 : end])
