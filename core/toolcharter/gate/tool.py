"""`Tool`: one tool as a host sees it. Calling it is calling through the gate."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from toolcharter.gate.lazily import acall
from toolcharter.gate.passage import Passage
from toolcharter.spec.call import ToolResult


class Tool:
    """One tool of a toolbox, for one caller."""

    __slots__ = ("_passage",)

    def __init__(self, passage: Passage) -> None:
        self._passage = passage

    @property
    def name(self) -> str:
        """The canonical name."""
        return self._passage.tool.spec.name

    @property
    def description(self) -> str:
        """For the model: the spec's, or the function's docstring without its sections."""
        tool = self._passage.tool
        return tool.spec.description or tool.function.description

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments, as this profile advertises them; validation may be wider."""
        tool = self._passage.tool
        schema = deepcopy(tool.reader.schema)  # what a host does to it stays with that host
        return tool.spec.advertise(tool.policy, schema) if tool.spec.advertise else schema

    @property
    def argument_aliases(self) -> Mapping[str, str]:
        """Other names of arguments: `{alias: argument}`."""
        return self._passage.tool.spec.argument_aliases

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the result's `data`, if the tool declares it."""
        from toolcharter.gate.output_schema import output_schema  # noqa: PLC0415 - only who lists tools needs it

        return output_schema(self._passage.tool.spec, self._passage.tool.function)

    @property
    def capabilities(self) -> frozenset[str] | None:
        """What the tool may touch, all actions together; None if it does not declare it."""
        return self._passage.tool.spec.all_capabilities()

    @property
    def safety(self) -> str:
        """`low`, `medium` or `high`."""
        return self._passage.tool.spec.safety

    @property
    def kind(self) -> str:
        """`builtin`, `bash`, `cli`, `mcp` or `custom`."""
        return self._passage.tool.spec.kind

    def __call__(self, /, **args: Any) -> ToolResult:
        """Call the tool, governed."""
        return self._passage.call(args)

    def call(self, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None) -> ToolResult:
        """Call the tool with the host's own identifiers."""
        return self._passage.call(args, call_id=call_id, parent_id=parent_id)

    async def acall(self, /, **args: Any) -> ToolResult:
        """Call the tool from asynchronous code."""
        return await acall()(self._passage, args)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"
