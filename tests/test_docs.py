"""The pages say what the code says, both ways; what they show is run by `tests/test_docs_run.py`."""

import ast
import json
import re
import tomllib
from dataclasses import fields
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner
from tests.rows import each_row, failing_rows

import matrix
import tables
import toolcharter
from pages import ROOT, anchors, blocks, links, pages, prose, quoted, rows
from toolcharter.api.approval import Answer, ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Call, Caller, Decision, Stage, ToolChecks, ToolResult
from toolcharter.api.explanation import Explanation, Step
from toolcharter.api.reasons import CORE_REASONS, GUARD_REASONS
from toolcharter.api.tool import ToolSpec
from toolcharter.cli.group import COMMANDS
from toolcharter.cli.group import toolcharter as command_group
from toolcharter.events import contract
from toolcharter.events.sinks import CORE_SCHEMES
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.listing import list_plugins
from toolcharter.loader.scan import find_installed
from toolcharter.profile.forms import keys_of
from toolcharter.profile.schema import ProfileFile
from toolcharter.testing.readme import documented_defaults, documented_reasons

LANGUAGES = {"", "console", "ini", "json", "markdown", "mermaid", "pycon", "python", "sh", "text", "toml", "yaml"}
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
OUR_PLUGINS = {path.parent.name: path.parent for path in ROOT.glob("plugins/*/pyproject.toml")}
OTHER_PAGES = [ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *(path / "README.md" for path in OUR_PLUGINS.values())]

each_page = pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def names(text: str, first_heading: str) -> list[str]:
    """What the tables headed *first_heading* name in their first column, in order."""
    return [name for row in rows(text, first_heading) for name in quoted(row[0])]


@each_page
def test_tables_are_fresh(page: Path) -> None:
    """What is made from code is as the code is; if not, run `make docs`."""
    text = page.read_text()

    assert text == tables.refresh_page(text)


def test_every_table_has_a_page() -> None:
    """A table that no page shows would go stale unseen, and an unknown one cannot be made."""
    marked = {
        name for page in pages() for name in re.findall(r"^<!-- table: ([\w-]+) -->$", page.read_text(), re.MULTILINE)
    }

    assert marked == set(tables.TABLES)


