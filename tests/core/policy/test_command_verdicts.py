"""What rules make of each command, told for people; which of them decides."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.policy.samples import BASH, GIT, NEEDS, Written, paired, policy, rules, tool
from tests.rows import each_row

from toolcharter.api.reasons import Reason
from toolcharter.policy.command_verdicts import CommandVerdict, command_verdicts
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Refusal, Requirements, RuleInput, ToolFacts
from toolcharter.profile.settings import Ceiling

WRITES = Requirements(frozenset({"-o"}), "-o writes")
FREE = Requirements(is_exempt=True)
LACKING = "covered by no allow rule"


def fates(
    *commands: tuple[str, Requirements],
    deny: tuple[Written, ...] = (),
    allow: tuple[Written, ...] = (),
    mode: str = "policy",
    facts: ToolFacts = BASH,
    ask: tuple[Written, ...] = (),
    ceilings: tuple[Ceiling, ...] = (),
    **more: Any,
) -> tuple[CommandVerdict, ...]:
    """Of a call with *commands*; *more* is of its subject."""
    view = policy(deny, allow, mode, ceilings=ceilings, ask=ask).for_tool(facts)
    forms, needs = tuple(one for one, _ in commands), tuple(one for _, one in commands)
    subject = RuleInput(commands=forms, needs=needs, **more)
    return command_verdicts(view, subject, view.decide(subject))


def test_each_command_has_its_own_rule() -> None:
    """The first in the file that covers it, by what it is without assignments, too."""
    allow = ("bash:ls", "bash:ls*", "bash:sort *")

    assert fates(
        ("ls -l", NO_REQUIREMENTS), ("ls", NO_REQUIREMENTS), ("A=1 sort x", Requirements(bare="sort x")), allow=allow
    ) == (
        CommandVerdict("covered by 'bash:ls*' at p.yaml:2:5"),
        CommandVerdict("covered by 'bash:ls' at p.yaml:1:5"),
        CommandVerdict("covered by 'bash:sort *' at p.yaml:3:5"),
    )


def test_the_commands_that_lack_a_rule_decide() -> None:
    """And the others do not."""
    commands = (
        ("ls", NO_REQUIREMENTS),
        ("sort -o x", WRITES),
        ("A=1 sort -o y", WRITES._replace(bare="sort -o y")),
        ("rm x", NO_REQUIREMENTS),
    )
    unnamed = "matched by 'bash:sort *' at p.yaml:2:5, but does not mention every word that it has to"
    expected = (
        CommandVerdict("covered by 'bash:ls' at p.yaml:1:5"),
        CommandVerdict(unnamed, decides=True),
        CommandVerdict(unnamed, decides=True),
        CommandVerdict(LACKING, decides=True),
    )

    assert fates(*commands, allow=("bash:ls", "bash:sort *")) == expected
    assert fates(*commands, allow=("bash:ls", "bash:sort *"), mode="ask") == expected
    assert fates(*commands, allow=("bash:ls", "bash:sort *"), mode="dangerous") == tuple(
        one._replace(decides=False) for one in expected
    )


def test_what_a_deny_rule_names_decides_alone() -> None:
    """What lacks a rule beside it would be denied later: it does not decide."""
    assert fates(("rm x", NO_REQUIREMENTS), ("sudo ls", NO_REQUIREMENTS), deny=("bash:*sudo*",)) == (
        CommandVerdict(LACKING),
        CommandVerdict("denied by 'bash:*sudo*' at p.yaml:1:5", decides=True),
    )


def test_nothing_decides_what_is_refused_before() -> None:
    """The floor has the word, in every mode."""
    refusal = Refusal(Reason.DENIED_BY_FLOOR, "No.")

    assert fates(("sudo ls", NO_REQUIREMENTS), ("rm", NO_REQUIREMENTS), deny=("*:sudo*",), refusal=refusal) == (
        CommandVerdict("denied by '*:sudo*' at p.yaml:1:5"),
        CommandVerdict(LACKING),
    )


def test_a_command_that_only_starts_another_needs_no_rule() -> None:
    """Unless there is no other."""
    told = CommandVerdict("needs no rule of its own")

    assert fates(("command ls", FREE), ("ls", NO_REQUIREMENTS), allow=("bash:ls",))[0] == told
    assert fates(("command -v ls", FREE)) == (CommandVerdict(LACKING, decides=True),)
    assert fates(("command -v ls", FREE), allow=("bash:command *",)) == (
        CommandVerdict("covered by 'bash:command *' at p.yaml:1:5"),
    )


@each_row("allow", ["*:ls*", "ls", {"rule": "bash:ls", "when": {"x": {"const": 1}}}, "builtin:*", "cli:*"])
def test_rules_that_cover_no_command_are_passed_over(allow: Written) -> None:
    """Others behind them count."""
    assert fates(("ls", NO_REQUIREMENTS), allow=(allow, "bash:l*")) == (
        CommandVerdict("covered by 'bash:l*' at p.yaml:2:5"),
    )
    assert fates(("ls", NO_REQUIREMENTS), allow=(allow,)) == (CommandVerdict(LACKING, decides=True),)


def test_a_strange_line_has_no_rule() -> None:
    """Whatever matches."""
    assert fates(("ls", NO_REQUIREMENTS), allow=("bash:*",), unsupported="Odd.") == (
        CommandVerdict(LACKING, decides=True),
    )


def test_commands_of_a_tool_that_its_own_policy_bounds_need_none() -> None:
    """And no rule on commands would help it."""
    assert fates(("git log", NO_REQUIREMENTS), allow=("bash:*",), facts=GIT) == (CommandVerdict(LACKING),)
    assert fates(("x", NO_REQUIREMENTS), allow=("bash:*",), facts=tool("deploy", "cli")) == (
        CommandVerdict(LACKING, decides=True),
    )


def test_a_deny_rule_is_told_that_names_what_is_left_of_a_command() -> None:
    """Without its assignments, as the decision has it."""
    bare = Requirements(deny_forms=("sudo x",))

    assert fates(("A=1 sudo x", bare), deny=("bash:ls", "bash:sudo *")) == (
        CommandVerdict("denied by 'bash:sudo *' at p.yaml:2:5", decides=True),
    )


def test_whom_a_rule_has_asked_is_told_only_if_that_decides() -> None:
    """A ceiling's rules before the profile's; beside a denial nobody is asked."""
    commands = (("ls", NO_REQUIREMENTS), ("rm x", NO_REQUIREMENTS))
    above = (Ceiling("admin", ask=rules("bash:rm *", file="admin.yaml")),)

    asked = fates(*commands, ask=("bash:ls", "bash:rm *"), ceilings=above, mode="dangerous")
    denied = fates(*commands, ask=("bash:ls",), deny=("bash:rm *",), mode="dangerous")

    assert asked == (
        CommandVerdict("a person is asked because of 'bash:ls' at p.yaml:1:5", decides=True),
        CommandVerdict("a person is asked because of 'bash:rm *' at admin.yaml:1:5", decides=True),
    )
    assert denied == (CommandVerdict(LACKING), CommandVerdict("denied by 'bash:rm *' at p.yaml:1:5", decides=True))


def test_a_star_rule_covers_no_command_of_a_bounded_tool() -> None:
    """It may name the tool; of its commands it says nothing."""
    assert fates(("ls", NO_REQUIREMENTS), allow=("*:ls",), facts=GIT) == (CommandVerdict(LACKING),)


def test_a_condition_counts() -> None:
    """Of both lists."""
    written = {"rule": "bash:ls", "when": {"n": {"const": 1}}}

    assert fates(("ls", NO_REQUIREMENTS), allow=(written,), args={"n": 1}) == (
        CommandVerdict("covered by 'bash:ls' at p.yaml:1:5"),
    )
    assert fates(("ls", NO_REQUIREMENTS), deny=(written,), args={"n": 2}) == (CommandVerdict(LACKING, decides=True),)


RULES = st.sampled_from(["bash:ls*", "bash:ls -l", "bash:* -l", "bash:*", "bash:sudo *", "*:ls*", "bash"])
COMMANDS = st.lists(
    st.tuples(st.sampled_from(["ls", "ls -l", "A=1 ls -l", "sudo x"]), st.sampled_from(NEEDS)), max_size=3
)


@given(
    st.lists(RULES, max_size=2).map(tuple),
    st.lists(RULES, max_size=3).map(tuple),
    st.sampled_from(["policy", "ask", "dangerous"]),
    COMMANDS,
    st.sampled_from([None, "Odd."]),
)
def test_a_call_is_refused_because_of_its_commands_or_not_at_all(deny, allow, mode, commands, unsupported) -> None:
    """Where rules decide, some command does; where the call passes, none does."""
    view = policy(deny, allow, mode).for_tool(BASH)
    subject = paired(None, {}, commands, unsupported)
    decision = view.decide(subject)
    told = command_verdicts(view, subject, decision)

    assert len(told) == len(subject.commands)
    if subject.commands:
        by_commands = decision.outcome != "allow" and decision.stage in {"deny", "mode"}
        named = decision.rule is not None and decision.rule.text == "bash"
        assert any(one.decides for one in told) == by_commands or (named and decision.stage == "deny")
