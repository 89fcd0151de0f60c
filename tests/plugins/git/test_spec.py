"""The tool as a plugin: its spec, its policy, its page, and what a dry run may do."""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.rows import each_row

import toolcharter_git
from toolcharter import Completed, Denied, ToolError, build_tools
from toolcharter_git import config, names, worktree
from toolcharter_git.policy import ACTIONS, READ_ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason
from toolcharter_git.repository import Git
from toolcharter_git.tool import SPEC, advertise

README = Path(inspect.getfile(toolcharter_git)).parent.parent / "README.md"


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading of the README."""
    section = README.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_readme_lists_every_reason() -> None:
    """Code and page name the same reasons."""
    assert {code(row[0])[0] for row in table("Reasons")} == set(GitReason)
    assert {row[1] for row in table("Reasons")} == {"denied", "error"}


def test_the_readme_lists_every_field_of_the_policy() -> None:
    """Code and page name the same knobs."""
    assert [name for row in table("Policy") for name in code(row[0])] == list(GitPolicy.model_fields)


def test_the_readme_lists_every_action_with_its_capabilities() -> None:
    """Code and page agree on what each action touches."""
    reads = frozenset({"fs:read", "proc:exec"})
    assert [code(row[0])[0] for row in table("Actions")] == list(ACTIONS)
    assert {action: SPEC.capabilities_of(action) for action in ACTIONS} == {
        **{action: reads if action in READ_ACTIONS else reads | {"fs:write"} for action in ACTIONS},
        "push": reads | {"fs:write", "net:write"},
    }


def test_by_default_the_tool_only_reads() -> None:
    """Nothing is written, pushed or tagged without a word of the profile."""
    policy = GitPolicy()

    assert policy.allowed_actions == READ_ACTIONS
    assert (policy.allow_push, policy.allowed_remotes, policy.tag_pattern, policy.allow_worktree_dirty) == (
        False,
        (),
        "",
        False,
    )


@each_row(
    ("field", "value"),
    [
        ("ref_pattern", "("),
        ("ref_pattern", r"(a)\1"),
        ("tag_pattern", "["),
        ("managed_branch_prefix", "-x"),
        ("managed_branch_prefix", "a b/"),
        ("max_files", -1),
        ("max_files", "5"),
        ("timeout_s", 0),
        ("allow_pussh", True),
    ],
)
def test_a_bad_policy_names_its_field(field: str, value: object) -> None:
    """Patterns are RE2, prefixes begin branch names, numbers are numbers."""
    with pytest.raises(ValidationError) as caught:
        GitPolicy.from_profile({field: value})

    assert field in str(caught.value)


def test_the_model_is_shown_what_it_may_use() -> None:
    """The list of actions shrinks to the profile's; push is shown only with its switch."""
    schema: dict[str, Any] = {"type": "object", "properties": {"action": {"type": "string"}, "ref": {"type": "string"}}}
    policy = GitPolicy(allowed_actions=("push", "log"))

    shown = [advertise(each, schema) for each in (policy, policy.model_copy(update={"allow_push": True}))]

    assert [each["properties"]["action"] for each in shown] == [
        {"type": "string", "enum": ["log"]},
        {"type": "string", "enum": ["log", "push"]},
    ]
    assert schema["properties"]["action"] == {"type": "string"}


@each_row(
    ("url", "protocol"),
    [
        ("https://host.example/x.git", "https"),
        ("ssh://git@host.example:22/x.git", "ssh"),
        ("git@host.example:group/x.git", "ssh"),
        ("file:///srv/x.git", "file"),
        ("/srv/x.git", None),
        ("ext::sh -c true", None),
        ("http://host.example/x", None),
    ],
)
def test_protocols_are_told_apart(url: str, protocol: str | None) -> None:
    """What is no URL of three kinds beyond doubt has no protocol."""
    assert names.protocol_of(url) == protocol


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("core.bare", "core.bare"),
        ("remote.origin.url", "remote.*.url"),
        ("filter.a.b=c.Clean", "filter.*.clean"),
        ("url.https://a.b/.insteadof", "url.*.insteadof"),
    ],
)
def test_keys_are_judged_without_their_subsection(key: str, form: str) -> None:
    """A subsection may hold dots and equals signs."""
    assert config.without_subsection(key) == form