@each_row("page", [*pages(), *OTHER_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file finds it, with the heading that it names."""
    broken = [link for link in links(page.read_text()) if "://" not in link and not _leads_somewhere(page, link)]

    assert broken == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def test_threats_name_tests_that_exist() -> None:
    """Whoever doubts a promise finds what holds it."""
    named = {name for row in rows((ROOT / "SECURITY.md").read_text(), "threat") for name in quoted(row[2])}

    assert [name for name in sorted(named) if not list(ROOT.glob(name))] == []


def test_every_page_can_be_reached() -> None:
    """The README leads to each page of docs, and to every plugin's."""
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links((ROOT / "README.md").read_text())}

    assert {*pages(), *(folder / "README.md" for folder in OUR_PLUGINS.values())} - {ROOT / "README.md"} <= linked


@each_page
def test_blocks_are_of_a_kind_that_is_tried(page: Path) -> None:
    """A block in a language nobody runs or reads would never be wrong."""
    found = list(blocks(page.read_text()))

    assert {block.language for block in found} <= LANGUAGES
    assert page.read_text().count("\n```") == 2 * len(found)
    for block in found:
        if block.language == "toml":
            tomllib.loads(block.text)
        if block.language == "python":
            ast.parse(block.text)


@each_page
def test_commands_that_pages_name_exist(page: Path) -> None:
    """Whoever types what a page says finds the command and its options."""
    text = page.read_text()
    code = [*re.findall(r"`([^`\n]+)`", prose(text)), *(block.text for block in blocks(text))]
    uses = re.findall(r"^(?:.*[|] |\$ )?toolcharter ([a-z]+)([^|\n]*)", "\n".join(code), re.MULTILINE)
    options = {option for name in {*COMMANDS, *find_installed().commands} for option in _options(name)}
    quoted_text = re.compile(r"'[^']*(?:'|$)")  # Whose options are those of other commands.

    assert {name for name, _ in uses} <= {*COMMANDS, *find_installed().commands}
    rests = [quoted_text.sub("", rest) for _, rest in uses]
    assert {option for rest in rests for option in re.findall(r"(?<!\S)--?[a-z-]+", rest)} <= options


def _options(name: str) -> set[str]:
    command = command_group.get_command(click.Context(command_group), name)
    assert command is not None
    found, waiting = {"--help"}, [command]
    while waiting:
        one = waiting.pop()
        waiting += one.commands.values() if isinstance(one, click.Group) else ()
        found |= {option for parameter in one.params for option in parameter.opts}
    return found


def test_public_names_are_listed() -> None:
    """Everything that a plugin may import is on the page."""
    assert names(doc("python.md"), "name") == toolcharter.__all__


@each_row(
    ("page", "value"),
    [
        pytest.param("python.md", ToolResult, id="ToolResult"),
        pytest.param("python.md", Decision, id="Decision"),
        pytest.param("python.md", Explanation, id="Explanation"),
        pytest.param("python.md", Caller, id="Caller"),
        pytest.param("python.md", ApprovalRequest, id="ApprovalRequest"),
        pytest.param("python.md", ApprovalAnswer, id="ApprovalAnswer"),
        pytest.param("hooks.md", Call, id="Call"),
    ],
)
def test_fields_of_values_are_listed(page: str, value: Any) -> None:
    """In their order, each with its meaning."""
    assert names(doc(page), f"field of `{value.__name__}`") == list(value.__match_args__)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        pytest.param("member of `Tool`", toolcharter.Tool, id="Tool"),
        pytest.param("member of `Toolbox`", toolcharter.Toolbox, id="Toolbox"),
    ],
)
def test_members_are_listed(heading: str, kind: type) -> None:
    """Whatever a program can do with a tool or a toolbox is on the page, and nothing that it cannot."""
    listed = {re.split(r"[(\[]", name)[0] for name in names(doc("python.md"), heading)}
    inherited = {"tool", "toolbox", "in", "len"}  # calling, looking up, iterating
    our_own = {
        "built",
        "close_shared",
        "has_approver",
        "built_tool",
        "limits_for",
        "pipeline_for",
        "is_busy",
        "admit",
        "dismiss",
        "for_agent",
        "touching",
    }  # for the commands of toolcharter, for live toolboxes and for agents that tools start
    assert listed - inherited == {name for name in vars(kind) if not name.startswith("_")} - our_own


def test_fields_of_steps_are_listed() -> None:
    """In the row of `steps`, in their order."""
    row = next(row for row in rows(doc("python.md"), "field of `Explanation`") if row[0] == "`steps`")

    assert quoted(row[1]) == list(Step.__match_args__)


def test_parameters_of_build_tools_are_listed() -> None:
    """The signature on the page is the function's."""
    shown = re.search(r"`build_tools\((.*)\)`:", doc("python.md"))

    assert shown is not None
    given = signature(toolcharter.build_tools).parameters
    assert [word.partition("=")[0] for word in shown[1].split(", ") if word != "*"] == list(given)


def test_spec_fields_are_listed() -> None:
    """Each field of a spec, in order."""
    assert names(doc("plugins.md"), "field") == [field.name for field in fields(ToolSpec)]


def test_hooks_are_listed() -> None:
    """Each hook that the plugin manager knows has its section, and there is no other."""
    known = {name for name in vars(new_manager().hook) if not name.startswith("_")}

    assert set(re.findall(r"^### (\w+)$", doc("hooks.md"), re.MULTILINE)) == known


def test_events_are_listed() -> None:
    """Each event, in order; and for each outcome what it leaves."""
    page = doc("events.md")

    assert names(page, "event") == list(contract.EVENTS)
    last = {quoted(row[0])[0]: row[2] for row in rows(page, "outcome") if len(quoted(row[0])) == 1}
    assert last == contract.LEVELS


