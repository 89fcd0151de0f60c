"""Run git in a clean environment, with the repository's dangerous settings overridden and a reason for each failure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal

from toolcharter import GIT_VARIABLES, Completed, Denied, Reason, ToolError, ToolRuntime, git_setting_variables
from toolcharter_git import config, names
from toolcharter_git.layout import Layout, inspect_layout
from toolcharter_git.policy import ACTIONS, READ_ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason, git_error

MIN_VERSION = (2, 32)  # the first version with GIT_CONFIG_GLOBAL; GIT_CONFIG_COUNT came with 2.31
MAX_ERROR_CHARS = 2000
BYTES_PER_CHAR = 4  # at most, in UTF-8
MARGIN_BYTES = 4096  # the gate must see the whole of a secret at the end before it cuts the text

# Source: git(1), "Environment Variables".
ENVIRONMENT: Mapping[str, str] = {
    **GIT_VARIABLES,
    "GIT_ALLOW_PROTOCOL": "none",  # overrides all `protocol.*` settings; a push allows the one protocol of its URL
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes",
}

Settings = tuple[tuple[str, str], ...]


class Git:
    """The installed git, with a cache of its version check and of the repository's parsed configuration.

    There is one per tool. It is thread-safe.
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
        layout = inspect_layout(self.workspace)
        if layout is None:
            raise git_error(missing, "the workspace is not a git repository.")
        settings = self._settings(layout)
        keys = [key for key, _ in settings]
        key = config.find_refused_key(keys, writes=action not in READ_ACTIONS, pushes=action == ACTIONS[-1])
        if key is not None:
            raise Denied(
                GitReason.UNSAFE_REPOSITORY_CONFIG,
                f"The repository's own configuration sets {key!r}, which cannot be made harmless for this action.",
            )
        return Repository(self, layout, settings)

    def _settings(self, layout: Layout) -> Settings:
        with self._lock:
            configs, settings = self._parsed
        if configs != layout.configs:
            self._require_recent()
            settings = tuple(entry for content in layout.configs if content for entry in self._parse_config(content))
            with self._lock:
                self._parsed = (layout.configs, settings)
        return settings

    def _require_recent(self) -> None:
        """Refuse an older git: it would ignore our settings without an error."""
        if not self._is_recent:
            answer = self.rt.inspect(["git", "version"], env=ENVIRONMENT, timeout_s=self.policy.timeout_s)
            found = re.match(rb"git version (\d+)\.(\d+)", answer.stdout)
            if found is None or (int(found[1]), int(found[2])) < MIN_VERSION:
                raise ToolError("git 2.32 or newer is needed.", reason="program_not_found")
            self._is_recent = True

    def _parse_config(self, content: bytes) -> list[tuple[str, str]]:
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
        return config.parse_listing(answer.stdout)


