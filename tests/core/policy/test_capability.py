"""What tools may touch, and how much harm they may do: what is not declared counts as everything."""

import pytest
from tests.rows import each_row

from toolcharter.api.call import Decision
from toolcharter.policy.capability import CapabilityLimits, compile_limit, safety_of
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.settings import Capabilities

BOTH = frozenset({"fs:read", "net"})


@each_row(
    ("written", "declared", "refused"),
    [
        pytest.param(Capabilities(), None, [], id="no restriction, undeclared"),
        pytest.param(Capabilities(), BOTH, [], id="no restriction"),
        pytest.param(Capabilities(("fs:read", "net")), BOTH, [], id="all allowed"),
        pytest.param(Capabilities(("net",)), BOTH, ["fs:read"], id="one missing"),
        pytest.param(Capabilities(("fs:*",)), BOTH, ["net"], id="glob"),
        pytest.param(Capabilities(("FS:*", "net")), BOTH, ["fs:read"], id="case differs"),
        pytest.param(Capabilities(()), BOTH, ["fs:read", "net"], id="nothing allowed, sorted"),
        pytest.param(Capabilities(()), frozenset("hgfedcba"), list("abcdefgh"), id="many, sorted"),
        pytest.param(Capabilities(()), frozenset(), [], id="nothing allowed, touches nothing"),
        pytest.param(Capabilities(()), None, ["*"], id="nothing allowed, undeclared"),
        pytest.param(Capabilities(("*",)), None, [], id="all allowed, undeclared"),
        pytest.param(Capabilities(("net", "**")), None, [], id="all allowed among others, undeclared"),
        pytest.param(Capabilities(("*:*", "net*", "*t")), None, ["*"], id="less than all, undeclared"),
        pytest.param(Capabilities(None, ("net",)), BOTH, ["net"], id="denied"),
        pytest.param(Capabilities(None, ("n*", "x")), BOTH, ["net"], id="denied by a glob"),
        pytest.param(Capabilities(None, ("x",)), BOTH, [], id="another denied"),
        pytest.param(Capabilities(None, ("x",)), None, ["*"], id="another denied, undeclared"),
        pytest.param(Capabilities(("*",), ("net",)), BOTH, ["net"], id="denied wins over allowed"),
        pytest.param(Capabilities(("*",), ("x",)), None, ["*"], id="all but one, undeclared"),
    ],
)
def test_a_bound_must_hold_all_that_is_declared(written, declared, refused) -> None:
    """An action that declares nothing counts as declaring everything."""
    assert compile_limit("profile", written).find_refused(declared) == refused


DECLARED = ToolFacts("git", capabilities={"push": BOTH, "log": frozenset({"fs:read"})}, safety="medium")


def denial(reason: str, message: str) -> Decision:
    return Decision("deny", "capability", reason, message)


@each_row(
    ("bounds", "action", "decision"),
    [
        pytest.param([], "push", None, id="none"),
        pytest.param([Capabilities(("fs:*",))], "log", None, id="passes"),
        pytest.param(
            [Capabilities(())],
            "push",
            denial("capability_not_allowed", "The action 'push' needs fs:read, net, which is not permitted."),
            id="action",
        ),
        pytest.param(
            [Capabilities(("x",))],
            None,
            denial(
                "capability_not_allowed",
                "The tool does not declare what it touches, and not everything is permitted.",
            ),
            id="undeclared",
        ),
        pytest.param(
            [Capabilities(("*",)), Capabilities(None, ("net",))],
            "push",
            denial("capability_not_allowed", "The action 'push' needs net, which is not permitted."),
            id="each has to be passed",
        ),
        pytest.param([Capabilities(max_safety="medium")], "log", None, id="at the level"),
        pytest.param([Capabilities(max_safety="high")], "log", None, id="below the level"),
        pytest.param(
            [Capabilities(max_safety="low")],
            "log",
            denial("safety_too_high", "The call counts as 'medium', and no more than 'low' is permitted."),
            id="above the level",
        ),
        pytest.param(
            [Capabilities(max_safety="high"), Capabilities(max_safety="low"), Capabilities(max_safety="medium")],
            "log",
            denial("safety_too_high", "The call counts as 'medium', and no more than 'low' is permitted."),
            id="the strictest counts",
        ),
        pytest.param(
            [Capabilities(max_safety="medium")],
            "new",
            denial("safety_too_high", "The call counts as 'high', and no more than 'medium' is permitted."),
            id="undeclared is the highest",
        ),
        pytest.param(
            [Capabilities(max_safety="low"), Capabilities(())],
            "log",
            denial("capability_not_allowed", "The action 'log' needs fs:read, which is not permitted."),
            id="capabilities before safety",
        ),
    ],
)
def test_a_call_must_pass_every_bound(bounds, action, decision) -> None:
    """The profile's and each ceiling's."""
    assert (
        CapabilityLimits([compile_limit(str(number), one) for number, one in enumerate(bounds)]).refuse(
            DECLARED, action
        )
        == decision
    )


def test_the_tool_itself_is_named_where_there_is_no_action() -> None:
    """A message names what would have to be permitted."""
    facts = ToolFacts("read_file", capabilities=BOTH, safety="low")

    refused = CapabilityLimits([compile_limit("profile", Capabilities(()))]).refuse(facts, None)

    assert refused == denial("capability_not_allowed", "The tool needs fs:read, net, which is not permitted.")


@each_row(
    ("written", "is_open"),
    [
        pytest.param(Capabilities(), True, id="silent"),
        pytest.param(Capabilities(()), False, id="allow"),
        pytest.param(Capabilities(("*",)), False, id="all"),
        pytest.param(Capabilities(None, ("x",)), False, id="deny"),
        pytest.param(Capabilities(max_safety="high"), False, id="safety"),
    ],
)
def test_bounds_that_say_nothing_are_left_out(written, is_open) -> None:
    """Most profiles have none, and their calls look at none."""
    bounds = CapabilityLimits([compile_limit("profile", written), compile_limit("ceiling", Capabilities())])

    assert bounds.is_open is is_open
    assert [one.source for one in bounds.limits] == ([] if is_open else ["profile"])


@pytest.mark.parametrize(("action", "level"), [("push", "medium"), ("new", "high"), (None, "high")])
def test_what_declares_no_capabilities_counts_as_the_highest_level(action, level) -> None:
    """Whatever the spec says of the tool's safety."""
    assert safety_of(DECLARED, action) == level
