"""What holds for every profile: order decides nothing, ceilings only tighten, hidden means denied."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.gate.conftest import MakeToolbox, make_toolbox
from tests.core.policy.random_policies import (
    ARGS,
    CALLERS,
    CALLS,
    CEILINGS,
    PROFILES,
    RULES,
    outcomes,
    strictness,
    views,
)

from toolcharter.api.call import Decision, Invocation
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.stages import s3_policy
from toolcharter.gate.toolbox import Toolbox
from toolcharter.policy.evaluate import by_mode
from toolcharter.policy.matching import Matcher
from toolcharter.profile.read import read_profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Capabilities, Ceiling

quick = settings(max_examples=150, deadline=None)
slow = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
TWO_CEILINGS = st.lists(CEILINGS, max_size=2)

__all__ = ["make_toolbox"]


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


@pytest.mark.slow
@quick
@given(PROFILES, TWO_CEILINGS, CALLERS, CALLS, st.randoms(use_true_random=False))
def test_the_outcome_never_depends_on_order(profile, ceilings, caller, call, random) -> None:
    """Neither of rules nor of ceilings nor of availability; nor does the stage that decides."""

    def shuffled(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.sample(items, len(items)))

    other = replace(
        profile,
        deny=shuffled(profile.deny),
        ask=shuffled(profile.ask),
        allow=shuffled(profile.allow),
        availability=shuffled(profile.availability),
    )
    others = [one._replace(deny=shuffled(one.deny), ask=shuffled(one.ask)) for one in shuffled(tuple(ceilings))]

    assert outcomes(views(profile, *ceilings, caller=caller), call) == outcomes(
        views(other, *others, caller=caller), call
    )


@pytest.mark.slow
@quick
@given(PROFILES, CEILINGS, TWO_CEILINGS, CALLERS, CALLS)
def test_a_ceiling_never_widens(profile, ceiling, ceilings, caller, call) -> None:
    """Whatever it says, and whatever others say already, no answer becomes milder."""
    without = strictness(views(profile, *ceilings, caller=caller), call)
    with_it = strictness(views(profile, *ceilings, ceiling, caller=caller), call)

    assert all(milder <= stricter for milder, stricter in zip(without, with_it, strict=True))


@pytest.mark.slow
@quick
@given(PROFILES, PROFILES, CEILINGS, CALLERS, CALLS)
def test_what_a_ceiling_denies_no_profile_permits(profile, other, ceiling, caller, call) -> None:
    """Its deny rules and capabilities ask nothing of the profile."""
    nothing = replace(
        profile, mode="dangerous", deny=(), ask=(), allow=(), capabilities=Capabilities(), availability=()
    )
    alone = outcomes(views(nothing, ceiling._replace(mode=None)), call)
    within = outcomes(views(other, ceiling, caller=caller), call)

    assert all(denied[0] != "deny" or found[0] == "deny" for denied, found in zip(alone, within, strict=True))


@pytest.mark.slow
@quick
@given(PROFILES, CEILINGS, CALLERS, CALLS)
def test_what_a_ceiling_asks_no_profile_permits_without_asking(other, ceiling, caller, call) -> None:
    """Whatever its mode, its `allow` and its own `ask` say."""
    dangerous = replace(
        other, mode="dangerous", deny=(), ask=(), allow=(), capabilities=Capabilities(), availability=()
    )
    alone = outcomes(views(dangerous, Ceiling("admin", ask=ceiling.ask)), call)
    within = outcomes(views(other, ceiling, caller=caller), call)

    assert all(asked[0] != "ask" or found[0] in {"ask", "deny"} for asked, found in zip(alone, within, strict=True))


@pytest.mark.slow
@quick
@given(PROFILES, CEILINGS, RULES, st.integers(0, 5), CALLERS, CALLS)
def test_an_ask_rule_asks_about_what_would_run_and_undoes_no_denial_but_its_own_mode_s(
    profile, ceiling, rule, at, caller, call
) -> None:
    """Wherever it stands: of what it matches nothing runs unasked, and all that another stage denies stays denied."""
    before = views(profile, ceiling, caller=caller)
    more = replace(profile, ask=(*profile.ask[:at], rule, *profile.ask[at:]))

    for old, new in zip(before, views(more, ceiling, caller=caller), strict=True):
        was, now = old.decide(call), new.decide(call)
        matches = call.refusal is None and Matcher(rule).denies(old.facts, call)
        if was.outcome == "deny" and now != was:
            assert (was.stage, now.outcome, matches) == ("mode", "ask", True)
            assert ceiling.mode is None or by_mode(ceiling.mode, bounded=old.facts.is_bounded, covered=False) != "deny"
        else:
            assert now.outcome == (was.outcome if not matches or was.outcome == "deny" else "ask")


@pytest.mark.slow
@quick
@given(PROFILES, CEILINGS, RULES, st.integers(0, 5), CALLERS, CALLS)
def test_a_deny_rule_never_widens(profile, ceiling, rule, at, caller, call) -> None:
    """Wherever it stands."""
    without = strictness(views(profile, ceiling, caller=caller), call)
    more = replace(profile, deny=(*profile.deny[:at], rule, *profile.deny[at:]))

    assert all(
        milder <= stricter
        for milder, stricter in zip(without, strictness(views(more, ceiling, caller=caller), call), strict=True)
    )


@pytest.mark.slow
@quick
@given(PROFILES, CEILINGS, RULES, st.integers(0, 5), CALLERS, CALLS)
def test_an_allow_rule_never_narrows(profile, ceiling, rule, at, caller, call) -> None:
    """Wherever it stands."""
    without = strictness(views(profile, ceiling, caller=caller), call)
    more = replace(profile, allow=(*profile.allow[:at], rule, *profile.allow[at:]))

    assert all(
        stricter >= milder
        for stricter, milder in zip(without, strictness(views(more, ceiling, caller=caller), call), strict=True)
    )


@pytest.mark.slow
@settings(deadline=None)
@given(PROFILES, TWO_CEILINGS, CALLERS, st.lists(CALLS, min_size=3, max_size=3))
def test_a_hidden_tool_is_denied_for_every_call(profile, ceilings, caller, calls) -> None:
    """And a tool whose calls are all decided beforehand is decided alike."""
    for view in views(profile, *ceilings, caller=caller):
        decisions = [view.decide(call) for call in calls]
        assert view.hidden_because is None or {one.outcome for one in decisions} == {"deny"}
        understood = [one for one, call in zip(decisions, calls, strict=True) if call.refusal is None]
        assert view.constant_decision is None or set(understood) <= {view.constant_decision}


@pytest.mark.slow
@quick
@given(PROFILES, CALLERS, CALLS)
def test_unknown_capabilities_concern_only_what_declares_none(profile, caller, call) -> None:
    """A word that no tool declares denies undeclared tools, and permits nothing."""
    unknown = parse_rule("cap:made:up")
    allowed, denied = (replace(profile, **{key: (*getattr(profile, key), unknown)}) for key in ("allow", "deny"))
    bounded = Ceiling("admin", capabilities=Capabilities(None, ("made:up",)))
    before = views(profile, caller=caller)

    assert outcomes(views(allowed, caller=caller), call) == outcomes(before, call)
    for found in (views(denied, caller=caller), views(profile, bounded, caller=caller)):
        for view, old, new in zip(before, outcomes(before, call), outcomes(found, call), strict=True):
            assert new[0] == "deny" if view.facts.capabilities_of(call.action) is None else new == old


def as_file(rules: tuple[Rule, ...]) -> list[Any]:
    return [rule.plain() for rule in rules]


@slow
@given(PROFILES, PROFILES, CEILINGS, CALLS)
def test_a_child_never_escapes_a_ceiling(tmp_path_factory, parent, child, ceiling, call) -> None:
    """Whatever a profile takes over from another and puts above it: read from files, composed, compiled."""
    folder: Path = tmp_path_factory.mktemp("profiles")
    for name, one, more in (("parent", parent, {}), ("child", child, {"extends": ["parent"]})):
        lists = {key: as_file(getattr(one, key)) for key in ("deny", "ask", "allow")}
        written = {"profile": name, "mode": one.mode, **lists, **more}
        (folder / f"{name}.yaml").write_text(json.dumps({"tools": {}, **written}))
    source = read_profile(str(folder / "child.yaml"))
    assert (source.faults, source.profile is None) == ([], False)
    composed = source.profile
    assert composed is not None

    assert (as_file(composed.deny), as_file(composed.ask), as_file(composed.allow), composed.mode) == (
        as_file(parent.deny + child.deny),
        as_file(parent.ask + child.ask),
        as_file(parent.allow + child.allow),
        child.mode,
    )
    without = strictness(views(composed), call)
    # In the mode of a ceiling, no ask rule of the profile takes the place of an allow rule.
    in_its_mode = replace(composed, mode=ceiling.mode, ask=()) if ceiling.mode else composed
    looked_up_again = strictness(views(in_its_mode, ceiling._replace(mode=None)), call)
    assert strictness(views(composed, ceiling), call) == list(map(max, without, looked_up_again))


def git(action: str, path: str = "a", to: str | None = None, n: int = 2) -> str:
    return action


def bash(command: str, n: int = 2) -> str:
    return command


def specs() -> list[ToolSpec[Any]]:
    def of(function: Callable[..., Any], **facts: Any) -> ToolSpec[Any]:
        return ToolSpec(function.__name__, ToolPolicy, lambda _workspace, _policy, _rt: function, **facts)

    return [
        of(git, aliases=["VCS"], argument_aliases={"file": "path", "do": "action"}, capabilities={"push": ["net"]}),
        of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],))),
    ]


def toolbox_of(make: MakeToolbox, profile: Any, *ceilings: Ceiling) -> Toolbox:
    return make(
        *specs(),
        deny=as_file(profile.deny),
        ask=as_file(profile.ask),
        allow=as_file(profile.allow),
        mode=profile.mode,
        ceilings=ceilings,
    )


ACTIONS = st.sampled_from(["push", "log", "new"])
GIT_ARGS = st.builds(lambda action, args: {"action": action, **args}, ACTIONS, ARGS)
SPELLINGS = st.sampled_from([str, str.upper, str.title, lambda text: f" {text}\n"])


def respelt(args: dict[str, Any], spell: Callable[[str], str], order: Any) -> dict[str, Any]:
    """The same call in other words: aliases, other cases and blanks, null for defaults, another order."""
    moved = {{"path": "file", "action": "do"}.get(name, name): value for name, value in args.items()}
    moved["do"] = spell(moved["do"])
    nulls = {name: None for name in ("n", "to", "file") if name not in moved}
    return dict(order.sample(list((moved | nulls).items()), len(moved) + len(nulls)))


@pytest.mark.slow
@slow
@given(PROFILES, CEILINGS, GIT_ARGS, SPELLINGS, st.randoms(use_true_random=False))
def test_canonical_forms_decide_alike(make_toolbox, profile, ceiling, args, spell, order) -> None:
    """A call is the same call however a model spells it."""
    toolbox = toolbox_of(make_toolbox, profile, ceiling)

    decisions = [
        toolbox.decide("git", args),
        toolbox.decide("GIT", args),
        toolbox.decide("vcs", args),
        toolbox.decide("Vcs", respelt(args, spell, order)),
        toolbox.decide("git", respelt(args, spell, order)),
    ]

    assert decisions == decisions[:1] * 5


@pytest.mark.slow
@slow
@given(
    PROFILES,
    CEILINGS,
    st.lists(GIT_ARGS, min_size=1, max_size=8),
    st.lists(st.sampled_from(["ls", "ls -l", "git push", "sudo rm", "ls; rm"]), min_size=1, max_size=4),
)
def test_what_the_gate_remembers_never_changes_an_answer(make_toolbox, profile, ceiling, calls, lines) -> None:
    """Full after two calls, empty again, or never used: the decisions are the same."""
    every = [("git", args) for args in calls] + [("bash", {"command": line}) for line in lines]

    def decisions(most: int, longest: int) -> list[Decision]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(s3_policy, "MAX_MEMO", most)
            patch.setattr(s3_policy, "MAX_MEMO_BYTES", longest)
            toolbox = toolbox_of(make_toolbox, profile, ceiling)
            return [toolbox.decide(tool, args) for tool, args in [*every, *reversed(every), *every]]

    unremembered = decisions(0, -1)

    assert decisions(256, 1024) == unremembered
    assert decisions(2, 40) == unremembered
