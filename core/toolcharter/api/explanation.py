"""Why a call would be decided as it is: every stage, what it looked at, what it said. Made by `Toolbox.explain`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolcharter.api.call import Decision, Stage, Verdict

StepVerdict = Literal["pass", Verdict, "unknown"]
"""`pass` hands the call on to the next stage; `unknown` was not asked, because a stage before it ends the call or
because a dry run cannot know."""


@dataclass(frozen=True, slots=True)
class RuleNote:
    """A rule, or an entry of `availability`, that has something to say of the call."""

    text: str
    """As written."""
    source: str
    """`file:line:column`."""
    said: str
    """What it does here, as a clause: `matches`, `covers the call`, `names it, but asks for other arguments`."""
    decides: bool = False
    """Whether its stage reports this one."""
    when: Mapping[str, Any] | None = None
    """Its condition: a JSON Schema for each argument."""


@dataclass(frozen=True, slots=True)
class CommandNote:
    """One command of the call, as the shell guard reads it."""

    form: str
    """Its normal form, which rules see."""
    within: tuple[str, ...] = ()
    """What it is part of, outermost first: `loop`, `substitution`, the command that starts it."""
    needs: tuple[str, ...] = ()
    """What an allow rule has to mention besides matching, and why."""
    confined: tuple[str, ...] = ()
    """The paths that have to lie in the workspace when it runs."""
    is_known: bool = True
    """Whether there is a table of its program."""
    said: str = ""
    """What rules make of it, as a clause."""
    decides: bool = False
    """Whether the call is refused, or needs a person, because of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a decision."""

    stage: Stage
    looked_at: str
    verdict: StepVerdict
    decision: Decision | None = None
    """What it says; None if it has nothing to say."""
    decides: bool = False
    """Whether the call's decision is this one; those after it give what later stages would have said."""
    rules: tuple[RuleNote, ...] = ()
    """In the order in which they are reported; those that do not decide have lost."""
    changes: tuple[str, ...] = ()
    """What would have to change for another outcome of this stage; all of it, unless one says `or`."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one call would be decided as it is. Scrubbed of secrets; for people who write profiles, not for models."""

    tool: str
    """The canonical name; the given one if the profile has no such tool."""
    action: str | None
    args: Mapping[str, Any]
    """As rules see them: canonical names, defaults filled in; as given, if they are not valid."""
    commands: tuple[str, ...]
    """What the call would run, each command in normal form."""
    profile: str
    profile_digest: str
    decision: Decision
    """The same as `Toolbox.decide` gives."""
    steps: tuple[Step, ...]
    """In the order of the gate; exactly one of them decides."""
    parse: tuple[CommandNote, ...] = ()
    """The same commands, each with what is known of it."""
    hidden: Decision | None = None
    """Why the tool is not listed for this caller; None if it is."""

    def plain(self) -> dict[str, Any]:
        """The same as a dictionary of JSON types."""
        return asdict(self)
