"""The policy of skills: where they are, and which of them an agent has."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from toolcharter import CheckPolicy, DiscovererPolicy

_ALL = "*"


class SkillsReason(StrEnum):
    """Why the extension asks a person about a call."""

    SKILL_CHANGED = "skill_changed"
    SKILL_OF_AN_AGENT = "skill_of_an_agent"


class SkillsPolicy(DiscovererPolicy, CheckPolicy):
    """Where skills are, and which of them an agent has."""

    workspace_folders: tuple[str, ...] = ("skills",)
    """Folders of skills, relative to the workspace."""
    project_folders: tuple[str, ...] = (".agents/skills",)
    """Folders of skills for the project's agents, relative to the workspace; searched after `workspace_folders`."""
    personal_folders: tuple[str, ...] = ()
    """Folders of the user, such as `~/.agents/skills`; searched after those of the workspace."""
    global_folders: tuple[str, ...] = ()
    """Folders of the machine; searched after those of the user."""
    agents_write: bool = False
    """Whether tools may write to the workspace's folders; then a person is asked before each use of a skill in them."""
    built_in: bool = True
    """Whether this plugin's own skills are available; searched after all others."""
    allow: tuple[str, ...] | None = None
    """The names of the available skills; absent or `["*"]`: all, `[]`: none."""
    agents: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The same for single agents, by the agent's name. An agent has the skills that both lists name."""
    max_skills: Annotated[int, Field(ge=0, le=10_000)] = 500
    """How many entries of each folder of skills are read."""
    max_files: Annotated[int, Field(ge=1, le=10_000)] = 500
    """How many files one skill may have."""
    max_bytes: Annotated[int, Field(ge=1, le=1_000_000_000)] = 8_000_000
    """How large the files of one skill may be together, in bytes."""

    @field_validator("workspace_folders", "project_folders")
    @classmethod
    def _inside(cls, folders: tuple[str, ...]) -> tuple[str, ...]:
        for folder in folders:
            parts = Path(folder).parts
            if parts[:1] in {(), ("/",), ("~",)} or ".." in parts:
                raise ValueError(f"{folder!r} is no folder below the workspace")
        return folders

    @field_validator("personal_folders", "global_folders")
    @classmethod
    def _absolute(cls, folders: tuple[str, ...]) -> tuple[str, ...]:
        for folder in folders:
            parts = Path(folder).parts
            if parts[:1] not in {("/",), ("~",)} or ".." in parts:
                raise ValueError(f"{folder!r} is neither absolute nor below `~`")
        return folders

    def takes_orders_from(self) -> tuple[str, ...]:
        """Return the folders of skills, without those of the workspace if agents may write there."""
        inside = () if self.agents_write else (*self.workspace_folders, *self.project_folders)
        outside = (*self.personal_folders, *self.global_folders)
        return (*inside, *(str(Path(folder).expanduser()) for folder in outside))

    def permits(self, name: str, agent: str | None) -> bool:
        """Return whether *agent* may have the skill *name*."""
        lists = [self.allow, self.agents.get(agent or "")]
        return all(one is None or name in one or _ALL in one for one in lists)
