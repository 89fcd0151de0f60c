"""`ToolPolicy`: the typed knobs of one tool, filled from a profile."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import orjson
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema, to_jsonable_python

from toolcharter._lazy import lazy
from toolcharter.api.numbers import require_finite

if TYPE_CHECKING:
    import ast
    import inspect
    import textwrap
else:
    ast = lazy("ast")
    inspect = lazy("inspect")
    textwrap = lazy("textwrap")


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

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

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

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """What each field is for: its docstring, or the description of its `Field`."""
        found = {name: field.description or "" for name, field in cls.model_fields.items()}
        for owner in reversed(cls.__mro__):
            if issubclass(owner, ToolPolicy) and owner is not ToolPolicy:
                found |= _docstrings(owner)
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


def _docstrings(policy: type) -> dict[str, str]:
    """The texts below the fields in the source of *policy*; none where there is no source.

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
