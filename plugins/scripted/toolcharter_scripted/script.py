"""Runs an agent by a script."""

import re
from fnmatch import fnmatchcase

from toolcharter import AgentResult, AgentTask, ToolError, hookimpl
from toolcharter_scripted.policy import ScriptedPolicy

_PLACEHOLDER = re.compile(r"\{(results|message)\}")


class Script:
    """Implements `run_agent`."""

    def __init__(self, policy: ScriptedPolicy) -> None:
        self._runs = policy.runs

    @hookimpl
    def run_agent(self, task: AgentTask) -> AgentResult:
        """Make the calls of the first run that matches, and return its answer.

        Raises:
            ToolError: No run matches.
        """
        fitting = (
            run for run in self._runs if fnmatchcase(task.agent, run.agent) and fnmatchcase(task.message, run.message)
        )
        run = next(fitting, None)
        if run is None:
            raise ToolError(f"No run of the script matches the agent {task.agent!r} and its message.")
        texts = list[str]()
        for number, call in enumerate(run.calls):
            if task.is_cancelled():
                break
            if number >= task.max_iterations:
                return AgentResult("\n".join(texts), iterations=number, is_exhausted=True)
            texts.append(task.toolbox.call(call.tool, call.args, parent_id=task.parent_id).text)
        values = {"results": "\n".join(texts), "message": task.message}
        # In one pass: placeholders in a call's result are not replaced.
        answer = _PLACEHOLDER.sub(lambda found: values[found[1]], run.answer)
        return AgentResult(answer, iterations=len(texts) + 1)
