"""`Limit`: one rate limit of a profile or a ceiling, and the calls to which it applies."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Literal

from toolcharter.profile.globs import Glob, parse_glob
from toolcharter.profile.names import fold_tool_name
from toolcharter.profile.settings import Rate, Rates

SESSION_IDLE_S = 7 * 86_400.0
"""A session without a call for this long, in seconds, is over, and its count may be dropped."""

_WINDOWS_S = {"calls_per_minute": 60.0, "calls_per_hour": 3600.0, "calls_per_session": inf}


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `number` calls in any `window_s`, counted separately for each session or agent."""

    name: str
    """The key of the profile, such as `calls_per_minute`."""
    number: int
    whose: Literal["session", "agent"]
    store: str | None = None
    """The URL of the Redis that counts; None if this process counts."""
    tool: str | None = None
    """The tool to which it applies, in lower case; None for every tool."""
    agent: Glob | None = None
    """The agents to which it applies. They share one count, so a new name does not get a new one."""

    @property
    def window_s(self) -> float:
        """The length of the window in seconds; `inf` for a session."""
        return _WINDOWS_S[self.name]

    @property
    def text(self) -> str:
        """The limit in short: `calls_per_minute 10 for bash`."""
        if self.agent is not None:
            return f"{self.name} {self.number} for agent {self.agent.text}"
        return f"{self.name} {self.number}{f' for {self.tool}' if self.tool else ''}"

    @property
    def sentence(self) -> str:
        """The limit as the beginning of a sentence."""
        if self.agent is not None:
            return f"{self.name} is {self.number} for agents {self.agent.text!r}"
        return f"{self.name} is {self.number}{f' for {self.tool!r}' if self.tool else ''}"

    def concerns(self, tool: str, agent: str | None) -> bool:
        """Whether calls of *tool*, in lower case, by *agent* count. No pattern matches an agent without a name."""
        if self.agent is not None:
            return agent is not None and self.agent.matches(agent)
        return self.tool in {None, tool}


def compile_limits(rates: Iterable[Rates], aliases: Mapping[str, str] = MappingProxyType({})) -> list[Limit]:
    """Return all limits of *rates*. Of several limits for the same calls and counts, only the smallest is needed.

    Args:
        rates: The limits of the profile and of each ceiling, in any order.
        aliases: Other names of tools. A limit that is written for an alias applies to its tool.

    Raises:
        GlobError: The pattern of an agent cannot be parsed.
    """
    smallest: dict[tuple[object, ...], Limit] = {}
    canonical = {fold_tool_name(alias): fold_tool_name(name) for alias, name in aliases.items()}
    for limit in (limit for one in rates for limit in _limits(one, canonical)):
        same = (limit.name, limit.whose, limit.store, limit.tool, limit.agent)
        if same not in smallest or limit.number < smallest[same].number:
            smallest[same] = limit
    return list(smallest.values())


def _limits(rates: Rates, canonical: Mapping[str, str]) -> Iterator[Limit]:
    yield from _of_rate(rates.total, rates)
    for tool, rate in rates.tools.items():
        name = fold_tool_name(tool)
        yield from _of_rate(rate, rates, tool=canonical.get(name, name))
    for pattern, rate in rates.agents.items():
        yield from _of_rate(rate, rates, agent=parse_glob(pattern))


def _of_rate(rate: Rate, rates: Rates, tool: str | None = None, agent: Glob | None = None) -> Iterator[Limit]:
    for name, number in rate._asdict().items():
        if number is not None:
            # A limit per session is always counted for the session, whatever `per` says.
            whose = "session" if name == "calls_per_session" else rates.per
            yield Limit(name, number, whose, rates.store, tool, agent)
