"""Classifies one-liners of Python, Perl, Ruby, JavaScript, PHP, Lua and awk by indicators in their text.

No language is parsed. A few patterns, each searched in linear time, decide. Quoted texts are checked as paths, and as shell
lines if the code starts programs.

Sources: GTFOBins; PayloadsAllTheThings, "Reverse Shell Cheat Sheet".
"""

from functools import cache, lru_cache
from importlib import import_module
from typing import Any

_EVAL = {
    "python": r"(?:^|[^.\w])(?:exec|eval|compile)\s*\(|\bbuiltins\b.{0,9}(?:exec|eval)|__builtins__|\bmarshal\.loads|\bpickle\.loads|\brunpy\b|\bcode\.interact",
    "perl": r"\beval\b\s*(?:[^{\s]|$)|\bdo\s*\{\s*local|\bunpack\b.{0,40}\beval\b",
    "ruby": r"\b(?:eval|instance_eval|class_eval|module_eval)\b|\.send\(:eval",
    "node": r"(?:^|[^.\w])eval\b|\bnew\s+Function\b|\bFunction\(|\brunIn(?:This|New)?Context\b|\bvm\.Script\b",
    "php": r"\beval\s*\(|\bassert\s*\(|\binclude\s*\(?\s*.https?:|\bcreate_function\s*\(|\bpreg_replace\s*\(\s*.{0,3}/.{0,99}/e",
    "lua": r"\bload(?:string)?\s*\(|\bdofile\s*\(",
    "awk": r"\bgetline.{0,99}\bsystem\s*\(",
    "editor": r"\b(?:exe|execute|eval)\b\s*\(?\s*system",
    "rscript": r"\beval\s*\(|\bsource\s*\(\s*(?:url\s*\(\s*)?.(?:https?|ftp):",
    "julia": r"\beval\s*\(|@eval\b|\binclude_string\s*\(|\binclude\s*\(\s*[Dd]ownload",
    "any": r"\beval\b",
}
_FETCH = (
    r"\burlopen|\burllib|\brequests\.|\bhttpx?\.|\bhttp\.client|\baiohttp|\bfetch\s*\(|\bLWP\b|\bHTTP::Tiny|\bNet::HTTP|"
    r"\bopen-uri|\bURI\.|file_get_contents\s*\(\s*.https?:|\bcurl\b|\bwget\b|\bftplib|\bhttps?\.get|\bsource\s*\(\s*(?:url\s*\(\s*)?.https?:|\bdownload(?:\.file)?\s*\(|require\(.https?.\)|\bimport\(.https?:"
)
_SOCKET = (
    r"\bsocket\b|\bSocket\b|\bTCPSocket\b|\bfsockopen|\bpfsockopen|\bIO::Socket|\bsocket_create|\bnet\.(?:Socket|connect|createConnection)|"
    r"require\(.net.\)|\bcreateConnection\b|/inet/(?:tcp|udp)|\bTCPServer\b|\bUDPSocket\b|\bstream_socket_client\b|\bnet\.Dial\b|\bsocat\b"
)
_RUN = (
    r"\bsystem\b|\bexec[lv]?[pe]*\b|\bpopen|\bspawn|\bsubprocess|\bshell_exec|\bpassthru|\bproc_open|\bpty\b|\bdup2\b|\bqx\b|`|%x|"
    r"\bchild_process|\bexecSync|\bexecFile|/bin/(?:ba|da|z|k)?sh\b|\bcmd(?:\.exe)?\b|\bos\.execute|\bio\.popen|\bIO\.popen|\bgetline\b|\bcommands\.|\bRuntime\b|\bProcessBuilder\b|\bKernel\b|"
    r"\bDeno\.(?:run|Command)|\bdo shell script\b|\bshell-command|\bcall-process|\bstart-process|[\"']\.execute\s*\(|\bSystem\.(?:cmd|shell)\b|\bsys\.process\b|\|&?\s*\"|\bopen\b[^\"']{0,40}[\"'](?:-\||\||[^\"']{0,200}\|[\"'])"
)
_RUN_INPUT = r"\bsystem\s*\(\s*\$[0-9]+\s*\)|\|&?\s*\"(?:/\S*/)?(?:ba|da|z|k)?sh\b"
_STRONG_RUN = (
    r"\bdup2\b|\bpty\b|/bin/(?:ba|da|z|k)?sh\b|\bsubprocess|\bos\.(?:system|popen|exec)|\bexec\b|\bsystem\b|\bpopen\b|\bspawn\b|\bproc_open|"
    r"\bshell_exec|\bpassthru|\bchild_process|`|\bgetline\b|\bcmd\.exe|\bos\.execute|\bio\.popen"
)
_DECODED = (
    r"(?:b(?:64|32|16|85)decode|decode_base64|decode64|decodebytes|base64_decode|fromhex|unhexlify|codecs\.decode|str_rot13|gzinflate|"
    r"gzuncompress|(?:zlib|bz2|lzma|gzip)\.decompress|\batob|unpack\s*\(?\s*[\"'][uHhm]|pack\s*\(?\s*[\"'][Hh]|Buffer\.from\s*\([^()]*[\"'](?:base64|hex)[\"'])"
)
_CALLED = r"\b(?:system|popen[234]?|Popen|getoutput|getstatusoutput|check_output|check_call|call|run|spawn\w*|exec\w*|shell_exec|passthru|proc_open|eval|qx)\b"
# The text between a call and its argument: no character that ends the call or begins another statement.
_INSIDE = r"(?:\([^()]*\)|[^;\n()]|\(){0,80}?"
_RUN_DECODED = rf"{_CALLED}{_INSIDE}{_DECODED}"
_DECODED_NAME = rf"([A-Za-z_]\w*)\s*=[^=;\n][^;\n]{{0,99}}?{_DECODED}"
_RUN_NAME = rf"{_CALLED}\s*\(?([^;\n]{{1,80}})"
_WORD = r"[A-Za-z_]\w*"
_DELETE = (
    r"\brmtree\b|\brm_rf?\b|\brm_r\b|\bremove_entry|\bremove_dir|\brmSync\b|\brm\s*\(|\brmdirSync\b|\brimraf\b|\bremove_tree\b|\bunlink|\bremovedirs\b|"
    r"\bos\.remove\b|\bdelete_tree\b|\bremove\s*\(|\brmdir\b|\btruncate|\bFile\.delete\b|\bDeno\.remove|\bdelete-(?:directory|file)|\bos\.rename\b|\bshutil\.move\b|\bchmod|\bchown"
)
_WRITE = r"\bopen\b|\bwrite|\bcopyfile|\bfopen|\bFile\.|\bcreateWriteStream|\bfile_put_contents|\bopenSync|\bIO\.(?:copy|write)|>"
_HOME_FOLDER = r"expanduser|Path\.home\(\)|\bhomedir\(\)|\bDir\.home\b|environ.{0,5}HOME|ENV.{0,4}HOME|getenv.{0,3}HOME|process\.env\.HOME"
_FORK_LOOP = r"fork\b.{0,40}\b(?:while|for|until|loop|redo|goto)\b|\b(?:while|for|until|loop)\b.{0,60}fork\b|\bfork\(?\)?\s*(?:&&|and|\|\||or)?\s*\bfork|\(fork\b.{0,9}\)\s*\{|\bfork\b.{0,20}\bfork\b.{0,20}\bfork|fork\(__filename|\bfork\(process\.argv|:\(\)"
_SPAWN_LOOP = r"\b(?:while|for|until|loop)\b\s*\(?\s*(?:1|True|true|;;|!0|\{)\s*\)?.{0,40}(?:\bsystem|\bspawn|\bPopen|\bexec|\bstart_new|&\")"
_SYSTEM_CONTROL = r"os\.kill\(\s*-?1\s*,|\bkill\s*\(?\s*.?(?:9|KILL|SIGKILL).?\s*,\s*-?1\b|\bprocess\.kill\(\s*-?1\b|\breboot\(|RB_POWER_OFF|RB_AUTOBOOT|ExitWindows|sysrq-trigger|LINUX_REBOOT"
_QUOTES = "'\"`"
_JOINS = r"\"\s*[+.]?\s*\"|'\s*[+.]?\s*'"
_Q_QUOTES = (
    r"(?:\bq[qxw]?|%[xqQwW]?)\s?(?:\(([^)]*)\)|\{([^}]*)\}|\[([^\]]*)\]|<([^>]*)>|/([^/]*)/|\|([^|]*)\||!([^!]*)!)"
)
"""`q(...)`, `qw{...}`, `qx/.../` of Perl, `%x(...)` of Ruby."""
MAX_TEXTS = 64


