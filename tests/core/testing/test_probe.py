"""A probe in this process, without its audit hook; `test_outside.py` has the whole of it."""

import sys
from pathlib import Path

import orjson
import pytest

from toolcharter.loader.scan import InstalledPlugins, find_installed
from toolcharter.testing.effects import Effects
from toolcharter.testing.probe import Guesses, main, probe, probe_extensions

from .conftest import WATCHMAN, install_plugin

NOTHING = Guesses({}, {})


@pytest.fixture
def index(site: Path) -> InstalledPlugins:
    return find_installed(path=[str(site)], sites=[str(site)])


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    folder = tmp_path / "probed"
    folder.mkdir()
    return Effects(folder)


def change(site: Path, old: str, new: str) -> None:
    file = site / "acme_greet.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_good_tool_leaves_nothing(effects: Effects, index: InstalledPlugins) -> None:
    """Guesses of the author are tried as well."""
    guesses = Guesses({"greet": [{"allowed_names": ["Ann"]}]}, {"greet": [{"name": "Ann"}]})

    assert probe(["greet"], guesses, effects, index) == {
        "import": {"greet": []},
        "construction": {"greet": []},
        "dry run": {"greet": []},
    }


def test_an_import_that_fails_ends_the_probe(effects: Effects, index: InstalledPlugins, site: Path) -> None:
    """What it printed until then, and why it failed."""
    (site / "acme_greet.py").write_text("print('hello')\n1 / 0")

    report = probe(["greet"], NOTHING, effects, index)

    assert list(report) == ["import"]
    assert report["import"]["greet"][0] == "prints 'hello\\n'"
    assert "importing 'acme_greet' failed: ZeroDivisionError" in report["import"]["greet"][1]


def test_a_constructor_that_acts_or_fails_is_told_once(effects: Effects, index: InstalledPlugins, site: Path) -> None:
    """Each policy builds the tool anew; the same fault is one."""
    change(site, "    def greet(name", "    (workspace / 'made').touch()\n    1 / 0\n    def greet(name")

    report = probe(["greet"], NOTHING, effects, index)

    assert report["construction"]["greet"][0] == "makes 'made' in the workspace"
    assert "building the tool 'greet' failed: ZeroDivisionError" in report["construction"]["greet"][1]
    assert "changes 'made' in the workspace" in report["construction"]["greet"][2:][0]
    assert report["dry run"]["greet"] == []


@pytest.mark.parametrize(
    ("early", "told"),
    [
        pytest.param("(workspace / 'made').touch()", "makes 'made' in the workspace", id="writes"),
        pytest.param("rt.run(['true'])", "fails: the tool tried to act on the world before", id="runs"),
        pytest.param("return ctx.ok('')", "fails: 'greet' is staged, and its body succeeded", id="no-mark"),
    ],
)
def test_a_body_that_acts_before_its_mark_is_told_with_the_call(
    effects: Effects, index: InstalledPlugins, site: Path, early: str, told: str
) -> None:
    """The arguments that showed it stand beside it."""
    change(site, "        if not name:", f"        {early}\n        if not name:")

    first = probe(["greet"], NOTHING, effects, index)["dry run"]["greet"][0]

    assert first.startswith(told)
    assert first.endswith('(called with {"name":"sample.txt"})')


def test_programs_that_only_look_may_run(effects: Effects, index: InstalledPlugins, site: Path) -> None:
    """`rt.inspect` is what a staged body has before its mark."""
    change(site, "        if not name:", "        rt.inspect(['true'])\n        rt.deadline\n        if not name:")

    assert probe(["greet"], NOTHING, effects, index)["dry run"]["greet"] == []


def test_a_tool_that_is_not_staged_is_not_rehearsed(effects: Effects, index: InstalledPlugins, site: Path) -> None:
    """No dry run ever enters its body."""
    change(site, ", staged=True", "")
    change(site, "        if not name:", "        (workspace / 'made').touch()\n        if not name:")

    assert probe(["greet"], NOTHING, effects, index)["dry run"]["greet"] == []


@pytest.mark.parametrize(
    ("kind", "phases", "told"),
    [
        ("tools", ["import"], "no installed plugin provides a tool named 'nope'"),
        ("extensions", ["import", "construction"], "no installed plugin provides an extension named 'nope'"),
    ],
)
def test_main_reads_a_request_and_writes_a_report(
    kind: str, phases: list[str], told: str, effects: Effects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook is set before the plugin is imported; a hook can never be removed, so here it is not set."""
    hooks: list[object] = []
    monkeypatch.setattr(sys, "addaudithook", hooks.append)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    request = {"workspace": str(effects.workspace), kind: ["nope"], "policies": {}, "samples": {}}
    (tmp_path / "request").write_bytes(orjson.dumps(request))

    main(str(tmp_path / "request"), str(tmp_path / "report"))

    report = orjson.loads((tmp_path / "report").read_bytes())
    assert [type(hook) for hook in hooks] == [Effects]
    assert list(report) == phases
    assert told in report["import"]["nope"][0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param("", "", [], id="good"),
        pytest.param(
            "    return Watch", "    (workspace / 'made').touch()\n    return Watch", ["makes 'made' in "], id="acts"
        ),
        pytest.param("    return Watch", "    1 / 0\n    return Watch", ["fails: ZeroDivisionError"], id="fails"),
        pytest.param(
            "allowed_tools: tuple[str, ...] = ()",
            'url: Annotated[str, Field(pattern="^https:")]',
            ["no policy can be guessed; hand one to"],
            id="no policy without help",
        ),
    ],
)
def test_an_extension_is_constructed_under_watch(
    effects: Effects, site: Path, old: str, new: str, told: list[str]
) -> None:
    """With its default policy and with one that lets more through; what it does is told as of tools."""
    imports = "from typing import Annotated\nfrom pydantic import Field\nfrom toolcharter import"
    source = WATCHMAN.replace(old, new).replace("from toolcharter import", imports) if old else WATCHMAN
    install_plugin(site, "acme-watch", source, "watchman", group="toolcharter.extensions")
    index = find_installed(path=[str(site)], sites=[str(site)])

    report = probe_extensions(["watchman"], NOTHING, effects, index)

    assert report["import"] == {"watchman": []}
    found = report["construction"]["watchman"]
    assert [any(one.startswith(start) for one in found) for start in told] == [True] * len(told)
    assert bool(found) == bool(told)


def test_an_extension_whose_import_fails_ends_the_probe(effects: Effects, site: Path) -> None:
    """What it printed until then, and why it failed."""
    install_plugin(site, "acme-watch", "print('hello')\n1 / 0", "watchman", group="toolcharter.extensions")

    report = probe_extensions(["watchman"], NOTHING, effects, find_installed(path=[str(site)], sites=[str(site)]))

    assert report["construction"] == {}
    assert report["import"]["watchman"][0] == "prints 'hello\\n'"
    assert "importing 'acme_watch' failed: ZeroDivisionError" in report["import"]["watchman"][1]
