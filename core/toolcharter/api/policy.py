"""`ToolPolicy`: the typed settings of one tool, read from a profile, and helpers for its validators."""

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
# These variables change the meaning of a shell line, or what git, the loader and interpreters run.
# Source: bash(1), Shell Variables; ld.so(8), ENVIRONMENT; git(1), Environment Variables.
_RESERVED = (  # compiled when a tool first gives a program variables
    r"PATH|ENV|IFS|CDPATH|SHELLOPTS|POSIXLY_CORRECT|GLOBIGNORE|EXECIGNORE|PS[0-4]|PROMPT_COMMAND|HISTFILE|INPUTRC"
    r"|BASH.*|LD_.*|GIT_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|PYTHON.*|PYTEST_.*|PERL5.*|RUBY(?:OPT|LIB)"
    r"|NODE_(?:OPTIONS|PATH)|TAR_OPTIONS|TAPE|RIPGREP_CONFIG_PATH|AWKPATH|AWKLIBPATH|LESS.*|MAN.*|.*PAGER|.*EDITOR|VISUAL"
)


def require_finite(value: Any) -> None:
    """Raise if *value* is or contains, at any depth, a number that is not finite.

    Such a number cannot serve as a limit, because comparisons with it mislead, and it becomes null in JSON.

    Raises:
        ValueError: The text names the place: `limits.0: nan is no finite number`.
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
    """Where the programs of a tool run, as far as the profile alone determines it."""

    runner: str
    """The name of the runner; `host` for a bounded tool where the profile names none."""
    network: Literal["open", "on_request", "closed"]
    """Which programs reach the network: all programs; only those that a tool starts with `network=True`; none."""


class ToolPolicy(BaseModel):
    """The base class of every tool's policy: frozen, read as strict JSON, without unknown keys.

    Subclass it with one field per setting; each default must permit the least. The docstring
    below a field is its description.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True, defer_build=True)

    @classmethod
    def from_profile(cls, values: dict[str, Any]) -> Self:
        """Validate *values*, the tool's settings in a profile.

        Lists become tuples, and text becomes enums and paths; the text `"5"` is no number.

        Raises:
            pydantic.ValidationError: One entry per fault, with its location.
            ValueError: A number is not finite.
        """
        require_finite(values)
        return cls.model_validate_json(orjson.dumps(values), strict=True)

    def canonical(self) -> dict[str, Any]:
        """Return every field as JSON types, with sets in a fixed order, so that equal policies give equal JSON."""
        plain: dict[str, Any] = to_jsonable_python(_sort_sets(self.model_dump()))
        return plain

    def never_works(self, place: ProgramPlace) -> Iterable[str]:  # noqa: ARG002 - what each policy may look at
        """Sentences for `profiles --check` about permissions that have no effect, because programs run in *place*.

        Must be pure, and report only what is certain. By default it reports nothing.
        """
        return ()

    def keeps_state_in(self) -> Iterable[Path]:
        """Return absolute paths of files and folders that the plugin writes and later trusts, such as its records.

        If one of them lies in the workspace, where tools could write it, no toolbox is built. By default there are
        none.
        """
        return ()

    def takes_orders_from(self) -> Iterable[str]:
        """Return the files and folders from which the plugin reads instructions for later sessions.

        Paths are absolute or relative to the workspace. No tool of the profile, and no program in a sandbox, can change
        or create those that lie in the workspace. By default there are none.
        """
        return ()

    def delivers_on(self) -> Iterable["ChannelUrl"]:
        """Return the channels on which the tool may deliver messages.

        The gate loads their plugins, and `rt.channel` opens them. By default there are none.
        """
        return ()

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """Return the description of each field: its docstring, or the description of its `Field`."""
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


def _sort_sets(value: Any) -> Any:
    """Return *value* with its sets sorted, at any depth."""
    if isinstance(value, set | frozenset):
        return sorted((_sort_sets(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [_sort_sets(item) for item in value]
    return {key: _sort_sets(item) for key, item in value.items()} if isinstance(value, dict) else value


def field_docstrings(policy: type) -> dict[str, str]:
    """Return the docstrings below the fields in the source of *policy*, or of any class; none if there is no source.

    pydantic's `use_attribute_docstrings` does the same when a class is made, which takes half a
    millisecond for every class; this function does it only on request.
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
    """Raise for environment variables of a profile that would change the meaning of a line that the shell guard checks.

    Args:
        variables: Names, or names with their values.

    Raises:
        ValueError: A name is malformed or reserved, or a value contains NUL.
    """
    for name in variables:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if re.fullmatch(_RESERVED, name):
            raise ValueError(f"{name!r} would change the meaning of a line after it was checked")
    if isinstance(variables, Mapping) and any("\0" in value for value in variables.values()):
        raise ValueError("a value holds NUL")
