"""Commands of Windows that destroy a system. POSIX shells may pass them on to `cmd` and PowerShell."""

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.word_texts import QUOTED_GLOB, Arg

_WHOLE_FOLDERS = frozenset({"*", "*.*", ".", "..", "\\", "/", "./*", ".\\*", "..\\*", "../*", "~", "~/", "/*"})
_VITAL = frozenset({"users", "windows", "system32", "program files", "programdata", "boot", "documents and settings"})
_LISTERS = frozenset({"get-childitem", "gci", "dir", "ls", "get-item", "gi"})
_REMOVERS = frozenset({"remove-item", "ri", "rm", "del", "erase", "rd", "rmdir"})
# Source: sc.exe and net of Windows; the names of the services of Defender, of its firewall and of the event log.
_VITAL_SERVICES = frozenset(
    {"windefend", "wdnissvc", "sense", "mpssvc", "bfe", "wscsvc", "eventlog", "winmgmt", "rpcss"}
)
_POWERSHELL_SWITCHES = ("-r", "-rec", "-recurse")
_RECURSIVE_SWITCHES = {
    "rd": ("/s",),
    "rmdir": ("/s",),
    "del": ("/s", "/f", "/q"),
    "erase": ("/s", "/f", "/q"),
    "deltree": (),
}


def check_delete(call: Call, context: Context) -> str | None:
    """`del`, `rd`, `deltree`, `Remove-Item`: drives, the system, and everything in the working folder."""
    # A backslash before a blank is bash's: of `C:\ -Recurse` it makes one word.
    parts = [part for text in call.texts for part in text.split()]
    switches = {one.lower() for part in parts for one in _switches(part)}
    wanted = _RECURSIVE_SWITCHES.get(call.name)
    is_meant = (
        bool(switches & set(_POWERSHELL_SWITCHES)) if wanted is None else not wanted or bool(switches & {*wanted})
    )
    if not is_meant:
        return None
    listed = [
        Arg(part)
        for one in context.feeders(call)
        if one.name in _LISTERS
        for text in one.texts
        for part in text.split()
    ]
    for arg in (*call.args, *map(Arg, parts), *listed):
        if arg.text[:1] == "-" or _switches(arg.text):
            continue
        if is_vital_path(arg.text) or context.loss(call, arg):
            return "deletes a disk, the system or all that lies here"
    return None


def is_vital_path(text: str) -> bool:
    r"""Whether a Windows path is a drive, the whole content of a folder, or a part of the system: `C:\`, `*`, `C:\Users`."""
    lowered = text.lower().replace("/", "\\").replace(QUOTED_GLOB, "*").rstrip("\\")
    if (
        text.lower() in _WHOLE_FOLDERS
        or "userprofile" in lowered
        or "systemroot" in lowered
        or "systemdrive" in lowered
    ):
        return True
    drive, colon, rest = lowered.partition(":")
    if not colon or len(drive) > 1:
        return False
    rest = rest.strip("\\*. ")
    return not rest or any(rest.startswith(name) for name in _VITAL)


def _switches(text: str) -> tuple[str, ...]:
    """The switches of one word: `/F/Q` is two; `-Recurse` is one."""
    if text[:1] == "/" and all(len(part) == 1 or part[1:2] in {":", "-"} for part in text[1:].split("/")):
        return tuple(f"/{part}" for part in text[1:].split("/") if part)
    return (text,) if text[:1] == "-" else ()


def check_format(call: Call, context: Context) -> str | None:
    """`format C:`; without a drive, `format` is another program."""
    for arg in call.args:
        lowered = arg.text.lower()
        if (len(lowered.rstrip("\\/")) == 2 and lowered[1:2] == ":") or context.disk(call, arg):  # noqa: PLR2004 - `c:`
            return "destroys a disk (format)"
    return None


def check_remote_script(call: Call, _context: Context) -> str | None:
    """`mshta http://...`, `regsvr32 /i:http://...`, `msiexec /i http://...`, `certutil -urlcache`: fetch and run."""
    if any("://" in text or text.lower().startswith(("javascript:", "vbscript:", "\\\\")) for text in call.texts):
        return "runs code from the network"
    return None


def check_powershell(call: Call, _context: Context) -> str | None:
    """`powershell -EncodedCommand`, and text that fetches and runs code."""
    for text in call.texts:
        lowered = text.lower()
        if (
            lowered.startswith(("-e", "/e"))
            and "-encodedcommand".startswith(lowered.replace("/", "-"))
            and len(lowered) > 1
        ):
            return "runs decoded text as code"
        if lowered == "-ec":
            return "runs decoded text as code"
    return check_powershell_source(" ".join(call.texts))


def check_powershell_source(source: str) -> str | None:
    """Why the PowerShell script *source* is catastrophic."""
    lowered = source.lower()
    runs = "invoke-expression" in lowered or "iex" in lowered
    if runs and any(mark in lowered for mark in ("http", "iwr", "webclient", "download", "webrequest", "irm")):
        return "runs code from the network"
    if "net.sockets.tcpclient" in lowered:
        return "hands a shell to a remote host"
    words = lowered.replace(";", " ").split()
    if any(word in {"stop-computer", "restart-computer", "clear-disk", "format-volume"} for word in words):
        return "takes the system away"
    deletes = not _REMOVERS.isdisjoint(words) and any(word.startswith("-r") for word in words)
    return (
        "deletes a disk or the system" if deletes and any(is_vital_path(word.strip("'\"")) for word in words) else None
    )


def check_invoke_expression(call: Call, context: Context) -> str | None:
    """`iex`: it runs text that is no literal, or that is fetched."""
    fetched = any(
        one.name in {"iwr", "irm", "curl", "wget", "invoke-webrequest", "invoke-restmethod"}
        for one in context.feeders(call)
    )
    if fetched:
        return "runs code from the network"
    if any(word.text is None for word in call.command.words[1:]):
        return "evaluates text as code"
    return check_powershell_source("iex " + " ".join(call.texts))


def check_service(call: Call, _context: Context) -> str | None:
    """`sc stop WinDefend`, `net stop eventlog`: services that protect Windows, or that it stands on."""
    texts = [text.lower() for text in call.texts]
    is_ended = not {"stop", "delete", "config"}.isdisjoint(texts[:2])
    return "takes the system away" if is_ended and not _VITAL_SERVICES.isdisjoint(texts) else None


def check_permissions(call: Call, _context: Context) -> str | None:
    r"""`takeown /f C:\ /r`, `icacls C:\ /grant Everyone:F /t`: a whole drive, or the system."""
    texts = [part for text in call.texts for part in text.lower().split()]  # As in `delete`.
    is_whole = not {"/r", "/t"}.isdisjoint(texts) and any(map(is_vital_path, texts))
    return "changes who may use the whole system" if is_whole else None


def check_registry(call: Call, _context: Context) -> str | None:
    r"""`reg delete HKLM\Software`: it deletes the configuration of Windows."""
    texts = [text.lower() for text in call.texts]
    is_vital_key = any(text.startswith(("hklm", "hkey_local_machine", "hkcr", "hkey_classes_root")) for text in texts)
    return "takes the system away" if texts[:1] == ["delete"] and is_vital_key else None
