"""The only way to git: a clean environment, the repository's settings defused, failures with a reason."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal

from toolcharter import GIT_VARIABLES, Completed, Denied, Reason, ToolError, ToolRuntime, git_setting_variables
from toolcharter_git import config, names
from toolcharter_git.layout import Layout, examine
from toolcharter_git.policy import ACTIONS, READ_ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason, failed

OLDEST = (2, 32)  # the first to know GIT_CONFIG_GLOBAL; GIT_CONFIG_COUNT came one before
MAX_ERROR_CHARS = 2000
BYTES_PER_CHAR = 4  # at most, in UTF-8
MARGIN_BYTES = 4096  # so that the gate sees the secret that its own cut would halve

# Source: git(1), "Environment Variables".
ENVIRONMENT: Mapping[str, str] = {
    **GIT_VARIABLES,
    "GIT_ALLOW_PROTOCOL": "none",  # wins over all settings `protocol.*`; a push names the one that it speaks
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes",
}

Settings = tuple[tuple[str, str], ...]


class Git:
    """The installed git, and what has been learned about it and the repository's configuration.

    One per tool; safe from many threads.
    """

    def __init__(self, workspace: Path, policy: GitPolicy, rt: ToolRuntime) -> None:
        self.workspace = workspace
        self.policy = policy
        self.rt = rt
        self.paths = rt.paths.narrowed(protected=(".git", *policy.protected))
        self._is_recent = False
        self._lock = Lock()
        self._parsed: tuple[tuple[bytes, ...], Settings] = ((), ())

    def open(self, action: str, missing: GitReason) -> "Repository":
        """Open the workspace's repository for one call of *action*.

        Raises:
            Denied: `unsafe_repository`, `unsafe_repository_config`.
            ToolError: *missing*, if the workspace has no repository of its own.
        """
        layout = examine(self.workspace)
        if layout is None:
            raise failed(missing, "the workspace is not a git repository.")
        settings = self._settings(layout)
        keys = [key for key, _ in settings]
        key = config.refused_key(keys, writes=action not in READ_ACTIONS, pushes=action == ACTIONS[-1])
        if key is not None:
            raise Denied(
                GitReason.UNSAFE_REPOSITORY_CONFIG,
                f"The repository's own configuration sets {key!r}, which cannot be made harmless here.",
            )
        return Repository(self, layout, settings)

    def _settings(self, layout: Layout) -> Settings:
        with self._lock:
            configs, settings = self._parsed
        if configs != layout.configs:
            self._require_recent()
            settings = tuple(entry for content in layout.configs if content for entry in self._parse(content))
            with self._lock:
                self._parsed = (layout.configs, settings)
        return settings

    def _require_recent(self) -> None:
        """Older versions would pass over our settings in silence."""
        if not self._is_recent:
            answer = self.rt.inspect(["git", "version"], env=ENVIRONMENT, timeout_s=self.policy.timeout_s)
            found = re.match(rb"git version (\d+)\.(\d+)", answer.stdout)
            if found is None or (int(found[1]), int(found[2])) < OLDEST:
                raise ToolError("git 2.32 or newer is needed.", reason="program_not_found")
            self._is_recent = True

    def _parse(self, content: bytes) -> list[tuple[str, str]]:
        argv = ["git", "config", "--file", "-", "--list", "-z", "--no-includes"]
        environment = {**ENVIRONMENT, "GIT_DIR": "/nonexistent"}
        answer = self.rt.inspect(
            argv,
            env=environment,
            stdin=content,
            timeout_s=self.policy.timeout_s,
            max_output_bytes=2 * len(content) + 4096,
        )
        if answer.exit_code != 0 or answer.truncated or answer.timed_out:
            raise Denied(GitReason.UNSAFE_REPOSITORY_CONFIG, "The repository's own configuration cannot be read.")
        return config.parse(answer.stdout)


class Repository:
    """The workspace's repository during one call."""

    def __init__(self, git: Git, layout: Layout, settings: Settings) -> None:
        self.git = git
        self.policy = git.policy
        self.git_dir = layout.git_dir
        self._settings = settings
        overrides = config.replacements(key for key, _ in settings)
        if not (self.setting("user.name") and self.setting("user.email")):
            overrides |= {"user.name": self.policy.author_name, "user.email": self.policy.author_email}
        self._environment = environment_for(layout.git_dir, git.workspace, overrides)

    def setting(self, key: str) -> list[str]:
        """All values of *key* in the repository's own configuration; section and name in lower case."""
        return [value for known, value in self._settings if known == key]

    def look(
        self, args: Sequence[str], reason: GitReason, *, max_bytes: int = 1_000_000, whole: bool = True
    ) -> Completed:
        """Run git without side effects.

        Raises:
            ToolError: *reason*, if it fails, or says more than *max_bytes* where its *whole* answer
                is needed; `timed_out`.
        """
        argv = ["git", "--no-pager", *args]
        answer = self.git.rt.inspect(
            argv, env=self._environment, timeout_s=self.policy.timeout_s, max_output_bytes=max_bytes
        )
        _require_success(answer, reason)
        if whole and answer.truncated:
            raise failed(reason, f"git {args[0]} said more than {max_bytes} bytes.")
        return answer

    def act(self, args: Sequence[str], reason: GitReason, *, stdin: bytes = b"", protocol: str = "none") -> Completed:
        """Run git to change something; *protocol* is the only one it may speak.

        Raises:
            ToolError: *reason*, if it fails; `timed_out`.
        """
        argv = ["git", "--no-pager", *args]
        environment = {**self._environment, "GIT_ALLOW_PROTOCOL": protocol}
        answer = self.git.rt.run(argv, env=environment, stdin=stdin, timeout_s=self.policy.timeout_s)
        _require_success(answer, reason)
        return answer

    def line(self, args: Sequence[str], reason: GitReason) -> str:
        """The one line that git answers."""
        return text_of(self.look(args, reason).stdout).strip()

    def commit_id(self, ref: str, reason: GitReason) -> str:
        """The id of the commit that *ref* leads to; later commands take ids only."""
        return self.line(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"], reason)

    def empty_tree(self, reason: GitReason) -> str:
        """The id of a tree without files, in the repository's own kind of hash."""
        return self.line(["hash-object", "-t", "tree", "/dev/null"], reason)

    def visible(self, paths: Iterable[str], content: Literal["present", "any"] = "present") -> list[str]:
        """Those of *paths*, relative to the worktree, that are neither protected nor the folder of one that is.

        What is a file in one commit may be a folder in the next, and git takes its path for all below. Where the content
        of other commits is shown, what the worktree has *present* says nothing of it: `any` leaves out each file that some
        content hides.
        """
        asked = list(paths)
        with self.git.paths.open_folder() as root:
            hidden = [path for path in asked if not root.shows(path.rstrip("/"), content)]
        kept_back = {*hidden, *(folder for path in hidden for folder in names.folders_of(path))}
        return [path for path in asked if path not in kept_back]

    def require_visible(self, paths: Iterable[str], content: Literal["present", "any"] = "present") -> None:
        """Refuse *paths* if even one is protected; *content* is as for `visible`.

        Raises:
            Denied: `protected_path`.
        """
        asked = list(paths)
        hidden = set(asked).difference(self.visible(asked, content))
        if hidden:
            raise Denied(Reason.PROTECTED_PATH, f"{min(hidden)!r} is protected.")

    def read(self, args: Sequence[str], reason: GitReason) -> Completed:
        """Read content, of which little more than the policy's `max_output_chars` is kept."""
        limit = self.policy.max_output_chars * BYTES_PER_CHAR + MARGIN_BYTES
        return self.look(args, reason, max_bytes=limit, whole=False)


def environment_for(git_dir: str, workspace: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """What git is told of the repository in *git_dir*; *overrides* win over its settings."""
    where = {"GIT_DIR": git_dir, "GIT_WORK_TREE": str(workspace)}
    return {**ENVIRONMENT, **git_setting_variables(overrides), **where}


def text_of(data: bytes) -> str:
    """Bytes of git as text; what is no UTF-8 becomes U+FFFD."""
    return data.decode(errors="replace")


def paths_of(data: bytes) -> str:
    """The same, but so that every path in it can be handed back to git; for results, see `representable`."""
    return data.decode(errors="surrogateescape")


def content_of(answer: Completed) -> str:
    """Content for the gate to scrub and cut: a limited answer ends with a whole line, not in a secret."""
    text = text_of(answer.stdout)
    return text[: text.rfind("\n") + 1] or text if answer.truncated else text


def _require_success(answer: Completed, reason: GitReason) -> None:
    if answer.timed_out:
        raise ToolError("git took too long.", reason=Reason.TIMED_OUT, retryable=True)
    if answer.exit_code != 0:
        said = text_of(answer.stderr).strip()[:MAX_ERROR_CHARS]
        raise failed(reason, said or f"git ended with status {answer.exit_code}.")
