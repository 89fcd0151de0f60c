"""Refusals after the import, and what a profile gets when there is nothing to refuse."""

import sys
from pathlib import Path

import pytest

from toolcharter import Call, Caller, Deny, ExtensionPolicy
from toolcharter.errors import PluginError

HOOKS = "Hooks here: register_tools, register_extensions, register_programs, register_commands, discover_tools, check_call, open_sink, open_channel, open_store, open_bus."


def _message(load, *tools: str, **needs: object) -> str:
    with pytest.raises(PluginError) as raised:
        load(*tools, **needs)
    return str(raised.value)


def test_listed_tools_are_loaded_in_the_order_of_the_profile(site, load) -> None:
    """Only the distributions of listed tools are imported, and their unlisted specs dropped."""
    aliases = {"write": ("Edit",), "read": ("View", "cat"), "glob": ("cat",)}
    site.tool("acme-files", "glob", "write", "read", source=site.source("glob", "write", "read", aliases=aliases))
    site.tool("acme-git", "git")
    site.tool("acme-unused", "unused")

    loaded = load("read", "git", "write")

    assert [(name, tool.spec.name, tool.distribution, tool.version) for name, tool in loaded.specs.items()] == [
        ("read", "read", "acme-files", "1.0"),
        ("git", "git", "acme-git", "1.0"),
        ("write", "write", "acme-files", "1.0"),
    ]
    assert loaded.aliases == {"View": "read", "cat": "read", "Edit": "write"}
    assert loaded.distributions == {"acme-files": "1.0", "acme-git": "1.0"}
    assert "acme_unused" not in sys.modules


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        pytest.param("import absent_module", "ModuleNotFoundError: No module named 'absent_module'", id="missing"),
        pytest.param("raise ValueError('two\\n lines')", "ValueError: two lines", id="raises"),
        pytest.param("raise SystemExit", "SystemExit", id="exits"),
    ],
)
def test_a_plugin_that_cannot_be_imported_stops_the_start(site, load, source, cause) -> None:
    """A profile never runs with fewer guards than it was written for."""
    site.tool("acme-git", "git", source=source)

    assert _message(load, "git") == (
        f"acme-git 1.0: importing 'acme_git' failed: {cause}\n"
        "Install acme-git again with what it depends on, or take it out of the profile."
    )


def test_all_broken_plugins_are_told_at_once_with_the_first_cause(site, load) -> None:
    """One attempt shows all there is to mend."""
    site.tool("acme-git", "git", source="1 / 0")
    site.tool("acme-hg", "hg", source="import absent_module")

    with pytest.raises(PluginError) as raised:
        load("git", "hg")

    assert [fault.place for fault in raised.value.faults] == ["acme-git 1.0", "acme-hg 1.0"]
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        pytest.param(
            "@hookimpl\ndef chek_call(call): ...",
            "'chek_call' is marked as an implementation of the unknown hook 'chek_call'.\n"
            f"Did you mean 'check_call'? {HOOKS}",
            id="misspelt",
        ),
        pytest.param(
            "@hookimpl(specname='xyz', optionalhook=True)\ndef check(call): ...",
            f"'check' is marked as an implementation of the unknown hook 'xyz'.\n{HOOKS}",
            id="misspelt-specname",
        ),
        pytest.param(
            "@hookimpl\ndef check_call(kall): ...",
            "check_call(kall) does not fit the hook check_call(call).\n"
            "Take just these arguments or fewer, without defaults.",
            id="argument",
        ),
        pytest.param(
            "@hookimpl\ndef check_call(call=None): ...",
            "check_call(call) does not fit the hook check_call(call).\n"
            "Take just these arguments or fewer, without defaults.",
            id="default",
        ),
        pytest.param(
            "@hookimpl(wrapper=True)\ndef check_call(call): yield",
            "'check_call' wraps the hook 'check_call'.\nWrite a plain function: hooks are called directly.",
            id="wrapper",
        ),
        pytest.param(
            "@hookimpl(hookwrapper=True)\ndef check_call(call): yield",
            "'check_call' wraps the hook 'check_call'.\nWrite a plain function: hooks are called directly.",
            id="old-wrapper",
        ),
    ],
)
def test_a_hook_that_would_not_be_called_as_written_stops_the_start(site, load, extra, message) -> None:
    """A misspelt hook, or an argument with a default, is skipped by pluggy in silence: a guard would be missing."""
    site.tool("acme-git", "git", source=site.source("git", extra=extra))

    assert _message(load, "git") == f"acme-git 1.0: {message}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "raise RuntimeError('no')",
            "the hook register_tools raised RuntimeError: no\n"
            "Report it to the authors of acme-git, or install another version.",
            id="raises",
        ),
        pytest.param(
            "return ToolSpec('git', ToolPolicy, print)",
            "the hook register_tools returned ToolSpec, not a list of ToolSpec.\nWrite: return [ToolSpec(...)]",
            id="bare-spec",
        ),
        pytest.param(
            "return ['git']",
            "the hook register_tools returned list of str, not a list of ToolSpec.\nWrite: return [ToolSpec(...)]",
            id="other-members",
        ),
        pytest.param(
            "return []",
            "the entry point 'git' has no tool behind it: acme_git registers none of that name.\n"
            "Mark register_tools with @hookimpl, and give the spec the entry point's name, letter by letter.",
            id="nothing",
        ),
        pytest.param(
            "return [ToolSpec('Git', ToolPolicy, print)]",
            "acme_git registers the tool 'Git', for which acme-git has no entry point.\n"
            'Add Git = "acme_git" under [project.entry-points."toolcharter"], or rename the spec.\n'
            "acme-git 1.0: the entry point 'git' has no tool behind it: acme_git registers none of that name.\n"
            "Mark register_tools with @hookimpl, and give the spec the entry point's name, letter by letter.",
            id="another-case",
        ),
        pytest.param(
            "return [ToolSpec('git', ToolPolicy, print), ToolSpec('hg', ToolPolicy, print)]",
            "acme_git registers the tool 'hg', for which acme-git has no entry point.\n"
            'Add hg = "acme_git" under [project.entry-points."toolcharter"], or rename the spec.',
            id="entry-point-of-another-distribution",
        ),
        pytest.param(
            "return [ToolSpec('git', ToolPolicy, print)] * 2",
            "acme_git registers the tool 'git' 2 times.\nKeep one.",
            id="twice",
        ),
    ],
)
def test_specs_that_are_not_those_of_the_entry_points_stop_the_start(site, load, body, message) -> None:
    """A distribution registers exactly the tools its metadata names."""
    source = f"from toolcharter import *\n@hookimpl\ndef register_tools():\n    {body}\n"
    site.tool("acme-git", "git", source=source)
    site.tool("acme-hg", "hg")

    assert _message(load, "git") == f"acme-git 1.0: {message}"


