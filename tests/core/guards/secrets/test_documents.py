"""What was masked in a JSON or YAML document leaves it one; structured data loses what the same text would."""

import hashlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter import Toolbox, ToolPolicy, ToolSpec
from toolcharter.guards.secrets import MASK, scrub_bytes, scrub_json, scrub_text, scrub_value
from toolcharter.guards.secrets.documents import keep_valid

HEX = hashlib.sha256(b"documents").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
TOKEN = "gh" + "p_" + MIXED[:36]
BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
PIN = 12345 * 7 + 10**6


@each_row(
    ("text", "masked"),
    [
        pytest.param(f'{{"password": {PIN}, "n": 1}}', f'{{"password": "{MASK}", "n": 1}}', id="number"),
        *(
            pytest.param(f'{{"password": {n}, "n": 1.10}}', f'{{"password": "{MASK}", "n": 1.10}}', id=n)
            for n in (f"{PIN}e3", "6.02e" + "23", "4.5E" + "10", f"{PIN}E-2", f"{PIN}E+5")
        ),
        pytest.param(f'{{"db":{{"pwd":{PIN}}}}}', f'{{"db":{{"pwd":"{MASK}"}}}}', id="last-number"),
        pytest.param(f'log: {{"password": {PIN}}} sent', f'log: {{"password": "{MASK}"}} sent', id="in-a-line"),
        pytest.param(
            f'{{"body": "{{\\"password\\": {PIN}}}"}}', f'{{"body": "{{\\"password\\": \\"{MASK}\\"}}"}}', id="escaped"
        ),
        pytest.param(f'{{"{TOKEN}": 1}}', f'{{"{MASK}": 1}}', id="key"),
        pytest.param(
            '{"cmd": "echo \\"curl -u ann:hunter' + '22\\""}',
            '{"cmd": "echo \\"curl -u ann:[REDACTED]\\""}',
            id="quotes",
        ),
        pytest.param('{"password": "ab1cdef\\\\"}', f'{{"password": "{MASK}"}}', id="escaped-backslash"),
        pytest.param(f'["token={MIXED[:20]}\\n", "\\u00e9"]', f'["token={MASK}\\n", "\\u00e9"]', id="escapes"),
    ],
)
def test_json_stays_valid_whatever_is_masked(text: str, masked: str) -> None:
    """A number becomes a text; quotes and escapes around a secret stay whole."""
    assert scrub_text(text) == (masked, 1)
    assert scrub_bytes(text.encode()) == (masked.encode(), 1)
    assert scrub_text(masked) == (masked, 0)
    if text[0] in "{[":
        json.loads(masked)


def test_number_that_is_no_json_is_masked_without_quotes() -> None:
    """A shell, a table and YAML need none."""
    assert scrub_text(f"password={PIN}\n") == (f"password={MASK}\n", 1)
    assert scrub_text(f"password: {PIN}\nport: 80\n") == (f"password: {MASK}\nport: 80\n", 1)


def test_json_that_a_mask_would_break_is_written_anew() -> None:
    """Where a secret seems to go on over the end of a text, the document is masked text by text."""
    text = json.dumps({"note": "x", "password": "hunter" + "22"}, indent=2)

    kept = keep_valid(text, text.replace('"x"', MASK))

    assert json.loads(kept) == {"note": "x", "password": MASK}


