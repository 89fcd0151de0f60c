"""What ceilings take away from a profile is told where the profile has it."""

from collections.abc import Sequence

import pytest

from toolcharter.policy.lint.ceilings import ceiling_findings
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.policy.lint.rules import Finding, LintedProfile
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Capabilities, Ceiling, Rate, Rates

GIT = ToolSignature(ToolFacts("git", capabilities={"push": frozenset({"net"})}, safety="medium"))
READ = ToolSignature(ToolFacts("read_file", capabilities=frozenset({"fs:read"}), safety="low"))
BASH = ToolSignature(
    ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc"}), "high"), None, None, gives_commands=True
)


def rules(file: str, *texts: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, f"{file}:{line}:5") for line, text in enumerate(texts, 1))


def taken(profile: Profile, *ceilings: Ceiling, pending: Sequence[str] = ()) -> list[Finding]:
    subject = LintedProfile(profile, (GIT, READ, BASH), ceilings, pending, lambda *path: ":".join(("p", *path)))
    return list(ceiling_findings(subject))


def hides(tool: str, why: str) -> Finding:
    return Finding("ceiling", f"p:tools:{tool}", f"tools.{tool}", f"admin hides it from everyone: {why}")


def test_nothing_is_taken_by_nobody() -> None:
    """Neither without ceilings nor by one that says nothing."""
    assert taken(Profile("p", allow=rules("p", "bash:ls")), Ceiling("admin"), Ceiling("ALLOWED_TOOL_PERMS")) == []


def test_a_star_also_stands_for_characters_that_hardly_anybody_writes() -> None:
    """A ceiling's rule on such a character takes away no command but its own."""
    profile = Profile("p", allow=rules("p", "bash:ls *"))

    assert taken(profile, Ceiling("admin", deny=rules("admin", "bash:ls \ue000"))) == []


@pytest.mark.parametrize(
    ("ceiling", "found"),
    [
        pytest.param(
            Ceiling("admin", deny=rules("admin", "g*", "read_file:x")),
            [hides("git", "'g*' (admin:1:5) denies every call.")],
            id="deny",
        ),
        pytest.param(
            Ceiling("admin", capabilities=Capabilities(allow=("fs:*", "proc"))),
            [hides("git", "The action 'push' needs net, which is not permitted.")],
            id="capabilities",
        ),
        pytest.param(
            Ceiling("admin", capabilities=Capabilities(max_safety="medium")),
            [hides("bash", "The call counts as 'high', and no more than 'medium' is permitted.")],
            id="safety",
        ),
    ],
)
def test_tools_that_a_ceiling_hides_are_told(ceiling, found) -> None:
    """What was visible in the profile alone, and why it no longer is."""
    assert taken(Profile("p", allow=rules("p", "bash:ls")), ceiling) == found


def test_what_the_profile_hides_itself_no_ceiling_takes() -> None:
    """It was not to be seen before."""
    profile = Profile("p", allow=rules("p", "bash:ls"), deny=rules("p", "git"))

    assert taken(profile, Ceiling("admin", deny=rules("admin", "git"))) == []


@pytest.mark.parametrize(
    ("own", "above", "what"),
    [
        pytest.param(
            "policy", "restrict", "now an `allow` rule is needed for 'git', 'read_file'.", id="bounded-tools-need-rules"
        ),
        pytest.param(
            "dangerous", "policy", "now an `allow` rule is needed for 'bash'.", id="unbounded-tools-need-rules"
        ),
        pytest.param(
            "policy",
            "ask",
            "now an `allow` rule or a person's consent is needed for 'git', 'read_file'.",
            id="a-person-suffices",
        ),
        pytest.param(
            "ask", "restrict", "now an `allow` rule is needed for 'git', 'read_file', 'bash'.", id="no-person"
        ),
    ],
)
def test_mode_that_a_ceiling_tightens_is_told(own, above, what) -> None:
    """With the tools for which it makes a difference."""
    profile = Profile("p", mode=own, allow=rules("p", "git", "read_file", "bash:ls"))

    found = taken(profile, Ceiling("admin", mode=above))

    assert found == [Finding("ceiling", "p:mode", "mode", f"admin sets mode {above!r}: {what}")]


@pytest.mark.parametrize(("own", "above"), [("restrict", "policy"), ("restrict", "restrict"), ("policy", "dangerous")])
def test_mode_that_a_ceiling_leaves_is_no_finding(own, above) -> None:
    """The stricter of the two holds, and that is the profile's."""
    profile = Profile("p", mode=own, allow=rules("p", "git", "read_file", "bash:ls"))

    assert taken(profile, Ceiling("admin", mode=above)) == []


