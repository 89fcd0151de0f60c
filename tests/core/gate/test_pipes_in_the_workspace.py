"""A workspace in which something the gate reads has become a pipe: whoever starts there must not wait for its writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rows import each_row

pytestmark = pytest.mark.slow

FAR_S = 600
READ = [
    ".git",
    ".git/HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/index",
    ".git/info/attributes",
    ".gitmodules",
    ".gitattributes",
    ".gitignore",
    ".toolcharter",
    ".toolcharter/policy.yaml",
    "profiles/reviewer.yaml",
    "pyproject.toml",
    "tools/one/skill.yaml",
]
_SCRIPT = """
import os, signal, sys
from toolcharter import build_tools, ConfigurationError
import toolcharter_bwrap, toolcharter_files, toolcharter_git, toolcharter_shell

seconds, profile, *workspaces = sys.argv[1:]
children = []
for workspace in workspaces:
    if child := os.fork():
        children.append(child)
        continue
    signal.alarm(int(seconds))  # Ends a child that waits.
    os.chdir(workspace)
    sys.stdout = open(f"{workspace}.said", "w")
    break
else:
    print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
    sys.exit()
try:
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        for tool, args in (
            ("bash", {"command": "git status"}), ("bash", {"command": "git log"}), ("git", {"action": "status"}),
            ("git", {"action": "diff"}), ("read_file", {"path": ".gitignore"}), ("grep", {"query": "x"}),
            ("glob", {"globs": "*"}), ("list_files", {}), ("write_file", {"path": "new", "content": ""}),
            ("edit_file", {"path": ".gitignore", "old_string": "a", "new_string": "b"}),
        ):
            print(tool, toolbox.call(tool, args).outcome)
except ConfigurationError as error:
    print("refused", error)
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """How a process ended and what it said in each workspace: all are forks of one, which has imported everything before it came there."""
    folder = tmp_path_factory.mktemp("pipes")
    profile = folder / "p.yaml"
    profile.write_text(
        "profile: test\nrunner: host\nallow: ['bash:git *']\nlimits: {timeout_s: 3}\n"
        "tools: {bash: {}, git: {}, read_file: {}, grep: {}, glob: {}, list_files: {}, write_file: {}, edit_file: {}}\n"
    )
    workspaces = [with_pipe(folder / str(number), name) for number, name in enumerate(READ)]
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(FAR_S), profile, *workspaces], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    sys.stderr.write(ran.stderr)
    said = [Path(f"{workspace}.said").read_text() for workspace in workspaces]
    return dict(zip(READ, zip(ran.stdout.split(), said, strict=True), strict=True))


def with_pipe(workspace: Path, name: str) -> Path:
    """A workspace of git in which a file of the gate's is a pipe."""
    workspace.mkdir()
    subprocess.run(["git", "init", "-q", workspace], check=True, timeout=FAR_S)
    (workspace / ".gitignore").write_text("a\n")
    place = workspace / name
    if place.is_dir():
        place.rename(workspace.with_suffix(".away"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    return workspace


@each_row("name", READ)
@pytest.mark.needs_program("git")
def test_a_pipe_is_not_waited_for(ended: dict[str, tuple[str, str]], name: str) -> None:
    """Building a toolbox and one call of each tool end, whatever file of the workspace is a pipe by then."""
    status, said = ended[name]

    assert status == "0"
    assert said.startswith("refused ") or said.count("\n") == 10
