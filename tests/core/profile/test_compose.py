"""`extends`: order, what is put together and what is replaced, places, cycles, missing parents."""

from pathlib import Path

import pytest

from toolcharter.profile.dump import profile_values
from toolcharter.profile.model import Events, Limits
from toolcharter.profile.read import load_profile, read_profile
from toolcharter.profile.resolve import MAX_CHAIN


def faults(profile: str) -> list[str]:
    return list(map(str, read_profile(profile).faults))


def test_parents_from_left_to_right_then_the_child(write) -> None:
    """Tools, pins, extensions, limits and events by entry; cases append; for the rest the child wins."""
    write(
        "one.yaml",
        """\
profile: one
description: One.
tools: {a: {from: one, x: 1}, b: {from: one}, Git: {from: one}}
extensions: {e: {from: one}, f: {}}
plugins: {toolcharter-git: ">=1", toolcharter_x: ">=1"}
limits: {timeout_s: 10, truncate: head, tools: {a: {timeout_s: 5, truncate: tail}, git: {timeout_s: 4}}}
events: {args: none, required: true}
cases: [{tool: a, expect: allow}]
missing_ok: [one]
""",
    )
    write("two.yaml", "profile: two\ntools: {b: {from: two}}\ncases: [{tool: b, expect: allow}]\nmissing_ok: [two]\n")
    child = write(
        "child.yaml",
        """\
profile: child
extends: [one, ./two.yaml]
tools: {a: {from: child}, git: {}}
extensions: {e: {from: child}}
plugins: {Toolcharter.X: ">=2"}
limits: {timeout_s: 20, max_output_chars: 9, tools: {A: {timeout_s: 6}}}
events: {args: shape}
cases: [{tool: c, expect: deny}]
""",
    )

    source = read_profile(child)

    profile = source.profile
    assert profile is not None
    assert source.faults == []
    assert profile.name == "child"
    assert profile.description == "One."
    assert profile.tools == {"a": {"from": "child"}, "b": {"from": "two"}, "git": {}}
    assert profile.extensions == {"e": {"from": "child"}, "f": {}}
    assert profile.plugins == {"toolcharter-git": ">=1", "Toolcharter.X": ">=2"}
    assert profile.limits == Limits(20, 9, "head")
    assert profile.tool_limits == {"a": Limits(6, None, "tail"), "git": Limits(4)}
    assert profile.events == Events("shape", required=True)
    assert [(case.tool, case.place) for case in profile.cases] == [
        ("a", "one.yaml:8:9"),
        ("b", "./two.yaml:3:9"),
        ("c", "child.yaml:8:9"),
    ]
    assert profile.missing_ok == ("one", "two")
    assert source.files == (Path("child.yaml"), Path("one.yaml"), Path("two.yaml"))
    assert [source.places.of(*path) for path in (["tools", "a", "from"], ["tools", "b"], ["limits", "truncate"])] == [
        "child.yaml:3:13",
        "./two.yaml:2:9",
        "one.yaml:6:25",
    ]


def test_a_child_adds_to_the_names_that_may_be_missing(write) -> None:
    """The rules that it inherits name the tools that its parent excepts."""
    write("parent.yaml", "profile: parent\nmissing_ok: [plan]\nallow: ['custom:plan']\n")
    child = write("child.yaml", "profile: child\nextends: [parent]\nmissing_ok: [mine, plan]\n")

    assert load_profile(child).missing_ok == ("plan", "mine", "plan")


