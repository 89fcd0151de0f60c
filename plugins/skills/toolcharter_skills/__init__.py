"""Skills for agents: folders with `SKILL.md`, in the agent skills format, in five tiers.

The extension finds skills, the tools show them. A skill is only its author's text and grants nothing: a command that it
recommends is judged by the rules like any other command.
"""

from typing import Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl
from toolcharter_skills import skill_get, skill_search, skills
from toolcharter_skills.extension import Skills
from toolcharter_skills.policy import SkillsPolicy, SkillsReason

EXTENSION = ExtensionSpec("skills", SkillsPolicy, Skills, reasons=SkillsReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[SkillsPolicy]]:
    """The extension that finds skills, and asks a person about skills that have changed."""
    return [EXTENSION]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools: one lists, one searches, one reads."""
    return [skills.SPEC, skill_search.SPEC, skill_get.SPEC]
