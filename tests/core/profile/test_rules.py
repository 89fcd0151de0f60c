"""The text of a rule: its prefix, its subject, its selectors, and the whole message of every fault."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.profile.globs import escape_glob, fold, parse_glob
from toolcharter.profile.rules import RULE_PATTERN, Rule, RuleError, parse_rule

TEXTS = st.text(max_size=12)
ARGUMENTS = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
PIECES = ("bash", "BASH", "mcp", "group", "cap", "cli", "*", ":", "(", ")", "=", ",", " ", "\\", "\\*", "\\,", "a", "é")
RULES = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


def globs(**texts: str) -> tuple[tuple[str, object], ...]:
    return tuple((name, parse_glob(text, also_escaped=",()")) for name, text in texts.items())


@each_row(
    ("text", "prefix", "parts"),
    [
        pytest.param("read_file", "", ("read_file",), id="a tool"),
        pytest.param("Git:Push", "", ("git:push",), id="an action, without case"),
        pytest.param("mcp_*", "", ("mcp_", ""), id="a glob"),
        pytest.param("*", "", ("", ""), id="a star is no prefix"),
        pytest.param("*file:re*", "", ("", "file:re", ""), id="globs on both sides"),
        pytest.param("bash", "bash", ("", ""), id="bash alone is all of its commands"),
        pytest.param("BASH", "bash", ("", ""), id="a prefix has no case"),
        pytest.param("bash:*", "bash", ("", ""), id="all commands"),
        pytest.param("Bash:Git log *(x)", "bash", ("Git log ", "(x)"), id="commands have case and no selectors"),
        pytest.param(r"bash:ls \*:b", "bash", ("ls *:b",), id="escapes of a command"),
        pytest.param("builtin:git:push", "builtin", ("git:push",), id="builtin"),
        pytest.param("cli:gh", "cli", ("gh",), id="cli"),
        pytest.param("mcp:GitHub:create_*", "mcp", ("github:create_", ""), id="mcp"),
        pytest.param("custom:deploy", "custom", ("deploy",), id="custom"),
        pytest.param("*:*password*", "*", ("", "password", ""), id="any kind"),
        pytest.param("group:fs", "group", ("fs",), id="group"),
        pytest.param("cap:fs:write", "cap", ("fs:write",), id="cap"),
        pytest.param("bashful", "", ("bashful",), id="begins with a prefix"),
        pytest.param(r"git:a\*b\\c", "", ("git:a*b\\c",), id="escapes of an action"),
    ],
)
def test_the_first_segment_is_a_prefix_if_it_is_one_of_eight(text, prefix, parts) -> None:
    """The rest is a glob; names are compared without case, commands with it."""
    rule = parse_rule(text, "p.yaml:1:2")

    assert (rule.text, rule.source, rule.prefix, rule.glob.parts) == (text, "p.yaml:1:2", prefix, parts)
    assert (rule.args, rule.when, rule.reason, rule.message) == ((), None, None, None)


@each_row(
    ("text", "prefix", "subject", "args"),
    [
        pytest.param("read_file(path=*secret*)", "", "read_file", globs(path="*secret*"), id="one"),
        pytest.param("git:push( remote = a , b=c )", "", "git:push", globs(remote="a", b="c"), id="two, with blanks"),
        pytest.param("*(path=/etc/*)", "", "*", globs(path="/etc/*"), id="all tools"),
        pytest.param("mcp:s:t(a=)", "mcp", "s:t", globs(a=""), id="empty text"),
        pytest.param(r"t(a=\(x\, y\)=\*)", "", "t", globs(a=r"\(x\, y\)=\*"), id="escapes"),
        pytest.param("t(größe=1,a.b-c=2)", "", "t", globs(größe="1", **{"a.b-c": "2"}), id="names of arguments"),
        pytest.param("t(Path=A)", "", "t", globs(Path="A"), id="arguments have case"),
        pytest.param("t(a=bash:x)", "", "t", globs(a="bash:x"), id="a colon inside is no prefix"),
    ],
)
def test_selectors_look_at_arguments(text, prefix, subject, args) -> None:
    """Each is a name and a glob; a comma or a parenthesis that belongs to a glob is escaped."""
    assert parse_rule(text) == Rule(text, "", prefix, parse_glob(subject), args)


def test_the_long_form_keeps_what_stands_beside_the_rule() -> None:
    """Reason, message and conditions are carried along; a profile gets them back as it wrote them."""
    long = {"when": {"n": {"minimum": 3}}, "reason": "too_many", "message": "Fewer."}

    rule = parse_rule("git:log", "p:1:1", **long)

    assert (rule.when, rule.reason, rule.message) == tuple(long.values())
    assert (rule.plain(), parse_rule("git:log").plain()) == ({"rule": "git:log", **long}, "git:log")


NAMES = "Names have letters, digits, '_' and '-'."
CONDITION = "Write `tool(argument=glob)`."
HOLLOW = "a name or an action is empty, or has a blank at its end."
SUCH_AS = "Write a rule such as 'git:push'; a command follows 'bash:'."
PARENTHESES = r"Write `\(` and `\)` for those that belong to a glob."


@each_row(
    ("text", "what", "fix"),
    [
        pytest.param("", "no tool's name can match ''.", NAMES, id="empty"),
        pytest.param(
            "git push",
            "no tool's name can match 'git push'.",
            "For a command write 'bash:git push'.",
            id="a command without its prefix",
        ),
        pytest.param(
            "bash git log",
            "no tool's name can match 'bash git log'.",
            "For a command write 'bash:git log'.",
            id="a command behind a prefix without its colon",
        ),
        pytest.param(
            "rm -rf /: now",
            "no tool's name can match 'rm -rf /'.",
            "For a command write 'bash:rm -rf /: now'.",
            id="a command with a colon",
        ),
        pytest.param("gît", "no tool's name can match 'gît'.", NAMES, id="a letter that no name has"),
        pytest.param(r"g\*t", r"no tool's name can match 'g\\*t'.", NAMES, id="a star that no name has"),
        pytest.param("cli:a.b:x", "no tool's name can match 'a.b'.", NAMES, id="behind a prefix"),
        pytest.param(" git", "no tool's name can match ' git'.", NAMES, id="blank before a name"),
        pytest.param("git :push", "no tool's name can match 'git '.", NAMES, id="blank behind a name"),
        pytest.param(
            "read_file (path=x)", "no tool's name can match 'read_file '.", NAMES, id="blank before selectors"
        ),
        pytest.param("Mcp", "'Mcp' is a prefix with nothing after it.", "Write 'mcp:*' for all of them.", id="prefix"),
        pytest.param("cap:", "nothing follows 'cap:'.", "Write 'cap:*' for all of them.", id="nothing behind"),
        pytest.param("*:", "nothing follows '*:'.", "Write '*:*' for all of them.", id="nothing behind a star"),
        pytest.param(
            "bash(command=*rm*)",
            "no tool is named 'bash': it is a prefix.",
            "Write 'bash:' and a pattern after it.",
            id="bash takes no selectors",
        ),
        pytest.param(
            "bash: git log",
            "no command begins or ends with a blank.",
            "Write 'bash:git log'.",
            id="blank before a command",
        ),
        pytest.param("git: push", f"in 'git: push', {HOLLOW}", SUCH_AS, id="blank before an action"),
        pytest.param("git:push ", f"in 'git:push ', {HOLLOW}", SUCH_AS, id="blank behind an action"),
        pytest.param("git:", f"in 'git:', {HOLLOW}", SUCH_AS, id="no action"),
        pytest.param("mcp:github::x", f"in 'github::x', {HOLLOW}", SUCH_AS, id="nothing between colons"),
        pytest.param("group: fs", f"in ' fs', {HOLLOW}", SUCH_AS, id="blank before a group"),
        pytest.param(
            "cap:fs(a=b)",
            "'cap:' takes no arguments.",
            "Name the tools instead, or use `when`.",
            id="cap and selectors",
        ),
        pytest.param(
            "group:fs(a=b)",
            "'group:' takes no arguments.",
            "Name the tools instead, or use `when`.",
            id="group and selectors",
        ),
        pytest.param("t(a=b", "the parenthesis is never closed.", CONDITION, id="not closed"),
        pytest.param(r"t(a=b\)", "the parenthesis is never closed.", CONDITION, id="the closing one is escaped"),
        pytest.param("t(a=b) c", "there is text after the parenthesis.", PARENTHESES, id="text behind"),
        pytest.param("t(a=b)(c=d)", "there is text after the parenthesis.", PARENTHESES, id="two pairs"),
        pytest.param("t(a=f(x))", "a parenthesis is inside another.", PARENTHESES, id="nested"),
        pytest.param("t(a=f(x)", "a parenthesis is inside another.", PARENTHESES, id="one too few"),
        pytest.param(
            "mcp:(a=b)",
            "there is no tool before the parenthesis.",
            "Write `*(argument=glob)` for all tools.",
            id="no tool",
        ),
        pytest.param("t()", "'' is not a condition on an argument.", CONDITION, id="no condition"),
        pytest.param("t(,)", "'' is not a condition on an argument.", CONDITION, id="a comma alone"),
        pytest.param("t(a=b,)", "'' is not a condition on an argument.", CONDITION, id="a comma at the end"),
        pytest.param("t(a)", "'a' is not a condition on an argument.", CONDITION, id="no glob"),
        pytest.param("t(a=b,=c)", "'=c' is not a condition on an argument.", CONDITION, id="no name"),
        pytest.param(
            "t(a=b, c d=e)", "'c d=e' is not a condition on an argument.", CONDITION, id="no name of an argument"
        ),
        pytest.param(r"bash:ls \d", r"'\d': only '*' and '\' can follow a backslash; write '\\d'.", "", id="escape"),
        pytest.param(
            r"t(a=\d)",
            r"'\d': only '*', '\', ',', '(' and ')' can follow a backslash; write '\\d'.",
            "",
            id="escape in a selector",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(text, what, fix) -> None:
    """A rule that could never match protects nobody; the message says what is wrong and what to write."""
    with pytest.raises(RuleError) as refused:
        parse_rule(text)

    assert (refused.value.what, refused.value.fix) == (what, fix)
    assert str(refused.value) == f"{what} {fix}".rstrip()


@given(TEXTS)
@example("a\nb")
def test_a_command_can_be_written_as_a_rule(command: str) -> None:
    """Whatever a command is, a rule can name it and nothing else."""
    text = f"bash:{escape_glob('x' + command + 'x')}"

    assert parse_rule(text) == Rule(text, "", "bash", parse_glob(text[5:]))
    assert parse_rule(text).glob.literal == f"x{command}x"


@given(st.dictionaries(ARGUMENTS, TEXTS.map(str.strip), min_size=1, max_size=3))
@example({"a": ")", "b": "(,\\*"})
def test_arguments_can_be_written_as_selectors(args: dict[str, str]) -> None:
    """Each text comes back as it went in, whatever stands in it."""
    escaped = {name: re.sub(r"([\\*,()])", r"\\\1", text) for name, text in args.items()}

    rule = parse_rule(f"t({','.join(map('='.join, escaped.items()))})")

    assert {name: glob.literal for name, glob in rule.args} == args


@given(RULES | TEXTS)
@example("bash:\\")
def test_the_pattern_of_editors_matches_every_rule(text: str) -> None:
    """An editor never complains about a rule that is none to us; what is read keeps its text."""
    try:
        rule = parse_rule(text)
    except RuleError:
        return

    assert rule.text == text
    assert re.fullmatch(RULE_PATTERN, text)
    assert rule.glob.parts == tuple(map(fold, rule.glob.parts)) or rule.prefix == "bash"
