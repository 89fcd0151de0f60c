"""What each key of a profile may hold, and the whole message of every fault."""

from typing import get_args

import pytest

from toolcharter.api.call import Stage
from toolcharter.profile.read import load_profile

KEYS = (
    "Known keys: 'allow', 'approvals', 'ask', 'availability', 'capabilities', 'cases', 'deny', 'description', "
    "'events', "
    "'extends', 'extensions', 'groups', 'hidden', 'limits', 'missing_ok', 'mode', 'notify', 'plugins', 'profile', "
    "'runner', 'session_guards', 'store', 'tools', 'toolsets'."
)
STAGES = ", ".join(map(repr, get_args(Stage)))
WEEK = "expected seconds above 0 and up to 604800, found"
LISTED = "expected the name of a tool, 'group:NAME' or 'toolset:NAME'"
GLOB = "expected a glob of names, or of paths below the workspace"
GLOB_FIX = (
    "Write a name such as '.env.*', a path such as 'config/secrets/**', or '!.env.example' to except one. "
    "Braces, brackets and backslashes have no meaning here: write one entry for each name, or '?' for any one letter."
)
NO_GLOBS = [
    (0, 10, "the text ''"),
    (1, 14, "the text '/etc'"),
    (2, 20, "the text 'a/../b'"),
    (3, 28, "the text '.'"),
    (4, 31, "the text 'a//b'"),
    (5, 37, "the text '!'"),
]
NAMES = "Names have 1 to 64 letters, digits, '_' and '-'."


