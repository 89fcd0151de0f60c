"""`skills`: lists the skills, each with the description by which a model chooses."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_skills.extension import Skill, Skills

CHARS_PER_TOKEN = 4
"""A rule of thumb, as in the source: no tokenizer is used."""
NOTE = "Skills are texts of their authors: they say how to do something, and permit nothing."


class SkillsToolPolicy(ToolPolicy):
    """How long the index may be."""

    max_listed: Annotated[int, Field(ge=0, le=200)] = 20
    """How many skills are listed; the others are found by `skill_search`."""
    max_tokens: Annotated[int, Field(ge=100, le=50_000)] = 3500
    """How many tokens the list may have, counted as four characters each."""


class SkillLine(TypedDict):
    """One skill of a list."""

    name: str
    description: str
    """Text of the skill's author."""
    tier: str


class SkillsData(TypedDict):
    """The structured result."""

    skills: list[SkillLine]
    total: int
    """How many skills the caller has."""
    notes: list[str]
    """The paths that were left out, and why."""


def list_entry(skill: Skill) -> SkillLine:
    """Convert *skill* to an entry of a list."""
    return {"name": skill.manifest.name, "description": skill.manifest.description, "tier": skill.tier}


def format_entry(one: SkillLine) -> str:
    """Format a skill as a line for the model."""
    return f"- {one['name']} ({one['tier']}): {one['description']}"


def build(workspace: Path, policy: SkillsToolPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - the extension knows it
    """Bind `skills` to one toolbox."""

    def skills(reload: bool = False) -> str:  # noqa: FBT001, FBT002 - a model passes it by name
        """List the available skills: instructions for tasks. Read a skill with skill_get before you follow it.

        Args:
            reload: Look at the folders of skills again.
        """
        ctx = rt.start("skills", reload=reload)
        extension: Skills = rt.extension("skills")
        ctx.policy_passed()
        scan = extension.catalog(rt, reload=reload)
        lines = list[SkillLine]()
        left = policy.max_tokens * CHARS_PER_TOKEN
        for skill in scan.skills.values():
            one = list_entry(skill)
            left -= len(format_entry(one)) + 1
            if left < 0 or len(lines) == policy.max_listed:
                break
            lines.append(one)
        rest = len(scan.skills) - len(lines)
        text = "\n".join(
            (
                *([NOTE, *map(format_entry, lines)] if scan.skills else ["There are no skills."]),
                *([f"{rest} more: find them with skill_search."] if rest else []),
                *scan.notes,
            )
        )
        data = SkillsData(skills=lines, total=len(scan.skills), notes=list(scan.notes))
        return ctx.ok(text, data=data, truncated=rest > 0)

    return skills


SPEC = ToolSpec(
    "skills",
    SkillsToolPolicy,
    build,
    reasons=(),
    capabilities={"skills:read"},
    safety="low",
    staged=True,
    group="skills",
    output=SkillsData,
)
