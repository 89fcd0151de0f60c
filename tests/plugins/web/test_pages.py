"""HTML that is made to hurt whoever reads it."""

import pytest
from tests.rows import each_row

from toolcharter import scrub_text
from toolcharter_web.pages import MAX_CHARS, MAX_ELEMENTS, MAX_TITLE, parse_page, to_markdown

N = 300_000


@each_row(
    "text",
    [
        pytest.param("<div>" * N, id="deep"),
        pytest.param("".join(f"<b x={number}>" for number in range(9000)) + "<p>x" * N, id="reopened"),
        pytest.param("<table><tr><td>" * N, id="tables"),
        pytest.param("<b><p></b>" * N, id="misnested"),
        pytest.param("<a>" * N, id="many"),
        pytest.param("<" * N, id="brackets"),
        pytest.param("<!--" * N, id="comments"),
        pytest.param("&" * N, id="references"),
        pytest.param("<svg><style>" * N, id="foreign"),
    ],
)
def test_hostile_pages_are_read_in_bounds(text: str) -> None:
    """Depth, elements and output stay bounded; nothing fails."""
    document = parse_page(text)

    assert document.html.count("<") <= 2 * MAX_ELEMENTS + 10
    assert len(document.html) < 8 * MAX_CHARS
    if len(document.html) < 200_000:
        assert isinstance(to_markdown(document, "http://example.com/"), str)


def test_what_is_too_deep_is_text() -> None:
    """What stands there is shown, without its structure."""
    deep = "<div>" * 90 + "<p>one <b>two</b></p>tail" + "</div>" * 90

    assert to_markdown(parse_page(deep), "http://example.com/").strip() == "one twotail"


def test_more_elements_than_the_limit_are_told() -> None:
    """A page that is too much is truncated, as one that is too long."""
    assert parse_page("<p>x" * (MAX_ELEMENTS + 10)).truncated
    assert parse_page("x" * (MAX_CHARS + 1)).truncated
    assert not parse_page("<p>x").truncated


@each_row("text", ["", " ", "\n", "<!-- x -->", "<script>x</script>", "<html hidden>x</html>"])
def test_a_page_of_nothing(text: str) -> None:
    """Reads as nothing, or as what cannot be taken away."""
    assert to_markdown(parse_page(text), "http://example.com/").strip() in {"", "x"}


@each_row(
    ("text", "shown"),
    [
        ("a<span hidden>b</span>c", "ac"),
        ("<ol start=7><li>a</ol>", "7. a"),
        (f"<ol start={'9' * 5000}><li>a</ol>", "1. a"),
        ("<table><tr><th colspan=99999>a</table>", "| a |\n| --- |"),
        ("<p><i>a</i><span style='visibility: hidden'>b</span>c</p>", "*a*c"),
        ('<a href="http://[">x</a>', "x"),
        ('<a href="mailto:a@b">x</a>', "[x](mailto:a@b)"),
        ("<a>x</a>", "x"),
    ],
)
def test_pieces(text: str, shown: str) -> None:
    """Text around what is hidden stays, and links that are none are text."""
    assert to_markdown(parse_page(text), "http://example.com/").strip() == shown


def test_elements_beside_each_other_stay_so() -> None:
    """Thousands of empty ones are no depth, which would end in Python's limit of frames."""
    text = "<li>" * 9000 + "x"

    assert to_markdown(parse_page(text), "http://example.com/").split("\n")[-1] == "- x"


def test_a_token_stays_as_the_page_has_it() -> None:
    """Markdown would put a backslash before each underscore, and the scrubber would not know the token."""
    token = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4FgH7k"

    text = to_markdown(parse_page(f"<p>{token}</p><table><tr><td>{token}</td></tr></table>"), "http://example.com/")

    assert (text.count(token), scrub_text(text)[1]) == (2, 2)


@pytest.mark.parametrize("words", [0, 1, 285, 299, 300, 301])
def test_title_is_cut_between_words(words: int) -> None:
    """A key in a long title is shown whole, for the scrubber to mask, or not at all."""
    key = "gh" + "p_" + "A1b2C3d4E5" * 3 + "f6G7h8"
    before = ("a" * words)[:words]

    title = parse_page(f"<title>{before} {key} end of it</title>").title

    assert len(title) <= MAX_TITLE
    assert key in title or title in (before, "")
