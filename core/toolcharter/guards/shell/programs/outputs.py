"""Names that what a program makes ordinarily has: `bin/app`, `cover.out`, `dist`.

A program writes its output over whatever has that name. So a star covers an output only where its name says that nobody
wrote it by hand; `src` and `main.go` have to be mentioned. Letters alone: nothing is looked up on the disk.
"""

import re
from typing import Final

_FOLDER: Final = re.compile(
    r"[._]?(?:cmake-)?(?:build|dist|out|outputs?|target|bin|obj|coverage|htmlcov|cov|tmp|temp|cache|reports?|(?:test-)?results?"
    r"|artifacts?|logs?|wheels|wheelhouse|site|next|venv|virtualenv)"
    r"(?:[-_](?:debug|release|relwithdebinfo|minsizerel|dev|prod(?:uction)?|tests?|ci|esm|cjs|types|web|node|ssr|client"
    r"|server|asan|tsan|ubsan|cov(?:erage)?|\d+))?",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
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
_LONGEST: Final = 255
KINDS: Final = {"": _FILE, "requirements": _REQUIREMENTS}
"""By what follows the colon of the role `made`: the names that a file of that kind may have outside a folder for output."""


def objection(path: str, kind: str) -> str | None:
    """Why *path* has to be mentioned where a program writes its output to it; None if its name is one for output.

    Args:
        path: As the program gets it.
        kind: A key of `KINDS`.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    # No file system takes longer names.
    if any(len(part) > _LONGEST for part in parts):
        return "is no name of a file"
    if parts and ".." not in parts and (any(map(_FOLDER.fullmatch, parts)) or KINDS[kind].fullmatch(parts[-1])):
        return None
    return "is written, and is not called as output is"