def test_tool_that_needs_a_rule_it_does_not_have_is_told_twice() -> None:
    """The mode, and what follows from it."""
    found = taken(Profile("p", allow=rules("p", "git", "bash:ls")), Ceiling("admin", mode="restrict"))

    assert [(one.place, one.what) for one in found] == [
        (
            "p:tools:read_file",
            "admin hides it from everyone: it needs an `allow` rule, and there is none that could cover it.",
        ),
        ("p:mode", "admin sets mode 'restrict': now an `allow` rule is needed for 'git', 'read_file'."),
    ]


def test_allow_rules_that_a_ceiling_takes_are_told() -> None:
    """Those of which nothing remains; a tool that may come later is not judged."""
    profile = Profile("p", allow=rules("p", "bash:git push *", "bash:git *", "later"))
    ceiling = Ceiling("admin", deny=rules("admin", "bash:rm *", "bash:git p*"))

    found = taken(profile, ceiling, pending=["later"]), taken(profile, ceiling)

    what = "admin takes 'bash:git push *' away: every call that it would allow is denied by 'bash:git p*' (admin:2:5)."
    assert found == ([], [Finding("ceiling", "p:1:5", "allow", what)])


def test_an_allow_rule_that_keeps_one_of_its_tools_is_not_told() -> None:
    """It reaches two, of which the ceiling denies one."""
    profile, ceiling = (
        Profile("p", mode="restrict", allow=rules("p", "*")),
        Ceiling("admin", deny=rules("admin", "git")),
    )

    assert [one for one in taken(profile, ceiling) if one.path == "allow"] == []


def test_tools_that_a_ceiling_has_people_asked_about_are_told() -> None:
    """Those of which it has a person asked before each call."""
    ceiling = Ceiling("admin", ask=rules("admin", "git:push", "read*", "bash:rm *"))

    found = taken(Profile("p", allow=rules("p", "bash:rm *")), ceiling)

    what = "admin asks a person before each call of it, by 'read*' (admin:2:5)."
    assert found == [Finding("ceiling", "p:tools:read_file", "tools.read_file", what)]


def lowered(path: str, what: str) -> Finding:
    return Finding(
        "ceiling", "p:limits:" + path.replace(".", ":"), f"limits.{path}", f"admin permits no more than {what}"
    )


def test_limits_that_a_ceiling_lowers_are_told() -> None:
    """Each number that is smaller than the profile's, or that the profile does not set; for tools that it lists."""
    profile = Profile(
        "p",
        limits=Limits(timeout_s=30.0, max_output_chars=100),
        tool_limits={"git": Limits(timeout_s=20.0)},
        rates=Rates(Rate(calls_per_hour=50), {"git": Rate(calls_per_hour=70)}, {"a*": Rate(calls_per_minute=1)}),
        allow=rules("p", "bash:ls"),
    )
    ceiling = Ceiling(
        "admin",
        limits=Limits(timeout_s=10.5, max_output_chars=200),
        tool_limits={"git": Limits(timeout_s=25.0), "read_file": Limits(max_output_chars=50), "other": Limits(1.0)},
        rates=Rates(
            Rate(calls_per_session=5),
            {"git": Rate(calls_per_hour=60)},
            {"a*": Rate(calls_per_minute=1, calls_per_hour=9)},
        ),
    )

    assert taken(profile, ceiling) == [
        lowered("timeout_s", "10.5; the profile has 30."),
        lowered("tools.read_file.max_output_chars", "50; the profile has 100."),
        lowered("calls_per_session", "5; the profile sets none."),
        lowered("agents.a*.calls_per_hour", "9; the profile sets none."),
    ]


