"""`ExtensionSpec` and `Sink`: what a plugin provides apart from tools."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import Field

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import REASON
from toolcharter.errors import SpecError

CHECK_TIMEOUT_S = 10.0
"""The default time limit of an asynchronous check, in seconds."""


class ExtensionPolicy(ToolPolicy):
    """The base class of an extension's policy, its settings in a profile."""


class CheckPolicy(ExtensionPolicy):
    """The base class of the policy of an extension that implements `check_call`."""

    advisory: bool = False
    """Whether a call passes although the check raises, takes too long or gives an invalid answer. The event then has
    the fault `advisory_check_failed`. A denial by the check still denies the call."""
    timeout_s: float = Field(default=CHECK_TIMEOUT_S, gt=0, le=120)
    """How long an asynchronous check may take, in seconds, but never longer than the call's deadline."""


E = TypeVar("E", bound=ExtensionPolicy)


@dataclass(frozen=True)
class ExtensionSpec(Generic[E]):
    """An extension: its name in a profile, its policy, and the function that builds it.

    Raises:
        SpecError: It lists every contradiction.
    """

    name: str
    """As in `extensions:` of a profile; the name of the entry point."""
    policy: type[E]
    """The model of its settings."""
    build: Callable[[Path, E], Any]
    """`(workspace, policy) -> object`; the marked methods of that object implement hooks such as `check_call`."""
    reasons: type[StrEnum] | Collection[str] = ()
    """The reasons that its check gives, for the documentation and the `reasons` command; the README explains each."""

    def __post_init__(self) -> None:
        faults = list(_spec_faults(self))
        if faults:
            raise SpecError(f"ExtensionSpec {self.name!r}: " + "; ".join(faults))


class Sink(Protocol):
    """A destination of event lines."""

    def write(self, lines: bytes) -> None:
        """Write one or more whole JSON lines, each with a newline at its end, all of one call.

        Raises:
            OSError: The lines could not be written. The gate counts the loss, or denies the call
                if the profile says `events: {required: true}`.
        """

    def close(self) -> None:
        """Flush the lines and release the destination; called once."""


def _spec_faults(spec: ExtensionSpec[Any]) -> Iterator[str]:
    if not (isinstance(spec.name, str) and spec.name):
        yield "the name is no text"
    if not (isinstance(spec.policy, type) and issubclass(spec.policy, ExtensionPolicy)):
        yield f"policy is {spec.policy!r}, not a subclass of ExtensionPolicy"
    if not callable(spec.build):
        yield f"build is {spec.build!r}, not a function"
    if isinstance(spec.reasons, str) or not isinstance(spec.reasons, Collection):
        yield f"reasons is {spec.reasons!r}; write a set"
    else:
        wrong = [str(reason) for reason in spec.reasons if not REASON.fullmatch(str(reason))]
        yield from (f"the reason {reason!r} is no short lower-case word" for reason in wrong)
