"""`explain` says what `decide` says, and what it advises works."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.policy.samples import NEEDS, paired, policy
from tests.rows import each_row

from toolcharter.api.call import Decision
from toolcharter.api.explanation import RuleNote, Step
from toolcharter.api.reasons import Reason
from toolcharter.policy.availability import Hidden
from toolcharter.policy.capability import CapabilityLimits, compile_limit
from toolcharter.policy.evaluate import Policy, ToolPolicyView
from toolcharter.policy.explain import describe_allow_rule, explain, missing_rules, narrowest_rules
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Refusal, Requirements, RuleInput, ToolFacts
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Capabilities, Ceiling, Mode

TEXTS = st.sampled_from(
    [
        *("git", "g*", "git:push", "git:*", "*", "*:*", "*:*sudo*", "bash", "bash:ls*", "bash:git *", "group:fs"),
        *("cap:fs:read", "cap:*", "cap:net", "builtin:*", "cli:*", "mcp:s:*", "custom:*", "alias:push"),
        *("git(path=*a*)", "*(path=b)", "execute_code", "bash:*sudo*"),
    ]
)
WHEN = st.sampled_from([None, {"n": {"minimum": 3}}, {"path": {"const": "b"}}])
RULES = st.lists(st.builds(lambda text, when: parse_rule(text, "p.yaml:1:1", when=when), TEXTS, WHEN), max_size=5)
MODES = st.sampled_from(["policy", "restrict", "ask", "dangerous"])
WORDS = st.lists(st.sampled_from(["fs:read", "net", "*", "fs:*"]), max_size=2).map(tuple)
CAPABILITIES = st.builds(
    Capabilities, st.none() | WORDS, WORDS | st.just(()), st.sampled_from([None, "low", "medium", "high"])
)
CEILINGS = st.lists(
    st.builds(
        lambda deny, mode, ask: Ceiling("admin.yaml", tuple(deny), mode, ask=tuple(ask)),
        RULES,
        st.none() | MODES,
        RULES,
    ),
    max_size=2,
)
FACTS = st.builds(
    ToolFacts,
    st.sampled_from(["git", "bash", "execute_code", "mcp__s__t", "G_i"]),
    st.sampled_from(["builtin", "bash", "cli", "mcp", "custom"]),
    st.sampled_from([(), ("alias",)]),
    st.sampled_from([frozenset(), frozenset({"fs"})]),
    st.sampled_from([None, frozenset(), frozenset({"fs:read", "net"}), {"push": frozenset({"net"})}]),
    st.sampled_from(["low", "medium", "high"]),
)
SUBJECTS = st.builds(
    paired,
    st.sampled_from([None, "push", "log", "a*(b", ""]),
    st.fixed_dictionaries({}, optional={"path": st.sampled_from(["a", "b", None]), "n": st.sampled_from([1, 3])}),
    st.lists(
        st.tuples(st.sampled_from(["ls", "ls -l '*'", "git push", "sudo x", "'a\\b'"]), st.sampled_from(NEEDS)),
        max_size=3,
    ),
    st.sampled_from([None, None, None, "what is this?"]),
) | st.sampled_from([Refusal(Reason.NOT_UNDERSTOOD, "Odd."), Refusal(Reason.DENIED_BY_FLOOR, "No.")]).map(
    lambda refusal: RuleInput(refusal=refusal)
)
HIDDEN = st.none() | st.sampled_from(
    [Hidden("deny", "git", None, "p.yaml:2:2"), Hidden("tools", "[a]", "x", "p.yaml:3:3")]
)


def policies(
    deny: list[Rule], ask: list[Rule], allow: list[Rule], mode: Mode, bounds: list[Capabilities], ceilings: Any
) -> Policy:
    named = [compile_limit("profile" if not number else "admin.yaml", one) for number, one in enumerate(bounds)]
    return Policy(deny, allow, mode, CapabilityLimits(named), ceilings, ask=ask)


POLICIES = st.builds(policies, RULES, RULES, RULES, MODES, st.lists(CAPABILITIES, max_size=2), CEILINGS)


def by_stage(steps: tuple[Step, ...]) -> dict[str, Step]:
    return {step.stage: step for step in steps}


@given(POLICIES, FACTS, HIDDEN, SUBJECTS)
def test_the_explanation_is_that_of_the_decision(policy, facts, hidden, subject) -> None:
    """Outcome, reason, stage and rule cannot drift: one step decides, it says what `decide` says, those before it pass."""
    view = policy.for_tool(facts, hidden)

    steps = explain(view, subject)

    assert [step.stage for step in steps] == ["floor", "deny", "availability", "capability", "ask", "mode"]
    deciding = [step for step in steps if step.decides]
    assert [step.decision for step in deciding] == [view.decide(subject)]
    assert all(step.verdict == "pass" for step in steps[: steps.index(deciding[0])])
    for step in steps:
        told = [(note.text, note.source) for note in step.rules if note.decides]
        rule = step.decision.rule if step.decision else None
        assert told == ([] if rule is None else [(rule.text, rule.source)])


@given(POLICIES, FACTS, HIDDEN, SUBJECTS)
def test_a_refusal_says_what_would_have_to_change(policy, facts, hidden, subject) -> None:
    """No stage that ends a call leaves its reader without a way out, and no stage that passes gives advice."""
    for step in explain(policy.for_tool(facts, hidden), subject)[:-1]:
        assert bool(step.changes) == (step.verdict != "pass")


@given(RULES, MODES, FACTS, SUBJECTS)
def test_the_advised_allow_rules_suffice(allow, mode, facts, subject) -> None:
    """Whoever adds them has allowed the call, whatever the mode."""
    view = Policy((), allow, mode).for_tool(facts)

    missing = missing_rules(view, subject)

    more = Policy((), [*allow, *map(parse_rule, missing)], mode).for_tool(facts)
    assert not missing or more.by_mode(subject).outcome == "allow"


@given(FACTS, SUBJECTS)
def test_the_advised_deny_rule_denies(facts, subject) -> None:
    """Whoever adds it has ended the call."""
    for rule in narrowest_rules(facts, subject):
        assert Policy([parse_rule(rule)]).for_tool(facts).denials.first(subject) is not None


@given(RULES, FACTS, SUBJECTS)
def test_taking_the_named_rules_away_passes_deny(deny, facts, subject) -> None:
    """All deny rules that match are named, those that lost too."""
    step = by_stage(explain(Policy(deny).for_tool(facts), subject))["deny"]

    left = [rule for rule in deny if rule.text not in {note.text for note in step.rules}]
    assert Policy(left).for_tool(facts).denials.first(subject) is None
    assert [note.text for note in step.rules] == [
        rule.text for rule in deny if Policy([rule]).for_tool(facts).denials.first(subject)
    ]


def rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, f"p.yaml:{line}:5") for line, text in enumerate(texts, 1))


def view_of(facts: ToolFacts, hidden: Hidden | None = None, **policy: Any) -> ToolPolicyView:
    return Policy(**policy).for_tool(facts, hidden)


BASH = ToolFacts("bash", "bash", capabilities=frozenset({"proc:exec"}))
GIT = ToolFacts("git", capabilities=frozenset({"fs:read", "net"}), safety="medium")


def test_every_stage_in_full() -> None:
    """The whole explanation of a line that an administrator's rule denies."""
    ceiling = Ceiling("/etc/admin.yaml", (parse_rule("bash:wc*", "/etc/admin.yaml:2:5"),), "restrict")
    view = view_of(
        BASH, deny=rules("bash:*-l*"), allow=rules("bash:wc *", "bash:ls *", "*:*"), mode="ask", ceilings=(ceiling,)
    )
    subject = RuleInput(None, {"command": "wc -l"}, ("wc -l",))

    found = by_stage(explain(view, subject))

    denied = view.decide(subject)
    owner = "that is for the ceiling '/etc/admin.yaml', which only its owner can change"
    assert found == {
        "floor": Step("floor", "what the call would run: 'wc -l'", "pass"),
        "deny": Step(
            "deny",
            "deny rules: 2, 1 of them from ceilings",
            "deny",
            denied,
            decides=True,
            rules=(
                RuleNote("bash:wc*", "/etc/admin.yaml:2:5", "matches", decides=True),
                RuleNote("bash:*-l*", "p.yaml:1:5", "matches"),
            ),
            changes=(
                f"remove the deny rule 'bash:wc*' at /etc/admin.yaml:2:5, or narrow it: {owner}",
                "remove the deny rule 'bash:*-l*' at p.yaml:1:5, or narrow it",
            ),
        ),
        "availability": Step("availability", "the entries of `availability` for this caller", "pass"),
        "capability": Step("capability", "capabilities: proc:exec; safety 'high'; bounded by: nothing", "pass"),
        "ask": Step("ask", "ask rules: 0", "pass"),
        "mode": Step(
            "mode",
            "mode: ask, restrict (of /etc/admin.yaml); the tool is unbounded, of kind 'bash'; allow rules: 3",
            "allow",
            view.by_mode(subject),
            rules=(
                RuleNote("bash:wc *", "p.yaml:1:5", "covers the call", decides=True),
                RuleNote(
                    "*:*", "p.yaml:3:5", "matches, but rules with the prefix '*:' never permit a tool of kind 'bash'"
                ),
            ),
            changes=(
                "remove the allow rule 'bash:wc *' at p.yaml:1:5, and others that cover the call",
                "or add a deny rule such as 'bash:wc -l'",
            ),
        ),
    }