@pytest.mark.parametrize(
    ("tool", "closed"),
    [
        pytest.param({}, ["commit", "push"], id="all-actions"),
        pytest.param({"advertised": frozenset({"log", "push"})}, ["push"], id="those-that-the-policy-leaves"),
    ],
)
def test_actions_that_a_ceiling_closes_are_told(tool, closed) -> None:
    """A tool that keeps some of its actions is not hidden, and the others are gone all the same."""
    capabilities = {"log": {"fs:read"}, "commit": {"fs:write"}, "push": {"net", "fs:write"}, "gone": {"docker"}}
    facts = ToolFacts(
        "git", capabilities={name: frozenset(words) for name, words in capabilities.items()}, safety="low"
    )
    known = ToolSignature(facts, actions=frozenset({"log", "commit", "push"}), **tool)
    profile, ceiling = Profile("p"), Ceiling("ALLOWED_TOOL_PERMS", capabilities=Capabilities(allow=("fs:read",)))

    found = list(
        ceiling_findings(LintedProfile(profile, (known,), (ceiling,), (), lambda *path: ":".join(("p", *path))))
    )

    needs = {"commit": "fs:write", "push": "fs:write, net"}
    assert found == [
        Finding(
            "ceiling",
            "p:tools:git",
            "tools.git",
            f"ALLOWED_TOOL_PERMS closes an action of it: The action {action!r} needs {needs[action]}, which is not permitted.",
        )
        for action in closed
    ]


def test_a_tool_that_a_ceiling_hides_does_not_keep_others_from_being_told() -> None:
    """Of the hidden one no action is named, and those of the tools behind it are."""
    deploy = ToolFacts("deploy", capabilities={"push": frozenset({"net"}), "log": frozenset({"net"})}, safety="low")
    git = ToolFacts("git", capabilities={"push": frozenset({"net"}), "log": frozenset()}, safety="low")
    known = [ToolSignature(facts, actions=frozenset({"log", "push"})) for facts in (deploy, git)]
    ceiling = Ceiling("admin", capabilities=Capabilities(deny=("net",)))

    found = list(
        ceiling_findings(LintedProfile(Profile("p"), known, (ceiling,), (), lambda *path: ":".join(("p", *path))))
    )

    assert [(one.path, one.what.partition(":")[0]) for one in found] == [
        ("tools.deploy", "admin hides it from everyone"),
        ("tools.git", "admin closes an action of it"),
    ]


def test_an_action_that_the_profile_closes_itself_is_not_told() -> None:
    """A ceiling takes away only what was there."""
    profile = Profile("p", capabilities=Capabilities(deny=("net",)))
    known = ToolSignature(ToolFacts("git", capabilities={"push": frozenset({"net"}), "log": frozenset()}, safety="low"))

    ceiling = Ceiling("admin", capabilities=Capabilities(deny=("net",)))

    assert (
        list(ceiling_findings(LintedProfile(profile, (known,), (ceiling,), (), lambda *path: ":".join(("p", *path)))))
        == []
    )


@pytest.mark.parametrize(
    ("own", "above", "closed"),
    [
        pytest.param((), ("git:push",), {"push": "'git:push' (c:1:5)"}, id="one"),
        pytest.param((), ("x", "GIT:PUSH"), {"push": "'GIT:PUSH' (c:2:5)"}, id="without-case"),
        pytest.param((), ("cap:net",), {"push": "'cap:net' (c:1:5)"}, id="by-capability"),
        pytest.param((), ("git(action=p*)",), {"push": "'git(action=p*)' (c:1:5)"}, id="by-its-argument"),
        pytest.param(("git(action=push)",), ("git:push",), {}, id="closed-by-an-argument-of-the-profile"),
        pytest.param((), ("git(action=push, remote=x)",), {}, id="some-calls-by-arguments"),
        pytest.param((), ("git(action= push )", "*(action=push)"), {}, id="what-has-no-shorter-form"),
        pytest.param((), ("git:push(remote=x)",), {}, id="some-calls"),
        pytest.param(("git:p*",), ("git:push",), {}, id="closed-by-the-profile"),
        pytest.param((), ("git",), {}, id="all-of-the-tool"),
        pytest.param((), ("read_file",), {}, id="of-another"),
    ],
)
def test_actions_that_a_rule_of_a_ceiling_closes_are_told(own, above, closed) -> None:
    """A rule on one action leaves the tool in sight, as capabilities do."""
    facts = ToolFacts("git", capabilities={"push": frozenset({"net"}), "log": frozenset()}, safety="low")
    profile, ceiling = Profile("p", deny=rules("p", *own)), Ceiling("c.yaml", deny=rules("c", *above))
    known = ToolSignature(facts, actions=frozenset({"log", "push"}))

    found = list(
        ceiling_findings(LintedProfile(profile, (known,), (ceiling,), (), lambda *path: ":".join(("p", *path))))
    )

    said = [one for one in found if "closes" in one.what]
    assert said == [
        Finding(
            "ceiling",
            "p:tools:git",
            "tools.git",
            f"c.yaml closes an action of it: {by} denies every call of {action!r}.",
        )
        for action, by in closed.items()
    ]
