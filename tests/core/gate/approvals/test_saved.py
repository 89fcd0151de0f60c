"""Approvals that are kept: the user's file stays the user's, and nobody else can have written it."""

import errno
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcharter.errors import ConfigurationError
from toolcharter.gate.approvals.saved import SavedApproval, load_valid, read_approvals, remove_approvals, save_approval
from toolcharter.guards import state_folder as folder_module
from toolcharter.guards.state_folder import MAX_BYTES, state_path

from .conftest import NOW

ENTRY = """\
- shows: "command=\\"pytest -q\\""
  tool: "bash"
  args: "{args}"
  workspace: "%s"
  profile_digest: "{digest}"
  runner: "bwrap"
  agent: "planner"
  profile: "careful"
  by: "ann"
  at: "2026-01-31T12:00:00Z"
  until: "2026-03-02T12:00:00Z"
""".format(args="a" * 64, digest="b" * 64)
HEADER = (
    '# Approvals that were given with "allow always". `toolcharter approvals list` and `forget` show and remove them.\n'
)


def file_of(folder: Path) -> Path:
    return folder / "careful.yaml"


def write_file(folder: Path, text: str) -> Path:
    """A file as a user has written it."""
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    folder.parent.chmod(0o700)
    file = file_of(folder)
    file.write_text(text)
    file.chmod(0o600)
    return file


def plain(found: tuple[SavedApproval, ...]) -> list[SavedApproval]:
    return [kept._replace(place="") for kept in found]


def faults_of(act) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        act()
    return [str(fault) for fault in raised.value.faults]


def test_what_is_kept_is_found_again(folder, workspace, kept) -> None:
    """Its place leads to the file."""
    save_approval(folder, kept, workspace)

    found = load_valid(folder, "careful", workspace, NOW)

    assert found == (kept._replace(place=f"{file_of(folder)}:2:3"),)
    assert file_of(folder).read_text() == HEADER + ENTRY % workspace


def test_folder_and_file_are_the_users_alone(folder, workspace, kept) -> None:
    """Whatever the umask is."""
    before = os.umask(0)
    try:
        save_approval(folder, kept, workspace)
    finally:
        os.umask(before)

    modes = [path.stat().st_mode & 0o777 for path in (folder.parent, folder, file_of(folder))]
    assert modes == [0o700, 0o700, 0o600]
    assert sorted(path.name for path in folder.iterdir()) == ["careful.yaml", "careful.yaml.lock"]


@pytest.mark.parametrize(
    ("place", "days", "count"),
    [
        pytest.param(None, 0, 1, id="it holds"),
        pytest.param(None, 30, 0, id="expired to the second"),
        pytest.param("/elsewhere", 0, 0, id="another workspace"),
    ],
)
def test_what_does_not_hold_does_not_count(folder, workspace, kept, place, days, count) -> None:
    """Expired approvals and those of other folders stay in the file, and permit nothing."""
    save_approval(folder, kept._replace(bound=kept.bound._replace(workspace=place or str(workspace))), workspace)

    assert len(load_valid(folder, "careful", workspace, NOW + timedelta(days=days))) == count
    assert len(read_approvals(folder)) == 1


def test_a_link_to_the_workspace_is_the_workspace(folder, workspace, kept, tmp_path) -> None:
    """A folder is the same by every name."""
    (tmp_path / "link").symlink_to(workspace)
    save_approval(folder, kept, workspace)

    assert len(load_valid(folder, "careful", tmp_path / "link", NOW)) == 1


def test_nothing_kept_is_nothing(folder, workspace) -> None:
    """No file, no approvals; no folder is made for that."""
    assert (load_valid(folder, "careful", workspace, NOW), read_approvals(folder)) == ((), ())
    assert not folder.exists()


def test_a_workspace_around_an_empty_folder_is_no_fault(folder, tmp_path) -> None:
    """Whoever works in the home folder and keeps nothing is not stopped."""
    folder.mkdir(parents=True, mode=0o700)

    assert load_valid(folder, "careful", tmp_path, NOW) == ()


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_every_text_comes_back_as_it_was(folder, workspace, kept, text) -> None:
    """Whatever a call, an agent or a person is named: YAML's words, quotes, line breaks, comments."""
    kept = kept._replace(bound=kept.bound._replace(agent=text, runner=text), shows=text, by=None)
    save_approval(folder, kept, workspace)

    found = plain(read_approvals(folder, "careful"))
    remove_approvals(folder, "careful", [each.id for each in found])

    assert found == [kept]
    assert file_of(folder).read_text() == HEADER


