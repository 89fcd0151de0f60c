"""A plugin without tools, from its installation to its denial in a call."""

import json
import sys
from pathlib import Path

import pytest

from toolcharter import ConfigurationError, Toolbox
from toolcharter.gate.build.open import open_toolbox, plan_profile
from toolcharter.loader.scan import InstalledPlugins, find_installed

GUARDED = '''
"""Refuses what a word list names; nothing else."""

from toolcharter import Call, Deny, ExtensionPolicy, ExtensionSpec, ToolPolicy, ToolSpec, hookimpl


class WordPolicy(ExtensionPolicy):
    """Which words are refused."""

    words: tuple[str, ...] = ()
    """Refused in any argument."""


class WordCheck:
    """The check of one toolbox."""

    def __init__(self, policy: WordPolicy) -> None:
        self._words = policy.words

    @hookimpl
    def check_call(self, call: Call) -> Deny | None:
        """Deny a call with one of the words."""
        text = repr(dict(call.args))
        return Deny("word_refused") if any(word in text for word in self._words) else None


@hookimpl
def register_extensions():
    return [ExtensionSpec("words", WordPolicy, lambda workspace, policy: WordCheck(policy))]


def say(text: str) -> str:
    return text


@hookimpl
def register_tools():
    return [ToolSpec("say_it", ToolPolicy, lambda workspace, policy, rt: say)]
'''


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledPlugins:
    """One distribution with a tool and an extension, in a folder that counts as a site directory."""
    site = tmp_path / "site"
    metadata = site / "toolcharter_words-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "toolcharter_words.py").write_text(GUARDED)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toolcharter-words\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[toolcharter]\nsay_it = toolcharter_words\n[toolcharter.extensions]\nwords = toolcharter_words\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "toolcharter_words", raising=False)
    return find_installed([str(site)], [str(site)])


def write(folder: Path, words: object) -> Path:
    path = folder / "p.yaml"
    path.write_text(f"profile: p\ntools:\n  say_it: {{}}\nextensions:\n  words: {{words: {json.dumps(words)}}}\n")
    return path


def test_a_check_of_an_extension_denies(tmp_path: Path, index: InstalledPlugins) -> None:
    """The profile's policy reaches the extension, and its check stands in front of every tool."""
    events: list[dict[str, object]] = []
    plan = plan_profile(write(tmp_path, ["sudo"]), index=index)

    with open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[events.append]) as toolbox:
        results = [toolbox.call("say_it", {"text": text}) for text in ("hello", "sudo rm")]
        decision = toolbox.decide("say_it", {"text": "sudo rm"})

    assert [(result.outcome, result.reason) for result in results] == [("ok", None), ("denied", "word_refused")]
    assert (decision.outcome, decision.stage, decision.reason) == ("deny", "check", "word_refused")
    assert (events[-1]["stage"], events[-1]["plugin"]) == ("check", "toolcharter-words")


def test_the_policy_of_an_extension_is_in_the_digest(tmp_path: Path, index: InstalledPlugins) -> None:
    """Two profiles that differ in a check's settings permit different things."""
    digests = {plan_profile(write(tmp_path, words), index=index).digest for words in ([], ["a"], ["b"])}

    assert len(digests) == 3


def test_a_fault_in_an_extensions_policy_has_its_place(tmp_path: Path, index: InstalledPlugins) -> None:
    """Extensions are as strictly typed as tools."""
    with pytest.raises(ConfigurationError) as caught:
        plan_profile(write(tmp_path, "sudo"), index=index)

    assert str(caught.value) == (
        f"{tmp_path}/p.yaml:5:18: extensions.words.words: expected a list, found the text 'sudo'.\nWrite [sudo]."
    )


SHARED = '''
"""An extension that holds what its tool shows, and lets a folder be read."""

from pathlib import Path

from toolcharter import ExtensionPolicy, ExtensionSpec, ToolPolicy, ToolSpec, hookimpl


class Settings(ExtensionPolicy):
    """What is shared."""

    word: str = ""
    roots: tuple[str, ...] = ()


class Shared:
    def __init__(self, workspace, policy):
        self.policy = policy

    @hookimpl
    def read_roots(self):
        return [Path(root) for root in self.policy.roots]


@hookimpl
def register_extensions():
    return [ExtensionSpec("words", Settings, Shared)]


def build(workspace, policy, rt):
    def say_it(path: str = "") -> str:
        if not path:
            return rt.extension("words").policy.word
        with rt.paths.open_file(path) as file:
            return file.read(100).decode()

    return say_it


@hookimpl
def register_tools():
    return [ToolSpec("say_it", ToolPolicy, build)]
'''


@pytest.fixture
def shared(index: InstalledPlugins, tmp_path: Path) -> InstalledPlugins:
    """The same distribution, whose tool stands on its extension."""
    (tmp_path / "site" / "toolcharter_words.py").write_text(SHARED)
    return index


def opened(folder: Path, index: InstalledPlugins, extensions: object) -> Toolbox:
    path = folder / "p.yaml"
    path.write_text(json.dumps({"profile": "p", "tools": {"say_it": {}}, "extensions": extensions}))
    workspace = folder / "ws"
    workspace.mkdir(exist_ok=True)
    return open_toolbox(plan_profile(path, index=index), workspace=workspace, caller=None, sinks=[lambda _: None])


def test_a_tool_reaches_the_extension_of_its_own_distribution(tmp_path: Path, shared: InstalledPlugins) -> None:
    """Listed by the profile, it is the object that was built; else the call is denied and says what to write."""
    with opened(tmp_path, shared, {"words": {"word": "hello"}}) as toolbox:
        assert toolbox.call("say_it", {}).text == "hello"
    with opened(tmp_path, shared, {}) as toolbox:
        result = toolbox.call("say_it", {})
    assert (result.outcome, result.reason) == ("denied", "not_available")
    assert "extensions: {words: {}}" in str(result.hint)


def test_read_roots_are_for_all_tools(tmp_path: Path, shared: InstalledPlugins) -> None:
    """What an extension names may be read; nothing beside it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("read")
    (tmp_path / "b.txt").write_text("secret")

    with opened(tmp_path, shared, {"words": {"roots": [str(tmp_path / "out")]}}) as toolbox:
        assert toolbox.call("say_it", {"path": f"{tmp_path}/out/a.txt"}).text == "read"
        assert toolbox.call("say_it", {"path": f"{tmp_path}/b.txt"}).reason == "path_outside_workspace"
        assert toolbox.call("say_it", {"path": f"{tmp_path}/out/../b.txt"}).reason == "path_outside_workspace"
    with opened(tmp_path, shared, {"words": {}}) as toolbox:
        assert toolbox.call("say_it", {"path": f"{tmp_path}/out/a.txt"}).reason == "path_outside_workspace"


def test_a_relative_read_root_stops_the_start(tmp_path: Path, shared: InstalledPlugins) -> None:
    """The fault names the distribution and the path."""
    with pytest.raises(ConfigurationError, match=r"toolcharter-words 1.0: the hook read_roots: 'out' is not an abs"):
        opened(tmp_path, shared, {"words": {"roots": ["out"]}})
