"""What holds beside every profile: files that are really there, or broken, or not what they seem."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.rows import each_row

from toolcharter.profile.ceilings import ADMIN_POLICY, ALLOWED_PERMS, read_ceilings
from toolcharter.profile.find import MAX_BYTES
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.model import Limits
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Capabilities, Ceiling, Notify

from .random_profiles import CEILINGS, as_yaml

NAMED = f"{ADMIN_POLICY} names this file."
GIVE = f"Give the path of a file that can be read, or unset the variable. {NAMED}"
MEND = "Correct the file, or remove it."
LOG_ONLY = "A workspace's file may only log: its author must not receive calls. The administrator's file may."
TIGHTEN = "A ceiling can only tighten: deny, ask, mode, capabilities, limits, notify. Write it in a profile."
unreadable = pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")

Put = Callable[[str], Path]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch) -> Path:
    """A folder that is the current one, too: faults name files as short as they are given."""
    folder = tmp_path / "work"
    (folder / ".toolcharter").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return Path()


@pytest.fixture
def put(workspace: Path) -> Put:
    """Write the workspace's file."""

    def put(text: str) -> Path:
        file = workspace / ".toolcharter/policy.yaml"
        file.write_text(text)
        return file

    return put


@pytest.fixture
def admin(tmp_path: Path) -> Put:
    """Write the administrator's file."""

    def admin(text: str) -> Path:
        file = tmp_path / "admin.yaml"
        file.write_text(text)
        return file

    return admin


def told(workspace: Path | None, **environ: object) -> list[str]:
    _, faults = read_ceilings(workspace, {key: str(value) for key, value in environ.items()})
    return list(map(str, faults))


def test_nothing_there_is_no_ceiling(tmp_path) -> None:
    """Neither a workspace without the folder nor one without the file, nor no workspace at all, restricts anything."""
    (tmp_path / "empty/.toolcharter").mkdir(parents=True)

    assert [read_ceilings(place, {}) for place in (None, tmp_path, tmp_path / "empty", tmp_path / "absent")] == [
        ((), [])
    ] * 4


def test_each_has_its_ceiling(workspace, put, admin) -> None:
    """Administrator, workspace, environment: in this order, each under the name that the user knows."""
    put("deny: [git:push]\nnotify: [git]")
    file = admin("mode: ask\nlimits: {timeout_s: 5}\nnotify: [{match: x, deliver: webhook, url: 'http://h/'}]")

    found = read_ceilings(workspace, {ADMIN_POLICY: str(file), ALLOWED_PERMS: " fs:* ,net,"})

    push, git = (
        Rule(text, f".toolcharter/policy.yaml:{place}", "", parse_glob(text))
        for text, place in (("git:push", "1:8"), ("git", "2:10"))
    )
    x = Rule("x", f"{file}:3:18", "", parse_glob("x"))
    assert found == (
        (
            Ceiling(
                str(file),
                mode="ask",
                limits=Limits(5.0),
                notify=(Notify((x,), "webhook", "http://h/", place=f"{file}:3:10"),),
            ),
            Ceiling(
                ".toolcharter/policy.yaml",
                (push,),
                limits=Limits(),
                notify=(Notify((git,), place=".toolcharter/policy.yaml:2:10"),),
            ),
            Ceiling(ALLOWED_PERMS, capabilities=Capabilities(("fs:*", "net"))),
        ),
        [],
    )


@each_row(
    ("text", "allow"),
    [
        pytest.param("fs:read", ("fs:read",), id="one"),
        pytest.param("fs:read, net:* ,", ("fs:read", "net:*"), id="blanks and a comma too many"),
        pytest.param(",", (), id="a comma alone is nothing"),
        pytest.param(" , , ", (), id="commas and blanks are nothing"),
        pytest.param("*", ("*",), id="all"),
    ],
)
def test_the_environment_lists_capabilities(text, allow) -> None:
    """All that an action declares must be in the list."""
    assert read_ceilings(None, {ALLOWED_PERMS: text}) == (
        (Ceiling(ALLOWED_PERMS, capabilities=Capabilities(allow)),),
        [],
    )


@pytest.mark.parametrize("text", ["", "  ", "\t\n"])
def test_a_blank_list_is_no_restriction(text) -> None:
    """White space alone says as little as no text."""
    assert read_ceilings(None, {ALLOWED_PERMS: text}) == ((), [])


