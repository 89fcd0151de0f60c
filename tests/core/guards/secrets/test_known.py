"""Values that are secret because somebody said so."""

import base64
import hashlib
import os
import subprocess
import sys
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolcharter.guards.secrets import MASK, add_secrets, engine, known, scrub_bytes, scrub_line, scrub_text
from toolcharter.guards.secrets.heuristics import is_path_or_address, is_placeholder, is_safe_to_mask

HEX = hashlib.sha256(b"known").hexdigest()
VALUE = "horse/" + HEX[:10] + "+staple"


pytestmark = pytest.mark.usefixtures("forgetful")


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(VALUE, id="as it is"),
        pytest.param(quote(VALUE, safe=""), id="percent"),
        pytest.param(quote(VALUE), id="percent, with slashes"),
    ],
)
def test_known_value_is_masked(form: str) -> None:
    """It needs no shape and no key."""
    add_secrets([VALUE])

    assert scrub_text(f"see <{form}> there") == (f"see <{MASK}> there", 1)


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "urlsafe"])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_known_value_is_masked_in_base64(before: str, encode) -> None:
    """However it is aligned there; at most the letters that it shares with its neighbours stay."""
    add_secrets([VALUE])
    text = encode(f"{before}{VALUE} and more".encode())

    masked, count = scrub_bytes(text)

    first, _, last = masked.partition(MASK.encode())
    assert count == 1
    assert (text.startswith(first), text.endswith(last)) == (True, True)
    assert len(first) <= len(encode(before.encode()).rstrip(b"="))
    assert len(last) <= len(encode(b" and more")) + 4


@pytest.mark.slow
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=10, max_size=30))
def test_any_long_value_is_masked(value: str) -> None:
    """Whatever it is made of, as long as it is no place to fill in."""
    assume(not is_placeholder(value.encode()) and len(value.splitlines()) == 1)
    add_secrets([value])

    assert value not in scrub_text(f"a {value} b")[0]


def test_lines_of_a_value_are_masked_one_by_one() -> None:
    """A value of many lines is found by its lines, which a stream may see one at a time."""
    add_secrets([f"{HEX[:20]}\nab\n{HEX[20:40]}"])

    assert scrub_text(f"> {HEX[:20]}\n> {HEX[20:40]}\n") == (f"> {MASK}\n> {MASK}\n", 2)


@pytest.mark.parametrize("value", ["short", "changeme", "${API_TOKEN}", "xxxxxxxxxx"])
def test_short_values_and_places_to_fill_in_are_not_noted(value: str) -> None:
    """They stand in too many harmless texts."""
    add_secrets([value])

    assert known.forms() == ()


def test_noting_a_value_again_changes_nothing() -> None:
    """The patterns are compiled anew for new values alone."""
    add_secrets([VALUE])
    scrub_text("")
    match = engine.hints.match

    add_secrets([VALUE])

    assert engine.hints.match is match


def test_line_of_the_filter_names_values() -> None:
    """What is given at run time goes, in URLs too."""
    line = b'{"id": 1, "values": ["203.0.113.77"], "text": "http://203.0.113.77:8080/api"}'

    assert scrub_line(line) == b'{"id":1,"text":"http://[REDACTED]:8080/api","redactions":1}'


def test_line_of_the_filter_with_broken_values_is_malformed() -> None:
    """What cannot be noted is not ignored."""
    assert b"invalid_arguments" in scrub_line(b'{"id": 1, "values": [7], "text": ""}')


def test_secrets_of_the_environment_are_known() -> None:
    """Values of variables with a telling name, unless they are common words, paths or places to fill in."""
    given_values = {
        "DEPLOY_TOKEN": VALUE,
        "DB_PASSWORD": "production",
        "SSH_KEY_TOKEN": "/run/secrets/token",
        "API_KEY": "${OTHER}",
        "PLAIN": "plain-" + HEX[:10],
    }
    code = "from toolcharter.guards.secrets import scrub_text as s; import sys; print(s(sys.stdin.read())[0])"
    text = " ".join(given_values.values())

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], **given_values},
    )

    assert done.stdout.strip() == text.replace(VALUE, MASK)