def test_event_fields_are_listed() -> None:
    """Every field in the order of the lines, with the events that have it."""
    page = doc("events.md")

    on = {quoted(row[0])[0]: row[1] for row in rows(page, "field")}
    all_of_base = list(contract.BASE_FIELDS)
    all_of_base[all_of_base.index("session") : all_of_base.index("session")] = contract.RARE_BASE_FIELDS
    assert list(on) == [*all_of_base, *contract.AFTER_FIELDS, *contract.RARE_FIELDS]
    assert [name for name, events in on.items() if events == "all"] == list(contract.BASE_FIELDS)
    assert [name for name, events in on.items() if events == "all, if set"] == list(contract.RARE_BASE_FIELDS)
    assert [name for name, events in on.items() if "deny" in events] == list(contract.DENY_FIELDS)
    assert [name for name, events in on.items() if events == "after, if set"] == list(contract.RARE_FIELDS)
    assert f"cut at {contract.MAX_FIELD_CHARS} characters, with\n`{contract.CUT_NOTICE}`" in page


def test_fields_of_toolboxes_are_listed() -> None:
    """What the two events of a toolbox add, each in its order."""
    found = rows(doc("events.md"), "field of a toolbox")

    on = {event: tuple(quoted(row[0])[0] for row in found if row[1] == event) for event in ("open", "close")}
    assert on == {"open": contract.OPEN_FIELDS, "close": contract.CLOSE_FIELDS}


def test_fields_of_approvals_are_listed() -> None:
    """What the two events of an approval add, each in its order, with the answers there are."""
    found = rows(doc("events.md"), "field of an approval")

    def on(event: str) -> tuple[str, ...]:
        return tuple(quoted(row[0])[0] for row in found if event in row[1])

    assert on("request") == contract.REQUEST_FIELDS
    assert on("decision") == contract.DECISION_FIELDS
    assert quoted(next(row for row in found if row[0] == "`answer`")[2]) == [*get_args(Answer), "none"]


def test_faults_of_tools_are_listed() -> None:
    """The words of `fault` are those that the gate can set."""
    gate = "".join(path.read_text() for path in (ROOT / "core/toolcharter/gate").rglob("*.py"))
    row = next(row for row in rows(doc("events.md"), "field") if row[0] == "`fault`")

    assert set(quoted(row[2])) == set(re.findall(r'\.add_fault\("(\w+)"\)', gate))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_pages_say_which_tests_run_on_which_python(page: str) -> None:
    """All on the first, and on the others a part: `AGAIN`, as scripts/matrix.py has it."""
    text = " ".join((ROOT / page).read_text().replace("#", " ").split())

    sentence = (
        "runs all, the others beside it what depends on the version (AGAIN in scripts/matrix.py)"
        if page == "CONTRIBUTING.md"
        else "all tests on one Python; on the other versions from 3.11 to 3.13 that are there, those that depend on the version"
    )
    assert sentence in text
    assert matrix.SUPPORTED == ("3.11", "3.12", "3.13")
    again = [one for one in matrix.AGAIN if not one.startswith("-")]
    assert failing_rows(again, lambda one: (ROOT / one).exists()) == []


def test_stages_are_listed() -> None:
    """Every stage at which a call can end, in their order."""
    assert names(doc("events.md"), "stage") == list(get_args(Stage))


def test_sinks_are_listed() -> None:
    """Each scheme that core opens, and each that a plugin here adds."""
    listed = {name.partition(":")[0] for name in names(doc("events.md"), "sink") if ":" in name}

    offers = find_installed().extensions
    names_without_spec = {
        name for plugin in _ours() for name in plugin.extensions if name not in plugin.extension_specs
    }
    schemes = {name for name in names_without_spec if hasattr(import_module(offers[name].module), "open_sink")}
    assert listed == {*CORE_SCHEMES, *schemes}


def test_answers_of_dry_runs_are_listed() -> None:
    """`tool_checks` has exactly these words."""
    row = next(row for row in rows(doc("python.md"), "field of `Decision`") if row[0] == "`tool_checks`")

    assert quoted(row[1]) == list(get_args(ToolChecks))


def test_profile_keys_are_listed() -> None:
    """Each key that a profile may hold has its row, and its table if there are keys below it."""
    page = doc("profiles.md")
    described = {"cases": "a case", "deny": "a rule", "ask": "a rule", "allow": "a rule"}

    assert names(page, "key") == list(keys_of(ProfileFile))
    for name, key in keys_of(ProfileFile).items():
        if tables.form_below(key) is not None and name not in {"availability", "hidden", "store"}:
            assert names(page, f"key of {described.get(name, f'`{name}`')}"), name


