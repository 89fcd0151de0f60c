"""Collects what the lint of a profile has to know about a toolbox's tools before any call."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.toolbox import Toolbox
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.profile.globs import fold

if TYPE_CHECKING:
    from toolcharter.guards.shell import code_detection
else:
    code_detection = lazy("toolcharter.guards.shell.code_detection")

_MAX_DEPTH = 8
"""The most references and branches that are followed: a reference may lead to itself."""


def tool_signatures(toolbox: Toolbox) -> list[ToolSignature]:
    """Return the signatures of all tools of *toolbox*, including those that its caller does not see."""
    return [signature_of(tool) for tool in toolbox.built.values()]


def signature_of(tool: BuiltTool) -> ToolSignature:
    """Return the arguments and actions that *tool* takes, as far as its schema and its spec list them completely."""
    has_invocation = tool.spec.invocation is not None
    arguments = tool.reader.closed_names
    # An invocation may name an action in any way.
    schema = tool.reader.schema
    actions = None if has_invocation else _possible_actions(schema, arguments)
    properties = schema.get("properties", {})
    textless = frozenset(
        name for name, argument in properties.items() if _possible_texts(argument, schema) == frozenset()
    )
    known_names = None if arguments is None else arguments | tool.spec.argument_aliases.keys()
    advertised = None
    if tool.spec.advertise is not None and not has_invocation:
        advertised = _possible_actions(tool.spec.advertise(tool.policy, deepcopy(schema)), arguments)
    evaluated: tuple[str, ...] = ()
    if tool.spec.invocation is not None and tool.spec.kind in {"cli", "custom"}:
        evaluated = code_detection.code_arguments(tool.spec.invocation, schema)
    return ToolSignature(tool.facts, known_names, actions, has_invocation, textless, evaluated, advertised)


def _possible_actions(schema: Mapping[str, Any], arguments: Collection[str] | None) -> frozenset[str] | None:
    """Return the possible texts of the argument `action`, case-folded; None if the schema does not list them."""
    action = schema.get("properties", {}).get("action")
    if action is None:
        return frozenset() if arguments is not None and "action" not in arguments else None
    texts = _possible_texts(action, schema)
    return None if texts is None else frozenset(map(fold, texts))


def _possible_texts(argument: Any, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the possible texts of *argument*; None if the schema does not list them."""
    texts = _permitted_texts(argument, schema, 0)
    # A signature's default is never validated, so it may be missing from the enumeration.
    default = argument.get("default") if isinstance(argument, Mapping) else None
    return texts | {default} if texts is not None and isinstance(default, str) else texts


def _permitted_texts(schema: Any, root: Mapping[str, Any], depth: int) -> frozenset[str] | None:
    """Return the texts that *schema* permits; None if it lists none, or nests too deeply."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return None
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        return _permitted_texts(root.get("$defs", {}).get(name), root, depth + 1)
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return frozenset(value for value in values if isinstance(value, str))
    types = schema.get("type", "string")
    if "string" not in ([types] if isinstance(types, str) else types):
        return frozenset()
    branches = [_permitted_texts(branch, root, depth + 1) for branch in schema.get("anyOf", ())]
    if not branches or None in branches:
        return None
    return frozenset[str]().union(*(branch for branch in branches if branch is not None))
