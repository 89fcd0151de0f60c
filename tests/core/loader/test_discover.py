"""`discover`: what discoverers may offer, whose names they may not take, and what their failures do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import (
    ConfigurationError,
    DiscovererPolicy,
    Discovery,
    ExtensionPolicy,
    ExtensionSpec,
    Fault,
    PluginError,
    ProfileView,
    ToolPolicy,
    ToolSpec,
)
from toolcharter.loader.discover import DiscoveryContext, LateDiscoverers, discover
from toolcharter.loader.discovered import DiscoveredTools
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedExtension, LoadedPlugins, LoadedTool

GROUND = DiscoveryContext("p", Path("/profiles"), Path("/ws"), frozenset({"installed"}))


class Needy(ToolPolicy):
    """A policy that cannot be empty."""

    needed: int


def tool(name: str, **facts: Any) -> ToolSpec[Any]:
    given = {"kind": "cli", "fingerprint": "1", **facts}
    return ToolSpec(name, given.pop("policy", ToolPolicy), lambda *_: lambda: "", **given)


def asked(*answers: Any, extend: bool = True, policies: dict[str, Any] | None = None) -> DiscoveredTools:
    """What discoverers with these answers come to; one that is a function is the hook itself."""
    extensions = {}
    for number, answer in enumerate(answers):
        hook: Callable[..., Any] = answer if callable(answer) else lambda *_, answer=answer: answer
        spec = ExtensionSpec(f"x{number}", DiscovererPolicy, lambda *_: object())
        extensions[spec.name] = LoadedExtension(spec, "toolcharter-x", "2.0", "x", hook)
    listed = LoadedTool(tool("listed", kind="builtin", aliases=("alias",), fingerprint=None), "toolcharter-y", "1")
    loaded = LoadedPlugins({"listed": listed}, extensions, {"alias": "listed"}, {}, new_manager(), (), {})
    given = dict.fromkeys(extensions, DiscovererPolicy(extend=extend)) if policies is None else policies
    return discover(loaded, given, GROUND)


def test_discoverers_are_shown_the_profile() -> None:
    """Its name and folder, its tools, the extension's policy, and the workspace."""
    shown = []

    def hook(profile: ProfileView, workspace: Path | None, _: object) -> Discovery:
        shown.append((profile, workspace))
        return Discovery()

    assert asked(hook) == DiscoveredTools()
    assert shown == [(ProfileView("p", Path("/profiles"), DiscovererPolicy(extend=True), ("listed",)), Path("/ws"))]


def test_declared_before_found() -> None:
    """Declared tools of all discoverers come first; then of two that are found the first counts."""
    found = asked(
        Discovery(found=(tool("b"), tool("a")), folders=("/one",), notes=("Left out.",)),
        Discovery(declared=(tool("A"),), found=(tool("B"), tool("c")), folders=("/two",)),
    )

    assert [*found.tools] == ["A", "b", "c"]
    assert (found.folders, found.fingerprints) == (("/one", "/two"), {"A": "1", "b": "1", "c": "1"})
    assert found.tools["A"].distribution == "toolcharter-x"
    assert found.notes == (
        "Left out.",
        "The tool 'a' that was found is left out: the name is the discovered tool 'A'.",
        "The tool 'B' that was found is left out: the name is the discovered tool 'b'.",
    )


@pytest.mark.parametrize(
    ("name", "role"),
    [
        pytest.param("Listed", "the tool 'listed' of a plugin", id="listed"),
        pytest.param("installed", "the tool 'installed' of a plugin", id="installed"),
        pytest.param("ALIAS", "an alias of the tool 'listed'", id="alias"),
    ],
)
def test_names_of_plugins(name: str, role: str) -> None:
    """One that is found is left out; a declared one stops the start."""
    found = asked(Discovery(found=(tool(name),)))

    assert (found.tools, found.notes) == ({}, (f"The tool {name!r} that was found is left out: the name is {role}.",))
    with pytest.raises(ConfigurationError) as caught:
        asked(Discovery(declared=(tool(name),)))
    assert str(caught.value) == (
        f": extensions.x0: the name {name!r} is {role}; upper and lower case do not count.\n"
        "Give the declared tool another name."
    )