@each_row(
    ("facts", "subject", "text", "said"),
    [
        pytest.param(GIT, RuleInput("push"), "git:push", "covers the call", id="covers"),
        pytest.param(GIT, RuleInput("push"), "git:log", None, id="another action"),
        pytest.param(GIT, RuleInput(), "git(path=a)", "names it, but asks for other arguments", id="arguments"),
        pytest.param(GIT, RuleInput(), "cap:net", "covers only some of the action's capabilities", id="capabilities"),
        pytest.param(
            ToolFacts("git"), RuleInput(), "cap:*", "covers only some of the action's capabilities", id="undeclared"
        ),
        pytest.param(
            BASH, RuleInput(commands=("ls", "wc", "ls")), "bash:ls", "covers 2 of 3 commands", id="some commands"
        ),
        pytest.param(BASH, RuleInput(commands=("ls",)), "bash:wc", None, id="another command"),
        pytest.param(
            ToolFacts("x", "cli"),
            RuleInput(),
            "*",
            "matches, but globs over names never permit a tool of kind 'cli'",
            id="glob",
        ),
        pytest.param(
            GIT,
            RuleInput(commands=("ls",)),
            "*:ls",
            "matches a command, but does not name the tool",
            id="command of a builtin",
        ),
    ],
)
def test_what_an_allow_rule_has_to_say(facts, subject, text, said) -> None:
    """Rules that nearly cover the call say why they do not."""
    step = by_stage(explain(view_of(facts, allow=rules(text), mode="restrict"), subject))["mode"]

    assert [note.said for note in step.rules] == ([] if said is None else [said])