def test_environment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time that values are needed, and not again."""
    monkeypatch.setattr(known, "_state", known._Known())
    monkeypatch.setenv("DEPLOY_TOKEN", VALUE)

    assert [VALUE.encode() in group for group in known.forms()] == [True]
    monkeypatch.delenv("DEPLOY_TOKEN")
    assert [VALUE.encode() in group for group in known.forms()] == [True]


@pytest.mark.parametrize(
    ("value", "imported"),
    [
        pytest.param("/home/one.user/work-2/@x+y/", False, id="a path"),
        pytest.param("/home//w0rk", True, id="two slashes"),
        pytest.param("/home/w 0rk", True, id="a blank"),
        pytest.param("home/w0rk", True, id="relative"),
    ],
)
def test_a_path_in_a_telling_variable_is_seen_without_the_rules_for_secrets(value: str, *, imported: bool) -> None:
    """`PWD` ends like a password's name, and nearly every process has it: its start need not compile thirty patterns."""
    code = (
        "import sys; from toolcharter.guards.secrets import known; known.forms(); "
        "print('toolcharter.guards.secrets.heuristics' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], env={"PWD": value}, capture_output=True, text=True, check=True)

    assert done.stdout == f"{imported}\n"


@given(st.lists(st.text("abZ09_.@+-", max_size=12), min_size=1, max_size=6).map("/".join))
def test_what_is_taken_for_a_path_at_first_glance_is_no_secret_by_the_rules(text: str) -> None:
    """The short cut leaves nothing unmasked that the rules would mask."""
    value = f"/{text}".encode()

    assert is_path_or_address(value) or not is_safe_to_mask(value) or not known._is_path(value)


def test_value_that_becomes_known_costs_no_compilation_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first group is compiled once, the later ones are few, and every value is masked whichever group it is in."""
    monkeypatch.setattr(known, "_state", known._Known())
    monkeypatch.setenv("DEPLOY_TOKEN", VALUE)
    first, *_ = known.forms()
    values = [f"{hashlib.sha256(bytes([number])).hexdigest()[:12]}+horse" for number in range(60)]

    for value in values:
        add_secrets([value])

    groups = known.forms()
    text = " ".join(["<", VALUE, *values, quote(values[0], safe=""), ">"])
    assert groups[0] is first
    assert len(groups) <= 7
    assert scrub_text(text) == (" ".join(["<", *[MASK] * 62, ">"]), 62)
    assert scrub_text("nothing is in here") == ("nothing is in here", 0)


def test_value_that_becomes_known_during_a_compilation_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever compiles has not seen it, and does not leave behind what misses it."""
    late, compiled = "late-" + HEX[10:22], engine._families_match

    def meanwhile(forms: tuple[bytes, ...]) -> engine.Match:
        found = compiled(forms)
        add_secrets([late])
        return found

    monkeypatch.setattr(engine, "_families_match", meanwhile)
    add_secrets([VALUE])
    scrub_text("the first to compile")

    assert scrub_text(f"see {late} there") == (f"see {MASK} there", 1)


def test_thousands_of_values_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may keep secrets in a store cannot make the process one that masks nothing, or fails."""
    monkeypatch.setattr(known, "_state", known._Known())
    values = [f"{hashlib.sha256(number.to_bytes(2, 'big')).hexdigest()[:40]}+{number}" for number in range(3000)]

    add_secrets(values[:2000])
    assert scrub_text(f"see {values[7]} there") == (f"see {MASK} there", 1)
    add_secrets(values[2000:])

    text = " ".join(["<", *values[::500], quote(values[2999], safe=""), ">"])
    assert scrub_text(text) == (" ".join(["<", *[MASK] * 7, ">"]), 7)


def test_large_value_is_looked_for_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 65,536 characters, as many as a secret of the service may have, the encoded forms are too large to be compiled."""
    monkeypatch.setattr(known, "_state", known._Known())
    value = "\N{OLD PERSIAN SIGN A}" * 65_536
    known.forms()

    known.add([value])

    groups = known.forms()
    sizes = [sum(map(len, group)) for group in groups]
    assert max(sizes) <= 128 << 10
    assert sum(sizes) > len(quote(value, safe=""))
    assert value.encode()[: 128 << 10] in {form for group in groups for form in group}
