"""Ways in that were found by attacking the tool: out of `.git`, around protected names, to another remote."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ToolResult

WRITES = ["create_branch", "checkout", "add", "commit", "tag", "push"]
READS = ["status", "log", "show", "rev_parse", "diff", "diff_since"]
ALL: dict[str, Any] = {
    "allowed_actions": [*READS, *WRITES],
    "allow_push": True,
    "allowed_remotes": ["origin"],
    "tag_pattern": "v.*",
    "allow_worktree_dirty": True,
}


def verdict(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason


# Out of `.git`


def test_a_commit_appends_to_no_file_outside(repo, call, tmp_path: Path) -> None:
    """Git follows a linked log of a branch: a line of the repository's choice would end up in `.bashrc`."""
    target = tmp_path / ".bashrc"
    target.write_text("")
    log = repo.path / ".git/logs/refs/heads/main"
    log.unlink()
    log.symlink_to(target)
    repo.git("config", "user.name", "$(id)")
    repo.write("a.txt", "changed\n")
    repo.git("add", "a.txt")

    result = call("commit", policy=ALL, message="Harmless")

    assert (verdict(result), target.read_text()) == (("denied", "unsafe_repository"), "")


@pytest.mark.parametrize("name", ["deep", "hooks"])
def test_a_branch_is_not_made_outside(repo, call, outside: Path, name: str) -> None:
    """A linked folder below `refs/heads` would put the new reference where it leads, whatever it is called."""
    (repo.path / ".git/refs/heads/agent").mkdir()
    (repo.path / ".git/refs/heads/agent" / name).symlink_to(outside)

    result = call("create_branch", policy=ALL, branch=f"agent/{name}/x")

    assert (verdict(result), list(outside.iterdir())) == (("denied", "unsafe_repository"), [])


def test_objects_are_not_borrowed_one_by_one(repo, call, outside: Path) -> None:
    """A linked object would show what another repository of this user holds."""
    blob = repo.head("HEAD:a.txt")
    place = repo.path / ".git/objects" / blob[:2] / blob[2:]
    place.rename(outside / "object")
    place.symlink_to(outside / "object")

    assert verdict(call("show", ref="HEAD:a.txt")) == ("denied", "unsafe_repository")