def test_without_extend_only_declared_tools_exist() -> None:
    """Also where a discoverer offers others, or its policy knows no `extend`; one without a policy is not asked."""
    both = Discovery(declared=(tool("a"),), found=(tool("b"),))

    assert [*asked(both, extend=False).tools] == ["a"]
    assert [*asked(both, policies={"x0": ExtensionPolicy()}).tools] == ["a"]
    assert asked(both, policies={}) == DiscoveredTools()


@each_row(
    ("spec", "what"),
    [
        pytest.param(5, "5 is no ToolSpec", id="no-spec"),
        pytest.param(tool("t", kind="builtin"), "'t' is of kind 'builtin', not one of cli, custom, mcp", id="kind"),
        pytest.param(tool("t", fingerprint=None), "'t' has no fingerprint", id="fingerprint"),
        pytest.param(tool("t", policy=Needy), "'t' has a policy with required fields", id="policy"),
    ],
)
def test_what_may_not_be_offered(spec: Any, what: str) -> None:
    """A discoverer cannot make tools that need no rule."""
    for answer in (Discovery(declared=(spec,)), Discovery(found=(spec,))):
        with pytest.raises(PluginError) as caught:
            asked(answer)

        assert str(caught.value) == (
            f"toolcharter-x 2.0: the discovered tool {what}.\nThe plugin's author has to fix it."
        )


def test_failures_stop_the_start() -> None:
    """Whatever a discoverer raises or answers instead."""

    def raising(error: Exception) -> Callable[..., Any]:
        def hook(*_: Any) -> Any:
            raise error

        return hook

    own = ConfigurationError([Fault("", "extensions.x0.tools", "no.")])

    with pytest.raises(PluginError, match=r"^toolcharter-x 2.0: the hook discover_tools raised ValueError: no"):
        asked(raising(ValueError("no")))
    with pytest.raises(ConfigurationError) as caught:
        asked(raising(own))
    assert caught.value is own
    with pytest.raises(PluginError, match=r"^toolcharter-x 2.0: the hook discover_tools returned list, not a Disc"):
        asked([])


def test_aliases_have_to_be_free() -> None:
    """An alias of a tool that is found clashes as its name would, also with an alias that was found before it."""
    found = asked(
        Discovery(
            found=(
                tool("a", aliases=("x", "y")),
                tool("b", aliases=("LISTED",)),
                tool("c", aliases=("X",)),
                tool("y"),
            )
        )
    )

    assert found.aliases == {"x": "a", "y": "a"}
    assert found.notes == (
        "The tool 'b' that was found is left out: its alias 'LISTED' is the tool 'listed' of a plugin.",
        "The tool 'c' that was found is left out: its alias 'X' is an alias of the discovered tool 'a'.",
        "The tool 'y' that was found is left out: the name is an alias of the discovered tool 'a'.",
    )


def test_objects_are_asked_beside_modules() -> None:
    """The object of an extension gets what it may use; its answer joins that of the module."""
    used = {"toolcharter-x": object()}
    shown = []

    def ask(_profile: ProfileView, _workspace: Path | None, runtime: object) -> Discovery:
        shown.append(runtime)
        return Discovery(found=(tool("b", kind="mcp"),), later=("mcp__x__*",), wait_s=2.5, asks_itself=True)

    module = Discovery(found=(tool("a"),), later=("mcp__x__*", "mcp__y__*"))
    spec = ExtensionSpec("x0", DiscovererPolicy, lambda *_: object())
    extension = LoadedExtension(spec, "toolcharter-x", "2.0", "x", lambda *_: module)
    loaded = LoadedPlugins({}, {"x0": extension}, {}, {}, new_manager(), (), {})

    found = discover(loaded, {"x0": DiscovererPolicy(extend=True)}, GROUND, LateDiscoverers({"x0": ask}, used.get))  # type: ignore[arg-type]

    assert (shown, [*found.tools], found.later) == ([*used.values()], ["a", "b"], ("mcp__x__*", "mcp__y__*"))
    assert (found.wait_s, found.asked_about) == (2.5, frozenset({"b"}))
