"""The keys of the policy: what each may hold, and the whole message of every fault."""

import pytest

from toolcharter.profile.read import load_profile

RULES = "Write a rule such as 'git:push' or 'bash:git log *'."
NOT_SAID = "Remove it: a call that is allowed has no reason and no message. Write it beside a rule of `deny` or `ask`."
MATCH = "the key is missing.\nWrite `match: 'git:push'`; '*' matches every call."
GLOB = r"""'\d': only '*' and '\' can follow a backslash; write '\\d'."""
TOGETHER = "`deliver: webhook` and `url` belong together.\nWrite both, or neither for the log."
DEPTH = "Write a number, or comparisons such as '>=1' or '>=1,<3'."
LISTED = "expected a tool's name or glob, 'group:NAME' or 'toolset:NAME', found"


def test_every_key_of_the_policy_can_be_written(write) -> None:
    """All keys, at the limits of what they take, are read without a fault."""
    text = r"""
profile: p
mode: dangerous
tools: {git: {}}
deny: ["*", {rule: "git(a=\\,)", when: {a: true, b: {type: "null"}}, reason: a_1, message: ""}]
allow: [bash, {rule: "mcp:s:*", when: {}}]
capabilities: {allow: [], deny: ["*"], max_safety: high}
availability:
  - {for: {provider: [a, b*], agent: c, group: "*", depth: 0}, tools: []}
  - {for: {}, deny: ["group:fs"], also_allow: ["toolset:coding"], name: n, replaces: n}
  - {for: {depth: "<= 2 , >0,==1"}, tools: ["*"]}
toolsets: {mine: [], yours: ["toolset:mine"]}
groups: {vcs: [git]}
approvals: {timeout_s: 604800, approvers: [], always: true, keep_days: 3660}
session_guards:
  read_before_write: {mode: "off"}
  repeated_calls: {warn: 1}
  same_result: {deny: 9223372036854775807}
  depends_on: []
  skip_duplicate: [{match: git, args: []}]
  after_call: [{match: git, message: "", outcomes: [ok, error, denied]}]
limits: {per: session, store: "unix:///run/redis", agents: {"a\\**": {calls_per_minute: 1}}, tools: {git: {calls_per_hour: 1}}}
notify: [git, {match: [git, "*"], deliver: log}, {match: git, deliver: webhook, url: "http://h/", outcomes: ok}, {match: git, deliver: pager-2, url: "pager+tls:team"}]
missing_ok: [x, "group:y", "group:mcp:z", "toolset:w"]
"""

    assert load_profile(write("p.yaml", text)).mode == "dangerous"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param(
            "mode: polcy",
            [
                "2:7: mode: expected one of 'policy', 'restrict', 'ask', 'dangerous', found the text 'polcy'.\nDid you mean 'policy'?"
            ],
            id="mode",
        ),
        pytest.param(
            "deny: git",
            ["2:7: deny: expected a list of rules, found the text 'git'.\nWrite [git]."],
            id="one rule without brackets",
        ),
        pytest.param(
            "deny: '*(path=*secret*)'",
            [
                "2:7: deny: expected a list of rules, found the text '*(path=*secret*)'.\nWrite [\"*(path=*secret*)\"].",
            ],
            id="one rule without brackets that has to be quoted",
        ),
        pytest.param(
            "deny: [5, git push, {}, {rule: }, {rule: 'git:', text: x}]",
            [
                f"2:8: deny.0: expected a rule, found the number 5.\n{RULES}",
                "2:11: deny.1: no tool's name can match 'git push'.\nFor a command write 'bash:git push'.",
                "2:21: deny.2.rule: the key is missing.\nWrite `rule: git:push`.",
                f"2:32: deny.3.rule: expected a rule, found nothing.\n{RULES}",
                (
                    "2:42: deny.4.rule: in 'git:', a name or an action is empty, or has a blank at its end.\n"
                    "Write a rule such as 'git:push'; a command follows 'bash:'."
                ),
                "2:50: deny.4.text: unknown key 'text'.\nKnown keys: 'message', 'reason', 'rule', 'when'.",
            ],
            id="rules",
        ),
        pytest.param(
            "deny: [git: push]",
            [
                "2:8: deny.0.git: unknown key 'git'.\nKnown keys: 'message', 'reason', 'rule', 'when'.",
                "2:8: deny.0.rule: the key is missing.\nWrite `rule: git:push`.",
            ],
            id="a rule that YAML takes for a mapping",
        ),
        pytest.param(
            "deny: [{rule: git, reason: No, message: 5, when: [a]}]",
            [
                "2:28: deny.0.reason: expected a reason, a word in lower case, found the text 'No'.",
                "2:41: deny.0.message: expected text, found the number 5.\nQuote it to make it text.",
                "2:50: deny.0.when: expected a mapping from arguments to JSON Schemas, found a list.\nWrite each as `path: {pattern: '^src/'}`.",
            ],
            id="beside a rule",
        ),
        pytest.param(
            "allow: [{rule: git, when: {a: ^x, b: {patern: x}, '': {}, c: {pattern: '(?=x)'}, d: {type: 5}}}]",
            [
                "2:31: allow.0.when.a: '^x' is not a JSON Schema.\nWrite a mapping such as {const: '^x'}.",
                "2:38: allow.0.when.b: unknown keyword 'patern'.\nDid you mean 'pattern'?",
                "2:51: allow.0.when.: '' cannot be the name of an argument.\nWrite the name of one of the tool's arguments.",
                "2:62: allow.0.when.c: the pattern '(?=x)' is invalid, is too large, or cannot be matched in linear time.\nPatterns have no look-around and no back-references.",
                "2:85: allow.0.when.d: type: 5 is not valid under any of the schemas listed in the 'anyOf' keyword.\nWrite a JSON Schema of draft 2020-12.",
            ],
            id="conditions",
        ),
        pytest.param(
            "allow: [{rule: git, reason: x, message: y}]",
            [
                f"2:21: allow.0.reason: the key 'reason' does not belong here.\n{NOT_SAID}",
                f"2:32: allow.0.message: the key 'message' does not belong here.\n{NOT_SAID}",
            ],
            id="reason of an allow",
        ),
        pytest.param(
            r"capabilities: {allow: fs, deny: [5, '', 'a\d'], max_safety: hi}",
            [
                "2:23: capabilities.allow: expected a list of capabilities, found the text 'fs'.\nWrite [fs].",
                "2:34: capabilities.deny.0: expected a capability such as 'fs:read', found the number 5.\nQuote it to make it text.",
                "2:37: capabilities.deny.1: expected a capability such as 'fs:read', found the text ''.",
                f"2:41: capabilities.deny.2: {GLOB}",
                "2:61: capabilities.max_safety: expected one of 'low', 'medium', 'high', found the text 'hi'.\nDid you mean 'high'?",
            ],
            id="capabilities",
        ),
        pytest.param(
            "availability: [{}, {for: {agents: x, agent: []}, tools: git, deny: [5]}, {deny: [], name: a b}]",
            [
                "2:16: availability.0: the mapping is empty.\nWrite `tools`, `deny` or `also_allow`.",
                "2:27: availability.1.for.agents: unknown key 'agents'.\nDid you mean 'agent'? Known keys: 'agent', 'agent_type', 'channel', 'chat', 'depth', 'group', 'peer', 'provider'.",
                "2:45: availability.1.for.agent: the list is empty.\nWrite a list of names such as [researcher].",
                "2:57: availability.1.tools: expected a list of tools, groups and toolsets, found the text 'git'.\nWrite [git].",
                f"2:69: availability.1.deny.0: {LISTED} the number 5.\nQuote it to make it text.",
                "2:91: availability.2.name: expected a name, found the text 'a b'.\nNames have 1 to 64 letters, digits, '_' and '-'.",
            ],
            id="availability",
        ),
        *(
            pytest.param(
                f"availability: [{{for: {{depth: {depth}}}}}]",
                [f"2:30: availability.0.for.depth: expected a depth, found {found}.\n{DEPTH}"],
                id=f"depth {depth}",
            )
            for depth, found in [
                ("-1", "the number -1"),
                ("1.0", "the number 1.0"),
                ("true", "true"),
                ("''", "the text ''"),
                ("'>1,'", "the text '>1,'"),
                ("'=>1'", "the text '=>1'"),
                ("[1]", "a list"),
                ("1000000", "the number 1000000"),
            ]
        ),
        pytest.param(
            "toolsets: {mine: git, Mine: [git], a b: []}\ngroups: [git]",
            [
                "2:18: toolsets.mine: expected a list of tools, groups and toolsets, found the text 'git'.\nWrite [git].",
                "2:23: toolsets.Mine: names the same toolset as the entry at p.yaml:2:12.\nRemove one of the two.",
                "2:36: toolsets.a b: 'a b' cannot be the name of a toolset.\nNames have 1 to 64 letters, digits, '_' and '-'.",
                "3:9: groups: expected a mapping from names to lists of tools, found a list.\nWrite each as `mine: [read_file]`.",
            ],
            id="toolsets and groups",
        ),
        pytest.param(
            "approvals: {timeout_s: 0, approvers: ann, always: sometimes, keep_days: 3661}",
            [
                "2:24: approvals.timeout_s: expected seconds above 0 and up to 604800, found the number 0.",
                "2:38: approvals.approvers: expected a list of names, found the text 'ann'.\nWrite [ann].",
                "2:51: approvals.always: expected true or false, found the text 'sometimes'.",
                "2:73: approvals.keep_days: expected days above 0 and up to 3660, found the number 3661.",
            ],
            id="approvals",
        ),
        pytest.param(
            "session_guards: {read_before_write: {}, repeated_calls: {}, same_result: {warn: 0}, depends_on: [{}], "
            "skip_duplicate: [{args: a}], after_call: [{match: 'x y', outcomes: [good]}]}",
            [
                "2:37: session_guards.read_before_write.mode: the key is missing.\nWrite `mode: strict`, `warn` or `off`.",
                "2:57: session_guards.repeated_calls: the mapping is empty.\nWrite `warn: 3`, `deny: 5` or both.",
                "2:81: session_guards.same_result.warn: expected a whole number above 0, found the number 0.",
                f"2:98: session_guards.depends_on.0.match: {MATCH}",
                "2:98: session_guards.depends_on.0.needs: the key is missing.\nWrite the pattern of the call that has to come first.",
                f"2:120: session_guards.skip_duplicate.0.match: {MATCH}",
                "2:127: session_guards.skip_duplicate.0.args: expected a list of arguments, found the text 'a'.\nWrite [a].",
                "2:145: session_guards.after_call.0.message: the key is missing.\nWrite what the model is to read.",
                "2:153: session_guards.after_call.0.match: no tool's name can match 'x y'.\nFor a command write 'bash:x y'.",
                "2:171: session_guards.after_call.0.outcomes.0: expected one of 'ok', 'error', 'denied', found the text 'good'.",
            ],
            id="session_guards",
        ),
        pytest.param(
            "session_guards: {read_before_write: strict, depends_on: git}",
            [
                "2:37: session_guards.read_before_write: expected a mapping, found the text 'strict'.",
                "2:57: session_guards.depends_on: expected a list, found the text 'git'.\nWrite [git].",
            ],
            id="types of guards",
        ),
        pytest.param(
            "limits: {per: tool, store: 'http://h', calls_per_minute: 1.5, agents: {'a\\d': {}, a: {timeout_s: 1}}}",
            [
                "2:15: limits.per: expected one of 'session', 'agent', found the text 'tool'.",
                "2:28: limits.store: expected a URL, found the text 'http://h'.\nWrite a URL such as `redis://127.0.0.1:6379/0`, or `secret:NAME` if it has a password.",
                "2:58: limits.calls_per_minute: expected a whole number above 0, found the number 1.5.",
                (
                    r"2:72: limits.agents.a\d: 'a\\d' cannot be the name of an agent."
                    "\n"
                    r"Write a name, or a glob in which '*' is any text; '\*' and '\\' are a star and a backslash."
                ),
                (
                    "2:87: limits.agents.a.timeout_s: unknown key 'timeout_s'.\n"
                    "Known keys: 'calls_per_hour', 'calls_per_minute', 'calls_per_session'."
                ),
            ],
            id="rates",
        ),
        pytest.param(
            "notify: [5, 'x y', {}, {match: []}, {match: x, outcomes: []}, {match: x, deliver: webhook}, "
            "{match: x, url: 'http://h'}, {match: x, deliver: webhook, url: 'ftp://h'}, {match: x, deliver: mail}, {match: x, deliver: a b}]",
            [
                "2:10: notify.0: expected a notification, found the number 5.",
                "2:13: notify.1: no tool's name can match 'x y'.\nFor a command write 'bash:x y'.",
                f"2:20: notify.2.match: {MATCH}",
                "2:32: notify.3.match: the list is empty.\nWrite a list of patterns such as ['git:push'].",
                "2:58: notify.4.outcomes: the list is empty.\nWrite a list of outcomes such as [denied].",
                f"2:63: notify.5: {TOGETHER}",
                f"2:93: notify.6: {TOGETHER}",
                "2:156: notify.7.url: expected a URL, found the text 'ftp://h'.\nWrite a URL such as `https://example.org/hook`.",
                "2:168: notify.8: `deliver: mail` and `url` belong together.\nWrite both, or neither for the log.",
                (
                    "2:215: notify.9.deliver: expected 'log', 'webhook' or the name of a plugin's channel, found the text 'a b'.\n"
                    "Names have 1 to 64 letters, digits, '_' and '-'."
                ),
            ],
            id="notify",
        ),
    ],
)
def test_every_fault_of_the_policy_is_told_at_its_place(told, text, faults) -> None:
    """Each with what was expected, what stands there and what to write."""
    assert told(f"profile: p\n{text}") == [f"p.yaml:{fault}" for fault in faults]