def test_a_repository_of_too_many_files_is_refused(repo, call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for links comes to an end."""
    monkeypatch.setattr("toolcharter_git.layout.MAX_ENTRIES", 3)

    result = call("status")

    assert (verdict(result), result.message) == (
        ("denied", "unsafe_repository"),
        "The repository is not used: '.git' holds more than 3 files.",
    )


def test_a_submodule_does_not_point_to_a_repository_outside(repo, call, outside: Path) -> None:
    """A `.git` file in the worktree would tell what another repository of this user has checked out."""
    private = type(repo)(outside)
    private.git("init", "-q", "-b", "main")
    before, after = private.commit("s.txt", "1\n"), private.commit("s.txt", "2\n")
    repo.git("update-index", "--add", "--cacheinfo", "160000", before, "x")
    repo.git("commit", "-q", "-m", "Link")
    repo.write("x/.git", f"gitdir: {outside}/.git\n")

    results = [call("diff"), call("status"), call("show")]

    assert [(each.outcome, after in str(each.data)) for each in results] == [("ok", False)] * 3


# Around protected names


def test_the_diff_of_a_file_does_not_show_the_folder_in_its_place(repo, call) -> None:
    """Git takes the path of what was a file for everything below the folder of that name."""
    repo.commit("conf", "was a file\n")
    (repo.path / "conf").unlink()
    repo.commit("conf/.env", "CANARY\n")

    results = [call("diff", ref="HEAD~1", head_ref="HEAD"), call("show")]

    assert [(each.outcome, "CANARY" in str(each), "CANARY" in str(each.data)) for each in results] == [
        ("ok", False, False)
    ] * 2
    assert [each.data["left_out"] for each in results] == [2, 2]


def test_adding_a_deleted_file_does_not_add_the_folder_in_its_place(repo, call) -> None:
    """The same with `add`: the protected file would go into the next commit, and from there anywhere."""
    repo.commit("conf", "was a file\n")
    (repo.path / "conf").unlink()
    repo.write("conf/.env", "CANARY\n")
    repo.write("b.txt")

    result = call("add", policy=ALL, paths=["."])

    assert (result.data, repo.git("diff", "--cached", "--name-only")) == ({"items": ["b.txt"]}, "b.txt")


def test_a_protected_file_that_others_staged_is_not_committed(repo, call) -> None:
    """`add` refuses it; an index that came with it must be no way around."""
    repo.write(".env", "CANARY\n")
    repo.git("add", "-f", ".env")

    result = call("commit", policy=ALL, message="Harmless")

    assert (verdict(result), result.message) == (("denied", "protected_path"), "'.env' is protected.")


@pytest.mark.parametrize("action", ["checkout", "create_branch"])
@pytest.mark.parametrize("kept_on", ["main", "agent/x"])
def test_a_switch_does_not_exchange_the_policies(repo, call, action: str, kept_on: str) -> None:
    """Going to a commit with other ceilings, or without any, would let the agent choose them."""
    repo.git("branch", "agent/x")
    repo.git("switch", "-q", kept_on)
    repo.commit(".toolcharter/policy.yaml", "deny: []\n")
    repo.git("switch", "-q", "main")
    args = {"branch": "agent/x"} if action == "checkout" else {"branch": "new", "ref": "agent/x"}

    result = call(action, policy=ALL, **args)

    assert (verdict(result), repo.branch()) == (("denied", "protected_path"), "main")


def test_a_switch_with_the_same_policies_is_fine(repo, call) -> None:
    """What does not change them is none of that."""
    repo.commit(".toolcharter/policy.yaml", "deny: []\n")
    repo.git("branch", "agent/x")
    repo.commit("b.txt")

    assert verdict(call("checkout", policy=ALL, branch="agent/x")) == ("ok", None)


# To another remote


@pytest.mark.parametrize("folder", ["remotes", "branches"])
def test_a_pinned_url_is_not_redirected_by_a_file_of_its_name(repo, call, folder: str) -> None:
    """Git looks for `.git/remotes/<name>` first, also when the name is a URL without a slash."""
    url = "git@host.invalid:repo.git"
    repo.write(f".git/{folder}/{url}", "URL: git@elsewhere.invalid:stolen.git\n")

    result = call("push", policy={**ALL, "remote_urls": {"origin": url}}, remote="origin", branch="main")

    assert (verdict(result), result.message) == (
        ("denied", "unsafe_repository"),
        "'.git/remotes' or '.git/branches' describes remotes.",
    )


@pytest.mark.parametrize("key", ["http.sslVersion", "http.https://host.invalid/.proxySSLVersion", "http.sslVerify"])
def test_encryption_is_not_weakened(repo, call, key: str) -> None:
    """A harmless setting is known by its whole name, not by how it ends."""
    repo.git("config", key, "sslv3" if "Version" in key else "false")
    policy = {**ALL, "remote_urls": {"origin": "https://host.invalid/x"}}

    assert verdict(call("push", policy=policy, remote="origin", branch="main")) == (
        "denied",
        "unsafe_repository_config",
    )


@pytest.mark.parametrize(
    "url",
    [
        "ssh://user@-oProxyCommand=x/repo",
        "ssh://-oProxyCommand=x@host/repo",
        "ssh://$(id)/repo",
        "ssh://user@`id`/repo",
        "ssh://a@b@host/repo",
    ],
)
def test_the_host_of_a_url_is_a_plain_name(repo, call, url: str) -> None:
    """Ssh hands the host to shells of the user's own configuration (`%h`, CVE-2023-51385)."""
    repo.git("config", "remote.origin.url", url)

    assert verdict(call("push", policy=ALL, remote="origin", branch="main")) == ("denied", "remote_not_allowed")


# Settings


@pytest.mark.parametrize("key", ["core.virtualFilesystem", "extensions.anotherPlace"])
def test_settings_of_other_gits_are_refused(repo, call, key: str) -> None:
    """A program that only Microsoft's git knows, and extensions that only a later git will know."""
    repo.git("config", key, "x")

    assert verdict(call("status")) == ("denied", "unsafe_repository_config")


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-7", "IBM037"])
def test_history_is_printed_in_one_encoding(repo, call, encoding: str) -> None:
    """Another would break our reading of it, and hide a secret from the scrubber."""
    repo.git("config", "i18n.logOutputEncoding", encoding)

    results = [call("log"), call("show")]

    assert [each.outcome for each in results] == ["ok", "ok"]
    assert results[0].text.endswith("Ada: First")
    assert results[1].data["message"] == "First"


@pytest.mark.parametrize("kind", ["funcname", "xfuncname"])
def test_the_patterns_of_a_repository_are_not_compiled(repo, call, kind: str) -> None:
    """A line of configuration made git ask for gigabytes of memory, at the speed of the host."""
    huge = r"((((a{1,255}){1,255}){1,255}){1,255}){1,255}"
    repo.commit(".gitattributes", "*.txt diff=mine\n")
    repo.commit("a.txt", "def f():\n" + "  one\n" * 20)
    repo.write("a.txt", "def f():\n" + "  one\n" * 19 + "  two\n")
    repo.git("config", f"diff.mine.{kind}", huge if kind == "xfuncname" else re.sub(r"[(){}]", r"\\\g<0>", huge))

    result = call("diff")

    assert result.outcome == "ok"
    assert "@@ def f():\n" in result.text


# Odd content


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        pytest.param("Subject\n\n" + "line\n" * 100_000, "Subject", id="long body"),
        pytest.param("s" * 1_000_000, "s" * 1000, id="long subject"),
    ],
)
def test_a_commit_with_a_huge_message_is_shown_as_far_as_it_goes(repo, call, message: str, subject: str) -> None:
    """It hides neither itself nor the others."""
    repo.write("b.txt")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-F", "-", stdin=message)

    shown, listed = call("show"), call("log")

    assert (shown.outcome, shown.data["message"][: len(subject)]) == ("ok", subject)
    assert (listed.outcome, listed.data["items"][0]["subject"][: len(subject)]) == ("ok", subject)


def test_an_author_without_end_is_an_error(repo, call) -> None:
    """Not even the fields that come first fit."""
    raw = repo.git("cat-file", "commit", "HEAD").replace("Ada", "A" * 1_000_000)
    made = repo.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=raw + "\n")

    assert verdict(call("show", ref=made)) == ("error", "git_show_failed")


def test_names_that_are_no_utf8_are_handled_like_others(repo, call) -> None:
    """Such a file is listed, added and shown; results stay text."""
    Path(os.fsdecode(os.fsencode(repo.path) + b"/a\xff.txt")).write_text("hi\n")

    status, added = call("status"), call("add", policy=ALL, paths=["."])
    committed = call("commit", policy=ALL, message="Odd")
    shown, listed = call("show"), call("show", ref="HEAD:")

    assert [each.outcome for each in (status, added, committed, shown, listed)] == ["ok"] * 5
    assert (status.text, added.data) == ("On branch main\n?? a\ufffd.txt", {"items": ["a\ufffd.txt"]})
    assert [each["path"] for each in shown.data["files"]] == ["a\ufffd.txt"]
    assert shown.data["content"].endswith("+hi\n")
    assert listed.data["items"] == ["a.txt", "a\ufffd.txt"]
