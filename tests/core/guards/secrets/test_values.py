"""The scrubber on structured values, JSON documents and JSON lines."""

import hashlib
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_json, scrub_line, scrub_text, scrub_value

HEX = hashlib.sha256(b"values").hexdigest()
TOKEN = "gh" + "p_" + HEX[:36]


_PUBLIC = "ssh-ed25519 " + "AAAA" + "C3NzaC1lZDI1NTE5AAAAI" + HEX[:43] + " kim@host"


@each_row(
    ("key", "shown"),
    [
        ("session_key", "agent:ada:telegram:direct:-1001234567890"),
        ("session_key", "agent:ada:telegram:group:g1"),
        ("sessionKey", "agent:ada:cron:nightly-report"),
        ("session_id", "main"),
        ("session_id", "42"),
        ("primary_key", "user_id"),
        ("key_id", "release-2026"),
        ("sort_key", "created_at"),
        ("public_key", HEX),
        ("ssh_key", _PUBLIC),
        ("host_key", f"-----BEGIN PUBLIC KEY-----\n{HEX}\n-----END PUBLIC KEY-----\n"),
    ],
)
def test_identifiers_and_public_keys_are_shown(key: str, shown: str) -> None:
    """What a name such as `session_key` holds is an identifier as often as a secret: words and numbers stay, in text, too."""
    assert scrub_value({key: shown}) == ({key: shown}, 0)
    assert "ssh_key" in key or scrub_text(f'"{key}": "{shown}"')[1] == 0


