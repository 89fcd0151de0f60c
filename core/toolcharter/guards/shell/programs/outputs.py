"""Recognises common names of output files and folders: `bin/app`, `cover.out`, `dist`.

A program overwrites any file at the path of its output. So a star in a rule covers an output only if its name is that of a
generated file; a rule has to mention `src` or `main.go`. Only the text of the path counts: nothing is looked up on disk.
"""

import re
from typing import Final

_OUTPUT_FOLDER: Final = re.compile(
    r"[._]?(?:cmake-)?(?:build|dist|out|outputs?|target|bin|obj|coverage|htmlcov|cov|tmp|temp|cache|reports?|(?:test-)?results?"
    r"|artifacts?|logs?|wheels|wheelhouse|site|next|venv|virtualenv)"
    r"(?:[-_](?:debug|release|relwithdebinfo|minsizerel|dev|prod(?:uction)?|tests?|ci|esm|cjs|types|web|node|ssr|client"
    r"|server|asan|tsan|ubsan|cov(?:erage)?|\d+))?",
    re.IGNORECASE,
)
_OUTPUT_FILE: Final = re.compile(
    r"[\w.-]+\.(?:out|prof|pprof|log|lcov|cov|coverage|trace|sarif|tap|tfplan|test|exe|wasm|o|a|so|rlib|whl|tsbuildinfo)"
    r"|(?:[\w.-]*[-_.])?(?:coverage|cover|cov|junit|results?|reports?|profile|bench(?:mark)?|trace|timings?)(?:[-_.][\w-]*)?"
    r"\.(?:xml|json|txt|html|md|csv|info|svg)"
    r"|(?:[\w.-]*[-_.])?(?:tfplan|plan)(?:\.bin)?",
    re.IGNORECASE,
)
_REQUIREMENTS: Final = re.compile(
    r"(?:[\w.-]*[-_.])?(?:requirements|constraints)(?:[-_.][\w-]*)?\.(?:txt|lock)|pylock(?:\.[\w-]+)?\.toml",
    re.IGNORECASE,
)
_MAX_LENGTH: Final = 255
KINDS: Final = {"": _OUTPUT_FILE, "requirements": _REQUIREMENTS}
"""The names that an output outside of an output folder may have, for each argument of the role `made`."""


def objection(path: str, kind: str) -> str | None:
    """Why a rule has to mention *path*, the output of a program; None if its name is one for output.

    Args:
        path: The path as the program gets it.
        kind: A key of `KINDS`.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    # No file system takes longer names.
    if any(len(part) > _MAX_LENGTH for part in parts):
        return "is no name of a file"
    if parts and ".." not in parts and (any(map(_OUTPUT_FOLDER.fullmatch, parts)) or KINDS[kind].fullmatch(parts[-1])):
        return None
    return "is written, and is not called as output is"
