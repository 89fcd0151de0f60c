"""Where modules come from: most of it in interpreters of their own, as the attack would be."""

import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from types import ModuleType

import pytest

from toolcharter.errors import PluginError
from toolcharter.loader.origin import profile_folders

PROGRAM = """
    import sys
    from pathlib import Path
    from toolcharter.errors import PluginError
    from toolcharter.loader.load import load_plugins
    from toolcharter.loader.interpreter import find_gate_code
    from toolcharter.loader.scan import find_installed
    try:
        loaded = load_plugins({"greet": "p.yaml:2:3"})
        print("loaded", *loaded.specs, sys.modules["acme_greet"].__file__)
        print(*sorted(name for name in sys.modules if name.startswith("acme")), *find_gate_code(Path.cwd(), find_installed()).sealed)
    except PluginError as error:
        print(error)
        print("acme_greet" in sys.modules)
"""


def test_an_installed_plugin_loads_even_from_a_site_directory_in_the_workspace(environment, tmp_path) -> None:
    """That directory is then protected; 500 more plugins are installed, and none of them is imported."""
    site = environment.site
    site.tool("acme-greet", "greet")
    for number in range(500):
        site.metadata(f"acme-{number}", f"[toolcharter]\ntool{number} = acme_{number}\n")
        site.package(f"acme_{number}", "raise SystemExit('imported')")

    printed = environment.run(PROGRAM, tmp_path / "workspace")

    assert printed == f"loaded greet {site.folder}/acme_greet/__init__.py\nacme_greet {site.folder}\n"


@pytest.mark.parametrize("shape", ["package", "module"])
def test_a_module_in_the_current_folder_is_passed_over_for_the_plugin(environment, tmp_path, shape) -> None:
    """The gate looks into the current folder last."""
    environment.site.tool("acme-greet", "greet")
    workspace = tmp_path / "workspace"
    if shape == "package":
        type(environment.site)(workspace).package("acme_greet", "raise SystemExit('imported')")
    else:
        (workspace / "acme_greet.py").write_text("raise SystemExit('imported')")

    printed = environment.run(PROGRAM, workspace)

    site = environment.site.folder
    assert printed == f"loaded greet {site}/acme_greet/__init__.py\nacme_greet {site}\n"


def test_a_folder_in_the_current_one_that_shares_a_namespace_with_a_plugin_is_refused(environment, tmp_path) -> None:
    """A namespace package would take its share of it."""
    environment.site.tool("acme-greet", "greet")
    place = tmp_path / "workspace/acme_greet"
    place.mkdir()
    (environment.site.folder / "acme_greet/__init__.py").unlink()

    printed = environment.run(PROGRAM, tmp_path / "workspace")

    assert printed == (
        f"acme-greet 1.0: the module 'acme_greet' would be imported from '{place}', "
        f"not from '{environment.site.folder}'.\n"
        "Remove what lies there, or take that folder off sys.path (PYTHONPATH, the current folder).\nFalse\n"
    )


def test_a_distribution_on_pythonpath_is_refused(environment, tmp_path) -> None:
    """Its metadata claims the tool from outside every site directory."""
    stray = type(environment.site)(tmp_path / "stray")
    stray.tool("acme-greet", "greet")

    printed = environment.run(PROGRAM, tmp_path, PYTHONPATH=str(stray.folder))

    assert printed == (
        f"p.yaml:2:3: tools.greet: '{stray.folder}/acme_greet-1.0.dist-info' claims the tool 'greet', "
        "but lies in no site directory of this interpreter.\n"
        f"Install acme-greet with pip, or take '{stray.folder}' off sys.path (PYTHONPATH, the current folder).\n"
        "False\n"
    )


@pytest.mark.parametrize("layout", [".", "src dir"])
def test_an_editable_install_is_imported_from_its_own_folder(environment, tmp_path, layout) -> None:
    """`direct_url.json` in a site directory names the folder that may be imported from."""
    project = tmp_path / "a project"
    site, source = environment.site, project / layout
    type(site)(source).tool("acme-greet", "greet")
    (source / "acme_greet-1.0.dist-info/entry_points.txt").unlink()
    site.metadata("acme-greet", "[toolcharter]\ngreet = acme_greet\n", editable=project)
    (site.folder / "acme.pth").write_text(str(source))

    printed = environment.run(PROGRAM, tmp_path)

    assert printed.splitlines()[0] == f"loaded greet {source.resolve()}/acme_greet/__init__.py"


def test_an_editable_install_that_is_shadowed_is_refused(environment, tmp_path) -> None:
    """The folder beside the named one is not trusted, although its name begins alike."""
    project, shadow = tmp_path / "project", type(environment.site)(tmp_path / "project2")
    environment.site.tool("acme-greet", "greet", editable=project)
    shadow.package("acme_greet", "raise SystemExit('imported')")

    printed = environment.run(PROGRAM, tmp_path, PYTHONPATH=str(shadow.folder))

    assert printed == (
        f"acme-greet 1.0: the module 'acme_greet' would be imported from '{shadow.folder}/acme_greet', "
        f"not from '{project}'.\n"
        "Remove what lies there, or take that folder off sys.path (PYTHONPATH, the current folder).\nFalse\n"
    )


