"""What is known of a toolbox's tools before they are called, for the review of a profile."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.toolbox import Toolbox
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.profile.globs import fold

if TYPE_CHECKING:
    from toolcharter.guards.shell import handed
else:
    handed = lazy("toolcharter.guards.shell.handed")

_DEEPEST = 8
"""How many references and branches are followed: a reference may lead to itself."""


def known_tools(toolbox: Toolbox) -> list[ToolSignature]:
    """All tools of *toolbox*, those that its caller does not see among them."""
    return [signature_of(tool) for tool in toolbox.built.values()]


def signature_of(tool: BuiltTool) -> ToolSignature:
    """The arguments and actions that *tool* takes, as far as its schema and its spec close them."""
    has_invocation = tool.spec.invocation is not None
    arguments = tool.reader.closed_names
    # An invocation may call an action whatever it likes.
    schema = tool.reader.schema
    actions = None if has_invocation else _actions(schema, arguments)
    properties = schema.get("properties", {})
    textless = frozenset(name for name, argument in properties.items() if _texts_of(argument, schema) == frozenset())
    known_names = None if arguments is None else arguments | tool.spec.argument_aliases.keys()
    advertised = None
    if tool.spec.advertise is not None and not has_invocation:
        advertised = _actions(tool.spec.advertise(tool.policy, deepcopy(schema)), arguments)
    evaluated: tuple[str, ...] = ()
    if tool.spec.invocation is not None and tool.spec.kind in {"cli", "custom"}:
        evaluated = handed.code_arguments(tool.spec.invocation, schema)
    return ToolSignature(tool.facts, known_names, actions, has_invocation, textless, evaluated, advertised)


def _actions(schema: Mapping[str, Any], arguments: Collection[str] | None) -> frozenset[str] | None:
    """The texts that the argument `action` can be, without case; None if they are not listed."""
    action = schema.get("properties", {}).get("action")
    if action is None:
        return frozenset() if arguments is not None and "action" not in arguments else None
    texts = _texts_of(action, schema)
    return None if texts is None else frozenset(map(fold, texts))


def _texts_of(argument: Any, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The texts that *argument* can be; None if they are not listed."""
    texts = _texts(argument, schema, 0)
    # A signature's default is never validated.
    default = argument.get("default") if isinstance(argument, Mapping) else None
    return texts | {default} if texts is not None and isinstance(default, str) else texts


def _texts(schema: Any, root: Mapping[str, Any], depth: int) -> frozenset[str] | None:
    """The texts that *schema* permits; None if it lists none, or leads too far."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        return _texts(root.get("$defs", {}).get(name), root, depth + 1)
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return frozenset(value for value in values if isinstance(value, str))
    types = schema.get("type", "string")
    if "string" not in ([types] if isinstance(types, str) else types):
        return frozenset()
    branches = [_texts(branch, root, depth + 1) for branch in schema.get("anyOf", ())]
    if not branches or None in branches:
        return None
    return frozenset[str]().union(*(branch for branch in branches if branch is not None))