@each_row(
    ("facts", "subject", "policy", "changes"),
    [
        pytest.param(
            BASH, RuleInput(commands=("wc -l",)), {}, ("add an allow rule such as 'bash:wc -l'",), id="one command"
        ),
        pytest.param(
            BASH,
            RuleInput(commands=("a", "b", "c")),
            {"allow": rules("bash:b")},
            ("add allow rules such as 'bash:a', 'bash:c'",),
            id="open commands",
        ),
        pytest.param(
            ToolFacts("mcp__s__t", "mcp"), RuleInput(), {}, ("add an allow rule such as 'mcp:s:t'",), id="mcp"
        ),
        pytest.param(
            GIT,
            RuleInput("push"),
            {"ceilings": (Ceiling("admin.yaml", mode="restrict"),)},
            (
                "add an allow rule such as 'git:push'",
                (
                    "the mode 'restrict', which requires a rule or a person, is set by the ceiling 'admin.yaml', "
                    "which only its owner can change"
                ),
            ),
            id="mode of a ceiling",
        ),
        pytest.param(
            ToolFacts("x", "cli"),
            RuleInput(),
            {"ceilings": (Ceiling("admin.yaml", mode="dangerous"),)},
            ("add an allow rule such as 'x'",),
            id="mode of a ceiling that permits it",
        ),
        pytest.param(
            ToolFacts("execute_code", "bash"),
            RuleInput(),
            {},
            ("add an allow rule such as 'execute_code'",),
            id="a tool that runs commands, without any",
        ),
        pytest.param(
            BASH,
            RuleInput(commands=("ls",)),
            {"allow": (parse_rule("bash:ls", when={"n": {"const": 1}}), parse_rule("*:ls"))},
            ("add an allow rule such as 'bash:ls'",),
            id="rules that ask for other arguments, or cover no command",
        ),
        pytest.param(BASH, RuleInput(), {}, ("no allow rule can name this call",), id="nothing to name"),
        pytest.param(
            BASH,
            RuleInput(refusal=Refusal(Reason.NOT_UNDERSTOOD, "Odd.")),
            {},
            ("no allow rule covers a call that cannot be parsed",),
            id="not understood",
        ),
        pytest.param(GIT, RuleInput("push"), {}, ("add a deny rule such as 'git:push'",), id="allowed"),
        pytest.param(BASH, RuleInput(), {"mode": "dangerous"}, (), id="allowed, and nothing to name"),
    ],
)
def test_what_would_change_the_last_word(facts, subject, policy, changes) -> None:
    """Concrete: the rule to add, and who else has a say."""
    assert by_stage(explain(view_of(facts, **policy), subject))["mode"].changes == changes