@each_row(
    ("key", "secret"),
    [
        ("session_key", HEX),
        ("session_key", f"agent:ada:telegram:direct:{HEX[:32]}"),
        ("session_key", f"agent:ada:telegram:direct:{TOKEN}"),
        ("session_key", "agent:ada:telegram:two words"),
        ("session_id", HEX[:26]),
        ("session_id", "x7Kp2q"),
        ("session_key", ":".join(HEX[at : at + 8] for at in range(0, 32, 8))),
        ("session_key", "agent:" + ":".join(HEX[at : at + 8] for at in range(0, 48, 8))),
        ("session_id", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("session_id", "x" * 4 + "qjvkzpwmxtrhbnlcdgsf"),
        ("primary_key", HEX),
        ("api_key", "user_id"),
        ("secret_key", "agent:ada:telegram:direct:7"),
        ("private_key", "42"),
        ("ssh_key", _PUBLIC.replace("ssh-ed25519", "key")),
    ],
)
def test_what_is_made_of_neither_stays_masked(key: str, secret: str) -> None:
    """A random text beside such a name, and whatever stands beside a name that is always a secret's."""
    assert scrub_value({key: secret}) == ({key: MASK}, 1)


@each_row(
    ("value", "masked", "count"),
    [
        pytest.param({"password": "x"}, {"password": MASK}, 1, id="one-character"),
        pytest.param({"X-Api-Key": "x", "n": 1}, {"X-Api-Key": MASK, "n": 1}, 1, id="header-name"),
        pytest.param(
            {"headers": {"Authorization": "Bearer abc"}},
            {"headers": {"Authorization": f"Bearer {MASK}"}},
            1,
            id="scheme",
        ),
        pytest.param({"dbPassword": ["a", ["b"], 1, None]}, {"dbPassword": [MASK, [MASK], 1, None]}, 2, id="list"),
        pytest.param([{"token": "abc"}], [{"token": MASK}], 1, id="object-in-list"),
        pytest.param({"command": f"run {TOKEN} now"}, {"command": f"run {MASK} now"}, 1, id="inside-a-text"),
        pytest.param({TOKEN: 1}, {MASK: 1}, 1, id="key"),
        pytest.param(("a", TOKEN), ["a", MASK], 1, id="tuple"),
        pytest.param(TOKEN, MASK, 1, id="text"),
    ],
)
def test_secret_is_masked_and_the_shape_stays(value: Any, masked: Any, count: int) -> None:
    """Texts below a telling key go whole; other texts lose what is secret in them."""
    assert scrub_value(value) == (masked, count)


@each_row(
    "value",
    [
        pytest.param({"password": ""}, id="empty"),
        pytest.param({"password": "${DB_PASSWORD}"}, id="place-to-fill-in"),
        pytest.param({"password": {"type": "string"}}, id="schema"),
        pytest.param({"password": None, "token": 12, "secret": True}, id="no-text"),
        pytest.param({"total_tokens": "15234", "password_hash": "none"}, id="other-keys"),
        pytest.param(["a", ("b",), 1.5], id="no-keys"),
        pytest.param(None, id="null"),
    ],
)
def test_clean_value_comes_back_itself(value: Any) -> None:
    """Nothing is copied where nothing is masked."""
    scrubbed, count = scrub_value(value)

    assert (scrubbed is value, count) == (True, 0)


def test_value_that_nests_without_end_is_masked_below_the_limit() -> None:
    """A structure deeper than 200 levels is not searched but masked, so that nothing hides in it."""
    value: Any = "leaf"
    for _ in range(900):
        value = [value]

    scrubbed, count = scrub_value(value)

    depth = 0
    while isinstance(scrubbed, list):
        (scrubbed,) = scrubbed
        depth += 1
    assert (depth, scrubbed, count) == (200, MASK, 1)


@pytest.mark.parametrize(
    ("raw", "masked"),
    [
        pytest.param(b'{"password":"x"}', b'{"password":"[REDACTED]"}', id="short-value"),
        pytest.param(b'{"pass\\u0077ord":"x"}', b'{"password":"[REDACTED]"}', id="escaped-key"),
        pytest.param(
            b'{"a":"TOKEN\\u001b[0m=' + HEX[:20].encode() + b'"}', b'{"a":"TOKEN\\u001b[0m=[REDACTED]"}', id="colour"
        ),
        pytest.param(b'{"a":"token=\\"' + HEX[:20].encode() + b'\\""}', b'{"a":"token=\\"[REDACTED]\\""}', id="quotes"),
    ],
)
def test_json_document_stays_valid(raw: bytes, masked: bytes) -> None:
    """Masking works on what the document says, not on how it is written."""
    assert scrub_json(raw) == (masked, 1)


@pytest.mark.parametrize("raw", [b'{"path":"a.txt","limit":10}', b'{"token":""}'], ids=["no-hint", "hint-only"])
def test_clean_json_document_comes_back_itself(raw: bytes) -> None:
    """A clean document is not written again."""
    scrubbed, count = scrub_json(raw)

    assert (scrubbed is raw, count) == (True, 0)


@pytest.mark.parametrize(
    "broken",
    [b'{"token":"%s"', b"[" * 2000 + b'"%s"' + b"]" * 2000, b'["\\ud800", "token=%s"]'],
    ids=["cut", "deep", "lone-surrogate"],
)
def test_what_is_no_json_is_scrubbed_as_text(broken: bytes) -> None:
    """A document that cannot be read does not let a secret through."""
    assert scrub_json(broken.replace(b"%s", TOKEN.encode())) == (broken.replace(b"%s", b"[REDACTED]"), 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8) | st.just(f"token={TOKEN}"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["token", "Authorization", "a", "b"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
def test_document_and_value_agree(value: Any) -> None:
    """The boolean search before a document never lets through what the value shows to be a secret."""
    scrubbed, count = scrub_json(orjson.dumps(value))

    assert (orjson.loads(scrubbed), count) == scrub_value(value)


def test_line_of_the_filter_is_answered_with_its_count() -> None:
    """`{"id", "text"}` in, `{"id", "text", "redactions"}` out."""
    line = json.dumps({"id": 7, "text": f"use {TOKEN}"}).encode()

    assert json.loads(scrub_line(line)) == {"id": 7, "text": f"use {MASK}", "redactions": 1}


@each_row("line", [b"", b"{", b"[]", b"7", b'{"text":2}', b'{"id":[1]}', b'{"text":"\\ud800"}'])
def test_malformed_line_of_the_filter_is_answered_without_its_content(line: bytes) -> None:
    """Every line gets an answer; a broken one says so and repeats nothing."""
    answer = {"id": None, "text": None, "redactions": 0, "reason": "invalid_arguments"}

    assert json.loads(scrub_line(line)) == answer


@each_row(
    ("given", "told"),
    [
        pytest.param({"id": 1}, 1, id="no text"),
        pytest.param({"id": 1, "text": 5}, 1, id="text that is none"),
        pytest.param({"id": 1, "text": "", "values": [7]}, 1, id="values that are none"),
        pytest.param({"id": "a-1", "text": 5}, "a-1", id="word"),
        pytest.param({"id": TOKEN, "text": 5}, None, id="secret"),
        pytest.param({"id": {"a": 1}, "text": 5}, None, id="object"),
    ],
)
def test_line_that_is_not_understood_keeps_its_id(given: dict[str, Any], told: Any) -> None:
    """Its sender can tell which line it was; an `id` that holds a secret, or could hold anything, is not repeated."""
    answer = {"id": told, "text": None, "redactions": 0, "reason": "invalid_arguments"}

    assert json.loads(scrub_line(json.dumps(given).encode())) == answer


def test_table_within_a_document_is_read_as_a_table() -> None:
    """The content of a file lies in `data` as one text, with its line breaks escaped."""
    secret = "Pq50" + "zk29fjw500q"

    masked, count = scrub_json(orjson.dumps({"content": f"user,password\nann,{secret}\n"}))

    assert (orjson.loads(masked), count) == ({"content": f"user,password\nann,{MASK}\n"}, 1)


def test_random_texts_of_a_list_are_masked() -> None:
    """`tokens` may be those of a language, and others of its kind are secrets."""
    listed = {"tokens": [HEX, "the", ["quick", 7]], "api_keys": (HEX[:40], "docs"), "names": [HEX]}

    assert scrub_value(listed) == (
        {"tokens": [MASK, "the", ["quick", 7]], "api_keys": [MASK, "docs"], "names": [HEX]},
        2,
    )
    assert scrub_value({"tokens": ["the", "quick"]}) == ({"tokens": ["the", "quick"]}, 0)
    assert scrub_json(json.dumps({"tokens": [HEX]}).encode())[1] == 1


def test_list_that_lies_too_deep_is_masked_as_a_whole() -> None:
    """As any container is."""
    value: Any = {"tokens": ["the"]}
    for _ in range(199):
        value = {"a": value}

    assert scrub_value(value)[1] == 1
    assert '{"tokens": "[REDACTED]"}' in json.dumps(scrub_value(value)[0])
