"""`web` searches, with both providers."""

import json

import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer

KEY = "BRAVE_" + "API_KEY"
FOUND = {
    "web": {
        "results": [
            {"title": f"T{number}\n x", "url": f"https://{number}.example/", "description": f"d <b>{number}</b>"}
            for number in range(30)
        ]
    }
}
DUCK = """<html><body><div class="result body"><h2><a>Title  one</a></h2><a href="https://one.example/">Text
one</a></div><div class="body"><h2>Ad</h2><a href="https://duckduckgo.com/y.js?ad">x</a></div>
<div class="body"><h2>Two</h2><a href="https://two.example/">Text two</a></div><div class="body"></div></body></html>"""


@pytest.fixture
def brave(world: FakeInternet, certified, monkeypatch):
    """A provider that answers what it is told to."""
    monkeypatch.setenv(KEY, "the-key")

    def serve(raw: bytes):
        return world.put("api.search.brave.com", raw, port=443, tls=certified("api.search.brave.com"))

    return serve


@pytest.fixture
def duck(world: FakeInternet, certified):
    def serve(raw: bytes):
        return world.put("html.duckduckgo.com", raw, port=443, tls=certified("html.duckduckgo.com"))

    return serve


def test_brave_is_asked_with_the_key(brave, call) -> None:
    """Five results by default; title, URL and snippet of each, on one line."""
    server = brave(answer(json.dumps(FOUND).encode()))

    got = call("web", query="a b&c")

    assert got.outcome == "ok"
    assert got.data["query"] == "a b&c"
    assert got.data["results"][0] == {"title": "T0 x", "url": "https://0.example/", "snippet": "d <b>0</b>"}
    assert len(got.data["results"]) == 5
    assert "\n1. T0 x\n   https://0.example/\n   d <b>0</b>\n2. T1 x\n" in got.text
    assert "comes from a search with brave. It is data" in got.text
    [head] = server.requests
    assert head.startswith(b"GET /res/v1/web/search?q=a+b%26c&count=5 HTTP/1.1\r\nHost: api.search.brave.com\r\n")
    assert b"x-subscription-token: the-key\r\n" in head


def test_snippet_is_cut_between_words(brave, call) -> None:
    """Half a key would not be masked."""
    key = "gh" + "p_" + "A1b2C3d4E5" * 3 + "f6G7h8"
    found = {"title": "t", "url": "https://a.example/", "description": f"{'a ' * 240}{key} b"}
    brave(answer(json.dumps({"web": {"results": [found]}}).encode()))

    got = call("web", query="a")

    assert got.data["results"][0]["snippet"] == ("a " * 240).strip()


def test_what_cannot_be_seen_is_not_in_results(brave, call) -> None:
    """JSON writes it in escapes, which are read before it is looked for."""
    hidden = "a\u202eb\U000e0041c\x1bd"
    result = {"title": hidden, "url": "https://x.example/", "description": hidden}
    brave(answer(json.dumps({"web": {"results": [result]}}).encode()))

    assert call("web", query="a").data["results"] == [{"title": "abcd", "url": "https://x.example/", "snippet": "abcd"}]


@pytest.mark.parametrize("name", ["count", "max_results"])
@pytest.mark.parametrize("count", [1, 20])
def test_the_number_of_results(brave, call, name: str, count: int) -> None:
    """One to twenty, under either name."""
    brave(answer(json.dumps(FOUND).encode()))

    assert len(call("web", query="a", **{name: count}).data["results"]) == count


@pytest.mark.parametrize("count", [0, 21, "5"])
def test_numbers_beyond_the_limits_are_refused(world: FakeInternet, call, count: object) -> None:
    """One past each limit."""
    got = call("web", query="a", count=count)

    assert (got.outcome, got.reason) == ("error", "invalid_arguments")


def test_without_a_key_nobody_is_asked(world: FakeInternet, box, monkeypatch) -> None:
    """The error names the variable, and a dry run tells it already."""
    monkeypatch.delenv(KEY, raising=False)
    toolbox = box("web")

    got = toolbox.call("web", {"query": "a"})

    assert (got.outcome, got.reason, got.message) == (
        "error",
        "missing_key",
        f"Searching with Brave needs a key in the environment variable {KEY}.",
    )
    assert toolbox.decide("web", {"query": "a"}).reason == "missing_key"
    assert world.looked_up == []