@pytest.mark.parametrize(
    ("facts", "written", "changes"),
    [
        pytest.param(
            GIT,
            Capabilities(("fs:*",), ("n*",), "low"),
            (
                "`capabilities.allow` needs 'net'",
                "`capabilities.deny` must not match 'net'",
                "`capabilities.max_safety` has to be 'medium'",
            ),
            id="each key",
        ),
        pytest.param(
            ToolFacts("x"),
            Capabilities(("fs:*",)),
            ("the plugin's author has to declare what the tool touches, or `capabilities` has to permit everything",),
            id="undeclared",
        ),
    ],
)
@pytest.mark.parametrize("owner", ["profile", "admin.yaml"])
def test_what_would_open_a_bound(facts, written, changes, owner) -> None:
    """By key, and with the name of the ceiling that decides."""
    step = by_stage(
        explain(view_of(facts, capability_limits=CapabilityLimits([compile_limit(owner, written)])), RuleInput())
    )["capability"]

    behind = "" if owner == "profile" else ": that is for the ceiling 'admin.yaml', which only its owner can change"
    assert step.changes == tuple(f"{change}{behind}" for change in changes)
    lists = {None: "allow: [fs:*]"}.get(written.max_safety, "allow: [fs:*], deny: [n*], max_safety: low")
    assert step.looked_at.endswith(f"bounded by: {owner} ({lists})")


def test_a_stage_that_passes_shows_the_lists_it_looked_at() -> None:
    """Those of the profile and of each ceiling that has some."""
    bounds = CapabilityLimits(
        [
            compile_limit("profile", Capabilities(("*",), max_safety="high")),
            compile_limit("admin.yaml", Capabilities(deny=("proc:*", "db"))),
            compile_limit("ALLOWED_TOOL_PERMS", Capabilities()),
        ]
    )

    step = by_stage(explain(view_of(GIT, capability_limits=bounds), RuleInput("push")))["capability"]

    lists = "profile (allow: [*], max_safety: high), admin.yaml (deny: [proc:*, db])"
    assert (step.verdict, step.looked_at.partition("bounded by: ")[2]) == ("pass", lists)


def test_a_rule_shows_its_condition() -> None:
    """In every list; without it nobody knows why a rule matches, or does not cover."""
    when = {"n": {"minimum": 3}}
    conditional = parse_rule("git", "p.yaml:1:5", when=when)
    view = view_of(GIT, deny=(conditional,), allow=(conditional,))

    found = by_stage(explain(view, RuleInput(args={"n": 3})))

    assert found["deny"].rules == (RuleNote("git", "p.yaml:1:5", "matches", decides=True, when=when),)
    assert [note.when for note in found["mode"].rules] == [when]


