"""No tool of any shipped profile changes what the gate executes or believes, and no program that one of them starts.

Each profile is opened on a workspace whose Python environment lies in it or beside it, and each of its tools that may
change something tries to change one thing of every kind.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.attacked_project import ROOT, Project, run_git
from tests.sandbox import conftest as sandbox
from tests.sandbox.dockerd import Dockerd

dockerd = sandbox.dockerd

Calls = list[tuple[str, dict[str, Any]]]
READING = {
    "fs:read",
    "fs:lock",
    "net:read",
    "text",
    "memory:read",
    "session:read",
    "agent:read",
    "team:read",
    "skills:read",
}
FILE_TOOLS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "write_file": lambda path: [{"path": path, "content": "x"}],
    "edit_file": lambda path: [{"path": path, "old_string": "e", "new_string": "x"}],
    "delete_file": lambda path: [{"path": path}],
    "make_dir": lambda path: [{"path": path}, {"path": f"{path}/new"}],
    "move_file": lambda path: [{"path": path, "to": "src/taken"}, {"path": "src/main.py", "to": path}],
}
LINES = (
    "echo x > {0}",
    "sort -o {0} src/main.py",
    "sed -i s/e/x/ {0}",
    "find {0} -delete",
    "sed -n 'w {0}' src/main.py",
)
TOOLS_THAT_CHANGE = {
    "assistant": {"write_file", "edit_file", "memory", "schedule", "cron", "message"},
    "coder": {*FILE_TOOLS, "bash", "git"},
    "fixer": {"git"},
    "minimal": set[str](),
    "orchestrator": {
        "sessions_send",
        "sessions_spawn",
        "subagents",
        "delegate_to_agent",
        "team_tasks",
        "finalize_task",
    },
    "releaser": {"git"},
    "researcher": {"write_file", "edit_file", "make_dir"},
    "reviewer": {"git"},
}
"""By profile, its tools with a capability beyond reading. `git` has all of its own, whatever actions a profile allows."""
NOTES = ("research/profiles/own.yaml", "research/profiles/new.yaml", "research/to_profiles/deploy.yaml")
CHANGING = ("create_branch", "checkout", "add", "commit", "tag", "push")
CAPABILITIES = """
    import json, sys
    from toolcharter import build_tools
    found = {}
    for profile in sys.argv[1:]:
        with build_tools(profile, workspace=".", events=[lambda event: None]) as toolbox:
            found[profile] = {name: sorted(tool.capabilities) for name, tool in toolbox.items()}
    print(json.dumps(found))
