"""What a plugin registers: three facts suffice, and every contradiction is named at once."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import FrozenInstanceError, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.runtime import ToolRuntime
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError


class GreetPolicy(ToolPolicy):
    """A policy without knobs."""


class GreetReason(StrEnum):
    NAME_NOT_ALLOWED = "name_not_allowed"


def build(workspace: Path, policy: GreetPolicy, rt: ToolRuntime) -> Callable[[str], str]:
    return str.upper


def greet(**facts: Any) -> ToolSpec[Any]:
    return ToolSpec(facts.pop("name", "greet"), facts.pop("policy", GreetPolicy), facts.pop("build", build), **facts)


def test_three_facts_suffice() -> None:
    """What a plugin does not declare counts as the most harmful: unknown capabilities, safety high."""
    spec = ToolSpec("greet", GreetPolicy, build)

    assert {field.name: getattr(spec, field.name) for field in fields(spec)} == {
        "name": "greet",
        "policy": GreetPolicy,
        "build": build,
        "reasons": None,
        "capabilities": None,
        "safety": "high",
        "kind": "builtin",
        "staged": False,
        "isolate": False,
        "group": None,
        "aliases": (),
        "argument_aliases": {},
        "path_arguments": frozenset({"path", "paths"}),
        "parameters": None,
        "output": None,
        "description": None,
        "invocation": None,
        "advertise": None,
        "fingerprint": None,
        "asks": None,
        "records": (),
    }


def test_spec_never_changes() -> None:
    """A spec is frozen, and what it was made from may change without it."""
    aliases, arguments = ["Hail"], {"who": "name"}
    spec = greet(aliases=aliases, argument_aliases=arguments)
    aliases.append("hello")
    arguments["whom"] = "name"

    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]

    assert (spec.name, spec.aliases, spec.argument_aliases) == ("greet", ("Hail",), {"who": "name"})


@each_row(
    ("facts", "fault"),
    [
        pytest.param({"name": ""}, "the name '' does not match [A-Za-z0-9_-]{1,64}", id="empty-name"),
        pytest.param({"name": "n" * 65}, f"the name '{'n' * 65}' does not match [A-Za-z0-9_-]{{1,64}}", id="long-name"),
        pytest.param({"name": 7}, "the name 7 does not match [A-Za-z0-9_-]{1,64}", id="no-text"),
        pytest.param({"aliases": ["a b"]}, "the name 'a b' does not match [A-Za-z0-9_-]{1,64}", id="alias"),
        pytest.param({"name": "Group"}, "the name 'Group' is a prefix of the rule language", id="prefix"),
        pytest.param({"name": "bash"}, "the name 'bash' is a prefix of the rule language", id="bash-of-another-kind"),
        pytest.param(
            {"argument_aliases": {"name": "name"}},
            "the argument alias 'name' leads to 'name', which is an alias itself",
            id="alias-of-itself",
        ),
        pytest.param(
            {"argument_aliases": {"a": "b", "b": "name"}},
            "the argument alias 'a' leads to 'b', which is an alias itself",
            id="alias-of-an-alias",
        ),
        pytest.param({"policy": dict}, "policy is <class 'dict'>, not a subclass of ToolPolicy", id="policy-class"),
        pytest.param({"policy": None}, "policy is None, not a subclass of ToolPolicy", id="no-policy"),
        pytest.param({"build": "build"}, "build is 'build', not a function", id="build"),
        pytest.param({"kind": "web"}, "kind is 'web', not one of builtin, bash, cli, mcp, custom", id="kind"),
        pytest.param({"safety": "none"}, "safety is 'none', not one of low, medium, high", id="safety"),
        pytest.param({"parameters": {}}, "parameters is no JSON Schema of type 'object'", id="parameters"),
        pytest.param(
            {"reasons": {"Not allowed."}}, "the reason 'Not allowed.' is no short lower-case word", id="reason"
        ),
        pytest.param({"capabilities": "fs:read"}, "capabilities is the text 'fs:read'; write a set", id="one-text"),
        pytest.param({"reasons": "denied"}, "reasons is the text 'denied'; write a set", id="one-reason"),
        pytest.param(
            {"capabilities": {"push": "net"}}, "capabilities is the text 'net'; write a set", id="one-text-of-an-action"
        ),
        pytest.param({"capabilities": {"FS"}}, "the capability 'FS' does not look like 'fs:read'", id="capability"),
        pytest.param({"aliases": "Read"}, "aliases is 'Read', not a collection of names", id="one-alias"),
        pytest.param({"aliases": None}, "aliases is None, not a collection of names", id="no-aliases"),
        pytest.param(
            {"aliases": ("GREET",)},
            "the alias 'GREET' is the tool's own name; upper and lower case do not count",
            id="alias-own-name",
        ),
        pytest.param(
            {"aliases": ("hail", "Hail")},
            "the alias 'Hail' is given twice; upper and lower case do not count",
            id="alias-twice",
        ),
        pytest.param({"aliases": (5,)}, "the name 5 does not match [A-Za-z0-9_-]{1,64}", id="alias-number"),
        pytest.param({"name": 5}, "the name 5 does not match [A-Za-z0-9_-]{1,64}", id="name-number"),
        pytest.param({"group": "FS !"}, "the group 'FS !' does not match [A-Za-z0-9_-]{1,64}", id="group"),
        pytest.param({"group": 5}, "the group 5 does not match [A-Za-z0-9_-]{1,64}", id="group-number"),
        pytest.param({"staged": "no"}, "staged is 'no', not True or False", id="staged"),
        pytest.param({"isolate": 1}, "isolate is 1, not True or False", id="isolate"),
        pytest.param(
            {"argument_aliases": 5},
            "argument_aliases is 5, not a mapping from aliases to arguments",
            id="argument-aliases",
        ),
        pytest.param(
            {"argument_aliases": {"who": 5}},
            "the argument alias 'who' leads to 5; both are names",
            id="argument-alias-number",
        ),
        pytest.param({"parameters": []}, "parameters is [], not a mapping", id="parameters-list"),
        pytest.param(
            {"parameters": {"type": "object", "properties": 5}},
            "the properties of parameters are no mapping",
            id="properties",
        ),
        pytest.param({"output": 5}, "output is 5, not a JSON Schema, a TypedDict or a model", id="output"),
        pytest.param({"description": 5}, "description is 5, not text", id="description"),
        pytest.param({"invocation": 5}, "invocation is 5, not a function", id="invocation"),
        pytest.param({"advertise": "x"}, "advertise is 'x', not a function", id="advertise"),
        pytest.param({"fingerprint": 5}, "fingerprint is 5, not text", id="fingerprint"),
        pytest.param({"records": 5}, "records is 5, not a collection of models", id="records"),
        pytest.param({"records": [str]}, "records names <class 'str'>, which has no store_kind", id="no-record"),
        pytest.param({"reasons": 5}, "reasons is 5; write a set", id="reasons-number"),
        pytest.param({"reasons": ["ok", 5]}, "the reason '5' is no short lower-case word", id="reason-number"),
        pytest.param({"capabilities": 5}, "capabilities is 5; write a set", id="capabilities-number"),
        pytest.param({"capabilities": [5]}, "the capability '5' does not look like 'fs:read'", id="capability-number"),
        pytest.param({"capabilities": {"push": None}}, "capabilities is None; write a set", id="action-none"),
        pytest.param(
            {"capabilities": {5: ["net"]}}, "capabilities names the action 5, which is no text", id="action-number"
        ),
        pytest.param(
            {"capabilities": {"push": ["net:"]}},
            "the capability 'net:' does not look like 'fs:read'",
            id="capability-of-an-action",
        ),
    ],
)
def test_contradiction_is_refused(facts: Mapping[str, Any], fault: str) -> None:
    """The message names the tool, the value and the choice."""
    with pytest.raises(SpecError) as caught:
        greet(**facts)

    assert str(caught.value) == f"ToolSpec {facts.get('name', 'greet')!r}: {fault}"


def test_all_contradictions_are_named_at_once() -> None:
    """One attempt shows all there is to mend."""
    with pytest.raises(SpecError) as caught:
        greet(kind="web", safety="none", build=None, reasons="denied", capabilities={"FS"})

    assert str(caught.value) == (
        "ToolSpec 'greet': build is None, not a function; kind is 'web', not one of builtin, bash, cli, mcp, custom; "
        "safety is 'none', not one of low, medium, high; reasons is the text 'denied'; write a set; "
        "the capability 'FS' does not look like 'fs:read'"
    )


@pytest.mark.parametrize("name", ["n", "n" * 64, "web-fetch_2", "Read"])
def test_name_is_accepted(name: str) -> None:
    """One to 64 letters, digits, `_` and `-`, in any case."""
    assert greet(name=name).name == name


@pytest.mark.parametrize("name", ["bash", "Bash"])
def test_bash_may_bear_its_name(name: str) -> None:
    """The one tool that is named like a prefix of the rule language is of that kind."""
    assert greet(name=name, kind="bash").name == name


@pytest.mark.parametrize(
    ("reasons", "own"),
    [
        pytest.param(None, None, id="open"),
        pytest.param(GreetReason, {"name_not_allowed"}, id="enum"),
        pytest.param(["b", "a"], {"a", "b"}, id="words"),
        pytest.param((), set(), id="none-of-its-own"),
    ],
)
def test_own_reasons(reasons: Any, own: set[str] | None) -> None:
    """An enumeration or a collection is a closed list; nothing declared is open."""
    assert greet(reasons=reasons).own_reasons() == own


BY_ACTION = {"push": {"net:write"}, "": {"fs:read"}}


@each_row(
    ("capabilities", "action", "expected"),
    [
        pytest.param(None, "push", None, id="undeclared"),
        pytest.param(["fs:read", "fs:read"], "push", {"fs:read"}, id="same-for-all"),
        pytest.param(BY_ACTION, "push", {"net:write"}, id="of-the-action"),
        pytest.param(BY_ACTION, None, {"fs:read"}, id="without-action"),
        pytest.param(BY_ACTION, "pull", None, id="action-undeclared"),
    ],
)
def test_capabilities_of_an_action(capabilities: Any, action: str | None, expected: set[str] | None) -> None:
    """What is not declared for an action is unknown, not nothing."""
    assert greet(capabilities=capabilities).capabilities_of(action) == expected


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        pytest.param(None, None, id="undeclared"),
        pytest.param(["fs:read"], {"fs:read"}, id="same-for-all"),
        pytest.param(BY_ACTION, {"net:write", "fs:read"}, id="by-action"),
    ],
)
def test_all_capabilities(capabilities: Any, expected: set[str] | None) -> None:
    """All actions together; undeclared stays unknown."""
    assert greet(capabilities=capabilities).all_capabilities() == expected


WRONG = """
from collections.abc import Callable
from pathlib import Path

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec


class Mine(ToolPolicy):
    pass


class Other(ToolPolicy):
    pass


def build(workspace: Path, policy: Mine, rt: ToolRuntime) -> Callable[[str], str]:
    return str.upper


SPEC: ToolSpec[Mine] = ToolSpec("mine", Mine, build)
ToolSpec("wrong", Other, build)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker",
    [pytest.param(["mypy", "--strict"], id="mypy"), pytest.param(["pyright"], id="pyright")],
)
def test_type_checkers_refuse_a_constructor_for_another_policy(
    checker: list[str], tmp_path: Path, mypy_cache: Callable[[], AbstractContextManager[Path]]
) -> None:
    """The line with the wrong pair is an error, and the only one."""
    (tmp_path / "plugin.py").write_text(WRONG)
    where = [f"--python{'-executable' if checker[0] == 'mypy' else 'path'}", sys.executable]

    with mypy_cache() if checker[0] == "mypy" else nullcontext() as cache:
        words = [sys.executable, "-m", *checker, *where, *(["--cache-dir", str(cache)] if cache else []), "plugin.py"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    errors = [line.strip() for line in done.stdout.splitlines() if ": error:" in line or " - error:" in line]
    line_number = WRONG.splitlines().index('ToolSpec("wrong", Other, build)') + 1
    assert (done.returncode, len(errors)) == (1, 1), done.stdout + done.stderr
    assert f"plugin.py:{line_number}" in errors[0]