@pytest.mark.parametrize(
    ("place", "owner"),
    [
        pytest.param("deny", "of the profile", id="profile"),
        pytest.param("above", "beside the profile", id="ceiling"),
    ],
)
@pytest.mark.parametrize("text", ["git", "git:push"])
def test_a_deny_rule_is_said_to_be_of_its_owner(place, owner, text) -> None:
    """The profile's author looks in vain for a rule of an administrator, whose file the model is not told of."""
    rules = (parse_rule(text),)
    policy = {"deny": rules} if place == "deny" else {"ceilings": (Ceiling("/a.yaml", deny=rules),)}
    view = view_of(GIT, **policy)

    decision = by_stage(explain(view, RuleInput("push")))["deny"].decision

    assert decision is not None
    assert decision.message == f"A rule {owner} denies this call."
    assert view.hidden_because is None or view.hidden_because.message == decision.message


def test_everything_that_hides_a_tool_is_told() -> None:
    """Undoing the first would not suffice."""
    first = Hidden("deny", "g*", None, "p.yaml:9:5")
    second = Hidden("tools", "[read_file]", "narrow", "p.yaml:11:5")

    step = by_stage(explain(view_of(GIT, first), RuleInput(), (first, second)))["availability"]

    assert step.rules == (
        RuleNote("g*", "p.yaml:9:5", "denies it to this caller", decides=True),
        RuleNote("[read_file]", "p.yaml:11:5", "leaves it out for this caller"),
    )
    assert step.changes == (
        "take 'g*' out of the `deny` of the entry at p.yaml:9:5",
        "put 'git' into `also_allow` of an entry for this caller, or into `tools` of the entry at p.yaml:11:5",
    )
    assert isinstance(step.decision, Decision)


@pytest.mark.parametrize(
    ("subject", "looked_at", "changes"),
    [
        pytest.param(RuleInput(), "what the call would run: no commands", (), id="none"),
        pytest.param(RuleInput(commands=("a b", "c")), "what the call would run: 'a b', 'c'", (), id="two"),
        pytest.param(
            RuleInput(refusal=Refusal(Reason.NOT_UNDERSTOOD, "Odd.")),
            "what the call would run",
            ("Write each command in plain words.",),
            id="not understood",
        ),
        pytest.param(
            RuleInput(refusal=Refusal(Reason.DENIED_BY_FLOOR, "No.")),
            "what the call would run",
            ("Nothing: no profile and no person can permit it.",),
            id="floor",
        ),
    ],
)
def test_what_the_floor_looked_at(subject, looked_at, changes) -> None:
    """The commands in normal form, or what to do about a line that has none."""
    steps = explain(Policy().for_tool(ToolFacts("bash", "bash")), subject)

    assert isinstance(steps, tuple)
    assert (steps[0].looked_at, steps[0].changes) == (looked_at, changes)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        pytest.param(None, "undeclared", id="undeclared"),
        pytest.param(frozenset(), "none", id="none"),
        pytest.param(frozenset({"net:write", "fs:read", "a"}), "a, fs:read, net:write", id="sorted"),
    ],
)
def test_what_the_capability_stage_looked_at(declared, words) -> None:
    """What is declared, in order, and who bounds it."""
    free = explain(Policy().for_tool(ToolFacts("x", capabilities=declared, safety="low")), RuleInput())
    bounds = CapabilityLimits(
        [
            compile_limit("profile", Capabilities(max_safety="high")),
            compile_limit("a.yaml", Capabilities(("*",), ("q", "r"))),
        ]
    )
    held = explain(Policy(capability_limits=bounds).for_tool(ToolFacts("x", capabilities=declared)), RuleInput())

    level = "high" if declared is None else "low"
    assert by_stage(free)["capability"].looked_at == f"capabilities: {words}; safety {level!r}; bounded by: nothing"
    assert by_stage(held)["capability"].looked_at == (
        f"capabilities: {words}; safety 'high'; "
        "bounded by: profile (max_safety: high), a.yaml (allow: [*], deny: [q, r])"
    )


def test_each_word_that_a_bound_refuses_is_told_where_it_is_refused() -> None:
    """Some are not allowed, some are denied, one is both, and one is neither."""
    bounds = CapabilityLimits([compile_limit("profile", Capabilities(("ok", "both-ways", "c*"), ("b*", "cd")))])
    facts = ToolFacts("x", capabilities=frozenset({"ok", "lacking", "cd", "bad"}))

    step = by_stage(explain(Policy(capability_limits=bounds).for_tool(facts), RuleInput()))["capability"]

    assert step.changes == (
        "`capabilities.allow` needs 'bad', 'lacking'",
        "`capabilities.deny` must not match 'bad', 'cd'",
    )


