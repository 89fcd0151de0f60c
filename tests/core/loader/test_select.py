"""Refusals that need no import: the whole message of each."""

import sys

import pytest

from toolcharter.errors import PluginError


def test_an_unknown_tool_is_a_fault_at_its_place(site, load) -> None:
    """The message names the place, the nearest name and all that is installed."""
    site.tool("acme-git", "git")
    site.tool("acme-files", "read_file")

    with pytest.raises(PluginError) as raised:
        load("read_file", "gti")

    assert str(raised.value) == (
        "p.yaml:3:3: tools.gti: no installed plugin provides a tool named 'gti'.\n"
        "Did you mean 'git'? Installed tools: 'git', 'read_file'."
    )


def test_a_tool_is_named_letter_by_letter(site, load) -> None:
    """Another case is another name, and a near one."""
    site.tool("acme-git", "git")

    with pytest.raises(PluginError) as raised:
        load("GIT")

    assert str(raised.value) == (
        "p.yaml:2:3: tools.GIT: no installed plugin provides a tool named 'GIT'.\n"
        "Did you mean 'git'? Installed tools: 'git'."
    )


def test_unknown_extensions_and_sinks_are_told_in_the_same_breath(load) -> None:
    """All faults that can be told at once are told at once."""
    with pytest.raises(PluginError) as raised:
        load("git", extensions={"rules": "p.yaml:7:3"}, sinks=["sislog", "sislog"])

    assert str(raised.value) == (
        "p.yaml:2:3: tools.git: no installed plugin provides a tool named 'git'.\n"
        "Installed tools: none.\n"
        "p.yaml:7:3: extensions.rules: no installed plugin provides an extension named 'rules'.\n"
        "Installed extensions: none.\n"
        "event sink 'sislog:': no installed plugin provides an event sink named 'sislog'.\n"
        "A sink is stderr:, structlog:, file:PATH such as file:events.jsonl, or an extension's URL."
        " Installed extensions: none."
    )


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (
            "bwrap",
            "Install the distribution toolcharter-bwrap, or name another runner: `runner: host` is not a sandbox.",
        ),
        ("bwarp", "Installed extensions: none."),
    ],
)
def test_a_runner_that_is_not_installed_is_told_as_a_runner(load, name: str, fix: str) -> None:
    """Under the key that names it, and with the distribution to install, if it is one of ours."""
    with pytest.raises(PluginError) as raised:
        load(extensions={name: "p.yaml:7:1"}, runner=name)

    assert str(raised.value) == f"p.yaml:7:1: runner: no installed plugin provides a runner named {name!r}.\n{fix}"


def test_a_long_list_of_installed_tools_is_cut(site, load) -> None:
    """Twenty names are shown, and how many there are beside."""
    site.metadata("acme", "[toolcharter]\n" + "".join(f"tool{number:02} = acme\n" for number in range(22)))

    with pytest.raises(PluginError) as raised:
        load("zzz")

    names = ", ".join(f"'tool{number:02}'" for number in range(20))
    assert str(raised.value) == (
        f"p.yaml:2:3: tools.zzz: no installed plugin provides a tool named 'zzz'.\nInstalled tools: {names} and 2 more."
    )


def test_a_tool_that_may_be_missing_is_left_out(site, load) -> None:
    """`missing_ok` excepts a tool that nothing provides, and nothing else of the profile."""
    site.tool("acme-git", "git")

    assert list(load("later", "git", missing_ok={"later"}).specs) == ["git"]


def test_two_distributions_with_one_tool_name_are_refused(site, load) -> None:
    """Neither is picked; case does not tell them apart."""
    site.tool("acme-git", "git")
    site.tool("other-git", "Git")

    with pytest.raises(PluginError) as raised:
        load("git")

    assert str(raised.value) == (
        "p.yaml:2:3: tools.git: the tool 'git' is claimed 2 times, by acme-git 1.0, other-git 1.0.\n"
        "Uninstall all but one, or name the one to load in TOOLCHARTER_PLUGINS; upper and lower case do not count."
    )


def test_one_distribution_with_the_same_tool_twice_is_refused(site, load) -> None:
    """Two lines for one name are as bad as two distributions."""
    site.tool("acme-git", "git", "GIT")

    with pytest.raises(PluginError) as raised:
        load("git")

    assert str(raised.value) == (
        "p.yaml:2:3: tools.git: the tool 'git' is claimed 2 times, by acme-git 1.0.\n"
        "Uninstall all but one, or name the one to load in TOOLCHARTER_PLUGINS; upper and lower case do not count."
    )


def test_a_clash_that_the_profile_does_not_touch_stops_nothing(site, load) -> None:
    """Only the names a profile lists have to be unambiguous."""
    site.tool("acme-git", "git")
    site.tool("other-git", "git")
    site.tool("acme-files", "read_file")

    assert list(load("read_file").specs) == ["read_file"]


def test_the_variable_settles_a_clash(site, load, monkeypatch) -> None:
    """A distribution that may not load is no rival."""
    site.tool("acme-git", "git")
    site.tool("other-git", "git")
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", "other-git")

    assert load("git").distributions == {"other-git": "1.0"}


