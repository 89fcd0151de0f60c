"""What the gate executes or believes cannot be written by any tool: real environments, real files, real programs.

Each test starts a Python of its own, whose virtual environment lies in the workspace or outside of it, and has an agent try
to change everything on which the next call, or the next start, depends.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from tests.attacked_project import FREE_PROFILE, PYTHON_NAME, Project, file_attacks_on, run_git

ACTING = """
profile: acting
mode: dangerous
runner: host
tools: {write_file: {}, git: {}, background_process: {}, browser: {}, bash: {}, reload_tools: {}}
extensions: {cli_tools: {tools: {count: {command: wc}}}}
"""


@pytest.fixture(params=["inside", "outside"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path, inside=request.param == "inside")
    yield made
    made.close()


@pytest.mark.parametrize("profile", ["coder", "free"])
def test_no_file_tool_changes_what_the_gate_executes_or_believes(
    project: Project, tmp_path: Path, profile: str
) -> None:
    """Writing, editing, deleting, moving away and moving there are denied for each kind of file, and nothing changes."""
    name = profile if profile == "coder" else str(tmp_path / "free.yaml")
    paths = project.trusted_paths()
    calls = [call for path in paths for call in file_attacks_on(path)]
    calls += [("move_file", {"path": path, "target": "src/taken"}) for path in ("ops", "packages")]
    before = project.files()

    answers = project.run_calls(name, *calls, start="packages/app")

    assert project.files() == before
    assert [(call, *answer) for call, answer in zip(calls, answers, strict=True) if answer[0] == "ok"] == []
    # `.venv/bin/python` is a link, and what is written through it lies elsewhere; `coder` has files read before they are written.
    seen = {(call[0], answer[1]) for call, answer in zip(calls, answers, strict=True)}
    other = {"path_outside_workspace", "precondition_failed", "path_exists", "is_directory", "not_empty"}
    assert {reason for _, reason in seen} <= {"protected_path", *other}
    assert {tool for tool, reason in seen if reason == "protected_path"} >= {"write_file", "delete_file", "move_file"}


SANDBOXED = """
import os
for path in %r:
    for act in (
        lambda: open(path, "a").write("x"),
        lambda: os.remove(path),
        lambda: os.rename(path, "src/taken"),
        lambda: os.symlink("src/main.py", path),
        lambda: os.rename("src/main.py", path),
        lambda: os.mkdir(path),
    ):
        try:
            act()
            print("done", path)
        except OSError:
            pass
for folder in ("profiles", "packages", "packages/app", ".venv", ".venv/bin", ".toolcharter"):
    try:
        os.rename(folder, "taken")
        print("moved", folder)
    except OSError:
        pass