def test_an_entry_point_of_a_module_without_hooks_is_refused(site, load) -> None:
    """Nothing marked is nothing registered."""
    site.tool("acme-git", "git", source="")

    assert _message(load, "git") == (
        "acme-git 1.0: the entry point 'git' has no tool behind it: acme_git registers none of that name.\n"
        "Mark register_tools with @hookimpl, and give the spec the entry point's name, letter by letter."
    )


@pytest.mark.parametrize(
    ("first", "second", "role"),
    [
        pytest.param((), ("GIT",), "the name of the tool", id="name"),
        pytest.param(("vcs",), ("VCS",), "an alias of the tool", id="alias"),
    ],
)
def test_an_alias_that_two_loaded_tools_bear_is_refused(site, load, first, second, role) -> None:
    """Which tool answers must not depend on an order."""
    site.tool("acme-git", "git", source=site.source("git", aliases={"git": first}))
    site.tool("acme-hg", "hg", source=site.source("hg", aliases={"hg": second}))

    assert _message(load, "git", "hg") == (
        f"acme-hg 1.0: the alias {second[0]!r} of the tool 'hg' is also {role} 'git' of acme-git 1.0.\n"
        "List only one of the two tools in the profile; upper and lower case do not count."
    )


def test_two_distributions_that_name_one_module_are_refused(site, load) -> None:
    """Neither may speak for the tools of the other."""
    site.tool("acme-git", "git")
    site.metadata("evil", "[toolcharter]\nhg = acme_git\n")

    assert _message(load, "git", "hg") == (
        "evil 1.0: the entry point 'hg' names 'acme_git', as does one of acme-git 1.0.\n"
        "Uninstall one of the two distributions."
    )


CALL = Call("git", None, {}, Caller(), "c", None, "p", None, "builtin", None, "low")  # type: ignore[arg-type]


def test_checks_are_resolved_and_sorted_by_plugin(site, load) -> None:
    """The gate calls them straight; one that takes no argument is called without."""
    for name, signature in (("zoo", "call"), ("ant", "")):
        extra = f"@hookimpl\ndef check_call({signature}):\n    return Deny({name!r})\n"
        site.tool(f"acme-{name}", name, source=site.source(name, extra=extra))

    checks = load("zoo", "ant").checks

    assert [(check.plugin, check.function(CALL)) for check in checks] == [
        ("acme-ant:acme_ant", Deny("ant")),
        ("acme-zoo:acme_zoo", Deny("zoo")),
    ]


