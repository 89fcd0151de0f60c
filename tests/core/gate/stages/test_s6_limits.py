"""Stage 6: rate limits, which count the calls that would run, among those of the caller at the top."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.gate.conftest import ECHO, spec_of, spec_with_runtime

from toolcharter.api.call import Caller
from toolcharter.gate.call import CallContext
from toolcharter.gate.stages.s6_limits import rate_keys_of, refuse_if_limited
from toolcharter.guards.rates.answers import Answer, RateKeys, Refused, Unavailable
from toolcharter.profile.settings import (
    Rate,
    Rates,
)


class TestRates:
    def test_a_call_counts_when_it_enters_its_tool(self, make_toolbox, events) -> None:
        """What the gate refuses takes no token; what fails in its body does."""

        def fails() -> str:
            raise ValueError("boom")

        toolbox = make_toolbox(spec_of(fails), ECHO, deny=["echo(word=no)"], rates=Rates(Rate(calls_per_hour=2)))

        outcomes = [
            toolbox.call("echo", {"word": "no"}).reason,
            toolbox.call("fails", {}).reason,
            toolbox.decide("echo", {}).outcome,
            toolbox.call("echo", {}).outcome,
        ]
        refused = toolbox.call("echo", {})

        assert outcomes == ["denied_by_rule", "unexpected_failure", "allow", "ok"]
        assert (refused.reason, refused.retryable, events[-1]["stage"]) == ("rate_limited", True, "limit")
        assert refused.message is not None
        assert "try again in" in refused.message

    def test_a_session_that_is_used_up_is_not_worth_another_try(self, make_toolbox) -> None:
        """Waiting helps against every limit but the session's; `retryable` says which it was."""
        toolbox = make_toolbox(ECHO, rates=Rates(Rate(calls_per_session=1)))
        toolbox.call("echo", {})

        refused = toolbox.call("echo", {})

        assert (refused.reason, refused.retryable) == ("rate_limited", False)
        assert refused.message == "calls_per_session is 1; no more calls in this session."

    def test_subagents_called_from_a_body_count_for_their_parent(self, make_toolbox) -> None:
        """A call below a call has the keys of the caller at the top, whatever it calls itself."""

        def outer(rt: Any) -> Callable[[], str]:
            return lambda: rt.call("echo", {}).outcome

        toolbox = make_toolbox(
            spec_with_runtime(outer), ECHO, rates=Rates(tools={"echo": Rate(calls_per_session=1)}, per="session")
        )
        view = toolbox.for_caller(Caller(session="s"))

        assert (view.call("outer", {}).text, view.call("echo", {}).reason) == ("ok", "rate_limited")

    def test_asynchronous_calls_are_limited_too(self, make_toolbox) -> None:
        """The same limit, awaited."""
        toolbox = make_toolbox(ECHO, rates=Rates(Rate(calls_per_minute=1)))

        async def twice() -> list[str]:
            return [(await toolbox.acall("echo", {})).outcome for _ in range(2)]

        assert asyncio.run(twice()) == ["ok", "denied"]


@pytest.mark.parametrize(
    ("caller", "keys"),
    [
        pytest.param(Caller(agent="a", session="s"), RateKeys("s", "a"), id="both"),
        pytest.param(Caller(agent="a"), RateKeys("a", "a"), id="an agent without a session"),
        pytest.param(Caller(session="s"), RateKeys("s", "s"), id="a session without an agent"),
        pytest.param(Caller(), RateKeys("-", "-"), id="neither"),
        pytest.param(Caller(agent="a", session="s", tenant="t"), RateKeys("[1:t]s", "[1:t]a"), id="a tenant's"),
        pytest.param(
            Caller(session="[1:t]s"), RateKeys("[0:][1:t]s", "[0:][1:t]s"), id="one that looks like a tenant's"
        ),
        pytest.param(
            Caller(tenant="1:t]"), RateKeys("[4:1:t]]-", "[4:1:t]]-"), id="a tenant that looks like another's"
        ),
    ],
)
def test_every_caller_is_counted(caller: Caller, keys: RateKeys) -> None:
    """Those that name neither session nor agent are counted together, never not at all."""
    assert rate_keys_of(caller) == keys


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        pytest.param(None, (None, None, None, False), id="there is room"),
        pytest.param(Refused("l", 3.0, "Wait."), ("denied", "rate_limited", "Wait.", False), id="room later"),
        pytest.param(Refused("l", None, "No more."), ("denied", "rate_limited", "No more.", True), id="never again"),
        pytest.param(Unavailable("Gone."), ("denied", "rate_limited", "Gone.", False), id="no counts"),
    ],
)
def test_an_answer_without_room_refuses(answer: Answer | None, ended: tuple[object, ...]) -> None:
    """`is_final` says that waiting does not help."""
    ctx = CallContext("echo", Caller(), "call-1", 0.0, 1.0)

    refuse_if_limited(ctx, answer)

    assert (ctx.outcome, ctx.reason, ctx.message, ctx.is_final) == ended
    assert ctx.stage == (None if answer is None else "limit")
