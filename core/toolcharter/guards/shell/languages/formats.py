"""Dates and formats: in what form date, printf, curl and kubectl print; and the modes of files."""

import re
from typing import Final

_ZONE: Final = re.compile(r'TZ="(.*)')
_ZONE_NAME: Final = re.compile(r'[A-Za-z0-9][A-Za-z0-9_+/-]*"')
# Flags, width and precision in any number and order, more than any version knows. Possessive: linear time.
_SETS_VARIABLE: Final = re.compile(r"%[-+ 0#',*.$0-9hjlLqtz]*+n")
_CLAUSE: Final = r"[ugoa]*(?:-[rwxXstugo]*|[+=][rwxXtugo]*)+"
_MODE: Final = re.compile(rf"[-+=]?0*1?[0-7]{{1,3}}|{_CLAUSE}(?:,{_CLAUSE})*")
_KUBE_OUTPUT: Final = re.compile(
    r"=?(?:json|yaml|kyaml|name|wide|table|short|(?:jsonpath|jsonpath-as-json|go-template|template|custom-columns)=.*)",
    re.DOTALL,
)


def date(text: str) -> str | None:
    """Dates of `date -d`: harmless unless they name a zone by a path.

    None for a date, in a zone of the system's if in any.

    Source: GNU coreutils 9.1, "Date input formats": `TZ="..."` in front of a date; tzset(3) on zones that are files.
    """
    zone = _ZONE.search(text)
    return None if zone is None or _ZONE_NAME.match(zone[1]) else "names a zone that may be any file"


def manual_page(text: str) -> str | None:
    """What `man` shows: a page of the system by its name; a file could have any other shown, by `.so /etc/passwd`.

    None for a name.

    Source: man-db 2.11, man(1): an argument that holds a slash is a file.
    """
    return "is a file, which may have any other shown" if "/" in text else None


def printf(text: str) -> str | None:
    """Formats of bash's `printf`: harmless unless they set a variable.

    None if it only prints.

    Source: bash 5.2, `builtins/printf.def`: `%n` stores how much has been printed, be it in PATH.
    """
    return "sets a variable of the shell" if _SETS_VARIABLE.search(text.replace("%%", "")) else None


def file_mode(text: str) -> str | None:
    """Modes of chmod and install: a file with its owner's rights (`u+s`, `4755`) is nothing that a star stands for.

    None for one that gives no such rights.

    Source: GNU coreutils 9.1, "File permissions".
    """
    return None if _MODE.fullmatch(text) else "may give whoever runs the file its owner's rights"


def curl_text(text: str) -> str | None:
    """Headers and formats of curl: text, unless it says a file to read or to write.

    None for text and nothing else.

    Source: curl(1), `--header` and `--write-out`: `@FILE` is read, and `%output{FILE}` is written.
    """
    return "may read or write a file" if text.startswith("@") or "%output" in text else None


def kube_output(text: str) -> str | None:
    """Values of kubectl's and helm's `-o`: formats that print, and those that take a template from a file.

    None if it says how to print, and nothing else.

    Source: kubectl 1.33, `kubectl get --help`.
    """
    return None if _KUBE_OUTPUT.fullmatch(text) else "may take a template from a file"