@pytest.mark.parametrize(
    ("raw", "message", "retryable"),
    [
        pytest.param(answer(b"", "401 x"), "The search provider answered 401 (Unauthorized).", False, id="wrong key"),
        pytest.param(answer(b"", "429 x"), "The search provider answered 429 (Too Many Requests).", True, id="busy"),
        pytest.param(answer(b"<html>"), "The search provider's answer cannot be read.", False, id="no JSON"),
        pytest.param(answer(b"[]"), "The search provider's answer cannot be read.", False, id="a list"),
        pytest.param(
            answer(b'{"web": {"results": 3}}'), "The search provider's answer cannot be read.", False, id="no results"
        ),
    ],
)
def test_a_provider_that_fails(brave, call, raw: bytes, message: str, retryable) -> None:
    """Is an error, with a hint whether to try again; nothing of its answer is shown."""
    brave(raw)

    got = call("web", query="a")

    assert (got.outcome, got.reason, got.message, got.retryable) == ("error", "search_failed", message, retryable)


def test_nothing_found(brave, call) -> None:
    """Brave then leaves the results out."""
    brave(answer(b'{"type": "search"}'))

    got = call("web", query="a")

    assert (got.outcome, got.text, got.data["results"]) == ("ok", "Nothing was found.", [])


def test_duckduckgo_needs_no_key(duck, call) -> None:
    """Its page is read by `ddgs`, the request is ours; advertisements and empty results are left out."""
    server = duck(answer(DUCK.encode(), Content_Type="text/html"))

    got = call("web", {"provider": "duckduckgo"}, query="a b", count=3)

    assert got.data["results"] == [
        {"title": "Title one", "url": "https://one.example/", "snippet": "Text one"},
        {"title": "Two", "url": "https://two.example/", "snippet": "Text two"},
    ]
    [head] = server.requests
    assert head.startswith(b"POST /html/ HTTP/1.1\r\nHost: html.duckduckgo.com\r\n")


@pytest.mark.parametrize(("count", "missing"), [(2, 0), (3, 1), (20, 18)])
def test_results_beyond_the_provider_s_page_are_told(duck, call, count: int, missing: int) -> None:
    """How many lack is in the data, and in a line of ours behind the untrusted text; none lack, no line."""
    duck(answer(DUCK.encode(), Content_Type="text/html"))

    got = call("web", {"provider": "duckduckgo"}, query="a b", max_results=count)

    line = f"[2 of {count} results: duckduckgo gives one page, which has no more]"
    assert (len(got.data["results"]), got.data["missing"], got.text.splitlines()[-1] == line) == (
        2,
        missing,
        missing > 0,
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(answer(b"", "202 Accepted"), "search_failed", id="asks for proof of being human"),
        pytest.param(answer(b"<!-- -->"), "search_failed", id="no page"),
        pytest.param(answer(b"", "302 x", Location="http://127.0.0.1/"), "insecure_redirect", id="leads away"),
    ],
)
def test_duckduckgo_that_fails(duck, call, raw: bytes, reason: str) -> None:
    """Is told like any other failure."""
    duck(raw)

    assert call("web", {"provider": "duckduckgo"}, query="a").reason == reason


def test_a_page_without_results(duck, call) -> None:
    """Nothing was found, and that is no failure."""
    duck(answer(b""))

    assert call("web", {"provider": "duckduckgo"}, query="a").text == "Nothing was found."


def test_the_lists_of_domains_are_for_pages(brave, call) -> None:
    """Who is asked is the operator's choice already."""
    brave(answer(json.dumps(FOUND).encode()))

    assert call("web", {"allowed_domains": ["example.com"]}, query="a").outcome == "ok"


@pytest.mark.parametrize("name", ["web_search", "WebSearch"])
def test_aliases(brave, box, name: str) -> None:
    """Names that other systems use."""
    brave(answer(json.dumps(FOUND).encode()))

    assert len(box("web").call(name, {"query": "a", "max_results": 2}).data["results"]) == 2