def test_a_key_without_a_value_is_parsed() -> None:
    """`[a] b` means true and has no value in the listing."""
    assert config.parse_listing(b"a.b\0c.d\nx\ny\0") == [("a.b", ""), ("c.d", "x\ny")]


def test_a_submodule_is_marked() -> None:
    """A changed pointer is told from a changed file."""
    record = b"1 .M SC.. 160000 160000 160000 " + b"0" * 40 + b" " + b"0" * 40 + b" sub dir\0"

    assert worktree.parse_state(record).entries == (worktree.Entry("sub dir", ".", "M", is_submodule=True),)


class Answers:
    """A runtime whose git answers as it is told."""

    def __init__(self, *answers: Completed) -> None:
        self._answers = list(answers)
        self.paths = SimpleNamespace(narrowed=lambda **_: None)

    def inspect(self, argv, **options) -> Completed:
        return self._answers.pop(0)


def answering(*answers: Completed) -> Any:
    return Answers(*answers)


def completed(stdout: bytes = b"", *, timed_out: bool = False, truncated: bool = False) -> Completed:
    return Completed(("git",), 0, stdout, b"", truncated, timed_out, 0.1)


@pytest.mark.parametrize("version", [b"git version 2.31.9\n", b"git version 1.99\n", b"something else\n"])
def test_an_old_git_is_refused(repo, version: bytes) -> None:
    """It would pass over our settings in silence."""
    git = Git(repo.path, GitPolicy(), answering(completed(version)))

    with pytest.raises(ToolError) as caught:
        git.open("status", GitReason.GIT_STATUS_FAILED)

    assert caught.value.reason == "program_not_found"


@pytest.mark.parametrize("answer", [completed(timed_out=True), completed(truncated=True)])
def test_a_configuration_that_is_not_heard_to_its_end_is_refused(repo, answer: Completed) -> None:
    """Half of a configuration is none."""
    git = Git(repo.path, GitPolicy(), answering(completed(b"git version 2.40.0\n"), answer))

    with pytest.raises(Denied) as caught:
        git.open("status", GitReason.GIT_STATUS_FAILED)

    assert caught.value.reason == "unsafe_repository_config"


@pytest.mark.parametrize(
    ("answer", "reason", "retryable"),
    [
        pytest.param(completed(timed_out=True), "timed_out", True, id="over time"),
        pytest.param(completed(truncated=True), "git_log_failed", False, id="longer than can be kept"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(repo, answer: Completed, reason: str, *, retryable: bool) -> None:
    """A list that was cut is not shown as the whole."""
    answers = answering(completed(b"git version 2.40.0\n"), completed(), answer)
    repository = Git(repo.path, GitPolicy(), answers).open("log", GitReason.GIT_LOG_FAILED)

    with pytest.raises(ToolError) as caught:
        repository.run_read(["log"], GitReason.GIT_LOG_FAILED)

    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)


@pytest.mark.parametrize(
    ("args", "outcome", "reason"),
    [
        ({"action": "create_branch", "branch": "x"}, "allow", None),
        ({"action": "create_branch", "branch": "-x"}, "error", "invalid_branch"),
        ({"action": "push", "remote": "origin"}, "deny", "action_not_allowed"),
    ],
)
def test_a_dry_run_decides_and_changes_nothing(repo, tmp_path: Path, args, outcome: str, reason: str | None) -> None:
    """All checks of the tool run, the state of the worktree included; the branch is not made."""
    profile = tmp_path / "profile.yaml"
    profile.write_text("profile: test\ntools: {git: {allowed_actions: [create_branch]}}\n")
    with build_tools(profile, workspace=repo.path, events=[lambda _: None]) as toolbox:
        decision = toolbox.decide("git", args)

    assert (decision.outcome, decision.reason) == (outcome, reason)
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
