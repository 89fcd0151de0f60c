"""`Limit`: one number of a profile or a ceiling, and which calls it is about."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Literal

from toolcharter.profile.globs import Glob, parse_glob
from toolcharter.profile.names import same_tool
from toolcharter.profile.settings import Rate, Rates

SESSION_IDLE_S = 7 * 86_400.0
"""A session that has called nothing for so long is over, and its count may be dropped; in seconds."""

_WINDOWS_S = {"calls_per_minute": 60.0, "calls_per_hour": 3600.0, "calls_per_session": inf}


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `number` calls in any `window_s`, counted apart for each session or agent."""

    name: str
    """The key of the profile, such as `calls_per_minute`."""
    number: int
    whose: Literal["session", "agent"]
    store: str | None = None
    """The URL of the Redis that counts; None counts in this process."""
    tool: str | None = None
    """The tool that it is about, in lower case; None is every tool."""
    agent: Glob | None = None
    """The agents that it is about, which share one count: a new name gives no new room."""

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
        """Whether calls of *tool*, in lower case, by *agent* count; no pattern matches an agent without a name."""
        if self.agent is not None:
            return agent is not None and self.agent.matches(agent)
        return self.tool in {None, tool}


def limits_of(rates: Iterable[Rates], aliases: Mapping[str, str] = MappingProxyType({})) -> list[Limit]:
    """All limits of *rates*; of several for the same calls and counts the smallest, which alone can refuse.

    Args:
        rates: Of the profile and of each ceiling, in any order.
        aliases: Other names of tools; a limit that is written for one holds for its tool.

    Raises:
        GlobError: The pattern of an agent cannot be read.
    """
    smallest: dict[tuple[object, ...], Limit] = {}
    canonical = {same_tool(alias): same_tool(name) for alias, name in aliases.items()}
    for limit in (limit for one in rates for limit in _limits(one, canonical)):
        same = (limit.name, limit.whose, limit.store, limit.tool, limit.agent)
        if same not in smallest or limit.number < smallest[same].number:
            smallest[same] = limit
    return list(smallest.values())


def _limits(rates: Rates, canonical: Mapping[str, str]) -> Iterator[Limit]:
    yield from _of_rate(rates.total, rates)
    for tool, rate in rates.tools.items():
        name = same_tool(tool)
        yield from _of_rate(rate, rates, tool=canonical.get(name, name))
    for pattern, rate in rates.agents.items():
        yield from _of_rate(rate, rates, agent=parse_glob(pattern))


def _of_rate(rate: Rate, rates: Rates, tool: str | None = None, agent: Glob | None = None) -> Iterator[Limit]:
    for name, number in rate._asdict().items():
        if number is not None:
            # A session's count is the session's, however the others are kept.
            whose = "session" if name == "calls_per_session" else rates.per
            yield Limit(name, number, whose, rates.store, tool, agent)