"""


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_no_program_in_a_sandbox_changes_what_the_gate_executes_or_believes(project: Project, tmp_path: Path) -> None:
    """Programs may write the rest of the workspace; those paths they can neither write, replace, move nor create."""
    before = project.files()
    attack = {"language": "python", "code": SANDBOXED % project.trusted_paths()}
    work = {"language": "python", "code": "open('src/new.py', 'w').write('1')"}

    answers = project.run_calls(
        str(tmp_path / "free.yaml"), ("execute_code", attack), ("execute_code", work), start="packages/app"
    )

    assert [answer[:2] for answer in answers] == [("ok", None)] * 2, answers
    assert "done" not in answers[0][2]
    assert "moved" not in answers[0][2]
    assert project.files() == {**before, "src/new.py": b"1"}


CHANGES = ("profiles/deploy.yaml", "profiles/new.yaml", "packages/app/profiles/own.yaml", "ops/policy.yaml")


@pytest.mark.needs_program("git")
def test_git_exchanges_nothing_that_the_gate_believes(project: Project, tmp_path: Path) -> None:
    """A branch that holds another profile or policy is not switched to, however the agent came to it."""
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))
    (project.workspace / ".gitignore").write_text(".venv\n")
    run_git(project.workspace, "init")
    run_git(project.workspace, "add", ".")
    run_git(project.workspace, "commit", "-m", "Begin")
    for number, change in enumerate(CHANGES):
        run_git(project.workspace, "checkout", "-b", f"agent/loose-{number}", "main")
        (project.workspace / change).write_text("profile: loose\n")
        run_git(project.workspace, "add", ".")
        run_git(project.workspace, "commit", "-m", f"Change {change}")
    run_git(project.workspace, "checkout", "main")
    before = project.files()
    switches = [
        ("git", call)
        for number in range(len(CHANGES))
        for call in (
            {"action": "checkout", "branch": f"loose-{number}"},
            {"action": "create_branch", "branch": "mine", "ref": f"agent/loose-{number}"},
        )
    ]

    answers = project.run_calls(
        str(tmp_path / "free.yaml"),
        *switches,
        ("git", {"action": "create_branch", "branch": "mine"}),
        start="packages/app",
    )

    refused = [("denied", "protected_path")] * len(switches)
    assert [answer[:2] for answer in answers] == [*refused, ("ok", None)], answers
    assert project.files() == before


WRITTEN = (
    "selectors",
    "subprocess",
    "orjson",
    "inspect",
    "fcntl",
    "h2",
    "brotli",
    "socksio",
    "toolcharter_process",
    "pty",
)


@pytest.mark.parametrize(
    ("profile", "action", "reason"),
    [("free", "checkout", "branch_resolution_failed"), ("coder", "log", "git_log_failed")],
)
def test_nothing_that_a_tool_wrote_is_imported_by_the_gate(
    project: Project, tmp_path: Path, profile: str, action: str, reason: str
) -> None:
    """A script that lies in the workspace has it on `sys.path`; its own imports go on coming from there."""
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))
    name = str(tmp_path / "free.yaml") if profile == "free" else profile
    mark = tmp_path / "imported"
    code = f"open({str(mark)!r}, 'a').write(__name__ + ' ')\nraise SystemExit\n"
    (project.workspace / "helpers.py").write_text("WHO = 'the user'\n")
    (project.workspace / "agent.py").write_text(
        dedent(f"""
        from pathlib import Path
        from toolcharter import build_tools
        with build_tools({name!r}, workspace=".", events=[lambda event: None]) as toolbox:
            for name in {WRITTEN!r}:
                Path(name + ".py").write_text({code!r})  # as a program in a sandbox can
                assert toolbox.call("write_file", {{"path": name + "_x/__init__.py", "content": {code!r}}}).outcome == "ok"
            print(toolbox.call("grep", {{"pattern": "print", "path": "src"}}))
            print(toolbox.call("git", {{"action": {action!r}, "branch": "x"}}).reason)
            import helpers
            print(helpers.WHO)
        """)
    )

    ended = project.run("agent.py")

    assert ended.stderr == ""
    assert ended.stdout == f"src/main.py:1:print(1)\n{reason}\nthe user\n"
    assert not mark.exists()


def test_the_gate_asks_nobody_in_the_workspace_for_what_is_not_installed(project: Project, tmp_path: Path) -> None:
    """A name that only the workspace has is refused to the gate and its libraries, and not to the user's own code."""
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))
    (project.workspace / "agent.py").write_text(
        dedent(f"""
        from toolcharter import build_tools
        import toolcharter.gate.build.open as gate
        toolbox = build_tools({str(tmp_path / "free.yaml")!r}, workspace=".", events=[lambda event: None])
        toolbox.call("write_file", {{"path": "nowhere_else.py", "content": "x = 1"}})
        for code in ("import nowhere_else", "__import__('importlib').import_module('nowhere_else')"):
            try:
                exec(compile(code, gate.__file__, "exec"), dict(vars(gate)))
            except ModuleNotFoundError as error:
                print(error)
        import nowhere_else
        print(nowhere_else.x)
        """)
    )

    ended = project.run("agent.py")

    message = "toolcharter imports nothing that a tool could have written, and 'nowhere_else' is found nowhere else; "
    assert ended.stderr == ""
    assert ended.stdout == f"{message}install it, or take the workspace off sys.path\n" * 2 + "1\n"


def test_all_that_acts_holds_one_list(project: Project, tmp_path: Path) -> None:
    """File tools, git, processes, browsers, declared programs, commands and runners: the same object, whoever asks."""
    acting = tmp_path / "acting.yaml"
    acting.write_text(ACTING)
    program = f"""
        import gc
        from toolcharter import build_tools
        from toolcharter.gate.runtime import Runtime
        with build_tools({str(acting)!r}, workspace={str(project.workspace)!r}, events=[lambda e: None]) as toolbox:
            state = toolbox._state
            runtimes = [one for one in gc.get_objects() if isinstance(one, Runtime)]
            print(len(runtimes) >= len(toolbox) == 7, all(one._state is state for one in runtimes))
            print(all(one.paths._scope.inventory is state.inventory for one in runtimes))
            places = state.inventory.places
            print(state.paths._scope.inventory is state.inventory)
            print(state.confinement._paths._scope.inventory is state.inventory)
            print(state.runners._scope.protected is places)
            print(all(state.runners.runner_for(bounded=one).programs.protected is places for one in (False, True)))
    """

    ended = project.run("-c", dedent(program))

    assert (ended.stdout.split(), ended.stderr) == (["True"] * 7, "")