@each_row(
    ("text", "masked"),
    [
        pytest.param("a: {t} and more\nb: 1\n", 'a: "{m} and more"\nb: 1\n', id="goes-on"),
        pytest.param("- {t} # note\n- {t}.\n", '- {m} # note\n- "{m}."\n', id="list"),
        pytest.param("{t}: 1\nb: 2\n", '"{m}": 1\nb: 2\n', id="key"),
        pytest.param("a: {{url: https://ann:{t}@h/x}}\nb: 1\n", 'a: {{url: "https://ann:{m}@h/x"}}\nb: 1\n', id="flow"),
        pytest.param("a: [x-{t}, {t}]\nb: 1\n", 'a: ["x-{m}", {m}]\nb: 1\n', id="flow-list"),
        pytest.param("a: !!str {t}\nb: 1\n", 'a: !!str "{m}"\nb: 1\n', id="tag"),
        pytest.param("a: {t}\nb: '{t} x'\nc: x {t}\n", "a: {m}\nb: '{m} x'\nc: x {m}\n", id="as-it-is"),
        pytest.param("a: |\n  {t} and\n  more\nb: 1\n", "a: |\n  {m} and\n  more\nb: 1\n", id="block"),
    ],
)
def test_yaml_stays_valid_whatever_is_masked(text: str, masked: str) -> None:
    """A plain value, key or item whose mask YAML would read as a list is quoted; all others stay as they are."""
    given_text, expected = text.format(t=TOKEN), masked.format(m=MASK)
    yaml.safe_load(given_text)

    assert scrub_text(given_text)[0] == expected
    assert MASK in str(yaml.safe_load(expected))
    assert scrub_text(expected) == (expected, 0)


@pytest.mark.parametrize(
    "text",
    [
        "The token is: {t}. Rotate it.\nNow.\n",
        "level: {t}: and: more\nlevel: x\n",
        "a: {t} and more",
        "REDACTED: {t}\nREDACTEDx: {t} \n",
    ],
)
def test_prose_and_broken_yaml_get_the_mask_alone(text: str) -> None:
    """Only what is a document is kept one."""
    assert scrub_text(text.format(t=TOKEN))[0] == text.format(t=MASK)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=8)
    | st.sampled_from([f"token={TOKEN}", TOKEN, "curl -u ann:hunter" + "22\\", f"{BEGIN}\n{MIXED}\n", MIXED[:24]]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["password", "token", "Authorization", "d", "kty", "salt", "a"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 2]))
def test_any_json_document_stays_one(value: Any, indent: int | None) -> None:
    """However it is laid out."""
    json.loads(scrub_text(json.dumps(value, indent=indent))[0])


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        pytest.param({"password": PIN}, {"password": MASK}, id="number"),
        pytest.param({"password": PIN * 1.5e9}, {"password": MASK}, id="number-that-is-not-whole"),
        pytest.param({"db": [{"pwd": [PIN, 7]}]}, {"db": [{"pwd": [MASK, 7]}]}, id="numbers-in-a-list"),
        pytest.param({"kty": "EC", "d": MIXED[:43], "x": HEX}, {"kty": "EC", "d": MASK, "x": HEX}, id="web-key"),
        pytest.param(
            {"bearer": {"h.example.com": MIXED[:40]}}, {"bearer": {"h.example.com": MASK}}, id="below-a-telling-key"
        ),
        pytest.param({"secret": {"value": "x"}}, {"secret": {"value": MASK}}, id="value-below-it"),
        pytest.param(
            ["docker", "login", "-u", "ann", "-p", "tiger" + "moth"],
            ["docker", "login", "-u", "ann", "-p", MASK],
            id="command",
        ),
        pytest.param(["--password", "hunter" + "22"], ["--password", MASK], id="option"),
        pytest.param([["Authorization", f"Custom {HEX}"]], [["Authorization", f"Custom {MASK}"]], id="pair"),
        pytest.param({"salt": HEX[:16]}, {"salt": MASK}, id="salt"),
    ],
)
def test_data_loses_what_the_same_text_would(value: Any, masked: Any, request: pytest.FixtureRequest) -> None:
    """With the names of its keys, and the texts in front, for context; in a tool's result as well."""
    assert scrub_value(value) == (masked, 1)
    assert json.loads(scrub_json(json.dumps(value).encode())[0]) == masked
    toolbox: Toolbox = request.getfixturevalue("data_tool")(value)

    result = toolbox.call("answer", {})

    assert (result.data, result.redactions) == (masked, 1)


