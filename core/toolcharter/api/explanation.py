"""The explanation of a decision: what each stage examined, and what it answered. Made by `Toolbox.explain`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolcharter.api.call import Decision, Stage, Verdict

StepVerdict = Literal["pass", Verdict, "unknown"]
"""`pass` lets the call continue to the next stage. `unknown` means that the stage was not evaluated, because an earlier
stage ends the call or because a dry run cannot know."""


@dataclass(frozen=True, slots=True)
class RuleNote:
    """A rule, or an entry of `availability`, that concerns the call."""

    text: str
    """The rule as written."""
    source: str
    """`file:line:column`."""
    said: str
    """Its effect on this call, as a clause: `matches`, `covers the call`, `names it, but asks for other arguments`."""
    decides: bool = False
    """Whether this is the rule that its stage reports."""
    when: Mapping[str, Any] | None = None
    """Its condition: a JSON Schema for each argument."""


@dataclass(frozen=True, slots=True)
class CommandNote:
    """One command of the call, as the shell guard reads it."""

    form: str
    """Its normal form, which rules see."""
    within: tuple[str, ...] = ()
    """The constructs that contain it, outermost first: `loop`, `substitution`, the command that starts it."""
    needs: tuple[str, ...] = ()
    """The words that an allow rule must mention, in addition to matching, each with the reason."""
    confined: tuple[str, ...] = ()
    """The paths that must lie in the workspace when it runs."""
    is_known: bool = True
    """Whether there is a table of its program."""
    said: str = ""
    """The verdict of the rules on it, as a clause."""
    decides: bool = False
    """Whether the call is refused, or needs a person, because of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a decision."""

    stage: Stage
    looked_at: str
    verdict: StepVerdict
    decision: Decision | None = None
    """The stage's own decision; None if the stage passes the call on."""
    decides: bool = False
    """Whether this step is the call's decision; the steps after it show what later stages would have decided."""
    rules: tuple[RuleNote, ...] = ()
    """In the order in which they are reported; the rules that do not decide were overruled."""
    changes: tuple[str, ...] = ()
    """Changes that would give this stage another outcome: all of them together, unless an entry says `or`."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the gate decides one call as it does. Scrubbed of secrets; for authors of profiles, not for models."""

    tool: str
    """The canonical name; the given one if the profile has no such tool."""
    action: str | None
    args: Mapping[str, Any]
    """As rules see them: canonical names, with defaults; as given, if they are not valid."""
    commands: tuple[str, ...]
    """The commands that the call would run, in normal form."""
    profile: str
    profile_digest: str
    decision: Decision
    """What `Toolbox.decide` returns for the same call."""
    steps: tuple[Step, ...]
    """In the order of the gate; exactly one of them decides."""
    parse: tuple[CommandNote, ...] = ()
    """The same commands, each with what the shell guard knows about it."""
    hidden: Decision | None = None
    """Why the tool is not listed for this caller; None if it is."""

    def plain(self) -> dict[str, Any]:
        """Return the explanation as a dictionary of JSON types."""
        return asdict(self)