def test_every_key_can_be_written(write) -> None:
    """A profile with all keys at the limits of what they take is read without a fault."""
    text = """\
profile: All_keys-1
description: ""
extends: []
tools: {git: {x: [1, {y: null}]}, read-file_2: {}}
extensions: {principles: {}}
plugins: {toolcharter-git: ">=1,<2", toolcharter_files: ==1.0.*}
limits: {timeout_s: 604800, max_output_chars: 1, truncate: both, tools: {GIT: {timeout_s: 0.001, truncate: head}}}
events: {args: none, required: true}
cases:
  - {tool: nope, expect: error}
  - {tool: git, args: {a: 1}, expect: deny, reason: a_1, stage: tool, name: "No push: ever"}
missing_ok: [mcp_search]
hidden: [.env, "!.env.example", "..x", "config/**/*.pem", {glob: "*.key", containing: A}]
"""

    assert load_profile(write("p.yaml", text)).name == "All_keys-1"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param(
            "- profile", ["1:1: expected a mapping of keys such as `profile` and `tools`, found a list."], id="list"
        ),
        pytest.param(
            "null", ["1:1: expected a mapping of keys such as `profile` and `tools`, found nothing."], id="null"
        ),
        pytest.param(
            "# no name\ntools: {}",
            ["2:1: profile: the key is missing.\nWrite `profile: NAME`; events show the name."],
            id="no name",
        ),
        pytest.param(
            "profile: 5",
            [
                (
                    "1:10: profile: expected a name of letters, digits, '_' and '-', found the number 5.\nQuote it to make it "
                    "text."
                )
            ],
            id="number for a name",
        ),
        pytest.param(
            "profile: a b",
            ["1:10: profile: expected a name of letters, digits, '_' and '-', found the text 'a b'."],
            id="space in the name",
        ),
        pytest.param(
            "profile: p\ntool: {}",
            [f"2:1: tool: unknown key 'tool'.\nDid you mean 'tools'? {KEYS}"],
            id="misspelt key",
        ),
        *(
            pytest.param(f"profile: p\n{key}: []", [f"2:1: {key}: unknown key {key!r}.\n{fix}{KEYS}"], id=key)
            for key, fix in (("runners", "Did you mean 'runner'? "), ("rules", ""))
        ),
        pytest.param(
            "profile: p\nrunner: [bwrap]",
            [
                (
                    "2:9: runner: expected the name of a runner, found a list.\nRunners: 'host', which is not a sandbox, "
                    "and those of plugins."
                )
            ],
            id="runners in a list",
        ),
        pytest.param("profile: p\ndescription:", ["2:13: description: expected text, found nothing."], id="no text"),
        pytest.param(
            "profile: p\ndescription: true",
            ["2:14: description: expected text, found true.\nQuote it to make it text."],
            id="boolean for text",
        ),
        pytest.param(
            "profile: p\nextends: minimal",
            ["2:10: extends: expected a list of profiles, found the text 'minimal'.\nWrite [minimal]."],
            id="one parent without brackets",
        ),
        pytest.param(
            "profile: p\nextends: {a: b}",
            ["2:10: extends: expected a list of profiles, found a mapping."],
            id="mapping for a list",
        ),
        pytest.param(
            "profile: p\nextends: ['', [a]]",
            [
                "2:11: extends.0: expected the name of a profile or the path of a .yaml or .yml file, found the text ''.",
                "2:15: extends.1: expected the name of a profile or the path of a .yaml or .yml file, found a list.",
            ],
            id="parents without a name",
        ),
        pytest.param(
            "profile: p\ntools: [git]",
            [
                (
                    "2:8: tools: expected a mapping from tools to their policies, found a list.\nWrite each tool as a key: "
                    "`git: {}`."
                )
            ],
            id="list of tools",
        ),
        pytest.param(
            "profile: p\ntools:\n  git:\n",
            ["3:7: tools.git: expected a mapping with the tool's policy, found nothing.\nWrite `git: {}`."],
            id="no policy",
        ),
        pytest.param(
            f"profile: p\ntools:\n  a.b: {{}}\n  {'x' * 65}: {{}}",
            [
                f"3:3: tools.a.b: 'a.b' cannot be the name of a tool.\n{NAMES}",
                f"4:3: tools.{'x' * 61}...: '{'x' * 35}...' cannot be the name of a tool.\n{NAMES}",
            ],
            id="names of tools",
        ),
        pytest.param(
            "profile: p\ntools:\n  git: {}\n  Git: []\n",
            [
                "4:3: tools.Git: names the same tool as the entry at p.yaml:3:3.\nRemove one of the two.",
                "4:8: tools.Git: expected a mapping with the tool's policy, found a list.\nWrite `Git: {}`.",
            ],
            id="one tool twice",
        ),
        pytest.param(
            "profile: p\nextensions: {principles: on}",
            [
                (
                    "2:26: extensions.principles: expected a mapping with the extension's policy, found the text 'on'.\nWrite "
                    "`principles: {}`."
                )
            ],
            id="extension",
        ),
        pytest.param(
            "profile: p\nhidden: ['', /etc, a/../b, ., a//b, '!', 7, {glob: x}, {containing: x, glob: ''}]",
            [
                *(
                    f"2:{column}: hidden.{number}: {GLOB}, found {found}.\n{GLOB_FIX}"
                    for number, column, found in NO_GLOBS
                ),
                "2:42: hidden.6: expected a glob or a mapping with `glob` and `containing`, found the number 7.",
                "2:45: hidden.7.containing: the key is missing.\nWrite the text, or the glob alone.",
                f"2:78: hidden.8.glob: {GLOB}, found the text ''.\n{GLOB_FIX}",
            ],
            id="hidden files",
        ),
        pytest.param(
            "profile: p\nhidden: ['*.{pem,key}', 'secret.[ab]', 'a/[b]', '\\*']",
            [
                f"2:{column}: hidden.{number}: {GLOB}, found the text {found}.\n{GLOB_FIX}"
                for number, column, found in (
                    (0, 10, "'*.{pem,key}'"),
                    (1, 25, "'secret.[ab]'"),
                    (2, 40, "'a/[b]'"),
                    (3, 49, r"'\\*'"),
                )
            ],
            id="globs of other languages in hidden",
        ),
        pytest.param(
            "profile: p\nhidden: ['!.env.example', '!*.pub']",
            [
                (
                    "2:9: hidden: only exceptions are listed: this list replaces the default, so nothing would be hidden.\n"
                    "List what to hide, too; or write [] to hide nothing."
                )
            ],
            id="nothing but exceptions in hidden",
        ),
        pytest.param(
            "profile: p\nplugins: {-x: '>1', a.b: '>1', A-b: '>1'}",
            [
                "2:11: plugins.-x: '-x' cannot be the name of a distribution.\nWrite its name as pip knows it.",
                "2:32: plugins.A-b: names the same distribution as the entry at p.yaml:2:21.\nRemove one of the two.",
            ],
            id="names of distributions",
        ),
        pytest.param(
            "profile: p\nplugins: {a: 1.5, b: 1.5.0rc1, c: newest, d: '', e: }",
            [
                (
                    "2:14: plugins.a: expected a version specifier, found the number 1.5.\nWrite '==1.5' or a range such as "
                    "'>=1,<2'."
                ),
                (
                    "2:22: plugins.b: expected a version specifier, found the text '1.5.0rc1'.\nWrite '==1.5.0rc1' or a "
                    "range such as '>=1,<2'."
                ),
                (
                    "2:35: plugins.c: expected a version specifier, found the text 'newest'.\nWrite a range such as "
                    "'>=1,<2'."
                ),
                "2:46: plugins.d: expected a version specifier, found the text ''.\nWrite a range such as '>=1,<2'.",
                "2:53: plugins.e: expected a version specifier, found nothing.\nWrite a range such as '>=1,<2'.",
            ],
            id="pins",
        ),
        pytest.param(
            "profile: p\nlimits: {timeout_s: 0, max_output_chars: 1.5, truncate: Head, timeout: 5}",
            [
                f"2:21: limits.timeout_s: {WEEK} the number 0.",
                "2:42: limits.max_output_chars: expected a whole number above 0, found the number 1.5.",
                (
                    "2:57: limits.truncate: expected one of 'head', 'tail', 'both', found the text 'Head'.\nDid you mean "
                    "'head'?"
                ),
                (
                    "2:63: limits.timeout: unknown key 'timeout'.\nDid you mean 'timeout_s'? Known keys: 'agents', "
                    "'calls_per_hour', 'calls_per_minute', 'calls_per_session', 'max_output_chars', 'per', 'store', "
                    "'timeout_s', 'tools', 'truncate'."
                ),
            ],
            id="limits",
        ),
        pytest.param(
            "profile: p\nlimits: {timeout_s: '30', max_output_chars: true, truncate: 1}",
            [
                f"2:21: limits.timeout_s: {WEEK} the text '30'.\nRemove the quotes.",
                "2:45: limits.max_output_chars: expected a whole number above 0, found true.",
                "2:61: limits.truncate: expected one of 'head', 'tail', 'both', found the number 1.",
            ],
            id="types of limits",
        ),
        pytest.param(
            "profile: p\nlimits: {timeout_s: 604800.5, max_output_chars: -1}",
            [
                f"2:21: limits.timeout_s: {WEEK} the number 604800.5.",
                "2:49: limits.max_output_chars: expected a whole number above 0, found the number -1.",
            ],
            id="limits out of range",
        ),
        pytest.param(
            "profile: p\nlimits: 30",
            ["2:9: limits: expected a mapping of limits, found the number 30."],
            id="number for limits",
        ),
        pytest.param(
            "profile: p\ntools: {git: {}}\nlimits: {tools: {git: {tools: {}}}}",
            [
                (
                    "3:24: limits.tools.git.tools: unknown key 'tools'.\nKnown keys: 'calls_per_hour', "
                    "'calls_per_minute', 'calls_per_session', 'max_output_chars', 'timeout_s', 'truncate'."
                )
            ],
            id="limits of tools do not nest",
        ),
        pytest.param(
            "profile: p\nevents: {args: all, required: yes}",
            [
                "2:16: events.args: expected one of 'full', 'shape', 'none', found the text 'all'.",
                "2:31: events.required: expected true or false, found the text 'yes'.\nWrite true.",
            ],
            id="events",
        ),
        pytest.param(
            "profile: p\nevents: {required: 1}",
            ["2:20: events.required: expected true or false, found the number 1."],
            id="number for a boolean",
        ),
        pytest.param(
            "profile: p\ncases:\n  - git\n  - {}\n  - {tool: git, expect: denied, args: [], reason: No!}",
            [
                "3:5: cases.0: expected a case, which is a mapping, found the text 'git'.",
                "4:5: cases.1.tool: the key is missing.\nWrite `tool: NAME`.",
                "4:5: cases.1.expect: the key is missing.\nWrite one of allow, ask, deny, error.",
                (
                    "5:25: cases.2.expect: expected one of 'allow', 'ask', 'deny', 'error', found the text 'denied'.\nDid "
                    "you mean 'deny'?"
                ),
                "5:39: cases.2.args: expected a mapping of arguments, found a list.\nWrite `args: {}`.",
                "5:51: cases.2.reason: expected a reason, a word in lower case, found the text 'No!'.",
            ],
            id="cases",
        ),
        pytest.param(
            "profile: p\ncases:\n  - {tool: git, expect: allow, reason: x, stage: mode}\n"
            "  - {tool: git, expect: deny, stage: modes}",
            [
                "3:32: cases.0.reason: a call that is allowed has no reason.\nRemove it, or expect deny.",
                f"4:38: cases.1.stage: expected one of {STAGES}, found the text 'modes'.\nDid you mean 'mode'?",
            ],
            id="reason and stage of a case",
        ),
        pytest.param(
            "profile: p\nmissing_ok: [a b, 7]",
            [
                f"2:14: missing_ok.0: {LISTED}, found the text 'a b'.\n{NAMES}",
                f"2:19: missing_ok.1: {LISTED}, found the number 7.\nQuote it to make it text.",
            ],
            id="missing_ok",
        ),
    ],
)
def test_every_fault_is_told_at_its_place(told, text, faults) -> None:
    """All faults of a file in one attempt, each with what was expected, what stands there and a likely fix."""
    assert told(text) == [f"p.yaml:{fault}" for fault in faults]