FLOW = (
    '{shows: x, tool: x, args: "1", workspace: /a, profile_digest: "2", runner: "", profile: careful, '
    "at: 2026-01-31T12:00:00Z, until: 2026-03-02T12:00:00Z}"
)
EDITED = """\
---
# Mine.
- shows: make x  # why
  tool: bash
  args: "1"
  workspace: /a
  profile_digest: "2"
  runner: host
  profile: careful
  at: 2026-01-31T12:00:00Z
  until: 2026-03-02T13:00:00+01:00

  # Below.
# Above the second.
- {shows: "x", tool: x, args: "1", workspace: /a, profile_digest: "2", runner: "", profile: careful, by: ann,
   at: 2026-01-31T12:00:00Z, until: 2026-03-02T12:00:00Z}
# The last one.
-
  shows: >-
    folded
  tool: x
  args: "1"
  workspace: /a
  profile_digest: "2"
  runner: ""
  profile: careful
  at: 2026-01-31T12:00:00Z
  until: |-
    2026-03-02T12:00:00Z
# The end."""
FIRST = EDITED[EDITED.index("- shows: make") : EDITED.index("\n  # Below")]
SECOND = EDITED[EDITED.index("- {") : EDITED.index("# The last")]
THIRD = EDITED[EDITED.index("-\n  shows") : EDITED.index("# The end")]


@pytest.mark.parametrize("indent", ["", "  "], ids=["flush", "indented"])
@pytest.mark.parametrize(("index", "gone"), [(0, FIRST), (1, SECOND), (2, THIRD)])
def test_what_is_forgotten_is_cut_out(folder, indent, index, gone) -> None:
    """Comments around it stay, and so does every other byte."""
    text, gone = (part.replace("\n", f"\n{indent}") for part in (EDITED, gone))
    if indent:
        gone = (indent + gone).removesuffix(indent)
    file = write_file(folder, text)
    found = read_approvals(folder)

    assert remove_approvals(folder, "careful", [found[index].id, "unknown"]) == 1
    assert file.read_text() == text.replace(gone, "")
    assert [kept.shows for kept in read_approvals(folder)] == [kept.shows for kept in found if kept != found[index]]


def test_all_can_be_forgotten(folder) -> None:
    """What is left are the comments, and an empty file is no fault."""
    file = write_file(folder, EDITED)

    assert remove_approvals(folder, "careful", [kept.id for kept in read_approvals(folder)]) == 3
    assert read_approvals(folder) == ()
    assert [line.strip() for line in file.read_text().splitlines() if line.strip()] == [
        "---", "# Mine.", "# Below.", "# Above the second.", "# The last one.", "# The end."
    ]  # fmt: skip


def test_nothing_is_forgotten_by_an_unknown_name(folder) -> None:
    """The file is not even written."""
    file = write_file(folder, EDITED)
    before = file.stat().st_ino

    assert (remove_approvals(folder, "careful", ["unknown"]), file.stat().st_ino) == (0, before)


@pytest.mark.parametrize("indent", ["", "  "], ids=["flush", "indented"])
def test_an_entry_joins_the_users_own(folder, workspace, kept, indent) -> None:
    """It comes last, as far to the right as the others."""
    text = EDITED.replace("\n", f"\n{indent}")
    file = write_file(folder, text)

    save_approval(folder, kept, workspace)

    entry = "".join(indent + line for line in (ENTRY % workspace).splitlines(keepends=True))
    assert file.read_text() == f"{text}\n{entry}"
    assert plain(read_approvals(folder))[-1] == kept


def test_approval_for_the_code_of_a_tool(folder, workspace, kept) -> None:
    """The fingerprint is kept, and tells approvals for one code from those for another."""
    of_code = kept._replace(bound=kept.bound._replace(code="abc"))
    of_other_code = kept._replace(bound=kept.bound._replace(code="abd"))

    save_approval(folder, of_code, workspace)

    assert plain(read_approvals(folder)) == [of_code]
    assert len({kept.id, of_code.id, of_other_code.id}) == 3


