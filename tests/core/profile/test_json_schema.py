"""The schema for editors says what the reader says: all that is read it accepts, and what is broken it refuses."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema_rs import Draft202012Validator, meta
from pydantic import BaseModel, ConfigDict
from tests.rows import each_row

from toolcharter.api.policy import ToolPolicy
from toolcharter.profile.ceilings import ADMIN_POLICY, read_ceilings
from toolcharter.profile.forms import keys_of
from toolcharter.profile.json_schema import PolicyInfo, ceiling_schema, profile_schema
from toolcharter.profile.names import any_case_pattern
from toolcharter.profile.nodes import to_plain
from toolcharter.profile.parse import parse_yaml
from toolcharter.profile.read import read_profile
from toolcharter.profile.schema import CeilingFile, ProfileFile, WorkspaceFile

from .random_profiles import CEILINGS, NAMES, as_yaml, profiles
from .test_model import EVERY_KEY


class Action(StrEnum):
    """What git does."""

    LOG = "log"
    PUSH = "push"


class Remote(BaseModel):
    """Where to push."""

    url: str


class GitPolicy(ToolPolicy):
    """How far git goes."""

    allowed_actions: tuple[Action, ...] = ()
    """Which actions."""
    remotes: dict[str, Remote] = {}  # noqa: RUF012 - pydantic copies it
    wait: timedelta = timedelta(0)


class Unspeakable(ToolPolicy):
    """Has a field that JSON Schema has no word for."""

    field: Callable[[], int] | None = None


class Anything(BaseModel):
    """Whatever stands there."""

    model_config = ConfigDict(extra="allow")


TOOLS = {"git": PolicyInfo(GitPolicy, "Version control."), "read_file": PolicyInfo(Unspeakable, "")}
EXTENSIONS = {"principles": PolicyInfo(GitPolicy, "")}
ANY = {name: PolicyInfo(Anything, "") for name in ["git", "read_file", "a-b", "yes", "null", "7", "1e5", "x" * 64]}


SCHEMAS: dict[str, Callable[[], Any]] = {
    "profile": lambda: profile_schema(TOOLS, EXTENSIONS),
    "profile of nothing": lambda: profile_schema({}, {}),
    "profile of any": lambda: profile_schema(ANY, ANY),
    "workspace": lambda: ceiling_schema("workspace"),
    "admin": lambda: ceiling_schema("admin"),
}


@cache
def schema_of(kind: str) -> Any:
    """To make one takes a fifth of a second, for which no collection waits."""
    return SCHEMAS[kind]()


@cache
def valid(kind: str) -> Draft202012Validator:
    """What judges by that schema."""
    return Draft202012Validator(schema_of(kind))


def values_in(text: str) -> Any:
    node = parse_yaml(text, "p.yaml", [])
    assert node is not None
    return to_plain(node)


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in *schema*, itself included."""
    below = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict):
        yield schema
    for one in below:
        yield from objects_in(one)


@pytest.mark.parametrize("kind", ["profile", "profile of nothing", "workspace", "admin"])
def test_it_is_a_schema(kind) -> None:
    """By the meta-schema of draft 2020-12; each reference in it leads somewhere."""
    schema = schema_of(kind)
    references = [one["$ref"] for one in objects_in(schema) if isinstance(one.get("$ref"), str)]

    assert meta.is_valid(schema)
    assert {reference.removeprefix("#/$defs/") for reference in references} <= schema.get("$defs", {}).keys()


@pytest.mark.parametrize("kind", ["profile", "workspace"])
def test_every_key_says_what_it_is_for(kind) -> None:
    """Editors show it; a key that nobody described would be a key that nobody understands."""
    schema = schema_of(kind)
    tables = [one["properties"] for one in objects_in(schema) if one.get("additionalProperties") is False]
    own = [table for table in tables if "allowed_actions" not in table and "git" not in table]

    silent = [key for table in own for key, below in table.items() if not below.get("description", "").endswith(".")]
    assert [key for key in silent if key not in {"principles", "field"}] == []