@pytest.mark.parametrize(("ceilings", "end"), [((), ""), (("a.yaml",), ", 1 of them from ceilings")])
def test_how_many_deny_rules_there_are(ceilings, end) -> None:
    """And how many of them are of ceilings."""
    rules = (parse_rule("git", "p.yaml:1:1"),)
    policy = Policy(rules, ceilings=[Ceiling(name, rules) for name in ceilings])

    step = by_stage(explain(policy.for_tool(ToolFacts("x")), RuleInput()))["deny"]

    assert step.looked_at == f"deny rules: {1 + len(ceilings)}{end}"


@each_row(
    ("subject", "said"),
    [
        (RuleInput(commands=("sort x",), unsupported="Odd."), "matches, but no rule covers the line: Odd."),
        (
            RuleInput(commands=("sort -o x",), needs=(Requirements(frozenset({"-o"}), "-o writes"),)),
            "matches 'sort -o x', but does not mention every word that it has to: -o writes",
        ),
        (
            RuleInput(commands=("A=1 sort -o x",), needs=(Requirements(frozenset({"-o"}), "-o writes", "sort -o x"),)),
            "matches 'A=1 sort -o x', but does not mention every word that it has to: -o writes",
        ),
        (
            RuleInput(commands=("A=1 sort x", "ls"), needs=(Requirements(bare="sort x"), NO_REQUIREMENTS)),
            "covers 1 of 2 commands",
        ),
        (RuleInput(commands=("A=1 sort x",), needs=(Requirements(bare="sort x"),)), "covers the call"),
        (
            RuleInput(
                commands=("sort x", "ls -o x"), needs=(NO_REQUIREMENTS, Requirements(frozenset({"-o"}), "-o writes"))
            ),
            "covers 1 of 2 commands",
        ),
        (RuleInput(commands=("ls",)), None),
    ],
)
def test_a_rule_that_matches_may_leave_much_unnamed(subject: RuleInput, said: str | None) -> None:
    """It is told what of a command it would have to write out."""
    assert describe_allow_rule(Matcher(*rules("bash:sort *")), BASH, subject) == said


def test_no_rule_is_suggested_that_would_not_help() -> None:
    """Where nobody knows in which folder a command runs, only `bash:*` covers it."""
    view = policy(allow=("bash:cd *",)).for_tool(BASH)
    lost = Requirements(frozenset({"(unknown folder)"}), "it cannot be determined that it runs in the workspace")

    assert missing_rules(view, RuleInput(commands=("cd x", "ls"), needs=(NO_REQUIREMENTS, lost))) == ()
    assert missing_rules(view, RuleInput(commands=("wc x", "ls"), needs=(NO_REQUIREMENTS, lost))) == ()
    assert missing_rules(view, RuleInput(commands=("wc x",), unsupported="Odd.")) == ()
    assert missing_rules(
        view, RuleInput(commands=("cd x", "ls -l"), needs=(NO_REQUIREMENTS, Requirements(frozenset({"-l"}))))
    ) == ("bash:ls -l",)


@pytest.mark.parametrize(
    ("facts", "nature"), [(GIT, "bounded, of kind 'builtin'"), (BASH, "unbounded, of kind 'bash'")]
)
def test_the_mode_stage_says_whether_the_tool_is_bounded(facts: ToolFacts, nature: str) -> None:
    """What the mode permits hangs on that."""
    step = by_stage(explain(view_of(facts), RuleInput()))["mode"]

    assert step.looked_at == f"mode: policy; the tool is {nature}; allow rules: 0"


def test_a_bound_that_is_open_asks_nothing_of_an_undeclared_tool() -> None:
    """Its author has to declare what it touches only where that is limited."""
    bounds = CapabilityLimits(
        [compile_limit("profile", Capabilities(max_safety="low")), compile_limit("admin", Capabilities(("fs:*",)))]
    )

    step = by_stage(explain(view_of(ToolFacts("x", safety="high"), capability_limits=bounds), RuleInput()))[
        "capability"
    ]

    assert step.changes[0] == "`capabilities.max_safety` has to be 'high'"
    assert len(step.changes) == 2
