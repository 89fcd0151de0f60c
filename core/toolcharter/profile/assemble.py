"""From a merged tree that fits the schema to the `Profile`, or the `Ceiling`, that it describes."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from toolcharter.profile.model import Case, Events, Limits, Profile
from toolcharter.profile.nodes import Node, entries, items, plain
from toolcharter.profile.rule_shapes import COMPARISON
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import (
    DEFAULT_HIDDEN,
    AfterCall,
    Approvals,
    Availability,
    CallerPattern,
    Capabilities,
    Ceiling,
    DependsOn,
    HiddenGlob,
    Notify,
    Rate,
    Rates,
    ReadBeforeWrite,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)
from toolcharter.profile.shapes import same_tool


def profile_from(node: Node) -> Profile:
    """Build the profile from a merged tree that fits the schema."""
    below = {key: plain(entry.node) for key, entry in entries(node).items()}
    limits, tool_limits, rates = _limits(below.get("limits", {}))
    return Profile(
        name=below.get("profile", ""),
        description=below.get("description"),
        tools=MappingProxyType(below.get("tools", {})),
        extensions=MappingProxyType(below.get("extensions", {})),
        runner=below.get("runner"),
        plugins=MappingProxyType(below.get("plugins", {})),
        limits=limits,
        tool_limits=tool_limits,
        events=Events(**below.get("events", {})),
        mode=below.get("mode", "policy"),
        deny=tuple(map(_rule, _items(node, "deny"))),
        ask=tuple(map(_rule, _items(node, "ask"))),
        allow=tuple(map(_rule, _items(node, "allow"))),
        capabilities=_capabilities(below.get("capabilities", {})),
        availability=tuple(map(_availability, _items(node, "availability"))),
        toolsets=_tool_lists(below.get("toolsets", {})),
        groups=_tool_lists(below.get("groups", {})),
        approvals=_approvals(below.get("approvals", {})),
        session_guards=_memory(entries(node)["session_guards"].node) if "session_guards" in below else SessionGuards(),
        rates=rates,
        notify=tuple(map(_notify, _items(node, "notify"))),
        hidden=tuple(map(_hidden, below["hidden"])) if "hidden" in below else DEFAULT_HIDDEN,
        cases=tuple(Case(**{"args": {}} | plain(case), place=str(case.place)) for case in _items(node, "cases")),
        missing_ok=tuple(below.get("missing_ok", ())),
    )


def ceiling_from(node: Node, name: str) -> Ceiling:
    """Build a ceiling from a tree that fits its schema."""
    below = plain(node)
    limits, tool_limits, rates = _limits(below.get("limits", {}))
    return Ceiling(
        name=name,
        deny=tuple(map(_rule, _items(node, "deny"))),
        ask=tuple(map(_rule, _items(node, "ask"))),
        mode=below.get("mode"),
        capabilities=_capabilities(below.get("capabilities", {})),
        limits=limits,
        tool_limits=tool_limits,
        rates=rates,
        notify=tuple(map(_notify, _items(node, "notify"))),
    )


def _items(node: Node, key: str) -> list[Node]:
    return items(entries(node)[key].node) if key in entries(node) else []


def _rule(node: Node) -> Rule:
    if not isinstance(node.value, dict):
        return parse_rule(str(node.value), str(node.place))
    long = plain(node)
    return parse_rule(long.pop("rule"), str(node.place), **long)


def _hidden(written: str | Mapping[str, str]) -> HiddenGlob:
    return HiddenGlob(written) if isinstance(written, str) else HiddenGlob(**written)


def _pattern(node: Node, key: str) -> Rule:
    return _rule(entries(node)[key].node)


def _capabilities(written: Mapping[str, Any]) -> Capabilities:
    allow = written.get("allow")
    return Capabilities(
        None if allow is None else tuple(allow), tuple(written.get("deny", ())), written.get("max_safety")
    )


def _availability(node: Node) -> Availability:
    written = plain(node)
    callers = dict(written.get("for", {}))
    depth = callers.pop("depth", None)
    names = {key: tuple(value) for key, value in callers.items()}
    return Availability(
        CallerPattern(**names, depth=None if depth is None else _comparisons(str(depth))),
        None if written.get("tools") is None else tuple(written["tools"]),
        tuple(written.get("deny", ())),
        tuple(written.get("also_allow", ())),
        written.get("name"),
        written.get("replaces"),
        str(node.place),
    )


def _comparisons(text: str) -> tuple[tuple[str, int], ...]:
    found = (re.fullmatch(COMPARISON, part.strip()) for part in text.split(","))
    return tuple((match[1] or "==", int(match[2])) for match in found if match)


def _tool_lists(written: Mapping[str, list[str]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({name: tuple(tools) for name, tools in written.items()})


def _approvals(written: Mapping[str, Any]) -> Approvals:
    values: dict[str, Any] = dict(written)
    if "approvers" in values:
        values["approvers"] = tuple(values["approvers"])
    for key in values.keys() & {"timeout_s", "keep_days"}:
        values[key] = float(values[key])  # 30 and 30.0 are one limit and have one digest
    return Approvals(**values)


def _memory(node: Node) -> SessionGuards:
    below = plain(node)
    reading: dict[str, Any] = dict(below.get("read_before_write", {}))
    reading |= {key: tuple(reading[key]) for key in reading.keys() & {"reads", "writes"}}
    return SessionGuards(
        ReadBeforeWrite(**reading),
        Repeats(**below.get("repeated_calls", {})),
        Repeats(**below.get("same_result", {})),
        tuple(
            DependsOn(
                _pattern(item, "match"),
                _pattern(item, "needs"),
                plain(item).get("message"),
                tuple(plain(item).get("args", ())),
            )
            for item in _items(node, "depends_on")
        ),
        tuple(
            SkipDuplicate(_pattern(item, "match"), tuple(plain(item)["args"]) if "args" in entries(item) else None)
            for item in _items(node, "skip_duplicate")
        ),
        tuple(
            AfterCall(_pattern(item, "match"), plain(item)["message"], tuple(plain(item).get("outcomes", ("ok",))))
            for item in _items(node, "after_call")
        ),
    )


def _notify(node: Node) -> Notify:
    written = plain(node)
    return Notify(
        tuple(map(_rule, items(entries(node)["match"].node))),
        written.get("deliver", "log"),
        written.get("url"),
        tuple(written.get("outcomes", Notify._field_defaults["outcomes"])),
        str(node.place),
    )


def _limits(written: Mapping[str, Any]) -> tuple[Limits, Mapping[str, Limits], Rates]:
    tools = {same_tool(name): values for name, values in written.get("tools", {}).items()}
    rates = Rates(
        total=_rate(written),
        tools=_rates(tools),
        agents=_rates(written.get("agents", {})),
        per=written.get("per", "session"),
        store=written.get("store"),
    )
    return _limit(written), MappingProxyType({name: _limit(values) for name, values in tools.items()}), rates


def _rates(written: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Rate]:
    rates = {name: _rate(values) for name, values in written.items()}
    return MappingProxyType({name: rate for name, rate in rates.items() if rate != Rate()})


def _limit(values: Mapping[str, Any]) -> Limits:
    timeout_s = values.get("timeout_s")
    seconds = None if timeout_s is None else float(timeout_s)
    return Limits(seconds, values.get("max_output_chars"), values.get("truncate"))


def _rate(values: Mapping[str, Any]) -> Rate:
    return Rate(*(values.get(key) for key in Rate._fields))