def test_the_policy_is_put_together(write) -> None:
    """Lists of rules, entries and notifications append; the rest by key; for `mode` the child wins."""
    write(
        "one.yaml",
        """\
profile: one
mode: ask
tools: {git: {}}
deny: [git:push]
allow: [git]
availability: [{tools: [git]}]
notify: [git]
capabilities: {allow: ["fs:*"], max_safety: low}
toolsets: {mine: [git], other: [git]}
groups: {vcs: [git]}
approvals: {timeout_s: 5, always: false}
session_guards: {repeated_calls: {warn: 3, deny: 5}, depends_on: [{match: git:push, needs: git:commit}]}
limits: {agents: {Ann: {calls_per_hour: 1}, bob: {calls_per_hour: 2}}, per: agent}
""",
    )
    child = write(
        "child.yaml",
        """\
profile: child
extends: [one]
mode: restrict
deny: [git:commit]
allow: [git:log]
availability: [{deny: [git]}]
notify: [git:log]
capabilities: {allow: [net]}
toolsets: {Mine: []}
groups: {docs: []}
approvals: {timeout_s: 6}
session_guards: {repeated_calls: {warn: 2}}
limits: {agents: {ann: {calls_per_hour: 3}, bob: {calls_per_minute: 4}}}
""",
    )

    values = profile_values(load_profile(child))

    assert values == {
        "profile": "child",
        "mode": "restrict",
        "tools": {"git": {}},
        "deny": ["git:push", "git:commit"],
        "allow": ["git", "git:log"],
        "availability": [{"for": {}, "tools": ["git"]}, {"for": {}, "deny": ["git"]}],
        "notify": [{"match": ["git"]}, {"match": ["git:log"]}],
        "capabilities": {"allow": ["net"], "max_safety": "low"},
        "toolsets": {"Mine": [], "other": ["git"]},
        "groups": {"vcs": ["git"], "docs": []},
        "approvals": {"timeout_s": 6.0, "always": False},
        "session_guards": {
            "repeated_calls": {"warn": 2, "deny": 5},
            "depends_on": [{"match": "git:push", "needs": "git:commit"}],
        },
        "limits": {
            "agents": {
                "Ann": {"calls_per_hour": 1},
                "ann": {"calls_per_hour": 3},
                "bob": {"calls_per_hour": 2, "calls_per_minute": 4},
            },
            "per": "agent",
        },
    }


def test_what_a_parent_guards_is_not_lost(write) -> None:
    """A group that the parent denies gets no smaller, and its guards stay, when a child adds to the same lists."""
    write(
        "base.yaml",
        "profile: base\ndeny: [group:mine]\ngroups: {Mine: [git]}\n"
        "session_guards: {depends_on: [{match: git:push, needs: git:diff}]}\n",
    )
    child = "profile: c\nextends: [base.yaml]\ngroups: {mine: []}\nsession_guards: {depends_on: [{match: git:tag, needs: git:log}]}\n"

    profile = load_profile(write("c.yaml", child))

    assert {name.lower(): items for name, items in profile.groups.items()} == {"mine": ("git",)}
    assert [one.match.text for one in profile.session_guards.depends_on] == ["git:push", "git:tag"]


def test_a_parent_on_two_ways_gives_its_rules_once(write) -> None:
    """Equal rules that stand at two places stay two: each is told where it stands."""
    lists = "deny: [git]\nallow: [git]\navailability: [{name: a}]\nnotify: [git]"
    write("top.yaml", f"profile: top\n{lists}")
    write("left.yaml", f"profile: left\nextends: [top]\n{lists}".replace("name: a", "name: b"))
    write("right.yaml", "profile: right\nextends: [top]")

    profile = load_profile(write("p.yaml", "profile: p\nextends: [left, right]"))

    places = ["top.yaml:2:8", "left.yaml:3:8"]
    assert [rule.source for rule in profile.deny] == places
    assert [rule.source.partition(":")[0] for rule in profile.allow] == ["top.yaml", "left.yaml"]
    assert [entry.name for entry in profile.availability] == ["a", "b"]
    assert [entry.place.partition(":")[0] for entry in profile.notify] == ["top.yaml", "left.yaml"]


