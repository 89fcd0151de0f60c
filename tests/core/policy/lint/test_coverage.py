"""When one rule covers another, for whatever a star may stand for."""

from hypothesis import given
from hypothesis import strategies as st

from toolcharter.policy.lint.coverage import Coverers, Reaching, ToolSignature, placeholder
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.rules import Rule, parse_rule

BASH = ToolSignature(ToolFacts("bash", "bash"), gives_commands=True)
GLOBS = st.text("ab*", max_size=6)


@given(GLOBS, GLOBS, st.lists(st.text("ab", max_size=3), min_size=7, max_size=7))
def test_glob_that_covers_another_matches_what_it_matches(wide, narrow, texts) -> None:
    """Whatever text the stars of the narrow one stand for."""
    both = [Rule(text, "p:1:1", "bash", parse_glob(text)) for text in (wide, narrow)]
    covered = Coverers(both[:1], placeholder(both)).first(Reaching(both[1]), BASH, "deny") is not None

    subject = "".join(texts.pop() if letter == "*" else letter for letter in narrow)

    assert parse_glob(narrow).matches(subject)
    assert not covered or parse_glob(wide).matches(subject)


def test_placeholder_stands_in_no_rule() -> None:
    """Whoever writes such characters does not deceive the review."""
    found = placeholder(map(parse_rule, ["bash:\ue000*", "git(remote=\ue001)"]))

    assert found == "\ue002"
