"""docs/availability.md: what its tables say about entries is what entries do."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from pages import blocks, quoted, rows
from toolcharter.api.call import Caller
from toolcharter.policy.availability import COMPARISONS, AvailabilityPlan, ToolCatalog, availability_faults
from toolcharter.policy.toolsets import GROUPS, TOOLSETS
from toolcharter.profile.read import ProfileSource, read_profile
from toolcharter.profile.settings import Availability, CallerPattern

PAGE = (Path(__file__).parents[3] / "docs/availability.md").read_text()
(EXAMPLE,) = (block.text for block in blocks(PAGE) if block.file == "profiles/helpdesk.yaml")
INSTALLED = dict.fromkeys(("read_file", "list_files", "glob", "grep"), frozenset({"fs"})) | {"git": frozenset({"vcs"})}
TRIED = ("read_file", "write_file", "exec", "web_fetch", "session_status", "cron", "sessions_list")
PIPELINE = {
    *("profile", "byProvider.profile", "allow", "byProvider.allow", "agents.NAME.allow"),
    *("agents.NAME.byProvider.allow", "group `allow`", "deny", "agents.NAME.deny", "alsoAllow"),
    *("agents.NAME.alsoAllow", "subagent deny", "leaf deny"),
}


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()

    def read(text: str) -> ProfileSource:
        file = Path("profiles/helpdesk.yaml")
        file.write_text(text)
        source = read_profile(str(file))
        assert source.faults == []
        return source

    return read


def seen(entries: Sequence[Availability], there: ToolCatalog, caller: dict[str, Any]) -> list[str]:
    view = AvailabilityPlan(entries, there).of(Caller(**caller))
    return [tool for tool, hidden in view.items() if hidden is None]


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0]) for row in rows(PAGE, "caller")])
def test_callers_of_the_example_see_what_its_table_says(row: list[str], read) -> None:
    """The whole profile, read as any other."""
    profile = read(EXAMPLE).profile
    there = ToolCatalog(INSTALLED, {}, profile.toolsets, profile.groups)

    assert list(profile.tools) == list(INSTALLED)
    assert list(availability_faults(profile.availability, there, (), lambda *_: "")) == []
    assert seen(profile.availability, there, yaml.safe_load(quoted(row[0])[0])) == quoted(row[1])


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row[0]} {row[3]}") for row in rows(PAGE, "key") if row[4:]])
def test_rows_of_the_pipeline_do_what_they_say(row: list[str], read) -> None:
    """Each snippet is the `availability` of a profile, and names nothing in vain."""
    entries = yaml.safe_load(quoted(row[2])[-1])
    profile = read(json.dumps({"profile": "row", "availability": entries})).profile
    there = ToolCatalog(dict.fromkeys(TRIED, frozenset[str]()), {})

    assert list(availability_faults(profile.availability, there, (), lambda *_: "")) == []
    assert seen(profile.availability, there, yaml.safe_load(quoted(row[3])[0])) == quoted(row[4])
    assert quoted(row[4]) or row[4] == "none"


def test_every_key_of_the_pipeline_has_a_row() -> None:
    """The seven steps, both denies, both additions, and what subagents lose."""
    found = {re.sub(r"^`([^`]+)`$", r"\1", row[0]) for row in rows(PAGE, "key") if row[4:]}

    assert found == PIPELINE


@pytest.mark.parametrize(
    ("heading", "prefix", "lists"), [("shipped toolset", "toolset", TOOLSETS), ("shipped group", "group", GROUPS)]
)
def test_shipped_lists_are_listed(heading: str, prefix: str, lists: dict[str, tuple[str, ...]]) -> None:
    """Each with what it holds, in order."""
    assert [(quoted(row[0])[0], tuple(quoted(row[1]))) for row in rows(PAGE, heading)] == [
        (f"{prefix}:{name}", items) for name, items in lists.items()
    ]


def test_keys_are_listed() -> None:
    """All that an entry and its `for` may say; comparisons are shown as they are written."""
    renamed = {"callers": "for"}
    keys = [quoted(row[0])[0] for row in rows(PAGE, "key of an entry")]

    assert keys == [renamed.get(field, field) for field in Availability._fields if field != "place"]
    assert [quoted(row[0])[0] for row in rows(PAGE, "key of `for`")] == list(CallerPattern._fields)
    assert set(re.findall(r'"([<>=]+)\d', PAGE)) <= COMPARISONS.keys()


def test_the_fault_on_the_page_is_the_fault_one_gets(read) -> None:
    """With its place and all there is to choose from."""
    source = read(EXAMPLE.replace("group:history", "group:histroy", 1))
    there = ToolCatalog(INSTALLED, {}, source.profile.toolsets, source.profile.groups)
    (shown,) = (block.text for block in blocks(PAGE) if block.language == "text")

    told = availability_faults(source.profile.availability, there, (), source.places.of)

    assert "\n".join(map(str, told)) + "\n" == shown
