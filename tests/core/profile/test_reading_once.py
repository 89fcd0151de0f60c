"""What is dear to read is read once per start: each rule, and each condition of `when`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter.policy.matching import Matcher
from toolcharter.profile import conditions
from toolcharter.profile.read import load_profile
from toolcharter.profile.rules import Rule, parse_rule

PARENT = "profile: parent\ndeny: [git:push, {rule: git, when: {action: {const: tag}}}]\n"
CHILD = "profile: child\nextends: [./parent.yaml]\nallow: [git:log, {rule: glob, when: {path: {pattern: ^src}}}]\n"


def test_rules_and_conditions_are_read_once(write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file and the tree that it and its parents make are looked at, and the rules are compiled: each is read once."""
    rules, schemas = list[str](), list[object]()
    compile_condition = conditions.compile_condition

    def parsed(text: str) -> Rule:
        rules.append(text)
        return parse_rule(text)

    def compiled(schema: object) -> Callable[[object], bool]:
        schemas.append(schema)
        return compile_condition(schema)

    monkeypatch.setattr("toolcharter.profile.forms.parse_rule", parsed)
    monkeypatch.setattr(conditions, "compile_condition", compiled)
    write("parent.yaml", PARENT)

    profile = load_profile(Path(write("child.yaml", CHILD)))
    matchers = [*map(Matcher, (*profile.deny, *profile.allow))]

    assert sorted(rules) == ["git", "git:log", "git:push", "glob"]
    assert schemas == [{"pattern": "^src"}, {"const": "tag"}]
    assert [one.condition_holds({"action": "tag", "path": "src/a"}) for one in matchers] == [True] * 4
    assert [one.condition_holds({"action": "log", "path": "lib/a"}) for one in matchers] == [True, False, True, False]


def test_rules_of_one_text_keep_their_places(write) -> None:
    """What is read once is still told at each place where it stands."""
    profile = load_profile(write("p.yaml", "profile: p\ndeny: [git, git]\nallow: [git]\n"))

    assert [rule.source for rule in (*profile.deny, *profile.allow)] == ["p.yaml:2:8", "p.yaml:2:13", "p.yaml:3:9"]