COMMANDS = """
    import json, sys
    from click.testing import CliRunner
    from toolcharter.cli.group import toolcharter
    for words in json.load(sys.stdin):
        ended = CliRunner().invoke(toolcharter, words)
        print(json.dumps([ended.exit_code, " ".join(ended.stderr.split())]))
"""


def commands(project: Project, *lines: tuple[str, ...], start: str = ".") -> list[tuple[int, str]]:
    """Exit status and errors of commands of one process."""
    ended = project.run("-c", dedent(COMMANDS), start=start, stdin=json.dumps(lines))
    assert ended.returncode == 0, ended.stderr
    return [tuple(json.loads(line)) for line in ended.stdout.splitlines()]


def test_events_are_not_written_over_what_the_gate_believes(project: Project) -> None:
    """The start is refused, with what to do; the file is as it was."""
    before = project.files()
    files = ("profiles/deploy.yaml", "ops/policy.yaml", "ops/admin.yaml", "packages/app/profiles/x.jsonl")
    urls = [f"file:{project.workspace}/{file}" for file in files]
    call = ("call", "list_files", "--profile", "coder", "--workspace", str(project.workspace), "--events")

    ended = commands(project, *[(*call, url) for url in urls], start="packages/app")

    assert [status for status, _ in ended] == [2] * len(files)
    for url, (_, errors) in zip(urls, ended, strict=True):
        assert f"{url!r} would write to" in errors
        assert "Name another file." in errors
    assert project.files() == before


def test_an_event_file_is_protected(project: Project, tmp_path: Path) -> None:
    """What tells what was done cannot be written by who did it."""
    (project.workspace / "run").mkdir()
    events = f"file:{project.workspace}/run/events.jsonl"

    answers = project.run_calls(str(tmp_path / "free.yaml"), *file_attacks_on("run/events.jsonl"), events=(events,))

    assert {answer[1] for answer in answers} == {"protected_path"}
    assert len((project.workspace / "run/events.jsonl").read_text().splitlines()) >= 10


LINES = (
    "echo x > profiles/deploy.yaml",
    "echo x > profiles/new.yaml",
    "cd profiles && echo x >> deploy.yaml",
    "cp src/main.py profiles/deploy.yaml",
    "cp src/main.py profiles",
    "cp src/policy.yaml ops",
    "cp src/policy.yaml op[s]",
    "mv profiles old",
    "mv packages old",
    "rm ops/base.yaml",
    "rm -r packages",
    "echo x > ops/../ops/policy.yaml",
    "echo x > src/to_profiles/new.yaml",
    "sed -i s/a/b/ profiles/*.yaml",
    "mkdir -p .toolcharter/x",
    "tee ops/admin.yaml",
    "sort -o packages/app/profiles/own.yaml src/main.py",
)
HOST_BASH = """
profile: host-bash
runner: host
tools: {bash: {}}
allow: ["bash:echo *", "bash:cd *", "bash:cp *", "bash:mv *", "bash:rm *", "bash:rm -r *", "bash:sed *", "bash:sed -i *",
  "bash:mkdir *", "bash:tee *", "bash:sort *", "bash:sort -o *", "bash:echo x >profiles/deploy.yaml", "bash:echo x >profiles/new.yaml",
  "bash:echo x >>deploy.yaml", "bash:echo x >src/to_profiles/new.yaml"]
"""


def test_no_line_of_a_shell_names_what_the_gate_believes_to_change_it(project: Project, tmp_path: Path) -> None:
    """On the host nothing contains a program: there the guard of command lines refuses what the words say."""
    (tmp_path / "host.yaml").write_text(HOST_BASH)
    (project.workspace / "src/to_profiles").symlink_to("../profiles")
    (project.workspace / "src/policy.yaml").write_text("deny: []\n")
    before = project.files()
    calls = [("bash", {"command": line}) for line in (*LINES, "cp src/main.py src/copy.py")]

    answers = project.run_calls(str(tmp_path / "host.yaml"), *calls, start="packages/app")

    assert [(line, answer[2]) for line, answer in zip(LINES, answers[:-1], strict=True) if answer[0] == "ok"] == []
    assert answers[-1][:2] == ("ok", None), answers[-1]
    assert project.files() == {**before, "src/copy.py": before["src/main.py"]}
    assert [answer[1] for answer in answers[:5]] == ["protected_path"] * 5, answers


