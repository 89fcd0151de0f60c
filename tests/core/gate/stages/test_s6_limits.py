"""Stage 6: rate limits, which count the calls that would run, among those of the caller at the top."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.core.gate.conftest import ECHO, spec_of, spec_with_runtime

from toolcharter.api.call import Caller
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
        assert refused.message == "calls_per_session is 1; no more in this session."

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