def test_a_parent_on_two_ways_is_read_once(write) -> None:
    """A diamond gives the cases and the faults of its top once."""
    write("top.yaml", "profile: top\ntols: {}\ncases: [{tool: top, expect: deny}]")
    write("left.yaml", "profile: left\nextends: [top]\ncases: [{tool: left, expect: deny}]")
    write("right.yaml", "profile: right\nextends: [top]\ncases: [{tool: right, expect: deny}]")

    source = read_profile(write("p.yaml", "profile: p\nextends: [left, right]"))

    assert source.profile is not None
    assert [case.tool for case in source.profile.cases] == ["top", "left", "right"]
    assert [fault.place for fault in source.faults] == ["top.yaml:2:1"]
    assert source.files == tuple(map(Path, ("p.yaml", "left.yaml", "top.yaml", "right.yaml")))


def test_beside_its_own_file_comes_first(write) -> None:
    """A bare name in `extends` means the neighbour, and only then a name in the search places."""
    write("a/near.yaml", "profile: near\ndescription: Neighbour.")
    write("profiles/near.yaml", "profile: near\ndescription: By name.")
    write("profiles/far.yaml", "profile: far\ntools: {far: {}}")

    source = read_profile(write("a/p.yaml", "profile: p\nextends: [far, near, ../profiles/far.yaml]"))

    assert source.faults == []
    assert source.files == tuple(map(Path, ("a/p.yaml", "profiles/far.yaml", "a/near.yaml")))


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        pytest.param(
            {"p.yaml": "profile: p\nextends: [p]"},
            "p.yaml:2:11: extends.0: extends itself: p.yaml -> p.yaml.\nRemove one of these links.",
            id="itself",
        ),
        pytest.param(
            {
                "p.yaml": "profile: p\nextends: [a]",
                "a.yaml": "profile: a\nextends:\n  - b\n",
                "b.yaml": "profile: b\nextends: [./a.yaml]",
            },
            "b.yaml:2:11: extends.0: extends itself: a.yaml -> b.yaml -> ./a.yaml.\nRemove one of these links.",
            id="further up",
        ),
    ],
)
def test_a_cycle_is_refused_with_its_chain(write, files, fault) -> None:
    """The fault stands at the link that closes the cycle."""
    for name, text in files.items():
        write(name, text)

    assert faults("p.yaml") == [fault]


@pytest.mark.parametrize(
    ("length", "messages"),
    [
        pytest.param(MAX_CHAIN, [], id="at the limit"),
        pytest.param(
            MAX_CHAIN + 1,
            [
                (
                    f"p{MAX_CHAIN - 1}.yaml:2:11: extends.0: more than {MAX_CHAIN} profiles extend each other.\n"
                    "Merge some of them."
                )
            ],
            id="one past it",
        ),
    ],
)
def test_a_chain_is_limited(write, length, messages) -> None:
    """However many files there are, reading them ends."""
    for i in range(length - 1):
        write(f"p{i}.yaml", f"profile: p\nextends: [p{i + 1}]")
    write(f"p{length - 1}.yaml", "profile: last")

    assert faults("p0.yaml") == messages


def test_a_missing_parent_is_a_fault_at_its_entry(write, monkeypatch, tmp_path) -> None:
    """Every parent that cannot be had is told, with near matches, and the others are read."""
    monkeypatch.setattr("toolcharter.profile.find.shipped_profiles", lambda: "shipped")
    write("minimal.yaml", "profile: minimal\ntools: {a: {}}")
    (tmp_path / "folder.yaml").mkdir()
    write("p.yaml", "profile: p\nextends: [minmal, sub/x.yaml, minimal, ./folder.yaml]")

    source = read_profile("p.yaml")

    assert list(map(str, source.faults)) == [
        (
            "p.yaml:2:11: extends.0: there is no profile named 'minmal'.\n"
            "Did you mean 'minimal'? Looked in: '.', 'profiles', 'shipped'."
        ),
        "p.yaml:2:19: extends.1: 'sub/x.yaml': there is no such file.",
        "p.yaml:2:40: extends.3: './folder.yaml': is a folder, not a file.\nGive the path of a YAML file.",
    ]
    assert source.profile is not None
    assert source.profile.tools == {"a": {}}