def editable(project: Project, name: str, source: str, *, needs: str = "") -> Path:
    """Have *source*, a folder of the workspace, be the source of an editable install of *name*."""
    folder = project.workspace / source
    folder.mkdir(parents=True, exist_ok=True)
    (project.site / f"{name}.pth").write_text(f"{folder}\n")
    metadata = project.site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}\n")
    (metadata / "direct_url.json").write_text(
        json.dumps({"url": f"file://{project.workspace}", "dir_info": {"editable": True}})
    )
    return metadata


def write(project: Project, tmp_path: Path, *paths: str) -> list[str | None]:
    """Why each path may not be written, if anything speaks against it; a search is still made after that."""
    calls = [("write_file", {"path": path, "content": "raise SystemExit(__name__)\n"}) for path in paths]
    answers = project.run_calls(str(tmp_path / "free.yaml"), *calls, ("list_files", {"path": "."}))
    assert answers[-1][0] == "ok"
    return [answer[1] for answer in answers[:-1]]


@pytest.mark.parametrize("source", ["lib", "."])
def test_the_users_own_project_may_be_written_where_it_is_installed_as_editable(
    project: Project, tmp_path: Path, source: str
) -> None:
    """The gate never imports it. Protected is what Python would find there alone; in the current folder, what it finds there first."""
    editable(project, "mine", source)
    mark = "open('imported', 'w')\nraise SystemExit\n"
    calls = [
        ("write_file", {"path": f"{source}/{name}.py", "content": mark})
        for name in ("mine", "selectors", "_winapi", "nt", "org", "h2", "sitecustomize")
    ]
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))

    answers = project.run_calls(str(tmp_path / "free.yaml"), *calls, ("grep", {"pattern": "print", "path": "src"}))

    first = "protected_path" if source == "." else None
    assert [answer[1] for answer in answers] == [None, first, *["protected_path"] * 5, None]
    assert not (project.workspace / "imported").exists()


def test_the_source_of_a_plugin_and_of_what_it_needs_is_protected(project: Project, tmp_path: Path) -> None:
    """Plugins are code of the gate, and so is what they import; a project that only uses the gate is not."""
    plugin = editable(project, "acme", "plugins/acme", needs="Requires-Dist: acme-needs (>=1) ; extra == 'x'")
    (plugin / "entry_points.txt").write_text("[toolcharter]\nacme = acme\n")
    editable(project, "acme_needs", "vendor/needs")
    editable(project, "mine", "lib", needs="Requires-Dist: toolcharter")
    for metadata in project.site.glob("*.dist-info/direct_url.json"):
        source = {"acme": "plugins/acme", "acme_needs": "vendor/needs", "mine": "lib"}[
            metadata.parent.name.partition("-")[0]
        ]
        metadata.write_text(json.dumps({"url": f"file://{project.workspace / source}", "dir_info": {"editable": True}}))

    assert write(project, tmp_path, "plugins/acme/acme.py", "vendor/needs/x.py", "lib/mine.py", "plugins/other.py") == [
        "protected_path",
        "protected_path",
        None,
        None,
    ]


def test_what_links_in_site_directories_take_from_the_workspace_is_protected(project: Project, tmp_path: Path) -> None:
    """An installer may link a module there; a tool that writes what the link leads to would write what the gate imports."""
    source = project.workspace / "src"
    (source / "linked_package").mkdir()
    (source / "linked_package/__init__.py").write_text("")
    (source / "linked_module.py").write_text("")
    for name in ("linked_package", "linked_module.py"):
        (project.site / name).symlink_to(source / name)
    (project.site / "later.pth").write_text(f"{project.workspace / 'vendor'}\n")

    written = write(
        project, tmp_path, "src/linked_package/__init__.py", "src/linked_module.py", "vendor/sitecustomize.py"
    )

    assert written == ["protected_path"] * 3


def test_a_users_own_project_that_is_linked_is_written(project: Project, tmp_path: Path) -> None:
    """`flit install --symlink` of what no plugin needs: its agent may work on it."""
    editable(project, "mine", "lib")
    (project.site / "mine.pth").unlink()
    (project.workspace / "lib/mine.py").write_text("")
    (project.site / "mine.py").symlink_to(project.workspace / "lib/mine.py")

    assert write(project, tmp_path, "lib/mine.py") == [None]


