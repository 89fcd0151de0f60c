"""`ToolPolicy`: the typed knobs of one tool, filled from a profile, and what its validators need."""

import math
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import orjson
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema, to_jsonable_python

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import ast
    import inspect
    import textwrap

    from toolcharter.api.channel import ChannelUrl
else:
    ast = lazy("ast")
    inspect = lazy("inspect")
    textwrap = lazy("textwrap")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# They change what a line means, or what git, the loader and interpreters run.
# Source: bash(1), Shell Variables; ld.so(8), ENVIRONMENT; git(1), Environment Variables.
_RESERVED = (  # compiled when a tool first gives a program variables
    r"PATH|ENV|IFS|CDPATH|SHELLOPTS|POSIXLY_CORRECT|GLOBIGNORE|EXECIGNORE|PS[0-4]|PROMPT_COMMAND|HISTFILE|INPUTRC"
    r"|BASH.*|LD_.*|GIT_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|PYTHON.*|PYTEST_.*|PERL5.*|RUBY(?:OPT|LIB)"
    r"|NODE_(?:OPTIONS|PATH)|TAR_OPTIONS|TAPE|RIPGREP_CONFIG_PATH|AWKPATH|AWKLIBPATH|LESS.*|MAN.*|.*PAGER|.*EDITOR|VISUAL"
)


def require_finite(value: Any) -> None:
    """Refuse *value* if a number in it is not finite; containers are looked through.

    What is not finite compares as no limit does, and becomes null in JSON.

    Raises:
        ValueError: It says where: `limits.0: nan is no finite number`.
    """
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, float):
            if not math.isfinite(found):
                raise ValueError(f"{place}: {found} is no finite number".removeprefix(": "))
        elif isinstance(found, Mapping):
            stack += [(f"{place}.{key}".removeprefix("."), item) for key, item in found.items()]
        elif isinstance(found, list | tuple | set | frozenset):
            stack += [(f"{place}.{number}".removeprefix("."), item) for number, item in enumerate(found)]


class ProgramPlace(NamedTuple):
    """Where a profile has the programs of a tool run, as far as the profile itself says it."""

    runner: str
    """The name of the runner; `host` for a bounded tool where the profile names none."""
    network: Literal["open", "on_request", "closed"]
    """Which programs reach the network: all; those that a tool starts with `network=True`; none."""


class ToolPolicy(BaseModel):
    """Base of every tool's policy: frozen, unknown keys refused, read as strict JSON.

    Subclass it with one field per knob; each default must let the least through. The docstring
    below a field is its description.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True, defer_build=True)

    @classmethod
    def from_profile(cls, values: dict[str, Any]) -> Self:
        """Validate *values* as they are written in a profile.

        Lists become tuples, text becomes enums and paths; the text `"5"` is no number.

        Raises:
            pydantic.ValidationError: One entry per fault, with its location.
            ValueError: A number is not finite.
        """
        require_finite(values)
        return cls.model_validate_json(orjson.dumps(values), strict=True)

    def canonical(self) -> dict[str, Any]:
        """Every field as JSON types, sets in a fixed order: equal policies give equal text."""
        plain: dict[str, Any] = to_jsonable_python(_ordered(self.model_dump()))
        return plain

    def never_works(self, place: ProgramPlace) -> Iterable[str]:  # noqa: ARG002 - what each policy may look at
        """What this policy grants in vain, because programs run in *place*: sentences for `profiles --check`.

        Pure, and only what is certain. By default nothing is.
        """
        return ()

    def keeps_state_in(self) -> Iterable[Path]:
        """The absolute files and folders that the plugin writes and later believes, such as a folder of records.

        No toolbox is built where one of them lies in the workspace, where tools could write it. By default there is none.
        """
        return ()

    def takes_orders_from(self) -> Iterable[str]:
        """The files and folders in which the plugin finds orders for later sessions, relative to the workspace or absolute.

        Those that lie in the workspace no tool of the profile changes or makes, and no program in a sandbox does. By default there
        are none.
        """
        return ()

    def delivers_on(self) -> Iterable["ChannelUrl"]:
        """The channels on which the tool may deliver messages: their plugins are loaded, and `rt.channel` opens them.

        By default there are none.
        """
        return ()

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """What each field is for: its docstring, or the description of its `Field`."""
        found = {name: field.description or "" for name, field in cls.model_fields.items()}
        for owner in reversed(cls.__mro__):
            if issubclass(owner, ToolPolicy) and owner is not ToolPolicy:
                found |= field_docstrings(owner)
        return {name: text for name, text in found.items() if text and name in cls.model_fields}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        written = handler.resolve_ref_schema(handler(schema))
        for name, text in cls.descriptions().items():
            if name in written.get("properties", {}):
                written["properties"][name].setdefault("description", text)
        return written


def _ordered(value: Any) -> Any:
    """*value* with its sets sorted, at any depth."""
    if isinstance(value, set | frozenset):
        return sorted((_ordered(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [_ordered(item) for item in value]
    return {key: _ordered(item) for key, item in value.items()} if isinstance(value, dict) else value


def field_docstrings(policy: type) -> dict[str, str]:
    """The texts below the fields in the source of *policy*, or of any class; none where there is no source.

    pydantic's `use_attribute_docstrings` does the same for every class when it is made, half a
    millisecond each; here it is done for who asks.
    """
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(policy))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError, SyntaxError):
        return {}
    texts = {}
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                texts[name] = inspect.cleandoc(words)
            case _:
                continue
    return texts


def check_variables(variables: Iterable[str] | Mapping[str, str]) -> None:
    """Refuse variables that would change what a judged line means, for a profile may hand them to programs.

    Args:
        variables: Names, or names with their values.

    Raises:
        ValueError: A name is none, or is reserved; a value holds NUL.
    """
    for name in variables:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if re.fullmatch(_RESERVED, name):
            raise ValueError(f"{name!r} would change what a line that was judged means")
    if isinstance(variables, Mapping) and any("\0" in value for value in variables.values()):
        raise ValueError("a value holds NUL")