def test_ready_profiles_are_named() -> None:
    """Whoever reads the page knows what comes along."""
    sentence = re.search(r"that come with the core \(([^)]*)\)", doc("profiles.md"))

    assert sentence is not None
    assert set(quoted(sentence[1])) == {path.stem for path in (ROOT / "profiles").glob("*.yaml")}


def _ours() -> list[Any]:
    """The plugins of this repository, as installed; a stranger's beside them are not our business."""
    ours = {_distribution(name) for name in OUR_PLUGINS}
    return [plugin for plugin in list_plugins(find_installed()) if plugin.distribution in ours]


def _distribution(folder: str) -> str:
    return f"toolcharter-{folder.replace('_', '-')}"


def _specs(plugin: Any) -> list[Any]:
    return [*plugin.specs.values(), *plugin.extension_specs.values()]


def test_reasons_of_plugins_are_listed() -> None:
    """Each reason that a tool or an extension declares, and none that nobody declares."""
    listed = {name for row in rows(doc("reasons.md"), "reason") if "](../plugins/" in row[1] for name in quoted(row[0])}

    declared = {str(word) for plugin in _ours() for spec in _specs(plugin) for word in spec.reasons or ()}
    assert listed == declared


@each_row(
    "folder",
    [folder for folder in OUR_PLUGINS.values() if not (folder / "constraints.txt").exists()],  # those: tests/hosts
    ids=lambda folder: folder.name,
)
def test_pages_of_plugins_name_nothing_else(folder: Path) -> None:
    """The contract test asks for every field and reason; here none may be left over."""
    text = (folder / "README.md").read_text()
    specs = [spec for plugin in _ours() if plugin.distribution == _distribution(folder.name) for spec in _specs(plugin)]
    known = {field for spec in specs for field in spec.policy.model_fields}
    shared = {str(reason) for reason in (*CORE_REASONS, *GUARD_REASONS)}

    assert set(documented_defaults(text)) == known
    assert documented_reasons(text) - shared == {str(word) for spec in specs for word in spec.reasons or ()}


def test_make_targets_are_listed() -> None:
    """CONTRIBUTING names each target that a person would call."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = (ROOT / "CONTRIBUTING.md").read_text()

    assert phony is not None
    assert set(re.findall(r"^make ([\w-]+)", text, re.MULTILINE)) == set(phony[1].split()) - {"python", "clean"}


def test_layers_are_the_import_contracts() -> None:
    """The order of imports on the page is the one that import-linter holds us to."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    layers = SETTINGS["tool"]["importlinter"]["contracts"][0]["layers"]
    parts = {name.removesuffix("/").removesuffix(".py") for name in names(doc("architecture.md"), "part")}

    assert f"`{' -> '.join(layers)}`" in text
    assert parts == {part for layer in layers for part in layer.split(" | ")}


def reasons_to_retry(source: str) -> set[str]:
    """The reasons with which calls in *source* say that another attempt may do better."""
    given = [
        {word.arg: word.value for word in call.keywords}
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
    ]
    retried = [
        one["reason"] for one in given if {"reason", "retryable"} <= one.keys() and not is_false(one["retryable"])
    ]
    named = {one.attr.lower() for one in retried if isinstance(one, ast.Attribute)}
    return named | {one.value for one in retried if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_reasons_tell_where_another_attempt_may_do_better() -> None:
    """What a plugin's call says of a reason, `toolcharter reasons` says, from the table of its page."""
    rows_of_reasons = json.loads(CliRunner().invoke(command_group, ["reasons", "--json"]).stdout)
    told = {row["reason"] for row in rows_of_reasons if row["retry"]}
    said = {
        reason for file in ROOT.glob("plugins/*/toolcharter_*/**/*.py") for reason in reasons_to_retry(file.read_text())
    }

    assert {"browser_crashed", "not_delivered", "no_session"} <= said
    assert said - told == set()
