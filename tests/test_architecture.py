"""docs/architecture.md says what the code is: its paths exist, its table of a call is the pipeline's."""

import re
from pathlib import Path

import pytest

import architecture
from architecture import drop_implied
from pages import ROOT, quoted, rows
from toolcharter.api.reasons import CORE_REASONS
from toolcharter.gate import pipeline

PAGE = ROOT / "docs/architecture.md"
STAGES = {path.stem for path in (ROOT / "core/toolcharter/gate/stages").glob("s*.py")}


def _paths() -> list[str]:
    """What the page quotes that is a path: with a slash or a suffix, and no code."""
    text = re.sub(r"^```.*?^```$", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [name for name in quoted(text) if re.fullmatch(r"[\w./-]+(?:/|\.(?:py|md|toml))", name)]


def test_paths_of_the_page_exist() -> None:
    """Each is seen from the root folder or from the core."""
    missing = [name for name in _paths() if not any((top / name).exists() for top in (ROOT, architecture.CORE))]

    # `toolcharter/__init__.py` is seen from `core/`.
    assert [name for name in missing if not (ROOT / "core" / name).exists()] == []
    assert len(_paths()) > 100


def test_table_of_a_call_is_the_pipeline() -> None:
    """The same modules in the same order as in the pipeline's own words, and no stage is left out."""
    table = [name for row in rows(PAGE.read_text(), "line") for name in re.findall(r"stages/(s\d_\w+)\.py", row[3])]
    docstring = re.findall(r"^[\d, ]+ (s\d_\w+) ", pipeline.__doc__ or "", re.MULTILINE)

    assert table == docstring
    assert set(table) == STAGES


def test_reasons_of_the_table_exist() -> None:
    """What a line can end with is a reason of the core."""
    ends = {reason for row in rows(PAGE.read_text(), "line") for reason in quoted(row[4])}

    assert ends <= {str(reason) for reason in CORE_REASONS}
    assert ends


def test_a_newcomer_finds_twenty_jobs() -> None:
    """Each leads to a file, and each thing that can be added has its place."""
    text = PAGE.read_text()
    jobs, additions = list(rows(text, "you want to know")), list(rows(text, "to add"))

    assert len(jobs) >= 20
    assert [row for row in jobs if not quoted(row[1])] == []
    assert [row for row in additions if not quoted(row[1])] == []


def test_arrows_go_down() -> None:
    """What the figure draws keeps the layers of the contract."""
    order = architecture.parts()

    assert [
        (part, other)
        for part, near in architecture.arrows().items()
        for other in near
        if order.index(other) < order.index(part)
    ] == []


@pytest.mark.parametrize(
    ("arrows", "drawn"),
    [
        pytest.param({"a": {"b", "c"}, "b": {"c"}, "c": set()}, {"a": {"b"}, "b": {"c"}, "c": set()}, id="a-way-round"),
        pytest.param({"a": {"b", "c"}, "b": set(), "c": set()}, {"a": {"b", "c"}, "b": set(), "c": set()}, id="a-fork"),
        pytest.param(
            {"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()},
            {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()},
            id="a-longer-way",
        ),
    ],
)
def test_arrows_that_others_show_are_left_out(arrows: architecture.Arrows, drawn: architecture.Arrows) -> None:
    """An arrow is drawn only if no other way leads to its end."""
    assert drop_implied(arrows) == drawn


def test_each_folder_of_tests_is_about_a_folder_of_the_source() -> None:
    """Who changes a folder finds its tests by its name: `tests/core/X` is about `core/toolcharter/X`, and so on."""
    folders = {file.parent for part in ("core", "plugins") for file in (ROOT / "tests" / part).rglob("test_*.py")}
    about = {folder: _source_of(folder.relative_to(ROOT / "tests").parts) for folder in folders}

    assert len(about) > 30
    assert sorted(str(folder) for folder, source in about.items() if not source.is_dir()) == []


def _source_of(parts: tuple[str, ...]) -> Path:
    match parts:
        case ("plugins", name, *rest):
            return ROOT.joinpath("plugins", name, f"toolcharter_{name}", *rest)
        case ("plugins",):
            return ROOT / "plugins"
    return ROOT.joinpath("core/toolcharter", *parts[1:])
