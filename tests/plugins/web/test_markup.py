"""HTML written anew: what a browser would read of it is the same, and no tag is large."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from tests.rows import each_row

from toolcharter_web.markup import MAX_ATTRIBUTES, rewrite_markup
from toolcharter_web.pages import parse_page, to_markdown

PIECES = [
    *("<p>", "</p>", "<b class=x>", "</b>", '<i title="a>b">', "</i>", "<a href='/x\"y'>", "</a>", "<br/>", "<img src=a/>"),
    *("<script>", "</script>", "<style>", "</style >", "<title>", "</title>", "<textarea>", "</textarea>"),
    *("<title/>", "<!-- x -->", "<!--", "-->", "<!-->", "<?x?>", "<!DOCTYPE html>", "</>", "</ x>", "<3"),
    *("< ", ">", "=", '"', "'", "&amp;", "&lt;p>", "one", "two ", "/", " ", "\n", "<p a=1 a=2>", "<p\nb>", "<x-y @z=1>"),
]  # fmt: skip


def shown(text: str) -> list[tuple[str, dict[str, str]]]:
    """The elements that a browser makes of *text*, with their attributes, but for those that nobody reads."""
    tree = LexborHTMLParser(text)
    tree.strip_tags(["script", "style"])
    return [
        (node.tag or "", {name: value or "" for name, value in node.attributes.items()}) for node in tree.css("body *")
    ]


def words(text: str) -> str:
    tree = LexborHTMLParser(text)
    tree.strip_tags(["script", "style"])
    return "".join((tree.text() or "").split())


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_browser_reads_the_same(text: str) -> None:
    """Elements, attributes and words: what follows is judged by what a page says, so none may be lost or made."""
    anew = rewrite_markup(text)

    assert not anew.truncated
    assert words(anew.text) == words(text)
    assert shown(anew.text) == shown(text)


@given(st.text(st.sampled_from("<>/!-='\"ab \n&"), max_size=40))
def test_every_text_has_tags_that_all_read_alike(text: str) -> None:
    """No bracket stands but around a tag, and quotes stand around values only."""
    tag = r'</?[a-z][a-z0-9:._-]*(?: [^\s"\'<=]+="[^"<]*")*/?>'

    assert "<" not in re.sub(tag, "", rewrite_markup(text).text)
    assert rewrite_markup(rewrite_markup(text).text).text == rewrite_markup(text).text


@pytest.mark.parametrize(("count", "truncated"), [(MAX_ATTRIBUTES, False), (MAX_ATTRIBUTES + 1, True)])
def test_attributes_of_a_tag_are_bounded(count: int, truncated: bool) -> None:  # noqa: FBT001 - a column of the table
    """At the limit all are kept, beyond it the first; the page says that it was cut."""
    page = "<p " + " ".join(f"a{number}=1" for number in range(count)) + ">x"

    assert rewrite_markup(page).text.count("=") == MAX_ATTRIBUTES
    assert parse_page(page).truncated is truncated


@each_row(
    "text",
    lambda: [
        pytest.param("<p " + " ".join(f"a{number}" for number in range(110_000)) + ">x", id="one tag"),
        pytest.param("<p" + "".join(f"/a{number}" for number in range(110_000)) + ">x", id="slashes"),
        pytest.param("<p" + "".join(f" a{number}='>'" for number in range(70_000)) + ">x", id="quoted brackets"),
        pytest.param("<p" + "".join(f' a{number}="<p"' for number in range(70_000)) + ">x", id="quoted tags"),
        pytest.param("<!--<p a='--><p" + " ".join(f" a{number}" for number in range(110_000)) + ">x", id="comment"),
        pytest.param(
            "<script><p a='</script><p" + " ".join(f" a{number}" for number in range(110_000)) + ">x", id="js"
        ),
    ],
)
def test_a_tag_with_a_hundred_thousand_attributes_is_read_at_once(text: str) -> None:
    """Parsers take twenty seconds for it, and let nothing else run meanwhile; neither reader is handed such a tag."""
    document = parse_page(text)

    assert document.html.count("=") <= MAX_ATTRIBUTES
    assert to_markdown(document, "http://example.com/").strip() == "x"


@each_row(
    ("text", "anew"),
    [
        pytest.param("a < b <3", "a &lt; b &lt;3", id="no tags"),
        pytest.param("<P CLASS=a/ Id='b\"c'>", '<p CLASS="a/" Id="b&quot;c">', id="quotes"),
        pytest.param(
            "<svg/><svg><title/>x</svg><title/>y", "<svg/><svg><title/>x</svg><title>y", id="empty in pictures"
        ),
        pytest.param("<svg a=x/>y", '<svg a="x/">y', id="a slash of a value"),
        pytest.param("</svg><title/>x", "</svg><title>x", id="an end without a beginning"),
        pytest.param("<iframe><p></iframe>x<noframes>y", "x", id="no tags in frames"),
        pytest.param('x<p a="', "x", id="ends in a value"),
        pytest.param("x<p a", "x", id="ends in a tag"),
        pytest.param("x<a\"b>y</a'b>", "xy", id="odd names"),
        pytest.param("<p =a b>x", '<p b="">x', id="an odd attribute"),
    ],
)
def test_pieces(text: str, anew: str) -> None:
    """One by one."""
    assert rewrite_markup(text).text == anew
