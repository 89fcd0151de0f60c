"""The reasons of the core and of its guards: one table that code, docs and the `reasons` command read."""

from enum import StrEnum
from typing import Literal, NamedTuple


class Reason(StrEnum):
    """Why the core denies a call or reports an error. Tools add reasons of their own."""

    UNKNOWN_TOOL = "unknown_tool"
    NOT_AVAILABLE = "not_available"
    DENIED_BY_FLOOR = "denied_by_floor"
    DENIED_BY_RULE = "denied_by_rule"
    ASKED_BY_RULE = "asked_by_rule"
    NOT_IN_ALLOW = "not_in_allow"
    CAPABILITY_NOT_ALLOWED = "capability_not_allowed"
    SAFETY_TOO_HIGH = "safety_too_high"
    NOT_UNDERSTOOD = "not_understood"
    CHECK_FAILED = "check_failed"
    PRECONDITION_FAILED = "precondition_failed"
    REPEATED_CALL = "repeated_call"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_TIMEOUT = "approval_timeout"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    APPROVAL_HANDED_ON = "approval_handed_on"
    RATE_LIMITED = "rate_limited"
    PATH_OUTSIDE_WORKSPACE = "path_outside_workspace"
    PROTECTED_PATH = "protected_path"
    PRIVATE_ADDRESS = "private_address"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    TOOL_STUCK = "tool_stuck"
    INVALID_ARGUMENTS = "invalid_arguments"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    NONZERO_EXIT = "nonzero_exit"
    TOOL_ERROR = "tool_error"
    UNEXPECTED_FAILURE = "unexpected_failure"
    AUDIT_LOST = "audit_lost"


class GuardReason(StrEnum):
    """Why a guard raises `ToolError` or `Denied`. Every tool may pass these reasons on without declaring them."""

    PATH_NOT_FOUND = "path_not_found"
    NOT_DIRECTORY = "not_directory"
    IS_DIRECTORY = "is_directory"
    NOT_REGULAR = "not_regular"
    INVALID_PATH = "invalid_path"
    READ_FAILURE = "read_failure"
    WRITE_FAILURE = "write_failure"
    PATH_EXISTS = "path_exists"
    NOT_EMPTY = "not_empty"
    CHANGED_MEANWHILE = "changed_meanwhile"
    HARD_LINK = "hard_link"
    VIRTUAL_PATH = "virtual_path"
    ROUTE_FAILED = "route_failed"
    PATH_LOCKED = "path_locked"
    LOCKS_UNAVAILABLE = "locks_unavailable"
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_CONFLICT = "store_conflict"
    PROGRAM_NOT_FOUND = "program_not_found"
    WORKER_LOST = "worker_lost"
    URL_NOT_UNDERSTOOD = "url_not_understood"
    SCHEME_NOT_ALLOWED = "scheme_not_allowed"
    CREDENTIALS_IN_URL = "credentials_in_url"
    DOMAIN_NOT_ALLOWED = "domain_not_allowed"
    PORT_NOT_ALLOWED = "port_not_allowed"
    INSECURE_REDIRECT = "insecure_redirect"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    HOST_NOT_FOUND = "host_not_found"
    CONNECTION_FAILED = "connection_failed"
    TLS_FAILURE = "tls_failure"
    INVALID_RESPONSE = "invalid_response"
    RESPONSE_TOO_LARGE = "response_too_large"


class ReasonInfo(NamedTuple):
    """What a reason means, and whether a retry of the same call can succeed."""

    outcome: Literal["asked", "denied", "error"]
    """`asked`: why a person is asked; no call ever ends with this reason."""
    meaning: str
    retryable: bool = False
    hint: str | None = None
    """What a model could do instead. It must reveal nothing of the policy."""


