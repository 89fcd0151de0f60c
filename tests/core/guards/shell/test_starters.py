"""One rule that names a launcher and what it starts covers both."""

import pytest
from tests.core.guards.shell.test_everyday_lines import BASH
from tests.rows import each_row

from toolcharter.gate.commands import analyse_commands
from toolcharter.guards.shell.analyse import analyse
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput
from toolcharter.profile.rules import parse_rule


def outcome(line: str, *rules: str) -> str:
    known = analyse_commands((line,), "/srv/ws")
    policy = Policy((), [parse_rule(f"bash:{rule}", "p.yaml:1:1") for rule in rules]).for_tool(BASH)
    return policy.decide(RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported)).outcome


@each_row(
    ("line", "rules"),
    [
        ("bundle exec rspec spec/user_spec.rb:42", ["bundle exec rspec *"]),
        ("bundle exec rspec spec/user_spec.rb:42", ["bundle exec *", "rspec *"]),
        ("timeout 60 pytest -q", ["timeout 60 pytest *"]),
        ("timeout 60 pytest -q", ["timeout *", "pytest *"]),
        ("timeout 60 pytest -q && ls", ["timeout 60 pytest *", "ls"]),
        ("timeout 9 bundle exec rspec a_spec.rb", ["timeout 9 bundle exec rspec *"]),
        ("timeout 9 bundle exec rspec a_spec.rb", ["timeout *", "bundle exec rspec *"]),
        ("LC_ALL=C timeout 9 sort a", ["timeout * sort *"]),
        ("timeout 9 sort -o b a", ["timeout * sort -o *"]),
        ("nice make make", ["nice make make"]),
        ("find . -name '*.py' | xargs wc -l", ["find *", "xargs wc *"]),
        ("bundle exec rspec a_spec.rb", ["*"]),
    ],
)
def test_a_rule_may_name_both(line: str, rules: list[str]) -> None:
    """Or each is covered by a rule of its own, as before."""
    assert outcome(line, *rules) == "allow"


@each_row(
    ("line", "rules"),
    [
        ("bundle exec rspec a_spec.rb", ["bundle exec *"]),
        ("bundle exec rspec a_spec.rb", ["bundle *"]),
        ("bundle exec rspec a_spec.rb", ["rspec *"]),
        ("bundle exec rm -r src", ["bundle exec rspec *"]),
        ("bundle exec rspec -r ./x.rb a_spec.rb", ["bundle exec rspec *"]),
        ("timeout 5 sh rspec", ["timeout 5 * rspec"]),
        ("timeout 5 rm rspec", ["timeout 5 * rspec"]),
        ("timeout 5 sort -o b a", ["timeout 5 sort *"]),
        ("timeout 5 cat ../a", ["timeout 5 cat *"]),
        ("timeout 9 env X=1 sort a", ["timeout 9 env sort *", "timeout 9 env * sort *"]),
        ("timeout 9 bundle exec rspec a_spec.rb", ["timeout 9 * rspec *"]),
        ("nice make make", ["nice make *"]),
        ("cat list | xargs wc -l", ["cat *", "xargs wc *"]),
        ("cat list | xargs rm", ["cat *", "xargs rm *"]),
        ("timeout 5 sh -c 'rm a'", ["timeout 5 sh -c 'rm a'"]),
        ("timeout 5 pytest -q && rm a", ["timeout 5 pytest *"]),
        ("timeout 5 pytest -q", ["timeout 5 pytest -v"]),
    ],
)
def test_it_has_to_mention_all_that_either_asks_for(line: str, rules: list[str]) -> None:
    """The program that is started, and each of its words that a rule of its own would have to mention."""
    assert outcome(line, *rules) == "deny"


def test_the_starters_of_a_command_are_told_innermost_first() -> None:
    """Each with the programs on the way to it."""
    (*_, last) = analyse(["timeout 9 nice sort -o b a"], "/srv/ws").commands
    assert [(one.form, [need.form for need in one.needs]) for one in last.starters] == [
        ("nice sort -o b a", ["sort", "-o"]),
        ("timeout 9 nice sort -o b a", ["nice", "sort", "-o"]),
    ]


@pytest.mark.parametrize("line", ["sort a", "sh -c 'sort a'", "uv run pytest -q"])
def test_what_is_no_launcher_covers_nothing_else(line: str) -> None:
    """Shell source is no command's word, and the rule of `uv run` speaks for what it starts."""
    found = analyse([line], "/srv/ws").commands
    assert [one.starters for one in found if not one.is_transparent] in ([()], [(), ()])