RULES = """
    class RulesPolicy(ExtensionPolicy):
        word: str = "no"

    class Sink:
        def write(self, lines): ...
        def close(self): ...

    class Rules:
        def __init__(self, workspace, policy):
            self.word = policy.word

        @hookimpl
        def check_call(self, call):
            return Deny(self.word)

        @hookimpl
        def open_sink(self, url):
            return Sink()

    @hookimpl
    def register_extensions():
        return [ExtensionSpec("rules", RulesPolicy, Rules)]
"""


def test_the_object_of_an_extension_adds_its_hooks(site, load, tmp_path) -> None:
    """An extension is built for a workspace with its policy; its hooks join those of the modules."""
    site.extension("acme-rules", "rules", source=RULES)
    loaded = load(extensions={"rules": "p.yaml:7:3"}, sinks=["rules"])
    extension = loaded.extension_specs["rules"]

    built = loaded.build_extensions(tmp_path, {"rules": extension.spec.policy(word="never")})

    assert (extension.distribution, extension.version, extension.module) == ("acme-rules", "1.0", "acme_rules")
    assert (loaded.checks, loaded.openers, loaded.distributions) == ((), {}, {"acme-rules": "1.0"})
    assert [(check.plugin, check.function(CALL)) for check in built.checks] == [
        ("acme-rules:acme_rules:rules", Deny("never"))
    ]
    assert type(built.open_sink("rules:x")).__name__ == "Sink"


def test_a_checks_policy_reaches_its_check(site, load, tmp_path) -> None:
    """The profile says how long a check may take and whether its failure counts; other checks have the defaults."""
    site.extension("acme-rules", "rules", source=RULES.replace("ExtensionPolicy)", "CheckPolicy)"))
    site.extension("acme-words", "words", source=RULES.replace('"rules"', '"words"'))
    loaded = load(extensions={"rules": "p.yaml:7:3", "words": "p.yaml:8:3"})
    policies = {
        "rules": loaded.extension_specs["rules"].spec.policy(advisory=True, timeout_s=0.5),
        "words": loaded.extension_specs["words"].spec.policy(),
    }

    checks = loaded.build_extensions(tmp_path, policies).checks

    assert [(check.plugin, check.advisory, check.timeout_s) for check in checks] == [
        ("acme-rules:acme_rules:rules", True, 0.5),
        ("acme-words:acme_words:words", False, 10.0),
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        pytest.param(
            "1 / 0",
            "building the extension 'rules' failed: ZeroDivisionError: division by zero\n"
            "Correct its settings in the profile, or take it out.",
            id="raises",
        ),
        pytest.param(
            "type('Late', (), {'register_tools': hookimpl(lambda self: [])})()",
            "'register_tools' is marked as an implementation of the unknown hook 'register_tools'.\n"
            "Did you mean 'discover_tools'? Hooks here: discover_tools, check_call, open_sink, open_channel, answer_approval, open_runner, read_roots, route_path, run_agent.",
            id="too-late",
        ),
    ],
)
def test_an_extension_that_cannot_be_built_stops_the_start(site, load, tmp_path, build, message) -> None:
    """A failing constructor and a hook that comes too late are both refused."""
    source = f"""
        @hookimpl
        def register_extensions():
            return [ExtensionSpec("rules", ExtensionPolicy, lambda workspace, policy: {build})]
    """
    site.extension("acme-rules", "rules", source=source)
    loaded = load(extensions={"rules": "p.yaml:7:3"})

    with pytest.raises(PluginError) as raised:
        loaded.build_extensions(tmp_path, {"rules": ExtensionPolicy()})

    assert str(raised.value) == f"acme-rules 1.0: {message}"


