"""The actions: each one reads and checks first, and returns a function that does the work.

An action is `(git, request) -> work`; `work() -> Answer` runs after the mark of the staged body.
"""

from collections.abc import Callable, Mapping

from toolcharter_git.actions import branches, commits, diffs, history, publish
from toolcharter_git.repository import Git
from toolcharter_git.request import Answer, Request

Work = Callable[[], Answer]

TABLE: Mapping[str, Callable[[Git, Request], Work]] = {
    "status": history.status,
    "log": history.log,
    "show": history.show,
    "rev_parse": history.rev_parse,
    "diff": diffs.diff,
    "diff_since": diffs.diff_since,
    "create_branch": branches.create_branch,
    "checkout": branches.checkout,
    "add": commits.add,
    "commit": commits.commit,
    "tag": commits.tag,
    "push": publish.push,
}
