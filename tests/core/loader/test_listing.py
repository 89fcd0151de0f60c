import sys
from dataclasses import replace
from operator import attrgetter

from toolcharter.loader.listing import PluginInfo, list_plugins


def test_a_plugin_is_described(site, index) -> None:
    """Name, version, place and names come from metadata; specs from what it registers."""
    metadata = site.tool("acme-git", "tag", "git")
    (metadata / "entry_points.txt").write_text(
        "[toolcharter]\ntag = acme_git\ngit = acme_git\n[toolcharter.extensions]\nwatch = acme_watch\n"
    )

    (info,) = list_plugins(index())

    assert list(info.specs) == ["tag", "git"]
    assert replace(info, specs={}) == PluginInfo(
        distribution="acme-git",
        version="1.0",
        metadata_dir=str(metadata),
        trusted=True,
        permitted=True,
        tools=("git", "tag"),
        extensions=("watch",),
        specs={},
        problems=("there is no module 'acme_watch' to import.\nInstall acme-git again.",),
    )


def test_a_check_imports_all_and_tells_every_problem(site, index, tmp_path, monkeypatch) -> None:
    """Clashes, stray metadata, excluded plugins, bad origins and broken modules are told per plugin."""
    stray = type(site)(tmp_path / "stray")
    stray.tool("acme-stray", "stray")
    site.tool("acme-git", "git")
    site.tool("acme-hg", "Git")
    site.tool("acme-fossil", "fossil")
    site.tool("acme-broken", "broken", source="1 / 0")
    site.metadata("acme-absent", "[toolcharter]\nabsent = acme_absent\n")
    site.extension("acme-wire", "wire", source="@hookimpl\ndef open_sink(url): ...")
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", "acme-git,acme-hg,acme-broken,acme-absent,acme-wire")

    found = list_plugins(index(stray.folder))

    clash = (
        "is claimed 2 times, by acme-git 1.0, acme-hg 1.0.\n"
        "Uninstall all but one, or name the one to load in TOOLCHARTER_PLUGINS; upper and lower case do not count."
    )
    broken = (
        "importing 'acme_broken' failed: ZeroDivisionError: division by zero\n"
        "Install acme-broken again with what it depends on, or take it out of the profile."
    )
    assert [(info.distribution, list(info.specs), info.problems) for info in found] == [
        ("acme-absent", [], ("there is no module 'acme_absent' to import.\nInstall acme-absent again.",)),
        ("acme-broken", [], (broken,)),
        ("acme-fossil", [], ("TOOLCHARTER_PLUGINS leaves it out.",)),
        ("acme-git", ["git"], (f"the tool 'git' {clash}",)),
        ("acme-hg", ["Git"], (f"the tool 'Git' {clash}",)),
        ("acme-stray", [], ("it lies in no site directory of this interpreter, so it is never loaded.",)),
        ("acme-wire", [], ()),
    ]


def test_a_checked_listing_holds_capabilities_and_reasons(site, index) -> None:
    """They can be read before a profile grants anything."""
    source = site.source("git").replace("aliases=()", "capabilities={'fs:read'}, reasons=['no_push']")
    site.tool("acme-git", "git", source=source)

    (info,) = list_plugins(index())

    assert attrgetter("capabilities", "reasons")(info.specs["git"]) == ({"fs:read"}, ["no_push"])


def test_a_listing_holds_the_specs_of_extensions(site, index) -> None:
    """What a check is for, and why it denies, can be read as well; a plugin that only opens sinks has no spec."""
    source = """
        @hookimpl
        def register_extensions():
            return [ExtensionSpec("rules", CheckPolicy, print, reasons=["no_rules"])]

        @hookimpl
        def open_sink(url): ...
    """
    site.extension("acme-rules", "rules", "wire", source=source)

    (info,) = list_plugins(index())

    assert (info.extensions, list(info.extension_specs), info.problems) == (("rules", "wire"), ["rules"], ())
    assert info.extension_specs["rules"].reasons == ["no_rules"]


def test_the_installation_itself_is_listed(monkeypatch) -> None:
    """Without an index, `sys.path` of the process counts."""
    monkeypatch.setattr(sys, "path", [])

    assert list_plugins() == []