@pytest.mark.parametrize(
    ("needs", "source", "message"),
    [
        pytest.param(
            {"extensions": {"wire": "p.yaml:7:3"}},
            "@hookimpl\ndef open_sink(url): ...",
            "acme_wire registers no extension 'wire'; it only opens event sinks, channels, stores or buses.\n"
            "Take extensions.wire out of the profile.",
            id="sink-as-extension",
        ),
        pytest.param(
            {"sinks": ["wire"]},
            "@hookimpl\ndef register_extensions():\n    return [ExtensionSpec('wire', ExtensionPolicy, print)]",
            "acme_wire implements no hook open_sink, so it opens no event sink 'wire:'.\n"
            "List 'wire' under extensions if its object does, or take the sink out.",
            id="extension-as-sink",
        ),
        pytest.param(
            {"sinks": ["wire"]},
            "",
            "the entry point 'wire' has no extension behind it: acme_wire registers none of that name.\n"
            "Mark register_extensions with @hookimpl, and give the spec the entry point's name, letter by letter.",
            id="neither",
        ),
        pytest.param(
            {"extensions": {"wire": "p.yaml:7:3"}},
            "@hookimpl\ndef register_extensions():\n    return [ExtensionSpec('', ExtensionPolicy, print)]",
            "the hook register_extensions raised SpecError: ExtensionSpec '': the name is no text\n"
            "Report it to the authors of acme-wire, or install another version.",
            id="bad-spec",
        ),
    ],
)
def test_a_plugin_in_a_role_it_does_not_play_is_refused(site, load, needs, source, message) -> None:
    """A sink is no extension of a profile, and an extension no sink, unless it says so."""
    site.extension("acme-wire", "wire", source=source)

    assert _message(load, **needs) == f"acme-wire 1.0: {message}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "raise OSError('refused')",
            "acme-wire 1.0: event sink 'wire:': OSError: refused\nCorrect the URL, or start the server behind it.",
            id="raises",
        ),
        pytest.param(
            "return None",
            "acme-wire 1.0: event sink 'wire:': the hook open_sink returned NoneType, which has no write and close.\n"
            "Return an object with both methods.",
            id="no-sink",
        ),
    ],
)
def test_a_sink_that_does_not_open_stops_the_start(site, load, body, message) -> None:
    """The message keeps the URL to itself: it may hold a password."""
    site.extension("acme-wire", "wire", source=f"@hookimpl\ndef open_sink(url):\n    {body}\n")
    loaded = load(sinks=["wire"])

    with pytest.raises(PluginError) as raised:
        loaded.open_sink("wire://user:word@host")

    assert str(raised.value) == message


def test_a_sink_that_was_not_asked_for_is_not_opened(load) -> None:
    """Only the schemes named at loading have an opener."""
    with pytest.raises(PluginError) as raised:
        load().open_sink("wire:x")

    assert str(raised.value) == (
        "event sink 'wire:': no loaded plugin opens it.\n"
        "Load the plugin that has an entry point 'wire' and implements open_sink."
    )


def _tables(folder: Path, *names: str) -> str:
    """The source of a hook that brings a table for each of *names*."""
    files = [folder / f"{name}.toml" for name in names]
    for file in files:
        file.write_text(f'programs = ["{file.stem}"]\nsource = "test"\nstyle = "gnu"\noperands = ["read*"]\n')
    return f"@hookimpl\ndef register_programs():\n    return {[str(file) for file in files]}\n"


def test_tables_of_programs_come_from_plugins(site, load, tmp_path) -> None:
    """One file counts once, however many tools its module has; without any, the core's are all there is."""
    site.tool("acme-git", "git")
    site.tool("acme-frob", "frob", "grob", source=site.source("frob", "grob", extra=_tables(tmp_path, "frob")))
    site.tool("acme-hub", "hub", source=site.source("hub", extra=_tables(tmp_path, "hub")))

    plain, loaded = load("git"), load("frob", "grob", "hub", "git")

    assert (plain.program_files, loaded.program_files) == ((), (tmp_path / "frob.toml", tmp_path / "hub.toml"))
    programs = ("frob", "hub", "ls", "no-such")
    assert [plain.program_tables().find(one) is None for one in programs] == [True, True, False, True]
    assert [loaded.program_tables().find(one) is None for one in programs] == [False, False, False, True]


@pytest.mark.parametrize(
    ("extra", "cause"),
    [
        ("@hookimpl\ndef register_programs():\n    raise OSError('gone')\n", "OSError: gone"),
        ("@hookimpl\ndef register_programs():\n    return ['/no/such.toml']\n", "/no/such.toml"),
        ("@hookimpl\ndef register_programs():\n    return [7]\n", "TypeError"),
    ],
    ids=["raises", "missing", "no-path"],
)
def test_tables_that_cannot_be_used_stop_the_start(site, load, extra, cause) -> None:
    """With the distribution, and what is wrong."""
    site.tool("acme-git", "git", source=site.source("git", extra=extra))

    message = _message(load, "git")

    assert message.startswith("acme-git 1.0: the hook register_programs: ")
    assert cause in message
    assert message.endswith("The plugin's author has to fix its tables.")


@pytest.mark.parametrize("name", ["ls", "frob"])
def test_a_program_has_one_table(site, load, tmp_path, name) -> None:
    """Neither the core's nor another plugin's can be replaced."""
    for number in ("one", "two"):
        (tmp_path / number).mkdir()
        extra = _tables(tmp_path / number, name)
        site.tool(f"acme-{number}", number, source=site.source(number, extra=extra))

    message = _message(load, "one", "two")

    assert f"{name!r} has a table already, in " in message
    assert "acme-two 1.0: the hook register_programs: " in message
