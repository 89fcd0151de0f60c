"""What the gate believes besides its code: profiles, policies, event files, the user's state."""

import pwd
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolcharter.errors import ConfigurationError
from toolcharter.gate.build.inventory import build_inventory
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.loader.interpreter import GateCode

NO_CODE = GateCode((), (), frozenset())
Places = Callable[..., tuple[str, ...]]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "sub/deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def places(workspace: Path) -> Places:
    """What is protected, but for what always is: `.toolcharter` and `profiles`."""

    def look(*files: Path, sinks: tuple[object, ...] = (), environ: dict[str, str] | None = None) -> tuple[str, ...]:
        found = build_inventory(workspace, NO_CODE, files, sinks, environ or {}).places  # type: ignore[arg-type]
        assert {".toolcharter", "profiles"} <= {*found}
        return tuple(place for place in found if place not in {".toolcharter", "profiles"})

    return look


def put(workspace: Path, **files: str) -> None:
    for name, text in files.items():
        file = workspace / f"{name.replace('__', '/')}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (".", ()),
        ("ws", ()),
        ("ws/sub/deep", ("sub/deep/profiles", "sub/profiles")),
        ("/", ()),
        ("beside", ()),
    ],
)
def test_profiles_are_protected_wherever_a_name_finds_them(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch, start: str, expected: tuple[str, ...]
) -> None:
    """In the current folder, in the workspace, and on the way from one to the other; also where none lies yet."""
    (workspace.parent / "beside").mkdir()
    monkeypatch.chdir(workspace.parent / start)

    assert places() == expected


def test_what_a_profile_leads_to_is_protected(places: Places, workspace: Path) -> None:
    """Through a link, and by a parent's path, at any depth; whether the profile is in use or not."""
    put(
        workspace,
        profiles__a="profile: a\nextends: [../ops/b.yaml]\n",
        ops__b="profile: b\nextends:\n  - c\n  - deep/d.yaml\n",
        ops__c="profile: c\n",
        ops__deep__d="profile: d\n",
        profiles__broken="extends: [./none.yaml]\n: [",
        profiles__plain="profile: plain\nextends: [minimal]\ndescription: a/b.yaml\n",
        real__e="profile: e\n",
    )
    (workspace / "profiles/e.yaml").symlink_to("../real/e.yaml")
    (workspace / "profiles/gone.yml").symlink_to("nowhere/x.yml")

    assert {"ops/b.yaml", "ops/c.yaml", "ops/deep/d.yaml", "real/e.yaml"} <= {*places()}


@pytest.mark.parametrize(
    "text",
    [
        "extends : [../ops/b.yaml]\n",
        "extends:  # ours\n  - ../ops/b.yaml\n",
        "extends:\n  # ours\n  - minimal\n\n  - ../ops/b.yaml\n",
        "extends: [minimal,\n  ../ops/b.yaml]\n",
        "'extends': ['../ops/b.yaml']\n",
        "{profile: a, extends: [../ops/b.yaml]}\n",
    ],
)
def test_a_parent_is_protected_however_it_is_written(places: Places, workspace: Path, text: str) -> None:
    """YAML has many ways to write a list and its key, and comments may stand between its lines."""
    put(workspace, profiles__a=text, ops__b="profile: b\n")

    assert "ops/b.yaml" in places()


def test_beside_a_parent_nothing_takes_the_place_of_another(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a profile that is not in use: its parent, elsewhere, looks for its own parents beside itself first."""
    put(
        workspace,
        profiles__a="extends: [../ops/b.yaml]\n",
        ops__b="profile: b\nextends: [base]\n",
        profiles__base="profile: base\n",
    )
    monkeypatch.chdir(workspace)

    assert {"ops/base.yaml", "ops/base.yml"} <= {*places()}


def test_beside_a_profile_in_use_the_names_of_its_parents_are_protected(places: Places, workspace: Path) -> None:
    """`extends` looks there first: a file of that name would take the parent's place."""
    put(workspace, mine="profile: mine\n")

    found = places(workspace / "mine.yaml", workspace.parent / "elsewhere/minimal.yaml")

    assert found == ("mine.yaml", "mine.yml", "minimal.yaml", "minimal.yml")


def test_policies_are_protected_behind_links(places: Places, workspace: Path) -> None:
    """The workspace's own, by each of its names, and the administrator's where it lies in the workspace."""
    put(workspace, ops__policy="deny: []\n", ops__admin="deny: []\n")
    (workspace / ".toolcharter").mkdir()
    (workspace / ".toolcharter/policy.yaml").symlink_to("../ops/policy.yaml")

    found = places(environ={"TOOLCHARTER_ADMIN_POLICY": str(workspace / "ops/admin.yaml")})

    assert found == ("ops/admin.yaml", "ops/policy.yaml")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_STATE_HOME": "{ws}/state", "HOME": "/root"}, ("state/toolcharter",)),
        ({"XDG_STATE_HOME": "state", "HOME": "{ws}"}, (".local/state/toolcharter",)),
        ({"HOME": "relative"}, ()),
    ],
)
def test_the_users_state_is_protected(
    places: Places, workspace: Path, environ: dict[str, str], expected: tuple[str, ...]
) -> None:
    """Approvals and records, where somebody keeps them in the workspace."""
    assert places(environ={name: text.format(ws=workspace) for name, text in environ.items()}) == expected


