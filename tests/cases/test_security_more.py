"""The later samples of paths and URLs, through `decide` and `call` of the real tools."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cases.path_trees import filled, lay_out
from tests.cases.test_ssrf import PUBLIC, calls_for, populate, toolbox, world  # noqa: F401 - fixtures
from tests.core.guards.network.conftest import certified  # noqa: F401 - a fixture
from tests.core.guards.network.fake_internet import FakeInternet
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox, build_tools

PATHS = sample_rows("security_more/paths_new")
URLS = sample_rows("security_more/urls_new")
CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "read": ("read_file", {}),
    "list": ("list_files", {}),
    "write": ("write_file", {"content": "x"}),
    "mkdir": ("make_dir", {}),
    "delete": ("delete_file", {}),
}
TEXTUAL = {"internal_name", "scheme", "differential", "port"}
"""Classes whose rows are denied by their text alone."""


@pytest.fixture
def file_tools(tmp_path: Path, row: dict[str, Any]) -> Iterator[Toolbox]:
    lay_out(tmp_path, row["layout"])
    profile = tmp_path / "profile.yaml"
    profile.write_text(json.dumps({"profile": "cases", "tools": {tool: {} for tool, _ in CALLS.values()}}))
    with build_tools(profile, workspace=tmp_path / "ws", events=lambda _: None) as built:
        yield built


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("row", row_params(PATHS))
def test_a_file_operation_ends_as_the_row_says(row: dict[str, Any], file_tools: Toolbox, tmp_path: Path) -> None:
    """What has to be refused is, by the dry run, too, and changes nothing; what is ordinary goes well."""
    tool, more = CALLS[row["op"]]
    args = {"path": filled(row["path"], tmp_path), **more}
    before = contents(tmp_path)

    decision, result = file_tools.decide(tool, args), file_tools.call(tool, args)

    if row["expect"] == "allow":
        assert (decision.outcome, result.outcome) == ("allow", "ok")
    else:
        assert (decision.outcome in {"deny", "error"}, result.outcome in {"denied", "error"}) == (True, True)
        assert contents(tmp_path) == before
        assert "SECRET" not in result.text


@pytest.mark.parametrize("row", row_params(URLS))
def test_a_url_ends_as_the_row_says(
    row: dict[str, Any],
    world: FakeInternet,  # noqa: F811 - the fixture
    toolbox: Callable[..., Toolbox],  # noqa: F811 - the fixture
    certified,  # noqa: F811 - the fixture
) -> None:
    """Denied rows connect to nothing; ordinary pages are fetched."""
    host = row["url"].partition("//")[2].partition("/")[0].partition("?")[0].partition(":")[0]
    populate(world, {"whatwg_host": host, **row}, certified)
    box = toolbox()
    for tool, args in calls_for(row["url"]):
        decision, result = box.decide(tool, args), box.call(tool, args)
        if row["expect"] == "allow":
            assert (decision.outcome, result.outcome) == ("allow", "ok"), result.text
        else:
            assert (decision.outcome == "deny") is (row["cls"] in TEXTUAL)
            assert result.outcome == "denied"
            assert {address for address, _ in world.dialled} <= {PUBLIC}
            assert world.connected == []