def test_policies_of_what_is_installed_are_in_it() -> None:
    """Each with its description and those of its fields; models within it keep apart from those of other tools."""
    definitions = schema_of("profile")["$defs"]

    assert set(definitions) == {
        *("tools.git", "tools.git.Action", "tools.git.Remote", "tools.read_file"),
        *("extensions.principles", "extensions.principles.Action", "extensions.principles.Remote"),
    }
    assert definitions["tools.git"]["description"] == "Version control."
    assert definitions["tools.git"]["properties"]["allowed_actions"]["description"] == "Which actions."
    assert definitions["extensions.principles"]["description"] == "How far git goes."
    assert definitions["tools.read_file"] == {"type": "object"}
    assert list(schema_of("profile")["properties"]["tools"]["properties"]) == ["git", "read_file"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EVERY_KEY, id="every key of the policy"),
        pytest.param("profile: p", id="a name alone"),
        pytest.param(
            "profile: p\ntools: {GIT: {allowed_actions: [log]}, Read_File: {field: 1}}", id="names without case"
        ),
        pytest.param("profile: p\ntools: {later: {x: 1}}\nmissing_ok: [later]", id="what comes later"),
        pytest.param("profile: p\nextensions: {Principles: {wait: PT1S}}", id="an extension"),
        pytest.param("profile: p\nnotify: [{match: git, deliver: webhook, url: 'http://h'}]", id="webhook"),
        pytest.param("profile: p\nnotify: [{match: git, deliver: pager, url: 'pager:team'}]", id="a plugin's channel"),
        pytest.param("profile: p\nextends: [minimal]", id="parents"),
        pytest.param("profile: p\nplugins: {a: '>=1,<2', b.c: ' ~= 1.0 ,', d: '===x', e: '!=1.*'}", id="pins"),
    ],
)
def test_what_is_read_is_accepted(told, text) -> None:
    """The reader has no fault to tell, and neither has the editor."""
    assert told(text) == []
    assert [str(error) for error in valid("profile").iter_errors(values_in(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[]", id="no mapping"),
        pytest.param("tools: {}", id="no name"),
        pytest.param("profile: a b", id="a name with a blank"),
        pytest.param("profile: 5", id="a number for a name"),
        pytest.param("profile: p\ntool: {}", id="misspelt key"),
        pytest.param("profile: p\nmode: polcy", id="misspelt mode"),
        pytest.param("profile: p\nextends: minimal", id="no list"),
        pytest.param("profile: p\nextends: [./accounts]", id="no YAML file"),
        pytest.param("profile: p\ntools: {git: }", id="no policy"),
        pytest.param("profile: p\ntools: {a b: {}}\nmissing_ok: [x]", id="no name of a tool"),
        pytest.param("profile: p\nplugins: {a: '1.0'}", id="no range of versions"),
        pytest.param("profile: p\nplugins: {a: ','}", id="no range at all"),
        pytest.param("profile: p\ndeny: [5]", id="no rule"),
        pytest.param("profile: p\ndeny: [git push]", id="a command without its prefix"),
        pytest.param("profile: p\ndeny: ['bash:']", id="a prefix alone"),
        pytest.param("profile: p\ndeny: ['bash:\\d']", id="an escape that means nothing"),
        pytest.param("profile: p\ndeny: ['git(a=b']", id="an open parenthesis"),
        pytest.param("profile: p\ndeny: [{reason: x}]", id="a long form without its rule"),
        pytest.param("profile: p\ndeny: [{rule: git, reason: No!}]", id="no reason"),
        pytest.param("profile: p\nallow: [{rule: git, reason: x}]", id="the reason of an allow"),
        pytest.param("profile: p\nallow: [{rule: git, when: {a: x}}]", id="no condition"),
        pytest.param("profile: p\ncapabilities: {allow: ['']}", id="no capability"),
        pytest.param("profile: p\ncapabilities: {max_safety: hi}", id="no safety level"),
        pytest.param("profile: p\navailability: [{}]", id="an entry that says nothing"),
        pytest.param("profile: p\navailability: [{for: {agent: []}}]", id="nobody"),
        pytest.param("profile: p\navailability: [{for: {depth: -1}}]", id="no depth"),
        pytest.param("profile: p\navailability: [{for: {depth: '1;2'}}]", id="no comparison"),
        pytest.param("profile: p\nlimits: {timeout_s: 0}", id="no time"),
        pytest.param("profile: p\nlimits: {timeout_s: 604801}", id="more than a week"),
        pytest.param("profile: p\nlimits: {max_output_chars: 1.5}", id="half a character"),
        pytest.param("profile: p\nlimits: {calls_per_hour: '5'}", id="a number in quotes"),
        pytest.param("profile: p\nlimits: {store: 'http://h'}", id="no store"),
        pytest.param("profile: p\nlimits: {agents: {'\\d': {}}}", id="no glob of agents"),
        pytest.param("profile: p\nsession_guards: {repeated_calls: {}}", id="a guard that says nothing"),
        pytest.param("profile: p\nsession_guards: {read_before_write: {}}", id="a guard without its mode"),
        pytest.param("profile: p\nsession_guards: {after_call: [{match: git}]}", id="no message"),
        pytest.param("profile: p\nnotify: [{match: git, deliver: webhook}]", id="a webhook without its URL"),
        pytest.param("profile: p\nnotify: [{match: git, url: 'http://h'}]", id="a URL without its webhook"),
        pytest.param("profile: p\nnotify: [{match: git, deliver: webhook, url: 'ftp://h'}]", id="no URL of a webhook"),
        pytest.param("profile: p\nnotify: [{match: git, deliver: pager}]", id="a channel without its URL"),
        pytest.param("profile: p\nnotify: [{match: []}]", id="no pattern"),
        pytest.param("profile: p\nhidden: [{glob: '*.key'}]", id="half of a long form"),
        pytest.param("profile: p\nevents: {required: yes}", id="text for a boolean"),
        pytest.param("profile: p\ncases: [{tool: git}]", id="a case that expects nothing"),
        pytest.param("profile: p\ncases: [{tool: git, expect: allow, reason: x}]", id="the reason of an allowed case"),
        pytest.param("profile: p\nmissing_ok: [a b]", id="no name"),
        pytest.param("profile: p\napprovals: {keep_days: 3661}", id="more than ten years"),
    ],
)
def test_what_the_reader_refuses_is_refused(told, text) -> None:
    """A table of broken profiles, one fault each."""
    assert told(text)
    assert not valid("profile").is_valid(values_in(text))


@each_row(
    "text",
    [
        pytest.param("profile: p\ntools: {gti: {}}", id="unknown tool"),
        pytest.param("profile: p\ntools: {git: {allowed_action: []}}", id="unknown field"),
        pytest.param(
            "profile: p\ntools: {GIT: {allowed_actions: [pull]}}", id="value of a field, tool in another case"
        ),
        pytest.param("profile: p\ntools: {git: {remotes: {a: {url: 5}}}}", id="value below"),
        pytest.param("profile: p\nextensions: {principle: {}}", id="unknown extension"),
        pytest.param("profile: p\nextensions: {principles: {x: 1}}", id="unknown field of an extension"),
    ],
)
def test_policies_are_checked(text) -> None:
    """What only the plugins know is refused in the editor, as it is when a toolbox is built."""
    assert not valid("profile").is_valid(values_in(text))


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=150)
@given(values=profiles())
def test_any_profile_that_is_read_is_accepted(tmp_path_factory, values) -> None:
    """Random profiles, whose tools may hold anything."""
    file = tmp_path_factory.getbasetemp() / "p.yaml"
    file.write_text(as_yaml(values), encoding="utf-8")

    assert read_profile(file).faults == []
    assert [str(error) for error in valid("profile of any").iter_errors(values)] == []


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=60)
@given(values=CEILINGS)
def test_any_ceiling_that_is_read_is_accepted(tmp_path_factory, values) -> None:
    """Random files of an administrator."""
    file = tmp_path_factory.getbasetemp() / "c.yaml"
    file.write_text(as_yaml(values), encoding="utf-8")

    assert read_ceilings(None, {ADMIN_POLICY: str(file)})[1] == []
    assert valid("admin").is_valid(values)


