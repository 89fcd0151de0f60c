"""Parts of private keys that the file tools show: the scrubber would not know them without the key's first line."""

from base64 import b64encode
from hashlib import sha512
from pathlib import Path

import pytest

from toolcharter.testing import toolbox_of
from toolcharter_files import grep, read_file

FIRST, LAST = (f"-----{word} EC " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
BODY = b64encode(b"".join(sha512(bytes([number])).digest() for number in range(4))).decode()
LINES = [BODY[at : at + 64] for at in range(0, len(BODY), 64)]
TEXT = "\n".join(["name: Ann", FIRST, *LINES, LAST, "city: Bern", ""])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "key.txt").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([4, 4], ["[REDACTED]"], id="one line"),
        pytest.param([4, 5], ["[REDACTED]"] * 2, id="two lines"),
        pytest.param([len(LINES) + 2, len(LINES) + 4], ["[REDACTED]", LAST, "city: Bern"], id="the last line"),
        pytest.param([len(LINES) + 4, len(LINES) + 4], ["city: Bern"], id="behind the key"),
        pytest.param([1, 1], ["name: Ann"], id="above the key"),
    ],
)
def test_a_part_of_a_key_is_masked_wherever_it_begins(workspace: Path, lines: list[int], expected: list[str]) -> None:
    """`read_file` knows what stands above the lines that were asked for."""
    with toolbox_of(read_file.SPEC, workspace=workspace) as toolbox:
        result = toolbox.call("read_file", {"path": "key.txt", "line_range": lines})

    assert (result.outcome, result.text.splitlines()) == ("ok", expected)
    assert not any(line in str(result.data) for line in LINES)


@pytest.mark.parametrize("context", [0, 1])
def test_a_search_shows_no_line_of_a_key(workspace: Path, context: int) -> None:
    """Neither as a match nor as context of one; the lines of other text are shown."""
    with toolbox_of(grep.SPEC, workspace=workspace) as toolbox:
        result = toolbox.call("grep", {"query": f"{LINES[1][:9]}|city", "path": "key.txt", "context": context})

    assert (result.outcome, "city: Bern" in result.text) == ("ok", True)
    assert not any(line in result.text + str(result.data) for line in LINES)