def test_libraries_and_certificates_that_the_environment_names_are_protected(project: Project, tmp_path: Path) -> None:
    """The gate's process loads them, or believes them."""
    project.variables |= {
        "LD_LIBRARY_PATH": str(project.workspace / "lib"),
        "OPENSSL_CONF": str(project.workspace / "openssl.cnf"),
        "SSL_CERT_FILE": str(project.workspace / "ca.pem"),
    }

    assert write(project, tmp_path, "lib/libz.so.1", "openssl.cnf", "ca.pem") == ["protected_path"] * 3


def test_a_folder_of_sys_path_below_the_workspace_is_protected(project: Project, tmp_path: Path) -> None:
    """Whoever put it there, the gate may import from it."""
    (project.workspace / "vendor").mkdir()
    project.variables["PYTHONPATH"] = str(project.workspace / "vendor")

    assert write(project, tmp_path, "vendor/new.py", "other.py") == ["protected_path", None]


def test_an_environment_behind_a_link_is_protected_by_both_names(tmp_path: Path) -> None:
    """The link and what it leads to: whoever replaces the one need not touch the other."""
    project = Project(tmp_path, inside=True)
    (project.workspace / "envs").mkdir()
    project.environment.rename(project.workspace / "envs/real")
    project.environment.symlink_to("envs/real")
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))

    answers = project.run_calls(
        str(tmp_path / "free.yaml"),
        ("write_file", {"path": ".venv/pyvenv.cfg", "content": "x"}),
        ("write_file", {"path": "envs/real/pyvenv.cfg", "content": "x"}),
        ("delete_file", {"path": ".venv"}),
        ("move_file", {"path": "envs", "target": "taken"}),
        ("write_file", {"path": "envs/other", "content": "x"}),
    )

    assert [answer[1] for answer in answers] == ["protected_path"] * 4 + [None]


def test_a_workspace_that_is_an_environment_has_its_parts_protected(tmp_path: Path) -> None:
    """`python -m venv .` is no reason to protect everything."""
    project = Project(tmp_path, inside=True)
    for part in project.environment.iterdir():
        part.rename(project.workspace / part.name)
    project.python = project.workspace / "bin/python"
    (tmp_path / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "host"))
    paths = ["pyvenv.cfg", "bin/new", f"lib/{PYTHON_NAME}/site-packages/new.pth", "lib64/x", "src/new.py"]

    answers = project.run_calls(
        str(tmp_path / "free.yaml"), *[("write_file", {"path": path, "content": "x"}) for path in paths]
    )

    assert [answer[1] for answer in answers] == ["protected_path"] * 4 + [None]


@pytest.mark.parametrize("where", ["site", "package"])
def test_a_workspace_from_which_the_gate_imports_is_refused(project: Project, where: str) -> None:
    """It could not be protected without making it useless; the fault says what to do."""
    folder = project.site if where == "site" else project.site / "toolcharter/gate"

    called = project.run(
        "-m", "toolcharter.cli", "call", "list_files", "--profile", "minimal", "--workspace", str(folder)
    )

    assert called.returncode == 2
    assert "from which this Python imports: tools could change what the gate runs." in called.stderr
    assert "Choose a workspace outside of it" in called.stderr


@pytest.mark.parametrize("option", ["-P", "-I"])
def test_the_next_start_imports_nothing_from_the_workspace_with(project: Project, tmp_path: Path, option: str) -> None:
    """What was written beside a script is not imported, nor what lies beside the sources of an editable install."""
    mark = tmp_path / "imported"
    (project.workspace / "lib").mkdir()
    (project.site / "mine.pth").write_text(f"{project.workspace}/lib\n")
    for name in ("selectors", "subprocess", "msvcrt", "_winapi"):
        (project.workspace / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write(__name__)\nraise SystemExit\n")
    (project.workspace / "agent.py").write_text(
        dedent("""
        from toolcharter import build_tools
        with build_tools("minimal", workspace=".", events=[lambda event: None]) as toolbox:
            print(toolbox.call("list_files", {"path": "src"}).outcome)
        """)
    )

    ended = project.run(option, "agent.py")

    assert (ended.stdout, ended.stderr) == ("ok\n", "")
    assert not mark.exists()