OF_AN_EARLIER_VERSION = """\
1:3: 0: an earlier version saved it as a rule, which covers more than what a person approved.
Remove the entry; the person is asked again."""


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("- [\n", ["2:1: not valid YAML"], id="no yaml"),
        pytest.param("a: b", ["1:1: expected a list of approvals, not a mapping."], id="no list"),
        pytest.param(
            "- x\n- tool: 7",
            [
                "1:3: 0: an approval is a mapping, not the text 'x'.",
                *(
                    f"2:3: 1: `{key}` is missing or no text."
                    for key in (
                        *("shows", "tool", "args", "workspace", "profile_digest", "runner", "profile", "at", "until"),
                    )
                ),
            ],
            id="no entries",
        ),
        pytest.param(
            "- {rule: 'bash:pytest -q', call: bash, workspace: /a, profile: careful, at: 2026-01-31T12:00:00Z}",
            [
                OF_AN_EARLIER_VERSION,
            ],
            id="a rule of an earlier version",
        ),
        pytest.param(
            ENTRY.replace("careful", "other").replace("ann", "7").replace('"7"', "7") % "/a" + "  who: x",
            [
                "1:3: 0: an approval has no 'who'.",
                "1:3: 0: it is for the profile 'other', in the file of 'careful'.",
                "1:3: 0: `by` is no text.",
            ],
            id="wrong values",
        ),
        pytest.param(ENTRY % "/a" + "  code: 7", ["1:3: 0: `code` is no text."], id="no code"),
        pytest.param(
            ENTRY.replace("2026-03-02T12:00:00Z", "2026-03-02T12:00:00").replace("2026-01-31T12:00:00Z", "soon") % "/a",
            [
                "1:3: 0: `at` is no date and time with a time zone.",
                "1:3: 0: `until` is no date and time with a time zone.",
            ],
            id="no moments",
        ),
        pytest.param(
            ENTRY.replace("2026-03-02T12:00:00Z", "9999-12-31T23:59:59-01:00") % "/a",
            ["1:3: 0: `until` is no date and time with a time zone."],
            id="beyond the calendar",
        ),
    ],
)
def test_a_broken_file_is_a_fault_and_stays(folder, workspace, kept, text, faults) -> None:
    """All faults at once, each at its place; nothing counts, and nothing is written over it."""
    file = write_file(folder, text)

    found = faults_of(lambda: load_valid(folder, "careful", workspace, NOW))

    assert len(found) == len(faults)
    assert all(each.startswith(f"{file}:{fault}") for each, fault in zip(found, faults, strict=True))
    assert faults_of(lambda: read_approvals(folder)) == found
    assert faults_of(lambda: save_approval(folder, kept, workspace)) == found
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param(
            f"[{FLOW}]",
            "is not written as a block list.\nBegin each entry on a line of its own, with '- '.",
            id="a flow list",
        ),
        pytest.param(
            "[]", "is not written as a block list.\nBegin each entry on a line of its own, with '- '.", id="empty"
        ),
        pytest.param(
            f"- &a {FLOW}\n- *a\n",
            None,
            id="aliases",
        ),
    ],
)
def test_a_list_of_another_form(folder, workspace, kept, text, what) -> None:
    """What cannot be changed without changing more is left to its user."""
    file = write_file(folder, text)

    if what is None:
        save_approval(folder, kept, workspace)
        assert len(read_approvals(folder)) == 3
    else:
        told = f"{file}: the file of saved approvals {what}"
        assert faults_of(lambda: save_approval(folder, kept, workspace)) == [told]
        assert file.read_text() == text


def test_a_change_that_would_change_more_is_none(folder) -> None:
    """The anchor of an alias cannot be cut out, nor can one of two that share a line."""
    entry = (ENTRY % "/a").replace('"bash"', '&r "bash"')
    file = write_file(folder, entry + (ENTRY % "/b").replace('"bash"', "*r"))
    first = read_approvals(folder)[0].id

    with pytest.raises(ConfigurationError):
        remove_approvals(folder, "careful", [first])

    assert "&r" in file.read_text()