CORE_REASONS: dict[Reason, ReasonInfo] = {
    Reason.UNKNOWN_TOOL: ReasonInfo("denied", "The profile has no tool of this name."),
    Reason.NOT_AVAILABLE: ReasonInfo(
        "denied",
        "The tool exists but not for this caller.",
        hint="Use one of the tools that are listed, or ask the user.",
    ),
    Reason.DENIED_BY_FLOOR: ReasonInfo(
        "denied",
        "The call is catastrophic; no profile and no person can permit it.",
        hint="Do not try it in another form; tell the user what you wanted to achieve.",
    ),
    Reason.DENIED_BY_RULE: ReasonInfo(
        "denied", "A `deny` rule matches the call.", hint="Do not repeat the call; take another way, or ask the user."
    ),
    Reason.ASKED_BY_RULE: ReasonInfo("asked", "An `ask` rule matches the call, so a person has to approve it."),
    Reason.NOT_IN_ALLOW: ReasonInfo(
        "denied",
        "The tool needs a matching `allow` rule and there is none.",
        hint="Use another tool or a simpler call, or ask the user to allow it.",
    ),
    Reason.CAPABILITY_NOT_ALLOWED: ReasonInfo(
        "denied",
        "The action needs a capability that the profile does not allow.",
        hint="Use a tool or an action that needs fewer capabilities, or ask the user.",
    ),
    Reason.SAFETY_TOO_HIGH: ReasonInfo(
        "denied",
        "The tool's safety level is above the profile's `max_safety`.",
        hint="Use a tool that can do less harm, or ask the user.",
    ),
    Reason.NOT_UNDERSTOOD: ReasonInfo(
        "denied",
        "The command, or another input of the rules, cannot be parsed with certainty.",
        hint="Make one plain call of one program, without expansions or operators.",
    ),
    Reason.CHECK_FAILED: ReasonInfo("denied", "A check raised an exception, timed out, or gave an invalid answer."),
    Reason.PRECONDITION_FAILED: ReasonInfo("denied", "Another call has to come first."),
    Reason.REPEATED_CALL: ReasonInfo("denied", "The same call was made too often."),
    Reason.APPROVAL_DENIED: ReasonInfo(
        "denied", "The person asked said no.", hint="Do not repeat the call; take another way, or ask the user."
    ),
    Reason.APPROVAL_TIMEOUT: ReasonInfo("denied", "The person asked did not answer in time.", retryable=True),
    Reason.APPROVAL_UNAVAILABLE: ReasonInfo(
        "denied", "A person has to approve the call, and none can be asked.", hint="Find a way that needs no approval."
    ),
    Reason.APPROVAL_HANDED_ON: ReasonInfo(
        "denied",
        "Another process continues the call and asks for approval. This process has not run it, and this is not its end.",
    ),
    Reason.RATE_LIMITED: ReasonInfo("denied", "Too many calls in a period of time.", retryable=True),
    Reason.PATH_OUTSIDE_WORKSPACE: ReasonInfo("denied", "The path leads out of the workspace."),
    Reason.PROTECTED_PATH: ReasonInfo("denied", "The path is protected, wherever it lies."),
    Reason.PRIVATE_ADDRESS: ReasonInfo("denied", "The address is not public."),
    Reason.SANDBOX_UNAVAILABLE: ReasonInfo("denied", "The profile's runner is missing; nothing runs without it."),
    Reason.AUDIT_UNAVAILABLE: ReasonInfo(
        "denied", "A required event sink cannot be written, so the call did not run.", retryable=True
    ),
    Reason.TOOL_STUCK: ReasonInfo("denied", "Too many earlier calls of the tool never returned."),
    Reason.INVALID_ARGUMENTS: ReasonInfo("error", "The arguments do not fit the tool's schema."),
    Reason.TIMED_OUT: ReasonInfo("error", "The call took longer than its time limit.", retryable=True),
    Reason.CANCELLED: ReasonInfo("error", "The caller cancelled the call.", retryable=True),
    Reason.NONZERO_EXIT: ReasonInfo("error", "The program ended with a non-zero exit status."),
    Reason.TOOL_ERROR: ReasonInfo("error", "The tool reports a failure without a reason of its own."),
    Reason.UNEXPECTED_FAILURE: ReasonInfo("error", "The tool raised an exception it did not expect."),
    Reason.AUDIT_LOST: ReasonInfo("error", "The call ran, but its closing events could not be written."),
}