"""


@pytest.fixture(params=["inside", "outside"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path, inside=request.param == "inside")
    notes = made.workspace / "research"
    (notes / "profiles").mkdir(parents=True)
    (notes / "profiles/own.yaml").write_text("profile: own-notes\ntools: {list_files: {}}\n")
    (notes / "to_profiles").symlink_to("../profiles")
    yield made
    made.close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Project]:
    """A workspace whose environment lies beside it."""
    made = Project(tmp_path, inside=False)
    yield made
    made.close()


def test_the_table_names_every_shipped_profile() -> None:
    """Whoever adds a profile says here which of its tools can change something."""
    assert {file.stem for file in (ROOT / "profiles").glob("*.yaml")} == set(TOOLS_THAT_CHANGE)


def test_the_table_names_every_tool_that_can_change_something(project: Project) -> None:
    """A tool with a capability beyond reading is in the table, so that its attacks below are complete."""
    ended = project.run("-c", dedent(CAPABILITIES), *TOOLS_THAT_CHANGE)

    assert ended.stderr == ""
    capabilities: dict[str, dict[str, list[str]]] = json.loads(ended.stdout)
    found = {
        profile: {name for name, declared in tools.items() if not {*declared} <= READING}
        for profile, tools in capabilities.items()
    }
    assert found == TOOLS_THAT_CHANGE


def attacks(project: Project, tools: set[str]) -> Calls:
    """What each of some tools tries on one thing of each kind."""
    calls: Calls = []
    for path in (*project.trusted_paths(), *NOTES):
        calls += [(tool, args) for tool in sorted(tools & set(FILE_TOOLS)) for args in FILE_TOOLS[tool](path)]
        if "bash" in tools:
            calls += [("bash", {"command": line.format(path)}) for line in LINES]
        if "git" in tools:
            calls += [("git", {"action": "add", "paths": [path]})]
    if "git" in tools:
        calls += [("git", {"action": action, **GIT_ARGUMENTS[action]}) for action in CHANGING]
    return calls


GIT_ARGUMENTS: dict[str, dict[str, Any]] = {
    "create_branch": {"branch": "mine", "ref": "agent/loose-0"},
    "checkout": {"branch": "loose-0"},
    "add": {"paths": ["src/main.py"]},
    "commit": {"message": "Change"},
    "tag": {"tag": "v1.0.0", "message": "First"},
    "push": {"remote": "origin", "branch": "main"},
}


def with_repository(project: Project, folder: Path, *, most: int | None = None) -> list[str]:
    """Make the workspace a repository with a bare remote, and a branch for each thing that differs in that alone.

    Args:
        project: Whose workspace.
        folder: For the remote and another clone.
        most: So many branches; one for each thing by default.

    Returns:
        The branches' names, without the prefix of managed branches.
    """
    (project.workspace / ".gitignore").write_text(".venv\n")
    run_git(project.workspace, "init")
    run_git(project.workspace, "add", ".")
    run_git(project.workspace, "commit", "-m", "Begin")
    run_git(folder, "init", "--bare", "origin.git")
    run_git(project.workspace, "remote", "add", "origin", str(folder / "origin.git"))
    run_git(folder, "clone", "--branch", "main", str(project.workspace), "elsewhere")
    branches = []
    changed_paths = [path for path in project.trusted_paths() if path != "profiles"]
    for number, path in enumerate(changed_paths[:most]):
        run_git(folder / "elsewhere", "checkout", "--force", "-b", f"agent/loose-{number}", "origin/main")
        changed = folder / "elsewhere" / path
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.unlink(missing_ok=True)
        changed.write_text("profile: loose\n")
        run_git(folder / "elsewhere", "add", "--force", path)
        run_git(folder / "elsewhere", "commit", "-m", f"Change {path}")
        branches.append(f"loose-{number}")
    run_git(project.workspace, "fetch", str(folder / "elsewhere"), "refs/heads/agent/*:refs/heads/agent/*")
    return branches


def with_remote(profile: str, folder: Path) -> str:
    """The shipped profile; where it may push, with the operator's word that the remote is a folder of this machine."""
    shipped = (ROOT / "profiles" / f"{profile}.yaml").read_text()
    line = "    allowed_remotes: [origin]\n"
    if line not in shipped:
        return profile
    file = folder / f"{profile}.yaml"
    file.write_text(shipped.replace(line, f"{line}    remote_urls: {{origin: 'file://{folder}/origin.git'}}\n"))
    return str(file)


@pytest.mark.needs_program("git")
@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.parametrize(
    "profile", [name for name, tools in TOOLS_THAT_CHANGE.items() if tools & {*FILE_TOOLS, "git", "bash"}]
)
def test_no_tool_of_a_shipped_profile_changes_what_the_gate_believes(
    project: Project, tmp_path: Path, profile: str
) -> None:
    """Whatever its tools that change something try, on each thing of each kind, all of it is as it was."""
    with_repository(project, tmp_path, most=1)
    # What lies in one of the two folders called `profiles` is believed by who starts beside it.
    place, other = ("research", "packages/app") if profile == "researcher" else ("packages/app", "research")
    calls = [call for call in attacks(project, TOOLS_THAT_CHANGE[profile]) if f"{other}/" not in str(call)]
    before = project.files()

    answers = project.run_calls(with_remote(profile, tmp_path), *calls, start=place)

    assert project.files() == before
    succeeded = [args["action"] for (_, args), answer in zip(calls, answers, strict=True) if answer[0] == "ok"]
    # A tag, and what is pushed, lie in the repository and its remote; they change no file.
    assert succeeded == (["tag", "push"] if profile == "releaser" else [])


@pytest.mark.parametrize(("profile", "folder"), [("researcher", "research"), ("assistant", "notes")])
def test_a_folder_that_may_be_written_may_hold_what_may_not(project: Project, profile: str, folder: str) -> None:
    """These profiles write notes, and no profile or policy that lies among them."""
    notes = project.workspace / folder
    (notes / "profiles").mkdir(parents=True, exist_ok=True)
    (notes / "profiles/own.yaml").write_text("profile: own-notes\ntools: {list_files: {}}\n")
    (notes / "admin.yaml").write_text("deny: ['bash:dd *']\n")
    project.variables["TOOLCHARTER_ADMIN_POLICY"] = str(notes / "admin.yaml")
    names = ("profiles/own.yaml", "profiles/new.yaml", "admin.yaml", "notes.md")
    calls = [("write_file", {"path": f"{folder}/{name}", "content": "x"}) for name in names]

    answers = project.run_calls(profile, *calls, start=folder)

    assert [answer[:2] for answer in answers] == [("denied", "protected_path")] * 3 + [("ok", None)]