def test_the_state_of_a_user_without_home_in_the_environment_is_protected(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's list of users names a home then: a tool must not forge approvals there."""
    user = SimpleNamespace(pw_dir=str(workspace))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)

    assert places(environ={}) == places(environ={"HOME": "/elsewhere"}) == (".local/state/toolcharter",)


def test_files_of_events_are_protected(places: Places, workspace: Path) -> None:
    """Wherever a URL says that they lie; other sinks have no file."""
    sinks = (
        "stderr:",
        print,
        "file:ws/run/a.jsonl?sync=each",
        f"file://{workspace}/b%20c.jsonl",
        f"file://localhost{workspace}/d",
        "file:",
        "file:ws/%00",
        f"file:{workspace}/.toolcharter/events.jsonl",
    )

    assert places(sinks=sinks) == ("b c.jsonl", "d", "run/a.jsonl")


def test_files_of_events_stay_protected_when_they_are_rotated(places: Places, workspace: Path) -> None:
    """Those that are there for all, and the names of those to come for tools; of files elsewhere none."""
    (workspace / "run").mkdir()
    for name in ("a[1].log.1", "a[1].log.2.gz", "a[1].log-20261123", "a1.log.1", "b.log"):
        (workspace / "run" / name).touch()
    sinks = ("file:ws/run/a[1].log", "file:outside.log")

    found = build_inventory(workspace, NO_CODE, (), sinks, {})

    assert places(sinks=sinks) == ("run/a[1].log", "run/a[1].log-20261123", "run/a[1].log.1", "run/a[1].log.2.gz")
    with closing(WorkspacePaths(workspace, inventory=found)) as paths:
        refused = [
            name
            for name in ("a[1].log.3", "A[1].LOG.xz", "a[1].log-x", "sub/a[1].log.9", "a[1].logs", "outside.log.1")
            if not paths.changeable(f"run/{name}")
        ]
    assert refused == ["a[1].log.3", "A[1].LOG.xz", "a[1].log-x", "sub/a[1].log.9"]


@pytest.mark.parametrize(
    "path",
    [
        *("ws/profiles/new.yaml", "ws/mine.yaml", "ws/.toolcharter/policy.yaml", "ws/to_policy", "elsewhere.yaml"),
        *("ws/.git/config", "ws/.git/hooks/pre-commit", "ws/.git"),
    ],
)
def test_events_are_not_written_over_what_is_believed(places: Places, workspace: Path, path: str) -> None:
    """In the workspace or elsewhere, by whatever name: the start is refused, and the fault says what to do."""
    put(workspace, mine="profile: mine\n")
    put(workspace.parent, elsewhere="profile: elsewhere\n")
    (workspace / "to_policy").symlink_to(".toolcharter/policy.yaml")

    with pytest.raises(ConfigurationError, match="would write to") as caught:
        places(workspace / "mine.yaml", workspace.parent / "elsewhere.yaml", sinks=(f"file:{path}",))

    assert caught.value.faults[0].fix == "Name another file."


def test_the_repository_is_a_list_of_its_own(workspace: Path) -> None:
    """Tools that are bounded by their own policy, such as git, have programs write there."""
    (workspace / ".git").write_text("gitdir: store")
    (workspace / "store").mkdir()

    found = build_inventory(workspace, NO_CODE, (), (), {})

    assert (found.repositories, "store" in found.places) == (("store",), False)


def test_settings_of_other_version_control_are_protected(places: Places, workspace: Path) -> None:
    """Mercurial and Jujutsu read there which programs to run; where there is no such repository, nothing is."""
    before = places()
    (workspace / ".hg").mkdir()
    (workspace / ".jj/repo").mkdir(parents=True)

    assert (before, places()) == ((), (".hg/hgrc", ".jj/repo/config.toml"))


def test_other_names_of_what_is_believed_are_protected(places: Places, workspace: Path) -> None:
    """A hard link made before: what a program writes to it is written to the policy, the profile, the hook."""
    names = (
        ".toolcharter/policy.yaml",
        "profiles/own.yaml",
        ".git/hooks/pre-commit",
        ".git/objects/aa/bb",
        "src/main.py",
        "backup/none",
    )
    for number, name in enumerate(names):
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        if file.parent.name != "backup":
            (workspace / f"sub/{number}").hardlink_to(file)

    assert places() == ("sub/0", "sub/1", "sub/2")
