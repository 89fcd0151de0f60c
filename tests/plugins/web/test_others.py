"""`http_get` and `html_scraper`."""

import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer

from toolcharter_web import css_selectors
from toolcharter_web.common import Item, format_item

PAGE = b"""<html><head><title>T</title></head><body><ul id=l>
<li class=a><a href="/x" title=y>One</a></li><li class="a b">Two  <i>three</i></li><li hidden>no</li></ul></body></html>"""


def test_http_get_shows_the_text_as_it_is(world: FakeInternet, call) -> None:
    """Status and body, as in sample set 001; HTML is not converted."""
    world.put("example.com", answer(PAGE, Content_Type="text/html"))

    got = call("http_get", url="http://example.com/")

    assert got.data == {
        "url": "http://example.com/",
        "status": 200,
        "content_type": "text/html",
        "body": PAGE.decode(),
        "truncated": False,
        "redirects": [],
    }
    assert "--- untrusted" in got.text


@pytest.mark.parametrize("tool", ["http_get", "html_scraper"])
def test_both_are_under_the_guard(world: FakeInternet, box, tool: str) -> None:
    """Denied by text in a dry run, by look-up in a call."""
    world.names["inside.example"] = [["10.0.0.1"]]
    more = {"selectors": ["p"]} if tool == "html_scraper" else {}
    toolbox = box(tool)

    assert toolbox.decide(f"tool_{tool}", {"url": "http://[::1]/", **more}).reason == "private_address"
    assert toolbox.call(tool, {"url": "http://inside.example/", **more}).reason == "private_address"
    assert world.dialled == []


@pytest.mark.parametrize("tool", ["http_get", "html_scraper"])
@pytest.mark.parametrize(
    ("raw", "reason"),
    [(answer(b"", "404 x"), "http_status"), (answer(b"\0"), "binary_content")],
    ids=["status", "binary"],
)
def test_both_fail_alike(world: FakeInternet, call, tool: str, raw: bytes, reason: str) -> None:
    """What is no text, and what is a failure, is an error of either."""
    world.put("example.com", raw)
    more = {"selectors": ["p"]} if tool == "html_scraper" else {}

    assert call(tool, url="http://example.com/", **more).reason == reason


@pytest.mark.parametrize(
    ("args", "items"),
    [
        pytest.param(
            {"selectors": ["li.a"]},
            [("li", "One", {"class": "a"}), ("li", "Two three", {"class": "a b"})],
            id="by class, hidden ones left out",
        ),
        pytest.param({"selectors": ["#l > .b", "a[href]"], "attributes": ["href"]}, [("li", "Two three", {}), ("a", "One", {"href": "/x"})], id="two selectors, one attribute"),
        pytest.param({"selector": ["a"], "attribute": ["title"]}, [("a", "One", {"title": "y"})], id="other names"),
        pytest.param({"selectors": ["li"], "max_results": 1}, [("li", "One", {"class": "a"})], id="fewer"),
        pytest.param({"selectors": ["table"]}, [], id="none"),
    ],
)  # fmt: skip
def test_html_scraper(world: FakeInternet, call, args, items) -> None:
    """Tag, text and attributes of each element, in the order of selectors and page."""
    world.put("example.com", answer(PAGE, Content_Type="text/html"))

    got = call("html_scraper", url="http://example.com/", **args)

    assert [(one["tag"], one["text"], one["attributes"]) for one in got.data["items"]] == items
    assert got.data["truncated"] is ("max_results" in args)


def test_html_scraper_shows_its_items_as_lines(world: FakeInternet, call) -> None:
    """One line for each, inside the fence."""
    world.put("example.com", answer(PAGE, Content_Type="text/html"))

    assert "\n<a href='/x' title='y'> One\n" in call("html_scraper", url="http://example.com/", selectors=["a"]).text
    assert "\nNo element matches.\n" in call("html_scraper", url="http://example.com/", selectors=["b"]).text


@pytest.mark.parametrize(("limit", "kept"), [(26, 2), (25, 1), (5, 1)], ids=["all", "one past it", "not even one"])
def test_html_scraper_shows_no_more_than_the_policy_says(world: FakeInternet, call, limit: int, kept: int) -> None:
    """Whole elements as far as they go, and the beginning of the first if not even that fits."""
    world.put("example.com", answer(b"<p>12345678<p>12345678", Content_Type="text/html"))

    got = call("html_scraper", {"max_text_bytes": limit}, url="http://example.com/", selectors=["p"])

    assert len(got.data["items"]) == kept
    assert (got.data["truncated"], got.data["items"][0]["text"]) == (limit < 26, "12345678"[:limit])


@pytest.mark.parametrize(
    "selector",
    [
        "",
        " ",
        "p[",
        "::::",
        "p" * 301,
        "p:has(b)",
        "p:HAS(b)",
        "p:h\\61s(b)",
        "p:nth-child(2):nth-child(3)",
        "p::before",
    ],
)
def test_what_is_no_selector_is_refused(world: FakeInternet, call, selector: str) -> None:
    """Before anything is fetched for it."""
    got = call("html_scraper", url="http://example.com/", selectors=[selector])

    assert (got.outcome, got.reason) == ("error", "invalid_selector")
    assert world.looked_up == []


@pytest.mark.parametrize("selector", ["a[href='x:has(y)']", "li:nth-child(2)", "li:not(:first-child) i", "LI > I"])
def test_selectors_that_are_taken(world: FakeInternet, call, selector: str) -> None:
    """What stands in quotes is no pseudo-class, and the usual ones are there."""
    world.put("example.com", answer(PAGE, Content_Type="text/html"))

    assert call("html_scraper", url="http://example.com/", selectors=[selector]).outcome == "ok"


def test_one_selector_of_a_call_may_count(world: FakeInternet, call) -> None:
    """Counting takes the square of the page, so a second one is refused wherever it stands."""
    got = call("html_scraper", url="http://example.com/", selectors=["p:nth-child(2)", "b:nth-of-type(2)"])

    assert (got.reason, world.looked_up) == ("invalid_selector", [])


def test_what_is_no_html_is_not_scraped(world: FakeInternet, call) -> None:
    """The error says what it is."""
    world.put("example.com", answer(b"{}", Content_Type="application/json"))

    got = call("html_scraper", url="http://example.com/", selectors=["p"])

    assert (got.reason, got.message) == ("no_html", "The answer is 'application/json', no HTML.")


def test_elements_beyond_what_is_shown_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them could hold the text of the whole page, so that two hundred would take minutes and gigabytes."""
    lines: list[str] = []

    def line(item: Item) -> str:
        lines.append(item["tag"])
        return format_item(item)

    monkeypatch.setattr(css_selectors, "format_item", line)

    found = css_selectors.select("<div>" * 60 + "word " * 1800, ["div"], None, 200, 20_000)

    assert (len(found["items"]), found["truncated"]) == (2, True)
    assert lines == ["div"] * 3