@pytest.mark.parametrize(
    "record",
    [
        pytest.param("{", id="no-json"),
        pytest.param("[]", id="no-object"),
        pytest.param("{}", id="no-url"),
        pytest.param('{"url": "file:///", "dir_info": {}}', id="not-editable"),
        pytest.param('{"url": "file:///", "dir_info": {"editable": 1}}', id="not-true"),
        pytest.param('{"url": "https://host/", "dir_info": {"editable": true}}', id="no-file"),
    ],
)
def test_a_record_that_names_no_editable_folder_trusts_none(site, load, tmp_path, monkeypatch, record) -> None:
    """A plugin whose module lies elsewhere is then refused."""
    metadata = site.tool("acme-greet", "greet", editable=tmp_path / "project")
    (metadata / "direct_url.json").write_text(record)
    monkeypatch.syspath_prepend(tmp_path / "project")

    with pytest.raises(PluginError) as raised:
        load("greet")

    assert str(raised.value) == (
        f"acme-greet 1.0: the module 'acme_greet' would be imported from '{tmp_path}/project/acme_greet', "
        f"not from '{site.folder}'.\n"
        "Remove what lies there, or take that folder off sys.path (PYTHONPATH, the current folder)."
    )


@pytest.mark.parametrize("value", ["acme_greet:plugin", "", "acme-greet", "acme_greet [extra]", "../acme"])
def test_an_entry_point_that_names_no_module_is_refused(site, load, value) -> None:
    """A plugin is a module; objects in it, and anything else, are not imported."""
    site.metadata("acme-greet", f"[toolcharter]\ngreet = {value}\n")

    with pytest.raises(PluginError) as raised:
        load("greet")

    assert str(raised.value) == (
        f"acme-greet 1.0: the entry point 'greet' names {value!r}, which is not a module.\n"
        'Write greet = "package_name" under [project.entry-points."toolcharter"].'
    )


def test_a_module_that_is_not_there_is_refused(site, load) -> None:
    """Metadata without the package is a broken install."""
    site.metadata("acme-greet", "[toolcharter]\ngreet = acme_greet.tools\n")

    with pytest.raises(PluginError) as raised:
        load("greet")

    assert str(raised.value) == (
        "acme-greet 1.0: there is no module 'acme_greet' to import.\nInstall acme-greet again."
    )


@pytest.mark.parametrize(
    ("module", "place"),
    [
        pytest.param("sys", "built-in", id="built-in"),
        pytest.param("loader_made_up", "an object in sys.modules", id="no-spec"),
    ],
)
def test_a_module_that_came_from_no_file_is_refused(site, load, monkeypatch, module, place) -> None:
    """What is in `sys.modules` already is what an import would give, even in the site directory."""
    monkeypatch.setitem(sys.modules, "loader_made_up", ModuleType("loader_made_up"))
    monkeypatch.chdir(site.folder)
    site.metadata("acme-greet", f"[toolcharter]\ngreet = {module}\n")

    with pytest.raises(PluginError) as raised:
        load("greet")

    assert str(raised.value) == (
        f"acme-greet 1.0: the module {module!r} would be imported from {place!r}, not from '{site.folder}'.\n"
        "Remove what lies there, or take that folder off sys.path (PYTHONPATH, the current folder)."
    )


def test_plugins_can_carry_profiles(site, index, tmp_path, monkeypatch) -> None:
    """Their folders are found without an import, also below a module of a package and in an editable install."""
    dead = "raise SystemExit('imported')"
    expected = []
    for name, editable in (("acme-git", None), ("acme-hg", tmp_path / "project")):
        site.tool(name, name[5:], source=dead, editable=editable)
        expected.append((editable or site.folder) / name.replace("-", "_") / "profiles")
    site.package("acme_suite.vcs", dead)
    site.metadata("acme-suite", "[toolcharter]\nsvn = acme_suite.vcs\n")
    expected.append(site.folder / "acme_suite/vcs/profiles")
    for folder in expected:
        folder.mkdir()
    site.tool("acme-plain", "plain", source=dead)
    site.metadata("acme-broken", "[toolcharter]\nbroken = :\n")
    monkeypatch.syspath_prepend(tmp_path / "project")

    assert profile_folders(index()) == sorted(expected)  # pytest has a finder of its own, which may find anything
    monkeypatch.setattr("sys.meta_path", [BuiltinImporter, FrozenImporter, PathFinder])
    assert profile_folders(index()) == sorted(expected)
    assert {"acme_git", "acme_hg", "acme_suite", "acme_plain"}.isdisjoint(sys.modules)


def test_a_linked_package_in_a_site_directory_is_trusted(site, load, tmp_path) -> None:
    """Installers may link from a cache: a link in a trusted folder is as good as a file."""
    site.tool("acme-greet", "greet")
    cache = tmp_path / "cache"
    (site.folder / "acme_greet").rename(cache)
    (site.folder / "acme_greet").symlink_to(cache)

    assert list(load("greet").specs) == ["greet"]
