"""The shapes that only profiles have: rules, conditions, notifications, depths, cases."""

import re
from typing import Any, NamedTuple

from toolcharter.errors import Fault
from toolcharter.profile.conditions import ConditionError, compile_condition
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.nodes import Entry, KeyPath, Node, dotted, entries, plain
from toolcharter.profile.rules import GLOB, PATTERN, RuleError, parse_rule
from toolcharter.profile.shapes import SOME, Items, Keys, Text, whole, wrong

# Components that are not empty, `.` or `..`; a slash at the end changes nothing. A first `!` excepts. Whoever writes
# `*.{pem,key}` means two names: read as one name, it would hide nothing.
_NOT_IN_NAMES = r"/\x00\[\]{}\\"
_COMPONENT = rf"(?:[^{_NOT_IN_NAMES}.]|\.[^{_NOT_IN_NAMES}.]|\.\.[^{_NOT_IN_NAMES}])[^{_NOT_IN_NAMES}]*"
_FIRST_COMPONENT = _COMPONENT.replace(".]|", ".!]|", 1)
HIDDEN_GLOB = Text(
    "a glob of names, or of paths below the workspace",
    rf"!?{_FIRST_COMPONENT}(?:/{_COMPONENT})*/?",
    "Write a name such as '.env.*', a path such as 'config/secrets/**', or '!.env.example' to except one. "
    "Braces, brackets and backslashes have no meaning here: write one entry for each name, or '?' for any one letter.",
)
COMPARISON = r"(>=|<=|>|<|==)?\s*([0-9]{1,6})"


class RuleText:
    """The text of a rule, or of a pattern in the same language."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, str):
            faults.append(wrong(node, path, "a rule", "Write such as 'git:push' or 'bash:git log *'."))
            return None
        try:
            parse_rule(node.value)
        except RuleError as error:
            faults.append(Fault(str(node.place), dotted(path), error.what, error.fix))
            return None
        return node

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "string", "pattern": whole(PATTERN)}


class GlobText(NamedTuple):
    """Text in which `*` is any text."""

    expected: str
    pattern: str = SOME

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        good = Text(self.expected, self.pattern).clean(node, path, faults)
        if good is None:
            return None
        try:
            parse_glob(str(good.value))
        except GlobError as error:
            faults.append(Fault(str(node.place), dotted(path), f"{error}."))
            return None
        return good

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        # No look-ahead: editors and validators with linear-time patterns have none.
        glob = GLOB if self.pattern == SOME else GLOB.replace(r"[^\\]", r"[^\\\s]")
        return {"type": "string", "pattern": whole(glob)}


class HiddenShape(NamedTuple):
    """A glob of files to hide, or a mapping that also says which text makes a file hidden."""

    long_form: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if isinstance(node.value, str):
            return HIDDEN_GLOB.clean(node, path, faults)
        return self.long_form.clean(node, path, faults)

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"anyOf": [HIDDEN_GLOB.json_schema(), self.long_form.json_schema()]}


class HiddenGlobs(NamedTuple):
    """The list of `hidden`, which replaces the default: exceptions alone would hide nothing."""

    of: HiddenShape
    expected: str

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        cleaned = Items(self.of, self.expected).clean(node, path, faults)
        globs = node.value if isinstance(node.value, list) else []
        if globs and all(isinstance(glob.value, str) and glob.value.startswith("!") for glob in globs):
            what = "only exceptions are listed: this list replaces the default, so that nothing would be hidden."
            faults.append(
                Fault(str(node.place), dotted(path), what, "List what to hide, too; or write [] to hide nothing.")
            )
        return cleaned

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return Items(self.of, self.expected).json_schema()


class Condition:
    """A JSON Schema."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        try:
            compile_condition(plain(node))
        except ConditionError as error:
            fix = error.fix or "Write a JSON Schema of draft 2020-12."
            faults.append(Fault(str(node.place), dotted(path), f"{error}.", fix))
            return None
        return node

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": ["object", "boolean"]}


class RuleShape(NamedTuple):
    """A rule: its text, or its long form."""

    long_form: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, dict):
            return RuleText().clean(node, path, faults)
        return self.long_form.clean(node, path, faults)

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"anyOf": [RuleText().json_schema(), self.long_form.json_schema()]}


class NotifyShape(NamedTuple):
    """A pattern alone, or a mapping that says more."""

    keys: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if isinstance(node.value, str):
            pattern = RuleText().clean(node, path, faults)
            match = Node([pattern], node.place) if pattern is not None else None
            return None if match is None else Node({"match": Entry(node.place, match)}, node.place)
        good = self.keys.clean(node, path, faults)
        if good is None:
            return None
        if ("url" in entries(node)) != (_value(node, "deliver") == "webhook") and "url" in self.keys.keys:
            what = "`deliver: webhook` and `url` belong together."
            faults.append(Fault(str(node.place), dotted(path), what, "Write both, or neither for the log."))
            return None
        return good

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        is_webhook = {"properties": {"deliver": {"const": "webhook"}}, "required": ["deliver"]}
        has_url = {"required": ["url"]}
        both = {"if": is_webhook, "then": has_url, "else": {"not": has_url}}
        return {"anyOf": [RuleText().json_schema(), {**self.keys.json_schema(), **both}]}


class Depth:
    """How deep a caller stands below the first agent: a number, or comparisons that all hold."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        parts = [] if isinstance(value, bool) or not isinstance(value, int | str) else str(value).split(",")
        if parts and all(re.fullmatch(COMPARISON, part.strip()) for part in parts):
            return node
        faults.append(wrong(node, path, "a depth", "Write a number, or comparisons such as '>=1' or '>=1,<3'."))
        return None

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        one = rf"\s*{COMPARISON}\s*"
        return {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 999_999},
                {"type": "string", "pattern": whole(f"{one}(?:,{one})*")},
            ]
        }


class CaseShape(NamedTuple):
    """A case, whose keys have to agree with each other."""

    keys: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        good = self.keys.clean(node, path, faults)
        if good is None:
            return None
        reason = entries(good).get("reason")
        if reason is not None and _value(good, "expect") == "allow":
            what = "a call that is allowed has no reason."
            faults.append(Fault(str(reason.place), dotted((*path, "reason")), what, "Remove it, or expect deny."))
        return good

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        contradiction = {"properties": {"expect": {"const": "allow"}}, "required": ["reason"]}
        return {**self.keys.json_schema(), "not": contradiction}


def _value(node: Node, key: str) -> Any:
    return entries(node)[key].node.value if key in entries(node) else None
