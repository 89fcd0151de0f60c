"""Copy sample files into `tests/data/cases`, with each text in parts that looks like a secret.

    python scripts/keep_samples.py FOLDER            copies anew what `tests/data/cases` has of FOLDER
    python scripts/keep_samples.py FOLDER NAME...    copies these, such as `seeds/000-notify.jsonl`

A file is JSON, or one JSON object for each line. Texts are cut where the scrubber would mask them, where the row itself
names its `secrets`, and in addresses of package indexes. `tests/samples.py` joins them.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.spans import find_spans

KEPT = Path(__file__).resolve().parent.parent / "tests/data/cases"
PIECE = 8
"""In characters: what scanners for secrets look for is longer."""
_FIRST = 4
"""In characters: the prefix by which a provider's keys are known ends up in two parts."""
_KNOWN = re.compile(
    "index-url"
    "|registry=http"
    "|-----(?:BEGIN|END) [A-Z ]+-----"
    r"|\b(?:AKIA|ASIA|AIza|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-|sk_live_|rk_live_|eyJ)[A-Za-z0-9_./+-]{12,}"
)
"""Besides what the scrubber finds: prefixes that scanners know, with whatever follows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the samples lie")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the files to copy; without, those that are kept already"
    )
    options = parser.parse_args(arguments)
    names = options.names or [str(file.relative_to(KEPT)) for file in sorted(KEPT.rglob("*.json*"))]
    for name in names:
        target = KEPT / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(kept((options.folder / name).read_text(), is_table=target.suffix == ".jsonl"))
    return 0


def kept(text: str, *, is_table: bool) -> str:
    """The text of a file of samples as it is stored."""
    if is_table:
        return "".join(f"{json.dumps(in_parts(json.loads(line)))}\n" for line in text.splitlines())
    return f"{json.dumps(in_parts(json.loads(text)), indent=1)}\n"


def in_parts(value: Any) -> Any:
    """*value* with `{"parts": [...]}` for each text in it that has something to hide."""
    match value:
        case str():
            return _split(value, _found(value))
        case list():
            return [in_parts(inner) for inner in value]
        case dict():
            named = [(span["start"], span["end"]) for span in value.get("secrets", ()) if isinstance(span, dict)]
            return {
                key: _split(inner, [*named, *_found(inner)]) if key == "text" and named else in_parts(inner)
                for key, inner in value.items()
            }
        case _:
            return value


def _found(text: str) -> list[tuple[int, int]]:
    """Where *text* has what scanners look for, in characters."""
    data = text.encode("utf-8", "surrogatepass")
    spans = [match.span() for match in _KNOWN.finditer(text)]
    for start, end in find_spans(data, engine.hinted(data)):
        spans.append((len(data[:start].decode(errors="replace")), len(data[:end].decode(errors="replace"))))
    written = json.dumps(text).encode()
    # Quotes behind backslashes may look like a secret where the text itself does not.
    return spans or [(0, len(text)) for _ in find_spans(written, engine.hinted(written))]


def _split(text: str, spans: Sequence[tuple[int, int]]) -> Any:
    cuts = {0, len(text)}
    for start, end in spans:
        cuts |= {start, min(start + _FIRST, end), *range(start + PIECE, end, PIECE), end}
    places = sorted(cuts)
    parts = [text[start:end] for start, end in pairwise(places)]
    return {"parts": parts} if spans else text


if __name__ == "__main__":
    sys.exit(main())