def test_a_tool_that_the_variable_leaves_out_is_refused(site, load, monkeypatch) -> None:
    """The message names the variable, its value and what to add."""
    site.tool("acme-git", "git")
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", "files,hg")

    with pytest.raises(PluginError) as raised:
        load("git", missing_ok={"git"})

    assert str(raised.value) == (
        "p.yaml:2:3: tools.git: the tool 'git' comes from acme-git 1.0, "
        "which TOOLCHARTER_PLUGINS='files,hg' leaves out.\n"
        "Add acme-git to TOOLCHARTER_PLUGINS, or unset it."
    )


@pytest.mark.parametrize("installed_too", [True, False])
def test_metadata_outside_a_site_directory_is_refused(site, load, tmp_path, installed_too) -> None:
    """Such a claim is refused even where a trusted distribution provides the tool, or it may be missing."""
    stray = type(site)(tmp_path / "workspace")
    stray.tool("evil-git", "git")
    if installed_too:
        site.tool("acme-git", "git")

    with pytest.raises(PluginError) as raised:
        load("git", path=(stray.folder,), missing_ok={"git"})

    assert str(raised.value) == (
        f"p.yaml:2:3: tools.git: '{stray.folder}/evil_git-1.0.dist-info' claims the tool 'git', "
        "but lies in no site directory of this interpreter.\n"
        f"Install evil-git with pip, or take '{stray.folder}' off sys.path (PYTHONPATH, the current folder)."
    )
    assert {"evil_git", "acme_git"}.isdisjoint(sys.modules)


def test_metadata_outside_a_site_directory_for_another_tool_stops_nothing(site, load, tmp_path) -> None:
    """What the profile does not need cannot shadow anything."""
    stray = type(site)(tmp_path / "workspace")
    stray.tool("evil-git", "git")
    site.tool("acme-files", "read_file")

    assert list(load("read_file", path=(stray.folder,)).specs) == ["read_file"]


def test_metadata_that_a_build_left_in_the_source_of_an_editable_install_is_its_own(
    site, load, tmp_path, monkeypatch
) -> None:
    """An `*.egg-info` beside the package, on `sys.path`, as setuptools leaves it, is the same project."""
    source = tmp_path / "project/src"
    site.tool("acme-git", "git", editable=source)
    type(site)(source).metadata("acme-git", "[toolcharter]\ngit = acme_git\n", folder="acme_git.egg-info")
    monkeypatch.syspath_prepend(source)

    assert list(load("git", path=(source,)).specs) == ["git"]


@pytest.mark.parametrize(
    ("name", "specifier", "message"),
    [
        pytest.param(
            "acme-git",
            ">=2,<3",
            "version 1.0 of acme-git is installed, but the profile asks for '>=2,<3'.\n"
            "Install one that fits, or correct the pin.",
            id="unmet",
        ),
        pytest.param(
            "acme-gti",
            ">=1",
            "no plugin 'acme-gti' is installed.\nDid you mean 'acme-git'? Installed plugins: 'acme-git'.",
            id="absent",
        ),
        pytest.param(
            "acme-git",
            "about 1",
            "'about 1' is not a version specifier.\nWrite one such as '>=1,<2'.",
            id="invalid",
        ),
    ],
)
def test_a_pin_that_does_not_hold_is_refused(site, load, name, specifier, message) -> None:
    """The fault stands at the pin, with the installed version or the names there are."""
    site.tool("acme-git", "git")

    with pytest.raises(PluginError) as raised:
        load("git", pins={name: (specifier, "p.yaml:9:13")})

    assert str(raised.value) == f"p.yaml:9:13: plugins.{name}: {message}"


def test_a_pin_on_a_plugin_without_a_proper_version_does_not_hold(site, load) -> None:
    """What cannot be compared is refused; and with nothing trusted, no plugin is installed."""
    site.package("acme_git", "")
    site.metadata("acme-git", "[toolcharter]\ngit = acme_git\n", folder="acme_git-new.dist-info")

    with pytest.raises(PluginError) as raised:
        load(pins={"acme-git": (">=1", "p.yaml:9:13")})

    assert str(raised.value) == (
        "p.yaml:9:13: plugins.acme-git: version new of acme-git is installed, but the profile asks for '>=1'.\n"
        "Install one that fits, or correct the pin."
    )


def test_a_stray_plugin_does_not_satisfy_a_pin(site, load, tmp_path) -> None:
    """Metadata outside a site directory counts as not installed."""
    stray = type(site)(tmp_path / "workspace")
    stray.tool("acme-git", "git")

    with pytest.raises(PluginError) as raised:
        load(path=(stray.folder,), pins={"acme-git": (">=1", "p.yaml:9:13")})

    assert str(raised.value) == (
        "p.yaml:9:13: plugins.acme-git: no plugin 'acme-git' is installed.\nInstalled plugins: none."
    )


def test_a_pin_that_holds_lets_the_plugin_load(site, load) -> None:
    """Names of pins are compared as PEP 503 says."""
    site.tool("acme-git", "git")

    assert load("git", pins={"Acme_Git": (">=1,<2", "p.yaml:9:13")}).distributions == {"acme-git": "1.0"}
