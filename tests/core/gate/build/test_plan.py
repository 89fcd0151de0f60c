"""`plan_profile`: what is wrong with a profile and what it loads, told whole and in the order of the file."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter.errors import ConfigurationError, PluginError
from toolcharter.gate.build.open import Plan, plan_profile
from toolcharter.loader.scan import find_installed

WORDS = """
from toolcharter import *


class SayPolicy(ToolPolicy):
    most: int = 5


class WordPolicy(ExtensionPolicy):
    words: tuple[str, ...] = ()


@hookimpl
def register_tools():
    return [ToolSpec("say_it", SayPolicy, lambda workspace, policy, rt: str)]


@hookimpl
def register_extensions():
    return [ExtensionSpec("words", WordPolicy, lambda workspace, policy: object())]
"""
LARGE = 10**20
UNKNOWN = "no installed plugin provides a tool named 'sya_it'."


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Plan]:
    """Plan a profile from its text, with a tool and an extension installed; `p.yaml` lies in the current folder."""
    site = tmp_path / "site"
    metadata = site / "toolcharter_words-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toolcharter-words\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[toolcharter]\nsay_it = toolcharter_words\n[toolcharter.extensions]\nwords = toolcharter_words\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "toolcharter_words", raising=False)
    monkeypatch.chdir(tmp_path)

    def plan_text(text: str, source: str = WORDS) -> Plan:
        (site / "toolcharter_words.py").write_text(source)
        (tmp_path / "p.yaml").write_text(text)
        return plan_profile("p.yaml", index=find_installed([str(site)], [str(site)]))

    return plan_text


def heads(caught: pytest.ExceptionInfo[ConfigurationError]) -> list[str]:
    return [str(fault).splitlines()[0] for fault in caught.value.faults]


def test_policies_are_judged_beside_a_tool_that_nothing_provides(plan: Callable[..., Plan]) -> None:
    """One attempt shows a misspelt tool, and what is wrong with the policies of all that do load."""
    with pytest.raises(ConfigurationError) as caught:
        plan(
            "profile: p\ntools:\n  say_it: {mots: 3}\n  sayit: {}\n"
            "extensions: {words: {words: sudo}, wrods: {}}\nmissing_ok: [later]\n"
        )

    assert type(caught.value) is ConfigurationError
    assert heads(caught) == [
        "p.yaml:3:12: tools.say_it.mots: unknown key 'mots'.",
        "p.yaml:4:3: tools.sayit: no installed plugin provides a tool named 'sayit'.",
        "p.yaml:5:29: extensions.words.words: expected a list, found the text 'sudo'.",
        "p.yaml:5:36: extensions.wrods: no installed plugin provides an extension named 'wrods'.",
    ]


def test_a_number_that_is_too_large_for_a_policy_has_one_fault(plan: Callable[..., Plan]) -> None:
    """The policy says nothing about what the parser put in its place."""
    with pytest.raises(ConfigurationError) as caught:
        plan(f"profile: p\ntools:\n  say_it: {{most: '5'}}\nextensions: {{words: {{words: {LARGE}}}}}\n")

    assert heads(caught) == [
        "p.yaml:3:18: tools.say_it.most: expected a whole number, found the text '5'.",
        f"p.yaml:4:29: extensions.words.words: the number '{LARGE}' is too large.",
    ]


@pytest.mark.parametrize(
    ("default", "error"),
    [
        pytest.param("float = float('inf')", "Out of range float values are not JSON compliant", id="infinite"),
        pytest.param("Any = object()", "Unable to serialize unknown type: <class 'object'>", id="no-json"),
    ],
)
def test_a_default_that_is_not_json_is_a_fault(plan: Callable[..., Plan], default: str, error: str) -> None:
    """No digest can hold it: the start stops, naming distribution, tool and field."""
    source = WORDS.replace("most: int = 5", f"least: int = 0\n    most: {default}")

    with pytest.raises(PluginError) as caught:
        plan("profile: p\ntools: {say_it: {}}\nextensions: {words: {}}\n", f"from typing import Any\n{source}")

    (fault,) = caught.value.faults
    assert (fault.place, fault.path, fault.fix) == (
        "toolcharter-words 1.0",
        "",
        "The plugin's author has to fix its default.",
    )
    assert fault.what.startswith(f"the field 'most' of the policy of 'say_it' is not JSON: {error}")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param("Path.__class__.__call__.__class__", "Unable to generate pydantic-core schema", id="no-schema"),
        pytest.param("'Nowhere'", "`SayPolicy` is not fully defined", id="undefined"),
    ],
)
def test_a_field_that_pydantic_cannot_read_is_a_fault(plan: Callable[..., Plan], kind: str, error: str) -> None:
    """It shows when a profile first lists the tool, not when its plugin is imported."""
    source = WORDS.replace("most: int = 5", f"most: {kind} = 5")

    with pytest.raises(ConfigurationError) as caught:
        plan("profile: p\ntools: {say_it: {}}\n", f"from pathlib import Path\n{source}")

    (fault,) = caught.value.faults
    assert (fault.place, fault.fix) == ("toolcharter-words 1.0", "The plugin's author has to fix its type.")
    assert fault.what.startswith(f"the policy of 'say_it' has a field that pydantic cannot read: {error}")


NAMED = WORDS.replace("policy, rt: str)", "policy, rt: str, aliases=('Speak',))")


def test_a_limit_may_name_a_tool_by_an_alias(plan: Callable[..., Plan]) -> None:
    """An alias of a listed tool is listed, as is what may come later."""
    limits = "limits: {tools: {SPEAK: {timeout_s: 3}, Say_It: {calls_per_hour: 1}, later: {calls_per_minute: 1}}}"

    limited = plan(f"profile: p\ntools: {{say_it: {{}}}}\n{limits}\nmissing_ok: [Later]\n", NAMED)

    assert (limited.limits_for("say_it").timeout_s, set(limited.profile.rates.tools)) == (3, {"say_it", "later"})


def test_limits_of_what_is_not_listed_are_all_told(plan: Callable[..., Plan]) -> None:
    """Each with what is near, beside whatever else is wrong."""
    with pytest.raises(ConfigurationError) as caught:
        plan(
            "profile: p\ntools: {say_it: {}}\ndeny: [gti]\n"
            "limits:\n  tools: {speka: {timeout_s: 3}, zzzzz: {calls_per_hour: 1}}\n",
            NAMED,
        )

    assert [str(fault) for fault in caught.value.faults] == [
        (
            "p.yaml:3:8: deny: nothing provides a tool named 'gti'.\nIf it comes later, add 'gti' to `missing_ok`; "
            "a glob may match nothing."
        ),
        (
            "p.yaml:5:11: limits.tools.speka: the profile lists no tool named 'speka'.\nDid you mean 'speak'? "
            "Listed tools: 'say_it'."
        ),
        "p.yaml:5:34: limits.tools.zzzzz: the profile lists no tool named 'zzzzz'.\nListed tools: 'say_it'.",
    ]


def test_limits_are_judged_beside_a_tool_that_nothing_provides(plan: Callable[..., Plan]) -> None:
    """A listed tool may be limited even if it is not installed, and what loads has its aliases."""
    with pytest.raises(ConfigurationError) as caught:
        plan(
            "profile: p\ntools: {say_it: {}, sayit: {}}\n"
            "limits: {tools: {speak: {timeout_s: 3}, sayit: {timeout_s: 3}, gti: {timeout_s: 3}}}\n",
            NAMED,
        )

    assert heads(caught) == [
        "p.yaml:2:21: tools.sayit: no installed plugin provides a tool named 'sayit'.",
        "p.yaml:3:64: limits.tools.gti: the profile lists no tool named 'gti'.",
    ]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        pytest.param(
            "profile: p\ntools: {say_it: {}, sya_it: {}}\ndeny: [say_ti, sya_it]\nask: ['group:nowhere']\n"
            "availability: [{deny: [speak]}]\nlimits: {tools: {shout: {timeout_s: 1}}}\n",
            [
                "p.yaml:3:8: deny: nothing provides a tool named 'say_ti'.",
                "p.yaml:4:7: ask: there is no group 'nowhere'.",
                "p.yaml:5:24: availability.0.deny.0: nothing provides a tool named 'speak'.",
                "p.yaml:6:18: limits.tools.shout: the profile lists no tool named 'shout'.",
            ],
            id="names-everywhere",
        ),
        pytest.param("profile: p\ntools: {sya_it: {}}\nallow: [sya_it, say_it]\n", [], id="its-own-name-is-told-once"),
    ],
)
def test_an_unknown_tool_hides_no_other_unknown_name(plan, text, rest) -> None:
    """A tool that nothing provides, and names in rules that nothing provides, are told together."""
    with pytest.raises(ConfigurationError) as caught:
        plan(text)

    assert heads(caught) == [f"p.yaml:2:{text.splitlines()[1].index('sya_it') + 1}: tools.sya_it: {UNKNOWN}", *rest]


def test_names_are_not_judged_while_a_plugin_does_not_load(plan) -> None:
    """What a broken plugin would provide is not known: no name is called unknown for that."""
    broken = WORDS.replace("class SayPolicy(ToolPolicy):", "import no_such_module\n\n\nclass SayPolicy(ToolPolicy):")

    with pytest.raises(ConfigurationError) as caught:
        plan("profile: p\ntools: {say_it: {}}\ndeny: [alias_of_it]\n", broken)

    assert len(caught.value.faults) == 1
