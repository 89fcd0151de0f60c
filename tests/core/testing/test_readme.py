"""Reading reasons and defaults out of a README's tables."""

from pathlib import Path

import pytest

from toolcharter.loader.scan import TOOLS, EntryPoint
from toolcharter.testing.readme import documented_defaults, documented_reasons, read_readme, states_default, table_rows

README = r"""
# A plugin

| field | default | meaning |
|:---|---:|---|
| `allowed`, `denied` | `[]` | two at once |
| `pattern` | `a\|b` | a border that is none |
| `empty` |  | says nothing |

| reason | meaning |
|---|---|
| `odd` | it is `strange` |
| even | not in backticks |

| word | meaning |
|---|---|
| `other` | no reason |
"""


def test_rows_have_the_headings_of_their_own_table() -> None:
    """Ruling lines are no rows, and an escaped border is none."""
    rows = list(table_rows(README))

    assert rows[1].cells == {"field": "`pattern`", "default": r"`a\|b`", "meaning": "a border that is none"}
    assert [row.names for row in rows] == [["allowed", "denied"], ["pattern"], ["empty"], ["odd"], [], ["other"]]


def test_reasons_and_defaults_are_found() -> None:
    """Only tables headed so count, only the first cell names, and an empty default is none."""
    assert documented_reasons(README) == {"odd"}
    assert documented_defaults(README) == {"allowed": ["`[]`"], "denied": ["`[]`"], "pattern": [r"`a\|b`"]}


@pytest.mark.parametrize(
    ("cell", "value", "agrees"),
    [
        pytest.param("`[]`", [], True, id="list"),
        pytest.param("`[.env, a]`", [".env", "a"], True, id="yaml-list"),
        pytest.param('`""`', "", True, id="empty-text"),
        pytest.param("`agent/`", "agent/", True, id="bare-text"),
        pytest.param("`30`", 30.0, True, id="number"),
        pytest.param("``[a-z`]+``", "[a-z`]+", True, id="no-yaml"),
        pytest.param("`1`, `2`", 2, True, id="one-of-several"),
        pytest.param("the six reading ones", ["a"], True, id="words-are-believed"),
        pytest.param("`false`", True, False, id="other"),
        pytest.param("`[`", "{", False, id="other-text-that-is-no-yaml"),
    ],
)
def test_a_default_is_compared_as_yaml(cell: str, value: object, agrees: bool) -> None:  # noqa: FBT001 - a column
    """A README shows values as a profile would have them."""
    assert states_default(cell, value) is agrees


def test_readme_of_an_installed_wheel_is_its_description(site: Path) -> None:
    """Without a source folder the metadata has it."""
    entry = EntryPoint(TOOLS, "greet", "acme_greet", "acme-greet", "1.0", str(site), "acme_greet-1.0.dist-info", True)  # noqa: FBT003 - a named tuple

    assert "name_empty" in read_readme(entry)
    assert read_readme(entry._replace(metadata="none.dist-info")) == ""


@pytest.mark.parametrize("name", ["README.md", "README.rst"])
def test_readme_of_an_editable_install_is_the_file(site: Path, tmp_path: Path, name: str) -> None:
    """The metadata of an editable install is as old as the install."""
    source = tmp_path / "source"
    source.mkdir()
    (source / name).write_text("fresh")
    record = f'{{"url": "{source.as_uri()}", "dir_info": {{"editable": true}}}}'
    (site / "acme_greet-1.0.dist-info/direct_url.json").write_text(record)
    entry = EntryPoint(TOOLS, "greet", "acme_greet", "acme-greet", "1.0", str(site), "acme_greet-1.0.dist-info", True)  # noqa: FBT003 - a named tuple

    assert read_readme(entry) == "fresh"
