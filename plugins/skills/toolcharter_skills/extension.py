"""`Skills`: finds the skills of one toolbox for its three tools, and asks a person about skills that have changed."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from toolcharter import Ask, Call, Caller, Denied, Discovery, Paths, ProfileView, ToolError, ToolRuntime, hookimpl
from toolcharter_skills.folders import Limits, SkillFolder, SkippedPath, read_skill, scan_skills
from toolcharter_skills.manifest import FILE, Manifest, UnusableSkill
from toolcharter_skills.policy import SkillsPolicy, SkillsReason

Tier = Literal["workspace", "project", "personal", "global", "built-in"]
BUILT_IN = Path(__file__).parent / "built_in"
_GLOB = re.compile(r"[*?\[]")


class Root(NamedTuple):
    """A folder of skills."""

    tier: Tier
    path: Path
    below: Path | None
    """The folder below which no part of the path may be a link; None outside the workspace."""


class Skill(NamedTuple):
    """One usable skill."""

    tier: Tier
    path: Path
    manifest: Manifest
    files: tuple[str, ...]
    base_dir: str
    """The value of `{baseDir}`: relative to the workspace, or absolute outside of it."""


class SkillScan(NamedTuple):
    """The result of a scan of all folders."""

    skills: dict[str, Skill]
    """The skills by name. Of two skills with one name, this is the skill of the first tier."""
    notes: tuple[str, ...]


class Skills:
    """The skills of one toolbox. Thread-safe."""

    def __init__(self, workspace: Path, policy: SkillsPolicy) -> None:
        self.policy = policy
        self._workspace = workspace
        self._limits = Limits(policy.max_files, policy.max_bytes)
        self._roots = tuple(_roots(workspace, policy))
        self._first: dict[Path, str] | None = None
        self._scan = SkillScan({}, ())
        self._lock = threading.Lock()

    @hookimpl
    def discover_tools(self, profile: ProfileView) -> Discovery:  # noqa: ARG002 - the hook's argument
        """Scan the folders when the session begins, and again when it reloads. Skills are no tools: it finds none."""
        return Discovery(folders=tuple(str(root.path) for root in self._roots), notes=self.reload().notes)

    @hookimpl
    def read_roots(self) -> list[Path]:
        """Return the folders of skills outside the workspace, so that file tools may read them."""
        return [root.path for root in self._roots if root.below is None and root.path.is_dir()]

    @hookimpl
    def check_call(self, call: Call) -> Awaitable[Ask | None] | None:
        """Ask a person about a skill that has changed since the session began, and about commands that use it."""
        if call.tool == "skill_get":
            named = self._paths_named(str(call.args.get("name", "")))
        elif call.commands:
            named = self._paths_used("\n".join(call.commands))
        else:
            return None
        return self._ask_about(named) if named else None

    def reload(self) -> SkillScan:
        """Scan all folders again."""
        found, notes, hashes = dict[str, Skill](), list[str](), dict[Path, str]()
        for root in self._roots:
            for one in scan_skills(root.path, root.below, self._limits, self.policy.max_skills):
                if isinstance(one, SkippedPath):
                    notes.append(str(one))
                    continue
                hashes[one.path] = one.hash
                kept = found.setdefault(one.manifest.name, self._skill(root, one))
                if kept.path != one.path:
                    notes.append(f"{one.path} is left out (shadowed): {kept.path} comes first.")
        scan = SkillScan(found, tuple(notes))
        with self._lock:
            self._first = hashes if self._first is None else self._first
            self._scan = scan
        return scan

    def catalog(self, rt: ToolRuntime, *, reload: bool = False) -> SkillScan:
        """Return the current caller's skills: those that its lists permit and whose text the profile does not hide."""
        scan = self.reload() if reload else self._scan
        mine = {
            name: skill
            for name, skill in scan.skills.items()
            if self.policy.permits(name, rt.caller.agent) and may_be_read(rt.paths, skill)
        }
        return SkillScan(mine, scan.notes)

    def find_current(self, name: str, caller: Caller) -> Skill | None:
        """Return the skill *name* as it is now; None if the caller has no skill of this name.

        Raises:
            Unusable: The skill was usable at the last scan, but is not any more.
        """
        skill = self._scan.skills.get(name)
        if skill is None or not self.policy.permits(name, caller.agent):
            return None
        root = next(one for one in self._roots if one.path == skill.path.parent)
        return self._skill(root, read_skill(skill.path, root.below, self._limits))

    def _skill(self, root: Root, found: SkillFolder) -> Skill:
        inside = root.below is not None
        base = found.path.relative_to(self._workspace).as_posix() if inside else str(found.path)
        return Skill(root.tier, found.path, found.manifest, found.files, base)

    def _paths_named(self, name: str) -> list[Path]:
        skill = self._scan.skills.get(name)
        return [] if skill is None else [skill.path]

    def _paths_used(self, commands: str) -> list[Path]:
        """Return the skills that *commands* may use: those they name, or all of a root that they name or may match."""
        roots = [root.path for root in self._roots if root.path.name in commands] if self._scan.skills else []
        if _GLOB.search(commands):
            roots = [root.path for root in self._roots]
        skills = self._scan.skills.values()
        return [
            skill.path
            for skill in skills
            if skill.path.parent in roots or f"/{skill.path.name}" in commands or f"{skill.path.name}/" in commands
        ]

    async def _ask_about(self, paths: Sequence[Path]) -> Ask | None:
        if self.policy.agents_write and (written := self._in_workspace(paths)):
            what = f"The skill {written.name!r} is in a folder to which the profile lets agents write."
            return Ask(SkillsReason.SKILL_OF_AN_AGENT, f"{what} Look at {written} before you agree.")
        changed = await asyncio.to_thread(self._changed, tuple(paths))
        if changed is None:
            return None
        what = f"The skill {changed.name!r} has changed since the session began."
        return Ask(SkillsReason.SKILL_CHANGED, f"{what} Look at {changed} before you agree.")

    def _in_workspace(self, paths: Iterable[Path]) -> Path | None:
        """Return the first of *paths* that is in a folder of skills inside the workspace."""
        inside = {root.path for root in self._roots if root.below is not None}
        return next((path for path in paths if path.parent in inside), None)

    def _changed(self, paths: tuple[Path, ...]) -> Path | None:
        """Return the first of *paths* that is new or has changed since the session began."""
        first = self._first or {}
        for path in paths:
            below = next(root.below for root in self._roots if root.path == path.parent)
            now = ""
            with suppress(UnusableSkill):
                now = read_skill(path, below, self._limits).hash
            if first.get(path) != now:
                return path
        return None


def may_be_read(paths: Paths, skill: Skill) -> bool:
    """Return whether the profile lets the text of *skill* be read: it must be neither hidden nor protected."""
    try:
        paths.open_file(f"{skill.base_dir}/{FILE}").__exit__(None, None, None)
    except (Denied, ToolError):
        return False
    return True


def _roots(workspace: Path, policy: SkillsPolicy) -> Iterator[Root]:
    inside: tuple[tuple[Tier, tuple[str, ...]], ...] = (
        ("workspace", policy.workspace_folders),
        ("project", policy.project_folders),
    )
    for tier, folders in inside:
        yield from (Root(tier, workspace / folder, workspace) for folder in folders)
    outside: tuple[tuple[Tier, tuple[str, ...]], ...] = (
        ("personal", policy.personal_folders),
        ("global", policy.global_folders),
        ("built-in", (str(BUILT_IN),) if policy.built_in else ()),
    )
    for tier, folders in outside:
        yield from (Root(tier, Path(folder).expanduser(), None) for folder in folders)
