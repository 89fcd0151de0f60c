"""A2UI: parse and check lines of JSON that describe surfaces, and render them as HTML without scripts. Pure.

Source: A2UI v0.8, https://a2ui.org/specification/v0.8-a2ui/: `surfaceUpdate`, `dataModelUpdate`, `beginRendering`,
`deleteSurface`, and the components of its standard catalog.
"""

import json
from collections.abc import Iterator
from html import escape
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from toolcharter import ToolError
from toolcharter_browser.canvas_policy import CanvasPolicy, CanvasReason

COMPONENTS = frozenset({
    "AudioPlayer", "Button", "Card", "CheckBox", "Column", "DateTimeInput", "Divider", "Icon", "Image", "List", "Modal",
    "MultipleChoice", "Row", "Slider", "Tabs", "Text", "TextField", "Video",
})  # fmt: skip
MAX_DEPTH = 20
"""How deep components may be nested in the HTML, and values in the JSON."""
MAX_SHOWN = 2_000
"""How many components one surface shows. A component is counted each time it is shown in another one."""
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5"})
Identifier = Annotated[str, Field(min_length=1, max_length=128)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Component(_Part):
    """A component: its identifier, its kind and its properties."""

    id: Identifier
    weight: float | None = None
    component: dict[str, dict[str, Any]]

    @model_validator(mode="after")
    def _is_known(self) -> "Component":
        if len(self.component) != 1 or not COMPONENTS.issuperset(self.component):
            raise ValueError("a component must be exactly one of the standard catalog")
        return self

    @property
    def kind(self) -> str:
        """The component's name in the catalog."""
        return next(iter(self.component))


class SurfaceUpdate(_Part):
    """Components that are added to a surface, or replace those with the same identifiers."""

    surfaceId: Identifier  # noqa: N815 - as the format has it
    components: list[Component]


class Entry(_Part):
    """An entry of the data model; only the first given `value...` field counts."""

    key: Identifier
    valueString: str | None = None  # noqa: N815 - as the format has it
    valueNumber: float | None = None  # noqa: N815
    valueBoolean: bool | None = None  # noqa: N815
    valueMap: "list[Entry] | None" = None  # noqa: N815

    def value(self) -> Any:
        """Return the value of the entry."""
        if self.valueMap is not None:
            return {entry.key: entry.value() for entry in self.valueMap}
        given = (self.valueString, self.valueNumber, self.valueBoolean)
        return next((one for one in given if one is not None), None)


class DataModelUpdate(_Part):
    """Values for the data model of a surface."""

    surfaceId: Identifier  # noqa: N815 - as the format has it
    path: Annotated[str, Field(max_length=500)] | None = None
    contents: list[Entry]


class BeginRendering(_Part):
    """The message that shows a surface, beginning with the component *root*."""

    surfaceId: Identifier  # noqa: N815 - as the format has it
    root: Identifier
    catalogId: Annotated[str, Field(max_length=500)] | None = None  # noqa: N815
    styles: dict[Literal["font", "primaryColor"], Annotated[str, Field(max_length=100)]] | None = None


class DeleteSurface(_Part):
    """The message that deletes a surface."""

    surfaceId: Identifier  # noqa: N815 - as the format has it


class Message(_Part):
    """One line of A2UI: exactly one of four kinds of messages."""

    surfaceUpdate: SurfaceUpdate | None = None  # noqa: N815 - as the format has it
    dataModelUpdate: DataModelUpdate | None = None  # noqa: N815
    beginRendering: BeginRendering | None = None  # noqa: N815
    deleteSurface: DeleteSurface | None = None  # noqa: N815

    @model_validator(mode="after")
    def _is_one(self) -> "Message":
        if len(self.model_fields_set) != 1 or self.body is None:
            raise ValueError("a line must hold exactly one message")
        return self

    @property
    def body(self) -> SurfaceUpdate | DataModelUpdate | BeginRendering | DeleteSurface | None:
        """The one message that the line holds."""
        return self.surfaceUpdate or self.dataModelUpdate or self.beginRendering or self.deleteSurface


def read_lines(text: str, policy: CanvasPolicy) -> list[Message]:
    """Parse the messages of *text*. A fault in one line refuses all of them.

    Raises:
        ToolError: `invalid_a2ui` or `too_large`, with the number of the first faulty line.
    """
    lines = text.split("\n")
    if len(lines) > policy.max_lines:
        raise ToolError(f"There are more than {policy.max_lines} lines.", reason=CanvasReason.TOO_LARGE)
    messages = []
    for number, line in enumerate(lines, 1):
        if len(line.encode(errors="replace")) > policy.max_line_bytes:
            raise ToolError(
                f"Line {number} has more than {policy.max_line_bytes} bytes.", reason=CanvasReason.TOO_LARGE
            )
        if line.strip():
            messages.append(_message(line, number))
    if not messages:
        raise ToolError("There is no line of A2UI.", reason=CanvasReason.INVALID_A2UI)
    return messages


def _message(line: str, number: int) -> Message:
    try:
        value = json.loads(line)
        if _depth(value) > MAX_DEPTH:
            raise ToolError(f"Line {number} is nested too deep.", reason=CanvasReason.INVALID_A2UI)
        return Message.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        what = f"Line {number} is not a message of A2UI 0.8: {place or 'message'}: {first['msg'][:200]}."
        raise ToolError(what, reason=CanvasReason.INVALID_A2UI) from None
    except (ValueError, RecursionError):
        raise ToolError(f"Line {number} is not JSON.", reason=CanvasReason.INVALID_A2UI) from None


def _depth(value: Any) -> int:
    """How deep *value* is nested; `MAX_DEPTH` + 1 if it is deeper than that."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return depth


class Surface:
    """The state of one surface after its messages."""

    def __init__(self) -> None:
        self.components: dict[str, Component] = {}
        self.data: dict[str, Any] = {}
        self.root: str | None = None

    def html(self) -> str:
        """Return the surface as HTML; empty before its `beginRendering`."""
        if self.root is None:
            return ""
        return "".join(_Renderer(self).component(self.root, 0))


def surfaces_of(messages: list[Message]) -> dict[str, Surface]:
    """Apply *messages* in order, and return the surfaces by their identifiers."""
    surfaces: dict[str, Surface] = {}
    for message in messages:
        body = message.body
        if isinstance(body, DeleteSurface):
            surfaces.pop(body.surfaceId, None)
            continue
        if body is None:
            continue
        surface = surfaces.setdefault(body.surfaceId, Surface())
        if isinstance(body, SurfaceUpdate):
            surface.components |= {one.id: one for one in body.components}
        elif isinstance(body, BeginRendering):
            surface.root = body.root
        else:
            _ensure_object(surface.data, body.path or "").update({entry.key: entry.value() for entry in body.contents})
    return surfaces


def _ensure_object(data: dict[str, Any], path: str) -> dict[str, Any]:
    """The object at *path*; made if it is missing."""
    for step in filter(None, path.split("/")):
        found = data.get(step)
        if not isinstance(found, dict):
            found = data[step] = {}
        data = found
    return data


class _Renderer:
    """One walk through the components of a surface."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._left = MAX_SHOWN

    def component(self, name: str, depth: int) -> Iterator[str]:
        """Yield the HTML of the component *name* and its children; nothing if it is missing or a limit is reached."""
        found = self._surface.components.get(name)
        self._left -= 1
        if found is None or depth > MAX_DEPTH or self._left < 0:
            return
        kind, given = found.kind, found.component[found.kind]
        text = self._text(given)
        if kind == "Text":
            hint = given.get("usageHint")
            tag = hint if isinstance(hint, str) and hint in _HEADINGS else "p"
            yield f"<{tag}>{text}</{tag}>"
            return
        if kind == "Divider":
            yield "<hr>"
            return
        yield f'<div class="{kind}">{text}'
        for child in _children(given):
            yield from self.component(child, depth + 1)
        yield "</div>"

    def _text(self, given: dict[str, Any]) -> str:
        """The text of a component, with HTML escaped."""
        told = (self._value(given.get(name)) for name in ("text", "label", "title", "name", "url", "value"))
        return escape(" ".join(str(one) for one in told if isinstance(one, str | int | float)))

    def _value(self, bound: Any) -> Any:
        if not isinstance(bound, dict):
            return bound
        path = bound.get("path")
        if isinstance(path, str):
            value: Any = self._surface.data
            for step in filter(None, path.split("/")):
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None:
                return value
        return next((bound[key] for key in ("literalString", "literalNumber", "literalBoolean") if key in bound), None)


def _children(given: dict[str, Any]) -> Iterator[str]:
    """Yield the identifiers of a component's children."""
    children = given.get("children")
    listed = children.get("explicitList") if isinstance(children, dict) else None
    tabs = given.get("tabItems")
    several = [
        *(given.get(name) for name in ("child", "entryPointChild", "contentChild")),
        *(listed if isinstance(listed, list) else ()),
        *(one.get("child") for one in (tabs if isinstance(tabs, list) else ()) if isinstance(one, dict)),
    ]
    yield from (one for one in several if isinstance(one, str))


def size_of(messages: list[Message]) -> int:
    """Return how many components and values *messages* have; each message counts as at least one."""
    return sum(max(1, _count(message)) for message in messages)


def _count(message: Message) -> int:
    if message.surfaceUpdate is not None:
        return len(message.surfaceUpdate.components)
    return len(message.dataModelUpdate.contents) if message.dataModelUpdate is not None else 1