@pytest.mark.needs_program("git")
def test_a_fixer_switches_to_no_branch_that_changes_what_the_gate_believes(project: Project, tmp_path: Path) -> None:
    """Also where the workspace's git ignores the file, which a switch would overwrite; other branches can be used."""
    branches = with_repository(project, tmp_path)
    switches = [("git", {"action": "checkout", "branch": branch}) for branch in branches]
    begun = [("git", {"action": "create_branch", "branch": "mine", "ref": f"agent/{branch}"}) for branch in branches]
    work = [
        ("git", {"action": "create_branch", "branch": "mine"}),
        ("git", {"action": "push", "remote": "origin", "branch": "agent/mine"}),
    ]
    before = project.files()

    answers = project.run_calls(with_remote("fixer", tmp_path), *switches, *begun, *work, start="packages/app")

    assert {answer[:2] for answer in answers[:-2]} == {("denied", "protected_path")}, answers
    assert [answer[:2] for answer in answers[-2:]] == [("ok", None)] * 2, answers[-2:]
    assert project.files() == before


OPEN_EACH = """
    import sys
    from toolcharter import ToolcharterError, build_tools
    for profile in sys.argv[1:]:
        try:
            build_tools(profile, workspace=".", events=[lambda event: None]).close()
            print("opened")
        except ToolcharterError as error:
            print(" ".join(str(error).split()))
"""


def test_no_toolbox_pushes_to_a_repository_in_the_workspace(outside: Project, tmp_path: Path) -> None:
    """Its hooks, which tools could write, would run outside of every sandbox."""
    (tmp_path / "link").symlink_to("ws/src")
    shipped = (ROOT / "profiles/releaser.yaml").read_text()
    profiles = []
    for number, name in enumerate(("ws/src/mirror.git", "link/mirror.git", "ws/a%20b.git", "ws", "beside.git")):
        pinned = f"    remote_urls: {{origin: 'file://{tmp_path}/{name}'}}\n    allow_push: true\n"
        profiles.append(tmp_path / f"releaser-{number}.yaml")
        profiles[-1].write_text(shipped.replace("    allow_push: true\n", pinned))

    ended = outside.run("-c", dedent(OPEN_EACH), *map(str, profiles))

    *refused, beside = ended.stdout.splitlines()
    assert (len(refused), beside, ended.stderr) == (4, "opened", "")
    assert [said for said in refused if "lies in the workspace, where tools can write" not in said] == []
    assert [said for said in refused if "tools.git" not in said] == []


KEEPING = """
profile: keeping
runner: bwrap
mode: dangerous
tools:
  execute_code: {}
  background_process: {on_close: keep, max_runtime_s: 20}
"""
REPLACE_INTERPRETER = """
import glob, os
for path in (*glob.glob(".venv/bin/python*"), ".venv/pyvenv.cfg", %r):
    for act in (lambda: os.remove(path), lambda: os.rename(path, "src/old")):
        try:
            act()
            print("removed", path)
        except OSError:
            pass
    try:
        with open(path, "w") as file:
            file.write("#!/bin/sh\\ntouch %s\\nexit 1\\n")
        os.chmod(path, 0o755)
        print("replaced", path)
    except OSError:
        pass
"""


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.parametrize("project", ["inside"], indirect=True)
def test_a_program_in_a_sandbox_does_not_choose_the_interpreter_of_a_supervisor(
    project: Project, tmp_path: Path
) -> None:
    """The supervisor of a process that is kept runs outside of the sandbox: with the Python that was there before."""
    (tmp_path / "keeping.yaml").write_text(KEEPING)
    mark = tmp_path / "ran-outside"
    customize = f".venv/lib/{project.site.parent.name}/site-packages/sitecustomize.py"
    attack = {"language": "python", "code": REPLACE_INTERPRETER % (customize, mark)}
    before = project.files()

    tried, spawned = project.run_calls(
        str(tmp_path / "keeping.yaml"),
        ("execute_code", attack),
        ("background_process", {"action": "spawn", "command": "echo kept > src/kept"}),
    )

    assert (tried[0], "replaced" in tried[2], "removed" in tried[2]) == ("ok", False, False), tried
    assert spawned[0] == "ok", spawned
    assert not mark.exists()
    after = project.files()
    after.pop("src/kept", None)
    assert after == before


