"""How far one profile lets `git` go."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, Self, get_args
from urllib.parse import unquote

from pydantic import AliasChoices, Field, field_validator, model_validator

from toolcharter import ProgramPlace, ToolPolicy
from toolcharter_git.names import DEFAULT_REF_PATTERN, is_branch_name, matches

ReadAction = Literal["status", "log", "show", "rev_parse", "diff", "diff_since"]
Action = Literal[ReadAction, "create_branch", "checkout", "add", "commit", "tag", "push"]
READ_ACTIONS: tuple[ReadAction, ...] = get_args(ReadAction)
ACTIONS: tuple[Action, ...] = get_args(Action)

MAX_CONTEXT_LINES = 20


class GitPolicy(ToolPolicy):
    """How far one profile lets `git` go; by default it only reads."""

    allowed_actions: tuple[Action, ...] = READ_ACTIONS
    """The actions that may be used."""
    managed_branch_prefix: str = ""
    """The prefix of all branches of this profile: it is added to branch names without it. `agent` means `agent/`."""
    enforce_prefix_for_writes: bool = True
    """Whether `add`, `commit`, `tag` and `push` require a current branch with the prefix."""
    allow_push: bool = False
    """Whether `push` may be used at all; it must be in `allowed_actions` too."""
    allowed_remotes: tuple[str, ...] = ()
    """Names of the remotes that may be pushed to; none by default."""
    remote_urls: Mapping[str, str] = {}
    """The URL for each remote's pushes; it overrides the repository's configuration. A remote without an entry is
    pushed to its configured URL, if that is `https` or `ssh`; a `file` URL must be listed here."""
    allowed_branches: tuple[str, ...] | None = None
    """Full names of the only branches that may be pushed; by default, all branches with the prefix."""
    tag_pattern: str = ""
    """An RE2 pattern that must match the whole name of a tag before it is made or pushed; empty: no tags."""
    allow_worktree_dirty: bool = False
    """Whether `create_branch`, `checkout`, `tag` and `push` may run with uncommitted changes, and
    `commit` with changes that are not staged."""
    ref_pattern: str = Field(
        default=DEFAULT_REF_PATTERN, validation_alias=AliasChoices("ref_pattern", "allowed_ref_pattern")
    )
    """An RE2 pattern that must match a whole reference; some references are refused whatever it is."""
    protected: tuple[str, ...] = (".toolcharter",)
    """Name globs of files whose content is never shown or added, in addition to the profile's own globs."""
    max_output_chars: int = Field(default=60_000, ge=1)
    """The most characters of text that a call returns."""
    max_files: int = Field(default=200, ge=0)
    """The most files that one diff or `add` may touch, and the most entries that `status` lists."""
    max_commits: int = Field(default=500, ge=1)
    """The most commits that `log` lists; a call may ask for fewer."""
    max_since_chars: int = Field(default=64, ge=1)
    """The longest `since`, in characters."""
    context_lines: int = 3
    """The lines around each change in a diff; values outside of 0 to 20 become 0 or 20."""
    timeout_s: float = Field(default=30.0, gt=0)
    """The limit for each run of git, in seconds; the call's own limit applies as well."""
    author_name: str = "toolcharter agent"
    """The author of commits and tags if the repository's configuration has no name or no address."""
    author_email: str = "agent@toolcharter.invalid"
    """The address that goes with `author_name`."""

    def keeps_state_in(self) -> tuple[Path, ...]:
        """Return the local repositories that can be pushed to: git runs their hooks outside any sandbox."""
        paths = (url.removeprefix("file://") for url in self.remote_urls.values() if url.startswith("file://"))
        return tuple(Path(unquote(path)) for path in paths)

    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Warn of a `push` without `allow_push`, without a remote, or with a runner that gives git no network."""
        urls = [self.remote_urls.get(remote, "") for remote in self.allowed_remotes]
        if "push" not in self.allowed_actions:
            return
        if not self.allow_push:
            yield "`push` never runs: `allow_push` is false."
        elif not urls:
            yield "`push` never runs: `allowed_remotes` lists no remote."
        elif place.network != "open" and not any(url.startswith("file:") for url in urls):
            # A runner with restricted network access gives it only to programs that ask for it, and git does not.
            yield f"`push` reaches no remote: {place.runner!r} gives git no network; use `runner: host` to push."

    @field_validator("context_lines")
    @classmethod
    def _clamp(cls, value: int) -> int:
        return min(max(value, 0), MAX_CONTEXT_LINES)

    @field_validator("managed_branch_prefix")
    @classmethod
    def _end_prefix(cls, value: str) -> str:
        # `agent` must not cover `agent-of-somebody-else`.
        return f"{value}/" if value and value[-1].isalnum() else value

    @field_validator("ref_pattern", "tag_pattern")
    @classmethod
    def _compile(cls, value: str) -> str:
        if value not in ("", DEFAULT_REF_PATTERN):
            matches(value, "")
        return value

    @model_validator(mode="after")
    def _check_prefix(self) -> Self:
        if self.managed_branch_prefix and not is_branch_name(f"{self.managed_branch_prefix}x"):
            raise ValueError(f"no valid branch name begins with managed_branch_prefix {self.managed_branch_prefix!r}")
        return self
