"""From what a file says to settings: each key in its place, in the types that the engine reads."""

from toolcharter.profile.document import read_document
from toolcharter.profile.forms import Cache
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.model import Limits
from toolcharter.profile.read import load_profile, read_profile
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.schema import CeilingFile
from toolcharter.profile.settings import (
    AfterCall,
    Approvals,
    Availability,
    CachedReads,
    CallerPattern,
    Capabilities,
    Ceiling,
    DependsOn,
    Notify,
    Rate,
    Rates,
    ReadBeforeWrite,
    ReadStreak,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)

from .test_model import EVERY_KEY


def at(text: str, source: str) -> Rule:
    return parse_rule(text, f"p.yaml:{source}")


def test_every_key_becomes_its_setting(write) -> None:
    """Names and patterns become tuples, depths comparisons, rules are read and keep their places."""
    profile = load_profile(write("p.yaml", EVERY_KEY))

    assert profile.mode == "restrict"
    assert profile.deny == (
        Rule("git:push", "p.yaml:4:8", "", parse_glob("git:push"), (), {"remote": {"const": "x"}}, "not_x", "Not x."),
    )
    assert profile.allow == (
        at("bash:git log *", "5:9"),
        at("git", "5:27")._replace(when={"action": {"enum": ["log"]}}),
    )
    assert profile.capabilities == Capabilities(("fs:*",), ("net",), "medium")
    assert profile.availability == (
        Availability(
            CallerPattern(("a",), ("b*",), ("c",), ((">=", 1), ("<", 3))),
            ("git",),
            ("group:fs",),
            name="one",
            place="p.yaml:8:5",
        ),
        Availability(also_allow=("git",), replaces="one", place="p.yaml:9:5"),
    )
    assert (profile.toolsets, profile.groups) == ({"mine": ("git",)}, {"vcs": ("git",)})
    assert profile.approvals == Approvals(5.0, ("ann",), always=False, keep_days=1.0)
    assert profile.session_guards == SessionGuards(
        ReadBeforeWrite("strict", ("git",), ("git",), "file"),
        Repeats(3, 5),
        Repeats(None, 4),
        (DependsOn(at("git:push", "20:24"), at("git:commit", "20:41"), "Commit first.", ("branch",)),),
        (SkipDuplicate(at("git:log", "21:28"), ("action",)),),
        (AfterCall(at("git:commit", "22:24"), "Push it.", ("ok", "error")),),
        Repeats(7, None),
        ReadStreak(None, 12, Repeats(None, 36)),
        CachedReads(30),
    )
    assert profile.rates == Rates(Rate(1), {"git": Rate(None, 2)}, {"b*": Rate(None, None, 3)}, "agent")
    assert profile.notify == (
        Notify((at("git:push", "24:10"),), place="p.yaml:24:10"),
        Notify((at("*", "24:31"),), "webhook", "https://a.invalid/", ("denied",), "p.yaml:24:22"),
    )


def test_what_is_left_out_of_a_guard_is_as_it_is_by_default(write) -> None:
    """One key of a guard changes that key alone; arguments of duplicates are all or those that are listed."""
    text = """\
profile: p
session_guards:
  read_before_write: {mode: warn}
  skip_duplicate: [{match: git}, {match: git, args: []}]
  after_call: [{match: git, message: x}]
"""
    memory = load_profile(write("p.yaml", text)).session_guards

    assert memory.read_before_write == ReadBeforeWrite("warn")
    assert [guard.args for guard in memory.skip_duplicate] == [None, ()]
    assert [guard.outcomes for guard in memory.after_call] == [("ok",)]
    assert (memory.repeated_calls, memory.same_result, memory.depends_on) == (Repeats(), Repeats(), ())


def test_a_guard_may_ask_about_arguments(write) -> None:
    """The long form of a rule, without what is told of a refused call: the guard has its own message."""
    text = "profile: p\nsession_guards: {after_call: [{match: {rule: 'term:spawn', when: {wait: {const: true}}}, message: x}]}"
    entry = load_profile(write("p.yaml", text)).session_guards.after_call[0]

    assert (entry.match.text, entry.match.when) == ("term:spawn", {"wait": {"const": True}})


def test_no_list_differs_from_an_empty_one(write) -> None:
    """Absent is no restriction, `[]` is nothing."""
    text = "profile: p\navailability: [{deny: []}, {tools: []}]\ncapabilities: {allow: []}"
    profile = load_profile(write("p.yaml", text))

    assert [entry.tools for entry in profile.availability] == [None, ()]
    assert (profile.capabilities.allow, load_profile(write("q.yaml", "profile: q")).capabilities.allow) == ((), None)


def test_rates_are_of_those_who_have_any(write) -> None:
    """A tool with a time limit alone has no rate; its name counts without case."""
    text = "profile: p\ntools: {Git: {}, a: {}}\nlimits: {tools: {Git: {calls_per_hour: 1}, a: {timeout_s: 1}}, agents: {b: {}}}"
    profile = load_profile(write("p.yaml", text))

    assert (profile.rates.tools, profile.rates.agents) == ({"git": Rate(None, 1)}, {})
    assert profile.tool_limits == {"git": Limits(), "a": Limits(1.0)}


def test_what_lacks_a_required_key_is_left_out(write) -> None:
    """The rest of the profile can still be looked at."""
    text = """\
profile: p
deny: [{reason: x}, git]
notify: [{deliver: log}]
cases: [{tool: git}]
session_guards: {read_before_write: {}, depends_on: [{match: git}], skip_duplicate: [{}], after_call: [{match: git}]}
"""
    source = read_profile(write("p.yaml", text))

    assert source.profile is not None
    assert [rule.text for rule in source.profile.deny] == ["git"]
    assert (source.profile.notify, source.profile.cases, source.profile.session_guards) == ((), (), SessionGuards())
    assert [fault.path for fault in source.faults] == [
        "deny.0.rule",
        "notify.0.match",
        "cases.0.expect",
        "session_guards.read_before_write.mode",
        "session_guards.depends_on.0.needs",
        "session_guards.skip_duplicate.0.match",
        "session_guards.after_call.0.message",
    ]


def test_a_ceiling_holds_what_tightens() -> None:
    """Each of its keys; what is absent restricts nothing."""
    text = """\
deny: [git:push]
mode: ask
ask: [git:tag]
capabilities: {deny: [net]}
limits: {timeout_s: 5, calls_per_hour: 9, tools: {Git: {max_output_chars: 7}}, agents: {a: {calls_per_session: 1}}}
notify: [git]
"""
    _, read = read_document(text.encode(), "c.yaml", CeilingFile, Cache(), [])
    assert read is not None

    assert read.tightening.to_ceiling("c.yaml", read.notify) == Ceiling(
        "c.yaml",
        (parse_rule("git:push", "c.yaml:1:8"),),
        "ask",
        Capabilities(deny=("net",)),
        Limits(5.0),
        {"git": Limits(None, 7)},
        Rates(Rate(None, 9), {}, {"a": Rate(None, None, 1)}),
        (Notify((parse_rule("git", "c.yaml:6:10"),), place="c.yaml:6:10"),),
        (parse_rule("git:tag", "c.yaml:3:7"),),
    )
