"""Skills for agents: folders with `SKILL.md`, in the agent skills format, of five tiers.

The extension finds them, the tools show them. A skill is text of whoever wrote it: it grants nothing, and what it says to run
passes `bash` and its rules as any other command does.
"""

from typing import Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl
from toolcharter_skills import skill_get, skill_search, skills
from toolcharter_skills.extension import Skills
from toolcharter_skills.policy import SkillsPolicy, SkillsReason

EXTENSION = ExtensionSpec("skills", SkillsPolicy, Skills, reasons=SkillsReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[SkillsPolicy]]:
    """The extension that finds skills, and asks about those that have changed."""
    return [EXTENSION]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools: one lists, one searches, one reads."""
    return [skills.SPEC, skill_search.SPEC, skill_get.SPEC]