class Repository:
    """The workspace's repository during one call."""

    def __init__(self, git: Git, layout: Layout, settings: Settings) -> None:
        self.git = git
        self.policy = git.policy
        self.git_dir = layout.git_dir
        self._settings = settings
        overrides = config.harmless_settings(key for key, _ in settings)
        if not (self.setting_values("user.name") and self.setting_values("user.email")):
            overrides |= {"user.name": self.policy.author_name, "user.email": self.policy.author_email}
        self._environment = build_environment(layout.git_dir, git.workspace, overrides)

    def setting_values(self, key: str) -> list[str]:
        """Return all values of *key* in the repository's own configuration; write section and name in lower case."""
        return [value for known, value in self._settings if known == key]

    def run_read(
        self, args: Sequence[str], reason: GitReason, *, max_bytes: int = 1_000_000, whole: bool = True
    ) -> Completed:
        """Run git without side effects.

        Raises:
            ToolError: *reason*, if git fails, or if it prints more than *max_bytes* and the *whole* output is needed;
                `timed_out`.
        """
        argv = ["git", "--no-pager", *args]
        answer = self.git.rt.inspect(
            argv, env=self._environment, timeout_s=self.policy.timeout_s, max_output_bytes=max_bytes
        )
        _require_success(answer, reason)
        if whole and answer.truncated:
            raise git_error(reason, f"git {args[0]} printed more than {max_bytes} bytes.")
        return answer

    def run_write(
        self, args: Sequence[str], reason: GitReason, *, stdin: bytes = b"", protocol: str = "none"
    ) -> Completed:
        """Run git to change something. It may connect only by *protocol*.

        Raises:
            ToolError: *reason*, if git fails; `timed_out`.
        """
        argv = ["git", "--no-pager", *args]
        environment = {**self._environment, "GIT_ALLOW_PROTOCOL": protocol}
        answer = self.git.rt.run(argv, env=environment, stdin=stdin, timeout_s=self.policy.timeout_s)
        _require_success(answer, reason)
        return answer

    def read_line(self, args: Sequence[str], reason: GitReason) -> str:
        """Run git without side effects and return the one line that it prints."""
        return decode_text(self.run_read(args, reason).stdout).strip()

    def commit_id(self, ref: str, reason: GitReason) -> str:
        """Return the id of the commit that *ref* leads to. Later commands get only ids."""
        return self.read_line(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"], reason)

    def empty_tree(self, reason: GitReason) -> str:
        """Return the id of a tree without files, by the repository's own hash algorithm."""
        return self.read_line(["hash-object", "-t", "tree", "/dev/null"], reason)

    def filter_visible(self, paths: Iterable[str], content: Literal["present", "any"] = "present") -> list[str]:
        """Return those of *paths* that are neither protected nor a folder above a protected path.

        A file in one commit may be a folder in the next, and git takes a folder's path for everything below it.

        Args:
            paths: Paths relative to the worktree.
            content: Some files are protected for what they contain. `present` decides by the worktree's content. `any`
                leaves out each file that some content would protect; use it to show the content of other commits.
        """
        asked = list(paths)
        with self.git.paths.open_folder() as root:
            hidden = [path for path in asked if not root.shows(path.rstrip("/"), content)]
        kept_back = {*hidden, *(folder for path in hidden for folder in names.parent_folders(path))}
        return [path for path in asked if path not in kept_back]

    def require_visible(self, paths: Iterable[str], content: Literal["present", "any"] = "present") -> None:
        """Refuse *paths* if at least one is protected; *content* is as for `filter_visible`.

        Raises:
            Denied: `protected_path`.
        """
        asked = list(paths)
        hidden = set(asked).difference(self.filter_visible(asked, content))
        if hidden:
            raise Denied(Reason.PROTECTED_PATH, f"{min(hidden)!r} is protected.")

    def read_limited(self, args: Sequence[str], reason: GitReason) -> Completed:
        """Run git and keep little more of its output than the policy's `max_output_chars`."""
        limit = self.policy.max_output_chars * BYTES_PER_CHAR + MARGIN_BYTES
        return self.run_read(args, reason, max_bytes=limit, whole=False)


def build_environment(git_dir: str, workspace: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return git's environment for the repository in *git_dir*; *overrides* take precedence over its settings."""
    where = {"GIT_DIR": git_dir, "GIT_WORK_TREE": str(workspace)}
    return {**ENVIRONMENT, **git_setting_variables(overrides), **where}


def decode_text(data: bytes) -> str:
    """Decode git's output; bytes that are not UTF-8 become U+FFFD."""
    return data.decode(errors="replace")


def decode_paths(data: bytes) -> str:
    """Decode git's output without loss: its paths can be passed to git again. For results, see `representable`."""
    return data.decode(errors="surrogateescape")


def decode_content(answer: Completed) -> str:
    """Decode content that the gate scrubs and cuts. A truncated answer ends with a whole line, not within a secret."""
    text = decode_text(answer.stdout)
    return text[: text.rfind("\n") + 1] or text if answer.truncated else text


def _require_success(answer: Completed, reason: GitReason) -> None:
    if answer.timed_out:
        raise ToolError("git took too long.", reason=Reason.TIMED_OUT, retryable=True)
    if answer.exit_code != 0:
        said = decode_text(answer.stderr).strip()[:MAX_ERROR_CHARS]
        raise git_error(reason, said or f"git ended with status {answer.exit_code}.")
