"""Commands that plugins add with the hook `register_commands`."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from .conftest import install

MODULE = '''
import click
from toolcharter import hookimpl

@click.command("greet")
@click.argument("name")
def greet(name):
    """Say hello."""
    click.echo(f"Hello {name}.")

@hookimpl
def register_commands():
    return [greet]
'''


def add(site: Path, distribution: str, module: str = MODULE, name: str = "greet", summary: str = "") -> None:
    """Install a distribution with the command *name*."""
    install(site, distribution, module, "toolcharter.commands")
    metadata = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    (metadata / "entry_points.txt").write_text(f"[toolcharter.commands]\n{name} = {distribution.replace('-', '_')}\n")
    if summary:
        head = f"Metadata-Version: 2.1\nName: {distribution}\nSummary: {summary}\nVersion: 1.0\n\n"
        (metadata / "METADATA").write_text(head)


def test_the_command_runs(run: Callable[..., Result], site: Path) -> None:
    """Its arguments, its output and its status are its own."""
    add(site, "acme-greet")

    result = run("greet", "Ada")

    assert (result.stdout, result.exit_code) == ("Hello Ada.\n", 0)


def test_help_lists_it_without_importing_it(run: Callable[..., Result], site: Path) -> None:
    """The line is the distribution's summary, or its name and version if it has none."""
    add(site, "acme-greet", summary="Greets people.")
    add(site, "acme-wave", name="wave")

    result = run("--help")

    listed = result.stdout.partition("Commands of plugins:\n")[2].splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [["greet", "Greets people."], ["wave", "acme-wave 1.0"]]
    assert not {"acme_greet", "acme_wave"} & sys.modules.keys()


def test_a_core_command_looks_for_no_plugin(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """`toolcharter scrub` does not list what is installed in order to be found."""

    def fail() -> None:
        raise AssertionError("the installed distributions were listed")

    monkeypatch.setattr("toolcharter.loader.scan.find_installed", fail)

    assert run("scrub", stdin="plain").stdout == "plain"


def test_two_distributions_that_claim_it_are_named(run: Callable[..., Result], site: Path) -> None:
    """Neither runs; the help says so, too."""
    add(site, "acme-greet")
    add(site, "beta-greet")

    result = run("greet", "Ada")

    said = "toolcharter: the command 'greet' is claimed 2 times, by acme-greet 1.0, beta-greet 1.0."
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "The command 'greet' is claimed 2 times, by acme-greet 1.0, beta-greet 1.0." in run("--help").stdout


def test_a_command_of_toolcharter_is_never_replaced(run: Callable[..., Result], site: Path) -> None:
    """The core's runs; the help and `plugins --check` name the distribution that claims it."""
    add(site, "acme-schema", MODULE.replace('"greet"', '"schema"'), name="schema")

    assert '"$schema"' in run("schema").stdout
    assert "The command 'schema' is toolcharter's own, and acme-schema 1.0 claims it, too" in run("--help").stdout
    checked = run("plugins", "--check")
    assert "acme-schema 1.0: the command 'schema' is toolcharter's own." in checked.stderr
    assert checked.exit_code == 2


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import no_such_module_at_all\n", "importing 'acme_greet' failed"),
        ("", "has no command behind it"),
        (MODULE.replace("return [greet]", "raise OSError('gone')"), "the hook register_commands raised OSError: gone"),
        (MODULE.replace("register_commands", "register_command"), "unknown hook 'register_command'"),
    ],
    ids=["import", "none", "raises", "misspelt"],
)
def test_a_broken_plugin_costs_its_own_command_only(
    run: Callable[..., Result], site: Path, module: str, said: str
) -> None:
    """Exit status 2 with the distribution's name and version; other commands work."""
    add(site, "acme-greet", module)

    result = run("greet", "Ada")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "acme-greet 1.0" in result.stderr
    assert said in result.stderr
    assert run("schema").exit_code == 0


def test_a_left_out_distribution_is_named(
    run: Callable[..., Result], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`TOOLCHARTER_PLUGINS` holds for commands, too."""
    add(site, "acme-greet")
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", "toolcharter-demo")

    result = run("greet", "Ada")

    assert result.exit_code == 2
    assert "comes from acme-greet 1.0, which TOOLCHARTER_PLUGINS='toolcharter-demo' leaves out" in result.stderr


def test_a_misspelt_name_finds_it(run: Callable[..., Result], site: Path) -> None:
    """The nearest command may be a plugin's."""
    add(site, "acme-greet")

    assert "No such command 'gret'. Did you mean 'greet'?" in run("gret").stderr


def test_plugins_lists_it(run: Callable[..., Result], site: Path) -> None:
    """A distribution that adds only a command is listed with it."""
    add(site, "acme-greet")

    assert "greet (command)" in run("plugins").stdout


PART = MODULE.replace('"greet"', '"greet.loudly"').replace("Hello", "HELLO")


def test_a_part_of_another_plugin_s_command(run: Callable[..., Result], site: Path) -> None:
    """The command itself stays what it is, and its help names the part."""
    add(site, "acme-greet")
    add(site, "beta-greet", PART, name="greet.loudly", summary="Greets loudly.")

    assert run("greet", "Ada").stdout == "Hello Ada.\n"
    assert run("greet", "loudly", "Ada").stdout == "HELLO Ada.\n"
    assert "More: greet loudly." in run("greet", "--help").stdout
    assert "greet loudly  Greets loudly." in run("--help").stdout


def test_a_part_without_its_command(run: Callable[..., Result], site: Path) -> None:
    """Then there is a group of parts, and nothing else in it."""
    add(site, "beta-greet", PART, name="greet.loudly")

    assert run("greet", "loudly", "Ada").stdout == "HELLO Ada.\n"
    assert "loudly" in run("greet", "--help").stdout
    missing = run("greet", "softly")
    assert (missing.exit_code, "No such command 'softly'" in missing.stderr) == (2, True)
