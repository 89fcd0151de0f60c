"""The samples of command lines: what must not run unattended, what must stay allowed, and what those then do."""

from collections import Counter
from collections.abc import Iterator
from shutil import which
from typing import Any

import pytest
from tests.cases.shell_tree import Tree, plant, sample_policy, toolbox_over
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox

DENY = sample_rows("security/shell_deny")
ALLOW = sample_rows("security/shell_allow")
COMMON = [row for row in DENY if row["tier"] != "scope"]
# What else git is asked to do in the samples is not on this list.
SUBCOMMANDS = """status log diff show blame ls-files ls-tree rev-parse rev-list grep add shortlog describe merge-base reflog
    check-ignore"""
FORMS = (
    *(form for name in SUBCOMMANDS.split() for form in (f"bash:git {name}", f"bash:git {name} *")),
    *(
        "bash:git branch",
        *(
            f"bash:git branch {option}*"
            for option in ("--list", "-l", "-v", "-a", "--all", "-r", "--remotes", "--show-current", "--contains")
        ),
        *(
            f"bash:git branch {option}*"
            for option in ("--no-contains", "--merged", "--no-merged", "--sort", "--format", "--points-at")
        ),
    ),
    *("bash:git tag", "bash:git tag -l*", "bash:git tag --list*", "bash:git remote -v", "bash:git stash list*"),
    *(
        f"bash:git tag {option}*"
        for option in (
            "-n",
            "--sort",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
            "--format",
        )
    ),
    *("bash:git commit -m *", "bash:git commit -m*", "bash:git commit --author*", "bash:git commit --allow-empty *"),
    *("bash:git commit -q *", "bash:git commit --message*", "bash:git commit --no-edit *"),
    *("bash:git config --get *", "bash:git cat-file -p *", "bash:git cat-file -t *", "bash:git --no-pager *"),
    *("bash:git remote", "bash:git remote --verbose", "bash:git --version", "bash:git version", "bash:git -C *"),
)
"""`allow_git_subcommands` of the samples' policy as rules; of `tag` and `branch` those that list."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return plant(tmp_path_factory.mktemp("shell"))


def scoped() -> dict[str, Any]:
    """The samples' policy with the list of git's subcommands in the place of all that git can do."""
    policy = sample_policy()
    return {**policy, "allow": [*(rule for rule in policy["allow"] if not rule.startswith("bash:git")), *FORMS]}


@pytest.fixture(scope="module")
def boxes(tree: Tree) -> Iterator[dict[str, Toolbox]]:
    """The three ways in which the samples are judged."""
    policy = sample_policy()
    with (
        toolbox_over(tree, policy) as restrict,
        toolbox_over(tree, {**policy, "mode": "ask"}) as ask,
        toolbox_over(tree, scoped()) as scope,
    ):
        yield {"restrict": restrict, "ask": ask, "scope": scope}


def outcome(box: Toolbox, tree: Tree, row: dict[str, Any]) -> str:
    return box.decide("bash", {"command": tree.fill(row["cmd"])}).outcome


@each_row("row", row_params(COMMON))
def test_deny(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """What the rules' letters would let through, the guard refuses; where a person may be asked, it may ask."""
    assert outcome(boxes["restrict"], tree, row) == outcome(boxes["scope"], tree, row) == "deny"
    assert outcome(boxes["ask"], tree, row) in {"ask", "deny"}


@each_row("row", row_params([row for row in DENY if row["tier"] == "scope"]))
def test_deny_by_a_list_of_subcommands(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """Under rules for subcommands another subcommand, or a form of one that writes, is not covered."""
    assert outcome(boxes["scope"], tree, row) == "deny"


@each_row("row", row_params(ALLOW))
def test_allow(row: dict[str, Any], tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """Ordinary use of the listed programs stays allowed, by the list of subcommands too."""
    assert {name: outcome(box, tree, row) for name, box in boxes.items()} == dict.fromkeys(boxes, "allow")


def test_counts(tree: Tree, boxes: dict[str, Toolbox]) -> None:
    """By tier: not one line gets through; of ordinary use at most 1% is refused, of the rarer at most 20%."""
    box = boxes["restrict"]
    through = Counter(row["tier"] for row in COMMON if outcome(box, tree, row) != "deny")
    refused = Counter(row["tier"] for row in ALLOW if outcome(box, tree, row) != "allow")
    sizes = Counter(row["tier"] for row in ALLOW)

    assert through == Counter()
    assert refused["core"] <= sizes["core"] / 100
    assert refused["plus"] <= sizes["plus"] / 5


# A test runs code of the workspace; it is judged above, and its Python is none of the sandbox's.
RUNS = [row for row in ALLOW if "pytest" not in row["cmd"]]


def wants_a_missing_program(row: dict[str, Any]) -> bool:
    return which(row["cmd"].split()[0], path="/usr/local/bin:/usr/bin:/bin") is None and row["cls"] == "plain"


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_what_is_allowed_runs_and_changes_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    """In a sandbox each does what it is for: it ends, most without an error, and no file is another than before."""
    tree = plant(tmp_path_factory.mktemp("runs"))
    rows = [row for row in RUNS if not wants_a_missing_program(row)]
    before = tree.content()

    with toolbox_over(tree, {**sample_policy(), "runner": "bwrap"}) as box:
        ended = {row["id"]: box.call("bash", {"command": tree.fill(row["cmd"])}) for row in rows}

    assert {result.outcome for result in ended.values()} <= {"ok", "error"}
    assert {result.reason for result in ended.values()} <= {None, "nonzero_exit"}
    # 1 is an answer (of `diff`: they differ); `.git` is read-only, so that git ends what writes there with 128.
    writes = {row["id"] for row in rows if row["cmd"].startswith(("git add", "git commit"))}
    assert {
        name: result.exit_code for name, result in ended.items() if result.exit_code not in {0, 1}
    } == dict.fromkeys(writes, 128)
    assert sum(result.outcome == "ok" for result in ended.values()) >= 0.9 * len(rows)
    assert tree.content() == before
    assert not (tree.workspace / "pwned").exists()


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    assert {row["tier"] for row in DENY} == {"must", "confine", "strict", "scope"}
    assert {row["tier"] for row in ALLOW} == {"core", "plus"}