@cache
def compile_pattern(source: str) -> Any:
    """Compile a regular expression that is searched in linear time; `.` matches any character, `$` only the end."""
    re2 = import_module("re2")  # only inline code needs it
    options = re2.Options()
    options.dot_nl = True
    options.log_errors = False
    return re2.compile(source, options=options)


def _matches(source: str, code: str) -> bool:
    return compile_pattern(source).search(code) is not None


@lru_cache(256)
def find_reason(language: str, code: str) -> str | None:
    """Why *code* is catastrophic by itself; None if it is not."""
    code = code.encode("utf-8", "replace").decode()
    if language in {"awk", "gawk", "mawk", "nawk"}:
        return _find_awk_reason(code)
    if _matches(_SOCKET, code) and _matches(_STRONG_RUN, code):
        return "hands a shell to a remote host"
    if _matches(_FORK_LOOP, code) or _matches(_SPAWN_LOOP, code):
        return "is a fork bomb"
    if _runs_decoded(code):
        return "runs decoded text as code"
    return "takes the system away" if _matches(_SYSTEM_CONTROL, code) else _find_source_reason(language, code)


def _runs_decoded(code: str) -> bool:
    """Whether the code passes decoded text to a shell or an interpreter, directly or through a variable."""
    if not _matches(_DECODED, code):
        return False
    if _matches(_RUN_DECODED, code):
        return True
    names = {found[1] for found in compile_pattern(_DECODED_NAME).finditer(code)}
    given = (found[1] for found in compile_pattern(_RUN_NAME).finditer(code))
    return bool(names) and any(names & {word[0] for word in compile_pattern(_WORD).finditer(text)} for text in given)


