"""Writes how the gate judges command lines, and compares that with the file of another checkout.

    python scripts/compare_verdicts.py --write before.jsonl      in the one checkout
    python scripts/compare_verdicts.py --against before.jsonl    in the other

The lines come from the corpora of the checkout that writes: the text files and the tables of the shell guard's tests,
and the samples in `tests/data/cases`. The other checkout judges the lines in the file under the rules in the file. For
each line, the script compares the decision in the mode `dangerous`, which shows the floor; the decision in the mode
`policy` with one starred rule for each program that begins a line; and the commands in their normal forms, each with
the words that a rule would have to mention. It prints a hash for each corpus, and each difference. The exit status is 1
if there is one.
"""

import argparse
import ast
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.samples import SAMPLES, joined  # noqa: E402 - the checkout is on the path by now

from toolcharter import Decision, Toolbox, build_tools  # noqa: E402 - as above

GUARD_TESTS = "tests/core/guards/shell"
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_HERE = "<workspace>"
Line = tuple[str, str]
"""The name of a corpus, and a command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="write how this checkout judges its corpora")
    what.add_argument("--against", type=Path, metavar="FILE", help="judge the lines of FILE again, and compare")
    options = parser.parse_args(arguments)
    if options.write:
        lines = list(corpora())
        verdicts = list(judge_lines(lines, rules := rules_for(lines)))
        _write(options.write, rules, verdicts)
        _summarise(verdicts)
        return 0
    rules, before = read(options.against)
    after = list(judge_lines([(verdict["corpus"], verdict["line"]) for verdict in before], rules))
    _summarise(after)
    return report(before, after)


def corpora(root: Path = ROOT, samples: Path = SAMPLES) -> Iterator[Line]:
    """Yield each line of each corpus once, in a fixed order. From test modules, it yields all texts."""
    tests = root / GUARD_TESTS
    for file in sorted(tests.rglob("*.txt")):
        texts = (line for line in file.read_text().splitlines() if line and not line.startswith(("#", "[")))
        yield from _of(str(file.relative_to(root)), (text.replace(r"\n", "\n") for text in texts))
    for file in sorted(tests.rglob("*.py")):
        yield from _of(str(file.relative_to(root)), _texts(file.read_text()))
    for file in sorted(samples.rglob("*.jsonl")):
        rows = (json.loads(row, object_hook=joined) for row in file.read_text().splitlines())
        yield from _of(f"samples/{file.relative_to(samples)}", (text for row in rows for text in _commands(row)))


def _of(corpus: str, texts: Iterable[str]) -> Iterator[Line]:
    # Two halves of a surrogate pair would become one character in the file.
    yield from ((corpus, text) for text in dict.fromkeys(texts) if json.loads(json.dumps(text)) == text)


def _texts(source: str) -> Iterator[str]:
    """Yield the texts in a test module except docstrings: any text can be judged as a line."""
    tree = ast.parse(source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def _commands(value: Any) -> Iterator[str]:
    """Yield the command lines in a row of samples, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in {"cmd", "command"} and isinstance(inner, str):
                yield inner
            else:
                yield from _commands(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _commands(inner)


def rules_for(lines: Iterable[Line]) -> list[str]:
    """Return an `allow` rule for each program that begins a line; lines from test modules are left out."""
    words = (line.split(maxsplit=1)[:1] for corpus, line in lines if not corpus.endswith(".py"))
    programs = sorted({word for found in words for word in found if _PROGRAM.fullmatch(word)})
    return [f"bash:{program}{rest}" for program in programs for rest in ("", " *")]


def judge_lines(lines: Iterable[Line], rules: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield how this checkout judges *lines*, in an empty workspace."""
    with tempfile.TemporaryDirectory() as top:
        workspace = Path(top, "workspace")
        workspace.mkdir()
        free = _toolbox(Path(top, "free.yaml"), workspace, {"mode": "dangerous"})
        ruled = _toolbox(Path(top, "ruled.yaml"), workspace, {"allow": list(rules)})
        with free, ruled:
            for corpus, line in lines:
                explained = free.explain("bash", {"command": line})
                verdict = {
                    "corpus": corpus,
                    "line": line,
                    "floor": _plain(explained.decision),
                    "rules": _plain(ruled.decide("bash", {"command": line})),
                    "forms": [[note.form, list(note.needs), list(note.confined)] for note in explained.parse],
                }
                text = json.dumps(verdict).replace(str(workspace), _HERE).replace(top, "<top>")
                yield json.loads(text)


def _toolbox(file: Path, workspace: Path, settings: Mapping[str, Any]) -> Toolbox:
    file.write_text(json.dumps({"profile": file.stem, "runner": "host", "tools": {"bash": {}}, **settings}, indent=1))
    return build_tools(file, workspace=workspace, events=[lambda _event: None])


def _plain(decision: Decision) -> list[Any]:
    rule = decision.rule and decision.rule.text
    return [decision.outcome, decision.stage, decision.reason, decision.message, rule]


def _write(file: Path, rules: Sequence[str], verdicts: Iterable[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in [{"allow": list(rules)}, *verdicts]))


def read(file: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Read the rules and the verdicts that a checkout has written."""
    head, *verdicts = (json.loads(line) for line in file.read_text().splitlines())
    return head["allow"], verdicts


def _summarise(verdicts: Iterable[Mapping[str, Any]]) -> None:
    for corpus, group in groupby(verdicts, key=lambda verdict: verdict["corpus"]):
        rows = [json.dumps(verdict, sort_keys=True) for verdict in group]
        digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()
        print(f"{digest[:16]}  {len(rows):5}  {corpus}")


def report(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> int:
    """Print each line that is judged differently, and how; return 1 if there is one."""
    changed = 0
    for old, new in zip(before, after, strict=True):
        differing = [key for key in ("floor", "rules", "forms") if old[key] != new[key]]
        changed += bool(differing)
        if differing:
            print(f"\n{old['corpus']}: {old['line']!r}")
        for key in differing:
            print(f"  - {key}: {json.dumps(old[key])}\n  + {key}: {json.dumps(new[key])}")
    print(f"\n{changed} lines are judged differently.")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