@each_row(
    ("text", "workspace", "admin"),
    [
        pytest.param("deny: [git]", True, True, id="deny"),
        pytest.param("notify: [git, {match: git, deliver: log}]", True, True, id="log"),
        pytest.param("notify: [{match: git, deliver: webhook, url: 'http://h'}]", False, True, id="webhook"),
        pytest.param("allow: [git]", False, False, id="allow"),
        pytest.param("limits: {per: agent}", False, False, id="what a profile alone may say"),
    ],
)
def test_ceilings_have_schemas_of_their_own(text, workspace, admin) -> None:
    """A workspace's file may say less than an administrator's."""
    values = values_in(text)

    answers = [valid(whose).is_valid(values) for whose in ("workspace", "admin")]
    assert answers == [workspace, admin]


def test_keys_are_those_of_the_forms() -> None:
    """In their order, none missing."""
    forms = [ProfileFile, WorkspaceFile, CeilingFile]

    schemas = [schema_of(kind) for kind in ("profile", "workspace", "admin")]
    assert [list(schema["properties"]) for schema in schemas] == [list(keys_of(form)) for form in forms]


@given(NAMES)
def test_any_case_is_a_pattern_of_letters(name: str) -> None:
    """Only letters have a case."""
    assert any_case_pattern(name.upper()) == any_case_pattern(name)
    assert any_case_pattern("a-1") == "[Aa]-1"
