"""Copy sample files into `tests/data/cases`, and split each text that looks like a secret.

    python scripts/keep_samples.py FOLDER            copies again the files of FOLDER that `tests/data/cases` has
    python scripts/keep_samples.py FOLDER NAME...    copies these, such as `seeds/000-notify.jsonl`

A file is JSON, or one JSON object for each line. Texts are split where the scrubber would mask them, where the row
lists its `secrets`, and in addresses of package indexes. `tests/samples.py` joins the parts.
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
"""In characters: shorter than anything that scanners for secrets look for."""
_FIRST = 4
"""In characters: it splits the prefix by which a provider's keys are recognised."""
_KNOWN = re.compile(
    "index-url"
    "|registry=http"
    "|-----(?:BEGIN|END) [A-Z ]+-----"
    r"|\b(?:AKIA|ASIA|AIza|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-|sk_live_|rk_live_|eyJ)[A-Za-z0-9_./+-]{12,}"
)
"""Further texts that scanners know, which the scrubber does not find: prefixes, with the rest of the word."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the samples")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the files to copy; by default, those that were copied before"
    )
    options = parser.parse_args(arguments)
    names = options.names or [str(file.relative_to(KEPT)) for file in sorted(KEPT.rglob("*.json*"))]
    for name in names:
        target = KEPT / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(stored_form((options.folder / name).read_text(), is_table=target.suffix == ".jsonl"))
    return 0


def stored_form(text: str, *, is_table: bool) -> str:
    """Return the text of a sample file in the form in which it is stored."""
    if is_table:
        return "".join(f"{json.dumps(split_secrets(json.loads(line)))}\n" for line in text.splitlines())
    return f"{json.dumps(split_secrets(json.loads(text)), indent=1)}\n"


def split_secrets(value: Any) -> Any:
    """Return *value* with `{"parts": [...]}` in place of each text that contains something to hide."""
    match value:
        case str():
            return _split(value, _found(value))
        case list():
            return [split_secrets(inner) for inner in value]
        case dict():
            named = [(span["start"], span["end"]) for span in value.get("secrets", ()) if isinstance(span, dict)]
            return {
                key: _split(inner, [*named, *_found(inner)]) if key == "text" and named else split_secrets(inner)
                for key, inner in value.items()
            }
        case _:
            return value


def _found(text: str) -> list[tuple[int, int]]:
    """Return the spans in *text* that scanners would find, in characters."""
    data = text.encode("utf-8", "surrogatepass")
    spans = [match.span() for match in _KNOWN.finditer(text)]
    for start, end in find_spans(data, engine.hinted_families(data)):
        spans.append((len(data[:start].decode(errors="replace")), len(data[:end].decode(errors="replace"))))
    written = json.dumps(text).encode()
    # In JSON, quotes behind backslashes may look like a secret although the text itself does not.
    return spans or [(0, len(text)) for _ in find_spans(written, engine.hinted_families(written))]


def _split(text: str, spans: Sequence[tuple[int, int]]) -> Any:
    cuts = {0, len(text)}
    for start, end in spans:
        cuts |= {start, min(start + _FIRST, end), *range(start + PIECE, end, PIECE), end}
    places = sorted(cuts)
    parts = [text[start:end] for start, end in pairwise(places)]
    return {"parts": parts} if spans else text


if __name__ == "__main__":
    sys.exit(main())