def test_idle_parts_of_a_parents_path_are_dropped(write) -> None:
    """A path is told as short as it can be; `..` stays, because it may stand behind a link."""
    write("d.yaml", "profile: d\na: 1\n")
    write("sub/e.yaml", "profile: e\nb: 1\n")
    write("c.yaml", "profile: c\nextends: [./d.yaml, ././sub/.//e.yaml, sub/../none.yaml]\n")

    told = [fault.splitlines()[0] for fault in faults("./c.yaml")]

    assert told == [
        "./c.yaml:2:40: extends.2: './sub/../none.yaml': there is no such file.",
        "./d.yaml:2:1: a: unknown key 'a'.",
        "./sub/e.yaml:2:1: b: unknown key 'b'.",
    ]


def test_what_the_parser_refuses_has_one_fault(write) -> None:
    """The schema says nothing about what stands for a number that is too large, be it a key, a limit or a name."""
    large = 10**20
    text = f"profile: &large {large}\nlimits: {{timeout_s: {large}, max_output_chars: *large}}\ntools: {{{large}: {{}}}}\nextends: [{large}]\n"
    write("p.yaml", text)

    assert [fault.splitlines()[0] for fault in faults("p.yaml")] == [
        f"p.yaml:1:10: profile: the number '{large}' is too large.",
        f"p.yaml:2:21: limits.timeout_s: the number '{large}' is too large.",
        f"p.yaml:3:9: tools: the number '{large}' is too large.",
        f"p.yaml:4:11: extends.0: the number '{large}' is too large.",
    ]


def test_all_faults_of_all_files_come_at_once(write) -> None:
    """One attempt shows what is wrong in the child, in a parent, and in a parent that is no YAML."""
    write("a.yaml", "profile: a\nevents: []")
    write("b.yaml", "profile: [")
    write("p.yaml", "profile: p\nextends: [a, b]\ntols: {}")

    assert [fault.splitlines()[0] for fault in faults("p.yaml")] == [
        "p.yaml:3:1: tols: unknown key 'tols'.",
        "a.yaml:2:9: events: expected a mapping, found a list.",
        "b.yaml:2:1: not valid YAML: did not find expected node content while parsing a flow node (line 2, column 1).",
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(
            b"profile: p\ntools: {\xff: {}}",
            "p.yaml:2:9: the byte 0xFF is not UTF-8.\nSave the file as UTF-8.",
            id="Latin-1",
        ),
        pytest.param(
            "profile: p".encode("utf-16"),
            "p.yaml:1:1: the byte 0xFF is not UTF-8.\nSave the file as UTF-8.",
            id="UTF-16",
        ),
        pytest.param(
            "\ufeffé: \n".encode() + b"\xc3",
            "p.yaml:2:1: the byte 0xC3 is not UTF-8.\nSave the file as UTF-8.",
            id="cut off",
        ),
    ],
)
def test_a_file_must_be_utf_8(write, tmp_path, content, fault) -> None:
    """The fault stands at the first byte that is none, counted in characters."""
    write("p.yaml", "")
    (tmp_path / "p.yaml").write_bytes(content)

    assert faults("p.yaml") == [fault]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbfprofile: p\nx: 1\n", id="byte order mark"),
        pytest.param(b"profile: p\r\nx: 1\r\n", id="Windows line ends"),
    ],
)
def test_what_editors_add_is_no_fault(write, tmp_path, content) -> None:
    """A byte order mark and Windows line ends change no place."""
    write("p.yaml", "")
    (tmp_path / "p.yaml").write_bytes(content)

    assert [(fault.place, fault.path) for fault in read_profile("p.yaml").faults] == [("p.yaml:2:1", "x")]


def test_a_parent_that_is_no_yaml_file_is_not_opened(write) -> None:
    """Otherwise the faults of any readable file would repeat its lines."""
    write("accounts", "somebody: private")

    assert faults(write("p.yaml", "profile: p\nextends: [./accounts]")) == [
        (
            "p.yaml:2:11: extends.0: expected the name of a profile or the path of a .yaml or .yml file, "
            "found the text './accounts'."
        )
    ]