def with_linked_environment(project: Project, folder: Path, boxed: str) -> Project:
    """A workspace whose `.venv` leads to the environment beside it, by which toolcharter is started."""
    (project.workspace / ".venv").symlink_to(project.environment)
    (folder / "boxed.yaml").write_text(boxed)
    project.python = project.workspace / ".venv/bin/python"
    return project


def test_a_link_to_the_environment_is_not_replaced(outside: Project, tmp_path: Path) -> None:
    """Whoever puts another environment in its place decides what the next start runs; what it leads to lies outside."""
    project = with_linked_environment(outside, tmp_path, "")
    tries = [*FILE_TOOLS["delete_file"](".venv"), *FILE_TOOLS["move_file"](".venv")]
    calls = [("move_file" if "to" in args else "delete_file", args) for args in tries]
    calls += [("write_file", {"path": path, "content": "x"}) for path in (".venv", ".venv/bin/rg", ".venv/new")]
    before = project.files()

    answers = project.run_calls("coder", *calls)

    assert {(outcome, reason) for outcome, reason, _ in answers} <= {
        ("denied", "protected_path"),
        ("denied", "path_outside_workspace"),
    }
    assert project.files() == before


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_a_link_to_the_environment_stops_programs_until_its_real_path_is_used(outside: Project, tmp_path: Path) -> None:
    """No sandbox can hold a link, so none is made; the hint says from where to start, and that works."""
    project = with_linked_environment(outside, tmp_path, KEEPING)
    work = ("execute_code", {"language": "python", "code": "open('src/new.py', 'w').write('1')"})

    (refused,) = project.run_calls(str(tmp_path / "boxed.yaml"), work)
    project.python = project.environment / "bin/python"
    (ran,) = project.run_calls(str(tmp_path / "boxed.yaml"), work)

    assert refused[:2] == ("denied", "protected_path")
    assert f"starting toolcharter from {str(project.environment)!r} is enough." in refused[2]
    assert ran[:2] == ("ok", None), ran
    assert (project.workspace / "src/new.py").read_text() == "1"


BOXED = """
profile: boxed
runner: docker
mode: dangerous
hidden: [secrets.txt]
tools: {list_files: {}}
extensions:
  docker: {image: "IMAGE", host: "HOST"}
  cli_tools:
    tools:
      attack: {command: sh, args: [src/attack.sh], capabilities: ["fs:read", "fs:write", "proc:exec"]}
"""
EVERY_WAY = """
for path in {paths}; do
  (echo x >> $path) 2>/dev/null && echo written $path
  rm -r $path </dev/null 2>/dev/null && echo deleted $path
  mv $path src/taken 2>/dev/null && echo moved $path
  mkdir $path 2>/dev/null && echo made $path
  ln -s src/main.py $path 2>/dev/null && echo linked $path
done
for path in profiles packages packages/app ops .venv .venv/bin .toolcharter; do
  mv $path taken 2>/dev/null && echo moved $path
done
cat secrets.txt
echo 1 > src/new.py
"""


@pytest.mark.needs_program("dockerd", package="docker.io")
@pytest.mark.needs_program("busybox", package="busybox-static")
def test_no_program_in_a_container_changes_what_the_gate_believes(
    dockerd: Dockerd, project: Project, tmp_path: Path
) -> None:
    """Nor does it see what is hidden; the rest of the workspace it may write."""
    (tmp_path / "boxed.yaml").write_text(BOXED.replace("IMAGE", dockerd.image).replace("HOST", dockerd.host))
    (project.workspace / "secrets.txt").write_text("quiet")
    (project.workspace / "src/attack.sh").write_text(EVERY_WAY.format(paths=" ".join(project.trusted_paths())))
    before = project.files()

    (answer,) = project.run_calls(str(tmp_path / "boxed.yaml"), ("attack", {}), start="packages/app")

    assert answer[0] == "ok", answer
    words = ("written", "deleted", "moved", "made", "linked", "quiet")
    assert [word for word in words if word in answer[2]] == [], answer
    after = project.files()
    # `mv` copies what it cannot rename.
    assert {name: after.get(name) for name in before} == before
    assert after["src/new.py"] == b"1\n"
    assert {name.split("/")[0] for name in {*after} - {*before}} <= {"src", "taken"}