def test_entries_that_would_not_be_read_as_written(folder, workspace, kept) -> None:
    """Nothing is written that means something else when it is read."""
    told = faults_of(lambda: save_approval(folder, kept._replace(shows="\ud800"), workspace))

    assert told[0].startswith(f"{file_of(folder)}:2:13: not valid YAML")
    assert not file_of(folder).exists()


@pytest.mark.parametrize("name", ["../careful", "", "a/b", "careful.yaml"])
def test_a_profile_has_a_name(folder, workspace, name) -> None:
    """No name leads to another folder."""
    told = f"{folder}: the file of saved approvals holds no approvals of {name!r}.\nName the profile."

    assert faults_of(lambda: load_valid(folder, name, workspace, NOW)) == [told]


def spoil(folder: Path, how: str) -> Path:
    """Make something of it that others could write to, and return that."""
    file = write_file(folder, "")
    path = {"file": file, "folder": folder, "parent": folder.parent}[how.rsplit(maxsplit=1)[-1]]
    match how.split(maxsplit=1)[0]:
        case "group":
            path.chmod(path.stat().st_mode | 0o020)
        case "all":
            path.chmod(path.stat().st_mode | 0o002)
        case "owner":
            os.chown(path, 65534, -1)
        case "link":
            path.rename(path.with_name("real"))
            path.symlink_to("real")
        case "hard":
            os.link(file, folder / "second")
        case "fifo":
            file.unlink()
            os.mkfifo(file, 0o600)
        case "large":
            file.write_text("#" * (MAX_BYTES + 1))
        case "latin":
            file.write_bytes(b"# \xff")
    return path


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
WRITABLE = "others can write to.\nCheck what is in it, then: chmod go-w."
FOREIGN = "belongs to another user.\nCheck what is in it, and take it over with chown."


@pytest.mark.parametrize(
    ("how", "what"),
    [
        pytest.param("group file", f"is one that {WRITABLE}", id="group file"),
        pytest.param("all file", f"is one that {WRITABLE}", id="all file"),
        pytest.param("group folder", f"lies in '%s', which {WRITABLE}", id="group folder"),
        pytest.param("all parent", f"lies in '%s', which {WRITABLE}", id="all parent"),
        pytest.param("owner file", f"is one that {FOREIGN}", id="owner file", marks=ROOT_ONLY),
        pytest.param("owner folder", f"lies in '%s', which {FOREIGN}", id="owner folder", marks=ROOT_ONLY),
        pytest.param("owner parent", f"lies in '%s', which {FOREIGN}", id="owner parent", marks=ROOT_ONLY),
        pytest.param("link file", f"cannot be used: {os.strerror(errno.ELOOP)}.", id="link file"),
        pytest.param("link folder", f"cannot be used: {os.strerror(errno.ENOTDIR)}.", id="link folder"),
        pytest.param("link parent", f"cannot be used: {os.strerror(errno.ENOTDIR)}.", id="link parent"),
        pytest.param("hard file", "is no regular file, or has a second name elsewhere.", id="hard link"),
        pytest.param("fifo file", "is no regular file, or has a second name elsewhere.", id="fifo"),
        pytest.param("large file", f"is larger than {MAX_BYTES} bytes.\nForget what has expired.", id="too large"),
        pytest.param("latin file", "is no UTF-8.", id="no utf-8"),
    ],
)
def test_a_file_that_others_could_write_is_refused(folder, workspace, kept, how, what) -> None:
    """Neither read nor written, and never taken for an empty one."""
    path = spoil(folder, how)
    told = f"{file_of(folder)}: the file of saved approvals {what % path if '%s' in what else what}"

    assert faults_of(lambda: load_valid(folder, "careful", workspace, NOW)) == [told]
    assert faults_of(lambda: save_approval(folder, kept, workspace)) == [told]


@pytest.mark.parametrize("place", ["around", "same", "below"])
def test_a_file_that_tools_could_write_is_refused(folder, workspace, kept, tmp_path, place) -> None:
    """A workspace around the folder is where tools write; one inside it is nothing to rely on."""
    save_approval(folder, kept, workspace)
    there = {"around": tmp_path, "same": folder, "below": folder / "work"}[place]

    what = f"lies where tools can write, below the workspace {str(there)!r}."
    fix = "Choose another workspace, or another folder in XDG_STATE_HOME."
    told = [f"{file_of(folder)}: the file of saved approvals {what}\n{fix}"]
    assert faults_of(lambda: load_valid(folder, "careful", there, NOW)) == told
    assert faults_of(lambda: save_approval(folder, kept, there)) == told