@each_row(
    "value",
    [
        {"nextPageToken": MIXED[:24], "NextToken": MIXED[:40], "continuation_token": MIXED[:30]},
        {"dependencies": {"csrf-token": "^1.0.4", "auth-token": "~2.1.0 || >=3.0.0-rc.1"}},
        {"password": 8, "token": 12345678, "secret": True, "max_tokens": 128000},
        {"kty": "EC", "x": MIXED[:43], "y": MIXED[:43], "kid": "a"},
        {"salt": "sea", "passwordSalt": "none"},
        {"secret": {"type": "string", "name": "db-credentials"}},
        ["--token", "--password"],
        ["password", "user"],
        ["the password is not here", "x"],
    ],
)
def test_data_that_holds_no_secret_comes_back_itself(value: Any) -> None:
    """Places in a long answer, versions, settings, public keys, words."""
    scrubbed, count = scrub_value(value)

    assert (scrubbed is value, count) == (True, 0)


@pytest.fixture
def data_tool(tmp_path: Any) -> Any:
    """A toolbox whose only tool returns a value as its data."""
    from tests.cases.conftest import Bench  # noqa: PLC0415 - one fixture alone needs it

    def open_box(value: Any) -> Toolbox:
        def build(_workspace: Any, _policy: Any, rt: Any) -> Any:
            def answer() -> str:
                """Answer."""
                return str(rt.start("answer").ok("done", data=value))

            return answer

        return Bench(tmp_path).open({"tools": {"answer": {}}}, ToolSpec("answer", ToolPolicy, build))

    return open_box


HOLES = [
    ("{t}", [MASK[1:-1]]),
    ("{t} and more", f"{MASK} and more"),
    ("{t}# x", f"{MASK}# x"),
    ("&a {t} and more", f"{MASK} and more"),
    ("&b {t}", MASK),
    ("!!str {t}.", f"{MASK}."),
    ("'{t} x'", f"{MASK} x"),
    ("{{url: https://ann:{t}@h/x, b: [x-{t}, 1]}}", {"url": f"https://ann:{MASK}@h/x", "b": [f"x-{MASK}", 1]}),
    ("{{\n    url: x-{t},\n    b: 1}}", {"url": f"x-{MASK}", "b": 1}),
    ("\n    x: {t} y\n    {t}: z", {"x": f"{MASK} y", MASK: "z"}),
    ("|\n    {t} and\n    more", f"{MASK} and\nmore\n"),
]
"""Values of YAML with a secret in them, and what is read when it is masked."""


@pytest.mark.parametrize("length", [0, 70_000], ids=["short", "longer-than-is-parsed"])
def test_yaml_is_read_as_before_whatever_its_length(length: int) -> None:
    """Behind what is parsed, a mask has no brackets in lines in which YAML could read them."""
    filling = "".join(f"f{index}: [a, 'b c']\n" for index in range(length // 20))
    values = "".join(f"k{index}: {value.format(t=TOKEN)}\n" for index, (value, _) in enumerate(HOLES))
    text = f"{filling}{values}password: -{PIN}\npin_secret: !!int {PIN}\nn: !!int 7\n"

    masked, count = scrub_text(text)

    assert (count, scrub_text(masked)) == (len(HOLES) + 4, (masked, 0))
    read = yaml.load(masked, Loader=yaml.CSafeLoader)
    got = [_bare(read[key]) for key in (*(f"k{index}" for index in range(len(HOLES))), "password", "pin_secret", "n")]
    assert got == [*(_bare(expected) for _, expected in HOLES), "REDACTED", "REDACTED", 7]


def _bare(value: Any) -> Any:
    """*value* without the brackets of masks, which a plain scalar that is a mask and no more is read with, too."""
    if value == [MASK[1:-1]]:
        return MASK[1:-1]
    return json.loads(json.dumps(value).replace(MASK, MASK[1:-1]))
