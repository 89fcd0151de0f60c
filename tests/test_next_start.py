"""What Python imports when the same script starts again, before any code of the gate runs, no tool has written."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.attacked_project import Project, run_git

AGENT = """
    import json, sys
    from pathlib import Path
    from toolcharter import build_tools
    with build_tools(sys.argv[2], workspace=sys.argv[3], events=[lambda event: None]) as toolbox:
        for tool, args in json.loads(Path(sys.argv[1]).read_text()):
            result = toolbox.call(tool, args)
            print(json.dumps([result.outcome, result.reason]))
    import helpers, turtle
"""
PROFILE = """
profile: free
runner: host
tools:
  bash: {}
  write_file: {protected: []}
  move_file: {protected: [], allow_overwrite: true}
  make_dir: {protected: []}
  git: {allowed_actions: [checkout], managed_branch_prefix: agent/}
allow: ["bash:cp *", "bash:cp -r *", "bash:mv *", "bash:ln *", "bash:ln -s *", "bash:mkdir *", "bash:echo x >email.py"]
"""
# Of Python, of libraries, of what Python imports by itself, of what it tries to import; and the script.
FILES = (
    *(
        "selectors.py",
        "typing.py",
        "Email.py",
        "pydantic.py",
        "click/__init__.py",
        "yaml/__init__.pyc",
        "orjson.abi3.so",
    ),
    *("sitecustomize.py", "usercustomize.py", "toolcharter/__init__.py", "toolcharter_files.py", "org/python/core.py"),
    "agent.py",
)
LINES = (
    "echo x > email.py",
    "cp evil/email.py .",
    "cp evil/email.py email.py",
    "cp -r evil/click .",
    "mv evil/click click",
    "mv evil/email.py .",
    "ln -s evil/click click",
    "ln evil/email.py email.py",
    "mkdir click",
    "cp -r evil/. .",
    "cp -rT evil .",
    "mv evil/* .",
    "cp evil/*.py ./",
)
TOLD = (
    "sys.path contains '.': programs may write modules there; installed modules are hidden there by 'turtle'; "
    "start with python -P, or an installed command"
)
Call = tuple[str, dict[str, Any]]
REFUSED: tuple[Call, ...] = (
    *(("write_file", {"path": name, "content": "print(__name__)"}) for name in FILES),
    *(("bash", {"command": line}) for line in LINES),
    ("move_file", {"path": "evil/email.py", "to": "email.py"}),
    ("move_file", {"path": "evil/click", "to": "click"}),
    ("move_file", {"path": "evil/click", "to": "click", "overwrite": True}),
    ("git", {"action": "checkout", "branch": "loose"}),
    ("make_dir", {"path": "click/__init__.py"}),
)
TAKEN: tuple[Call, ...] = (
    ("write_file", {"path": "helpers.py", "content": "WHO = 1\n"}),
    ("write_file", {"path": "turtle.py", "content": "MINE = 2\n"}),
    ("write_file", {"path": "mine/email.py", "content": ""}),
    ("write_file", {"path": "email/welcome.html", "content": ""}),
    ("write_file", {"path": "email.txt", "content": ""}),
    ("make_dir", {"path": "platform"}),
    ("move_file", {"path": "evil/email.py", "to": "mine/moved.py"}),
    ("bash", {"command": "cp mine/moved.py mine/selectors.py"}),
)


class Started:
    """A project whose script lies at the top of its workspace, and starts of it."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder, inside=True)
        self.workspace, self.imported, self._folder = self.project.workspace, folder / "imported", folder
        (folder / "free.yaml").write_text(PROFILE)
        self.evil = f"open({str(self.imported)!r}, 'a').write(__name__ + ' ')\n"
        files = {"agent.py": dedent(AGENT), "turtle.py": "MINE = 1\n", "helpers.py": "", "mine/__init__.py": ""}
        for name, text in {**files, "evil/email.py": self.evil, "evil/click/__init__.py": self.evil}.items():
            (self.workspace / name).parent.mkdir(exist_ok=True)
            (self.workspace / name).write_text(text)

    def start(self, calls: Sequence[Call], *how: str) -> "subprocess.CompletedProcess[str]":
        (self._folder / "calls.json").write_text(json.dumps(calls))
        given = (str(self._folder / "calls.json"), str(self._folder / "free.yaml"), str(self.workspace))
        return self.project.run(*(how or ("agent.py",)), *given)


@pytest.mark.needs_program("git")
def test_no_tool_writes_what_the_next_start_imports(tmp_path: Path) -> None:
    """By file tools, lines of a shell and git; what shadows nothing, and what was there before, may be written."""
    started = Started(tmp_path)
    (started.workspace / ".gitignore").write_text(".venv\n__pycache__\n")
    for args in (["init"], ["add", "."], ["commit", "-m", "Begin"], ["checkout", "-b", "agent/loose"]):
        run_git(started.workspace, *args)
    (started.workspace / "email.py").write_text(started.evil)
    for args in (["add", "."], ["commit", "-m", "Loosen"], ["checkout", "main"]):
        run_git(started.workspace, *args)
    before = started.project.files()

    first = started.start(REFUSED)

    answers = [json.loads(line) for line in first.stdout.splitlines()]
    assert first.stderr == ""
    assert [
        (call, answer) for call, answer in zip(REFUSED, answers, strict=True) if answer[1] != "protected_path"
    ] == []
    assert started.project.files() == before
    second = started.start(TAKEN)
    assert (second.stdout.splitlines(), second.stderr) == (['["ok", null]'] * len(TAKEN), "")
    again = [started.start([]), started.start([], "-m", "agent")]
    assert [(each.stdout, each.stderr) for each in again] == [("", "")] * 2
    assert not started.imported.exists()
    profile = str(tmp_path / "free.yaml")
    told = started.project.run("-m", "toolcharter", "doctor", "--json", "--profile", profile, "--workspace", ".")
    assert list(json.loads(told.stdout)["findings"][0].values()) == ["workspace", "is imported from", "note", TOLD]


def test_a_file_of_an_installed_name_is_not_imported_by_the_gate(tmp_path: Path) -> None:
    """A program in a sandbox may have written it: from the script's first `import toolcharter` on it is passed over."""
    started = Started(tmp_path)
    for name in ("typing", "warnings", "importlib", "selectors", "yaml", "orjson", "pydantic", "toolcharter_files"):
        (started.workspace / f"{name}.py").write_text(started.evil)
    script = (started.workspace / "agent.py").read_text()
    (started.workspace / "agent.py").write_text(
        f"import toolcharter\n{script.replace('import json, sys', 'import sys, json')}"
    )

    ended = started.start([("write_file", {"path": "new.txt", "content": "1"})])

    assert (ended.stdout, ended.stderr) == ('["ok", null]\n', "")
    assert not started.imported.exists()