def test_a_folder_that_cannot_be_listed_is_a_fault(folder) -> None:
    """It is not an empty one."""
    folder.parent.mkdir(parents=True)
    folder.write_text("")

    told = f"{folder}: the file of saved approvals cannot be used: {os.strerror(errno.ENOTDIR)}."
    assert faults_of(lambda: read_approvals(folder)) == [told]


def test_a_failed_write_leaves_the_file_as_it_was(folder, workspace, kept, monkeypatch) -> None:
    """A full disk loses the new approval, and nothing else."""
    save_approval(folder, kept, workspace)
    before = file_of(folder).read_text()

    def full(*_args, **_kwargs) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.rename", full)
    told = faults_of(lambda: save_approval(folder, kept._replace(by="bob"), workspace))

    what = f"cannot be used: {os.strerror(errno.ENOSPC)}."
    assert told == [f"{file_of(folder)}: the file of saved approvals {what}"]
    assert file_of(folder).read_text() == before
    assert sorted(path.name for path in folder.iterdir()) == ["careful.yaml", "careful.yaml.lock"]


def test_a_lock_that_is_never_released_is_a_fault(folder, workspace, kept, monkeypatch) -> None:
    """Whoever hangs with it hangs alone."""
    monkeypatch.setattr(folder_module, "LOCK_WAIT_S", 0.02)
    save_approval(folder, kept, workspace)
    state = folder_module.StateFolder(folder.parent, folder.name, workspace=workspace)

    with state.locked("careful.yaml"):
        told = faults_of(lambda: save_approval(folder, kept, workspace))

    what = "cannot be used: another process is changing it."
    assert told == [f"{file_of(folder)}: the file of saved approvals {what}"]


KEEPER = dedent("""
    import sys
    from datetime import UTC, datetime
    from pathlib import Path
    from toolcharter.gate.approvals.saved import Binding, SavedApproval, remove_approvals, save_approval
    from toolcharter.guards import state_folder

    state_folder.LOCK_WAIT_S = 600.0  # A slow disk may make each of the sixty writes wait for a second.
    folder, workspace, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    sys.stdin.read()
    end = datetime(2030, 1, 1, tzinfo=UTC)
    for number in range(10):
        bound = Binding("bash", f"{name} {number}", str(workspace), "d", "host")
        kept = SavedApproval(bound, f"{name} {number}", "careful", name, end, end)
        save_approval(folder, kept, workspace)
        if number % 2:
            remove_approvals(folder, "careful", [kept.id])
""")


@pytest.mark.slow
def test_processes_that_keep_at_the_same_time_lose_nothing(folder, workspace) -> None:
    """Four processes write and cut one file, and each finds its own afterwards."""
    processes = [
        subprocess.Popen([sys.executable, "-c", KEEPER, folder, workspace, name], stdin=subprocess.PIPE)
        for name in "abcd"
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    statuses = [process.wait() for process in processes]

    calls = sorted(kept.shows for kept in read_approvals(folder))
    assert statuses == [0] * 4
    assert calls == [f"{name} {number}" for name in "abcd" for number in range(0, 10, 2)]


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        pytest.param({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/toolcharter/approvals", id="given"),
        pytest.param({"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/toolcharter/approvals", id="relative"),
        pytest.param({"HOME": "/h"}, "/h/.local/state/toolcharter/approvals", id="home"),
        pytest.param({"HOME": "h"}, "/home/of/user/.local/state/toolcharter/approvals", id="no home"),
        pytest.param({}, "/home/of/user/.local/state/toolcharter/approvals", id="nothing"),
    ],
)
def test_where_approvals_are_kept(environ, place, monkeypatch) -> None:
    """In the user's state folder, never in the current one."""
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("Entry", (), {"pw_dir": "/home/of/user"}))

    assert state_path("approvals", environ) == Path(place)


def test_a_user_without_a_home_keeps_nothing(monkeypatch) -> None:
    """As in a container with a number for a user."""

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)

    assert state_path("approvals", {}) is None