def _find_source_reason(language: str, code: str) -> str | None:
    """Why it is catastrophic to run the output of *code*: the code fetches or decodes it."""
    language = "rscript" if language == "r" else language
    evaluates, fetches = _matches(_EVAL.get(language, _EVAL["any"]), code), _matches(_FETCH, code)
    if fetches and (evaluates or _matches(_RUN, code)):
        return "runs code from the network"
    return "evaluates text as code" if evaluates else None


def _find_awk_reason(code: str) -> str | None:
    if _matches(r"/inet[46]?/(?:tcp|udp)/", code):
        return "hands a shell to a remote host"
    if _matches(_SPAWN_LOOP, code):
        return "is a fork bomb"
    return "evaluates text as code" if _matches(_EVAL["awk"], code) else None


def deletes_files(code: str) -> bool:
    """Whether the code deletes, moves or opens up files and folders."""
    return _matches(_DELETE, code)


def writes_files(code: str) -> bool:
    """Whether the code writes files."""
    return _matches(_WRITE, code)


def starts_programs(code: str) -> bool:
    """Whether the code starts programs."""
    return _matches(_RUN, code)


def runs_its_input(code: str) -> bool:
    """Whether awk code passes the lines that it reads to a shell."""
    return _matches(_RUN_INPUT, code)


def names_home_folder(code: str) -> bool:
    """Whether the code looks up the home folder and appends nothing to it."""
    return _matches(_HOME_FOLDER, code)


def quoted_texts(code: str) -> list[str]:
    """The quoted texts, at most 64, and the concatenations of them that the code makes."""
    found = _find_quoted(code)
    joined = compile_pattern(_JOINS).sub("", code, 4 * MAX_TEXTS)
    found += _find_quoted(joined) if joined != code else []
    return [*found, *(next(filter(None, one.groups()), "") for one in compile_pattern(_Q_QUOTES).finditer(code))][
        :MAX_TEXTS
    ]


def _find_quoted(code: str) -> list[str]:
    """The quoted texts; a quote behind a backslash does not end one."""
    found: list[str] = []
    at = 0
    while at < len(code) and len(found) < MAX_TEXTS:
        if code[at] in _QUOTES:
            end = _end_of_quote(code, at)
            found.append(code[at + 1 : end])
            at = end
        at += 1
    return found


def _end_of_quote(code: str, start: int) -> int:
    at = start + 1
    while at < len(code) and code[at] != code[start]:
        at += 2 if code[at] == "\\" else 1
    return min(at, len(code))