GUARD_REASONS: dict[GuardReason, ReasonInfo] = {
    GuardReason.PATH_NOT_FOUND: ReasonInfo("error", "Nothing exists at the path."),
    GuardReason.NOT_DIRECTORY: ReasonInfo("error", "The path, or a part of it, is no folder."),
    GuardReason.IS_DIRECTORY: ReasonInfo("error", "The path is a folder, but a file is needed."),
    GuardReason.NOT_REGULAR: ReasonInfo("error", "The path is a device, a pipe or a socket."),
    GuardReason.INVALID_PATH: ReasonInfo(
        "error", "The path is empty, too long, or contains characters that no path can have."
    ),
    GuardReason.READ_FAILURE: ReasonInfo("error", "The file exists but cannot be read."),
    GuardReason.WRITE_FAILURE: ReasonInfo("error", "The system refused the change; nothing was changed."),
    GuardReason.PATH_EXISTS: ReasonInfo("error", "Something already exists at the path of the new file or folder."),
    GuardReason.NOT_EMPTY: ReasonInfo("error", "The folder is not empty."),
    GuardReason.CHANGED_MEANWHILE: ReasonInfo(
        "error", "Another process changed the file after it was read and before it was written.", retryable=True
    ),
    GuardReason.HARD_LINK: ReasonInfo("denied", "The file has other names, which may lie outside the workspace."),
    GuardReason.VIRTUAL_PATH: ReasonInfo(
        "error", "The file is virtual: it is not on the disk, so it cannot be moved or replaced by a folder."
    ),
    GuardReason.ROUTE_FAILED: ReasonInfo("error", "The extension that keeps the virtual file has failed."),
    GuardReason.PATH_LOCKED: ReasonInfo(
        "denied", "Another agent or session has locked the path for a while.", retryable=True
    ),
    GuardReason.LOCKS_UNAVAILABLE: ReasonInfo(
        "denied",
        "The locks could not be checked, or another process was writing for too long. Nothing was written.",
        retryable=True,
    ),
    GuardReason.STORE_UNAVAILABLE: ReasonInfo(
        "denied", "The store cannot be reached, read or decrypted, so calls that need it are denied.", retryable=True
    ),
    GuardReason.STORE_CONFLICT: ReasonInfo(
        "error",
        "Another writer changed the record in the meantime, or the lease was lost; nothing was written.",
        retryable=True,
    ),
    GuardReason.PROGRAM_NOT_FOUND: ReasonInfo(
        "error", "The program is not installed in a folder that programs may be run from."
    ),
    GuardReason.WORKER_LOST: ReasonInfo(
        "error", "The worker that ran the program died or cannot be reached. The program may have had effects before."
    ),
    GuardReason.URL_NOT_UNDERSTOOD: ReasonInfo(
        "denied", "The URL is not in a form that all programs parse in the same way."
    ),
    GuardReason.SCHEME_NOT_ALLOWED: ReasonInfo("denied", "The URL is neither http nor https."),
    GuardReason.CREDENTIALS_IN_URL: ReasonInfo("denied", "The URL carries a user name or a password."),
    GuardReason.DOMAIN_NOT_ALLOWED: ReasonInfo("denied", "The policy does not let the tool reach this host."),
    GuardReason.PORT_NOT_ALLOWED: ReasonInfo("denied", "The policy does not let the tool reach this port."),
    GuardReason.INSECURE_REDIRECT: ReasonInfo("denied", "A redirect leads from https to http."),
    GuardReason.TOO_MANY_REDIRECTS: ReasonInfo(
        "error", "The host redirected the request more often than the limit allows."
    ),
    GuardReason.HOST_NOT_FOUND: ReasonInfo("error", "The host's name has no address."),
    GuardReason.CONNECTION_FAILED: ReasonInfo(
        "error", "The host cannot be reached, or it closed the connection.", retryable=True
    ),
    GuardReason.TLS_FAILURE: ReasonInfo("error", "The host's certificate is not valid for its name, or TLS failed."),
    GuardReason.INVALID_RESPONSE: ReasonInfo(
        "error", "The host's answer is not valid HTTP, or is in no known encoding."
    ),
    GuardReason.RESPONSE_TOO_LARGE: ReasonInfo("error", "The host's answer is larger than the limit."),
}

_ALL_REASONS = (*CORE_REASONS.items(), *GUARD_REASONS.items())
KNOWN_OUTCOMES: dict[str, str] = {str(reason): info.outcome for reason, info in _ALL_REASONS}
"""The outcome of each reason of the core and its guards."""
RETRYABLE = frozenset(str(reason) for reason, info in _ALL_REASONS if info.retryable)
"""The reasons after which a retry of the same call can succeed, whether the core or a plugin gives them."""
HINTS: dict[str, str] = {str(reason): info.hint for reason, info in CORE_REASONS.items() if info.hint is not None}
"""What a model should do instead, for results that carry no hint of their own."""