def test_a_broken_list_is_refused() -> None:
    """An escape that means nothing would match less than it looks like."""
    assert told(None, ALLOWED_TOOL_PERMS=r"fs,n\et") == [
        rf"{ALLOWED_PERMS}: '\e': only '*' and '\' can follow a backslash; write '\\e'."
    ]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        pytest.param("", "the variable is set, but empty.", id="empty"),
        pytest.param("admin.yaml", "'admin.yaml' is not an absolute path.", id="relative"),
        pytest.param("~/admin.yaml", "'~/admin.yaml' is not an absolute path.", id="home"),
    ],
)
def test_the_variable_must_name_an_absolute_path(workspace, value, what) -> None:
    """A relative one would be another file in each folder, and an empty one is a mistake, not a wish."""
    assert told(workspace, TOOLCHARTER_ADMIN_POLICY=value) == [
        f"{ADMIN_POLICY}: {what}\nGive the absolute path of a YAML file, or unset the variable."
    ]


def test_a_file_of_the_administrator_that_cannot_be_read_is_a_fault(tmp_path, admin) -> None:
    """Missing, a folder, a pipe that nobody writes, one too large: never "no policy"."""
    missing, pipe, large = tmp_path / "missing.yaml", tmp_path / "pipe.yaml", admin("#" * (MAX_BYTES + 1))
    os.mkfifo(pipe)

    files = {
        missing: "there is no such file.",
        tmp_path: "is a folder, not a file.",
        pipe: "is a pipe or a device, not a file.",
    }
    files[large] = f"is larger than {MAX_BYTES} bytes."
    assert [told(None, TOOLCHARTER_ADMIN_POLICY=file) for file in files] == [
        [f"{file}: {what}\n{GIVE}"] for file, what in files.items()
    ]


@unreadable
def test_a_file_that_is_closed_to_us_is_a_fault(workspace, put, admin) -> None:
    """Whoever may not read a policy is not without one."""
    own, file = put("deny: [git]"), admin("deny: [git]")
    own.chmod(0)
    file.chmod(0)

    assert told(workspace, TOOLCHARTER_ADMIN_POLICY=file) == [
        f"{file}: cannot be opened: Permission denied.\n{GIVE}",
        f"{own}: cannot be opened: Permission denied.\n{MEND}",
    ]


@unreadable
def test_a_folder_that_is_closed_to_us_is_a_fault(workspace, put) -> None:
    """What it holds cannot be determined, so that it counts as there."""
    own = put("deny: [git]")
    own.parent.chmod(0)

    try:
        assert told(workspace) == [f"{own}: cannot be opened: Permission denied.\n{MEND}"]
    finally:
        own.parent.chmod(0o700)


def test_a_workspace_s_file_that_is_no_file_is_a_fault(workspace) -> None:
    """A pipe is not waited for."""
    own = workspace / ".toolcharter/policy.yaml"
    os.mkfifo(own)

    assert told(workspace) == [f"{own}: is a pipe or a device, not a file.\n{MEND}"]


def test_a_folder_s_name_may_not_be_a_file_s(tmp_path) -> None:
    """`.toolcharter` as a file holds no policy, and somebody meant it to."""
    (tmp_path / ".toolcharter").write_text("deny: [git]")

    assert told(tmp_path) == [f"{tmp_path}/.toolcharter/policy.yaml: cannot be opened: Not a directory.\n{MEND}"]


@pytest.mark.parametrize("link", [".toolcharter", ".toolcharter/policy.yaml"])
@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_out_of_the_workspace_is_refused(tmp_path, link, target) -> None:
    """Its faults would repeat lines of a file that is not the workspace's; a link to nowhere is no absence."""
    outside, work = tmp_path / "outside", tmp_path / "work"
    (outside / "there").mkdir(parents=True)
    (outside / "there/policy.yaml").write_text("secret: hunter2")
    (work / link).parent.mkdir(parents=True)
    (work / link).symlink_to(outside / target / ("" if link == ".toolcharter" else "policy.yaml"))

    assert told(work) == [f"{work}/.toolcharter/policy.yaml: it leads out of the workspace.\n{MEND}"]


def test_a_link_within_the_workspace_is_followed(workspace) -> None:
    """Where the file lies within it is the workspace's own business; a link in a circle is a fault."""
    (workspace / "policies.yaml").write_text("mode: restrict")
    own = workspace / ".toolcharter/policy.yaml"
    own.symlink_to("../policies.yaml")
    followed = read_ceilings(workspace, {})[0]
    (workspace / "policies.yaml").unlink()
    (workspace / "policies.yaml").symlink_to(".toolcharter/policy.yaml")

    assert [(ceiling.name, ceiling.mode) for ceiling in followed] == [(str(own), "restrict")]
    assert told(workspace) == [f"{own}: cannot be opened: Too many levels of symbolic links.\n{MEND}"]


def test_a_link_to_nowhere_within_the_workspace_is_a_fault(workspace) -> None:
    """Somebody meant it to be there."""
    own = workspace / ".toolcharter/policy.yaml"
    own.symlink_to("missing.yaml")

    assert told(workspace) == [f"{own}: there is no such file.\n{MEND}"]


