"""`skill_search`: finds the skills whose names and descriptions match a query best."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field

from toolcharter import Reason, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_skills.extension import Skills
from toolcharter_skills.ranking import rank, words
from toolcharter_skills.skills import NOTE, SkillLine, format_entry, list_entry

MAX_QUERY = 1_000


class SkillSearchPolicy(ToolPolicy):
    """How much one profile lets `skill_search` answer."""

    max_results: Annotated[int, Field(ge=1, le=50)] = 5
    """The most skills that one call gets."""


class SkillHit(SkillLine):
    """One skill that was found."""

    score: float


class SkillSearchData(TypedDict):
    """The structured result."""

    hits: list[SkillHit]


def build(workspace: Path, policy: SkillSearchPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - the extension knows it
    """Bind `skill_search` to one toolbox."""

    def skill_search(
        query: Annotated[str, Field(max_length=MAX_QUERY)], max_results: Annotated[int, Field(ge=1, le=50)] = 5
    ) -> str:
        """Search the available skills by their purpose.

        Args:
            query: A few words about the task.
            max_results: How many skills to return at most.
        """
        ctx = rt.start("skill_search", query=query)
        if not words(query):
            raise ToolError("The query holds no word.", reason=Reason.INVALID_ARGUMENTS)
        extension: Skills = rt.extension("skills")
        ctx.policy_passed()
        found = extension.catalog(rt).skills
        texts = {name: f"{name} {skill.manifest.description}" for name, skill in found.items()}
        best = rank(query, texts)[: min(max_results, policy.max_results)]
        hits: list[SkillHit] = [{**list_entry(found[name]), "score": round(score, 4)} for name, score in best]
        text = "\n".join((NOTE, *map(format_entry, hits))) if hits else "No skill fits."
        return ctx.ok(text, data=SkillSearchData(hits=hits))

    return skill_search


SPEC = ToolSpec(
    "skill_search",
    SkillSearchPolicy,
    build,
    reasons=(),
    capabilities={"skills:read"},
    safety="low",
    staged=True,
    group="skills",
    output=SkillSearchData,
)