def test_all_faults_of_all_files_come_at_once(workspace, put, admin) -> None:
    """Each at its place; what only a profile may say gets that for an answer."""
    own = put(
        "allow: [git]\ntools: {}\nmod: ask\ndeny: [git push]\nlimits: {per: agent, timeout_s: 0}\n"
        "notify: [{match: x, deliver: webhook, url: 'http://h/'}]"
    )
    file = admin("profile: x\nnotify: [{match: x, url: 'http://h/'}]\nlimits: {store: 'redis://h'}")
    counted = "Write it in a profile: a ceiling says how many calls, not where they are counted."

    assert told(workspace, TOOLCHARTER_ADMIN_POLICY=file, ALLOWED_TOOL_PERMS="\\") == [
        f"{file}:1:1: profile: the key 'profile' does not belong here.\n{TIGHTEN} {NAMED}",
        (
            f"{file}:2:10: notify.0: `deliver: webhook` and `url` belong together.\n"
            f"Write both, or neither for the log. {NAMED}"
        ),
        f"{file}:3:10: limits.store: the key 'store' does not belong here.\n{counted} {NAMED}",
        f"{own}:1:1: allow: the key 'allow' does not belong here.\n{TIGHTEN}",
        f"{own}:2:1: tools: the key 'tools' does not belong here.\n{TIGHTEN}",
        (
            f"{own}:3:1: mod: unknown key 'mod'.\n"
            "Did you mean 'mode'? Known keys: 'ask', 'capabilities', 'deny', 'limits', 'mode', 'notify'."
        ),
        f"{own}:4:8: deny.0: no tool's name can match 'git push'.\nFor a command write 'bash:git push'.",
        f"{own}:5:10: limits.per: the key 'per' does not belong here.\n{counted}",
        f"{own}:5:33: limits.timeout_s: expected seconds above 0 and up to 604800, found the number 0.",
        f"{own}:6:30: notify.0.deliver: expected one of 'log', found the text 'webhook'.\n{LOG_ONLY}",
        f"{own}:6:39: notify.0.url: the key 'url' does not belong here.\n{LOG_ONLY}",
        rf"{ALLOWED_PERMS}: '\': nothing follows the last backslash; write '\\'.",
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(b"", "1:1: the file is empty.\nWrite at least `deny: []`.", id="empty"),
        pytest.param(b"[", "2:1: not valid YAML", id="no YAML"),
        pytest.param(b"deny: [\xff]", "1:8: the byte 0xFF is not UTF-8.", id="no UTF-8"),
        pytest.param(b"- deny", "1:1: expected a mapping of keys such as `deny` and `mode`, found a list.", id="list"),
    ],
)
def test_a_broken_file_is_a_fault(workspace, put, content, fault) -> None:
    """The same reader as for profiles, with the same places."""
    own = put("")
    own.write_bytes(content)

    (said,) = told(workspace)

    assert said.startswith(f"{own}:{fault}")


def test_an_empty_mapping_restricts_nothing(workspace, put) -> None:
    """It is a ceiling all the same, so that it can be told."""
    own = put("{}")

    assert read_ceilings(workspace, {}) == ((Ceiling(str(own), limits=Limits()),), [])


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=60)
@given(values=CEILINGS)
def test_whatever_a_ceiling_may_hold_is_read(tmp_path_factory, values) -> None:
    """Random ceilings of an administrator are read without a fault."""
    file = tmp_path_factory.getbasetemp() / "ceiling.yaml"
    file.write_text(as_yaml(values), encoding="utf-8")

    (ceiling,), faults = read_ceilings(None, {ADMIN_POLICY: str(file)})

    assert (ceiling.mode, len(ceiling.deny), faults) == (values.get("mode"), len(values.get("deny", ())), [])


def test_a_file_with_the_other_suffix_is_refused(workspace) -> None:
    """Somebody meant it to hold."""
    (workspace / ".toolcharter/policy.yml").write_text("deny: ['*']\n")

    ceilings, faults = read_ceilings(workspace, {})

    assert ceilings == ()
    assert [str(fault) for fault in faults] == [".toolcharter/policy.yml: nothing reads it.\nName it 'policy.yaml'."]


def test_a_blank_in_a_capability_is_no_comma() -> None:
    """The text between two commas is one name, and no capability has such a name."""
    ceilings, faults = read_ceilings(None, {ALLOWED_PERMS: "fs:read net:read, proc:exec"})

    assert (ceilings[0].capabilities.allow, faults) == (("fs:read net:read", "proc:exec"), [])


def test_a_blank_in_a_file_is_refused(put) -> None:
    """There somebody can be told."""
    put("capabilities: {deny: [fs:read net:read]}")

    assert [fault.what for fault in read_ceilings(Path(), {})[1]] == [
        "expected a capability such as 'fs:read', found the text 'fs:read net:read'."
    ]
