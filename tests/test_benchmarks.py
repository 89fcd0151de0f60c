"""`make bench`: its machinery works, and the page it wrote shows every row there is. How fast is no test's business."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import cast

import measure
import pytest
import report
import run
from environments import OURS, Environment
from measure import Bench, NotMeasured, Row, Subject, ratio
from tests.rows import each_row

ROWS = [row for rows in run.TOPICS.values() for row in rows]
SUBJECT = """
import asyncio

tidied = []

def plain():
    pass

async def awaited():
    await asyncio.sleep(0)

def after_batch():
    tidied.append(1)

OPERATIONS = {"plain": plain, "awaited": awaited}
REPORTS = {"tidied": lambda number: [number, len(tidied)]}
print("Subjects may print.")
"""


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    script = tmp_path / "subject.py"
    script.write_text(SUBJECT)
    return Subject(str(script))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(quick=True, peers=False, rounds=1)
    yield made
    made.close()


def row(goal: float | None = 1.0, *, at_least: bool = False, unit: str = "x") -> Row:
    return Row("ours / theirs", lambda _bench: 0.5, goal, at_least=at_least, unit=unit)


def test_subject_answers_line_by_line(bench: Bench, subject: Subject) -> None:
    """Operations are timed, reports report, and after each the subject tidies up."""
    with bench.workers(subject) as (worker,):
        answers = [worker.ask("plain", 10), worker.ask("awaited", 10), worker.ask("tidied", 7)]

    assert [type(answer) for answer in answers[:2]] == [float, float]
    assert answers[2] == [7, 2]


def test_subject_that_fails_stops_the_run(bench: Bench, subject: Subject) -> None:
    """A row never gets a number from a subject that is gone."""
    with bench.workers(subject) as (worker,), pytest.raises(RuntimeError, match=r"subject\.py ended with status 1"):
        worker.ask("no such operation", 1)


def test_ratio_is_the_median_of_pairs_measured_in_turn() -> None:
    """One disturbed pair does not show."""
    bench = Bench(rounds=3)
    taken: list[str] = []
    times = iter([2.0, 1.0, 900.0, 1.0, 2.0, 1.0])

    def sample(name: str) -> float:
        taken.append(name)
        return next(times)

    found = bench.ratio(lambda: sample("ours"), lambda: sample("theirs"))

    assert (found, taken) == (2.0, ["ours", "theirs"] * 3)


def test_slow_start_leaves_time_to_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time until a subject has started does not count, so that each of its operations is warm before batches are sized."""
    asked = list[int]()
    durations = chain([1.0], [0.04] * 11, repeat(1e-6))  # the start, eleven cold calls, warm calls
    now = 0.0

    class StartingWorker:
        def ask(self, _name: str, number: int) -> float:
            nonlocal now
            asked.append(number)
            taken = next(durations)
            now += taken * number
            return taken

    monkeypatch.setattr(measure, "perf_counter", lambda: now)

    seconds = Bench().sample(cast("measure.Worker", StartingWorker()), "any")()

    assert seconds == 1e-6
    assert asked[-1] * seconds >= Bench().batch_s


def test_operations_of_one_subject_share_its_process(bench: Bench, subject: Subject) -> None:
    """Two sides in one process, two processes or an environment of a peer: the row reads the same."""
    assert ratio((subject, "awaited"), (subject, "plain"))(bench) > 0


def test_row_of_an_absent_peer_is_not_measured(bench: Bench, subject: Subject) -> None:
    """Without peers their rows stay empty; nothing is installed for them."""
    peer = Subject(subject.script, Environment("absent", ("no-such-package",)))

    with pytest.raises(NotMeasured):
        ratio((subject, "plain"), (peer, "plain"))(bench)


@each_row(
    ("row", "value", "shown"),
    [
        pytest.param(row(), 1.0, "1x at most 1x yes ours / theirs", id="at the limit"),
        pytest.param(row(), 1.01, "1.01x at most 1x **no** ours / theirs", id="above it"),
        pytest.param(row(6, at_least=True), 6.0, "6x at least 6x yes ours / theirs", id="at a lower limit"),
        pytest.param(row(6, at_least=True), 5.9, "5.9x at least 6x **no** ours / theirs", id="below it"),
        pytest.param(row(0, unit=" lines"), 0.0, "0 lines at most 0 lines yes ours / theirs", id="with a unit"),
        pytest.param(row(None), 3.14159, "3.14x - ours / theirs", id="for comparison"),
        pytest.param(row(), None, "not measured at most 1x ours / theirs", id="not measured"),
    ],
)
def test_row_shows_number_goal_and_verdict(row: Row, value: float | None, shown: str) -> None:
    """A number of a limit's own size meets it."""
    assert " ".join(report.line(row, value).split()) == shown


def test_page_shows_what_all_runs_found() -> None:
    """The median is held against the goal, whatever the worst run found; what no run measured is said to be so."""
    noisy, absent = report.Measured(row(), [9.0, 0.5, 0.25]), report.Measured(row())
    runs = [report.Run(0.1, 480), report.Run(0.05, 475), report.Run(2.34, 720)]

    page = report.markdown({"One": [noisy, absent]}, "a machine", ["a version"], runs)

    assert "| ours / theirs | 0.5x | 0.25x | 9x | at most 1x | yes |\n" in page
    assert "| ours / theirs | not measured | not measured | not measured | at most 1x |  |\n" in page
    assert "\na machine; 3 runs: 8 min at a load of 0.1, 8 min at a load of 0.1, 12 min at a load of 2.3.\n" in page


def test_some_tables_are_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their places and with what they were measured with; the others stay as they are, letter by letter."""
    rows = {name: (Row(name.lower(), lambda _bench: 0.5, 0.25, price="dear"),) for name in ("One", "Two", "Three")}
    monkeypatch.setattr(run, "TOPICS", {name: rows[name] for name in ("One", "Three")})
    page = tmp_path / "results.md"
    assert run.main(["--no-peers", "--output", str(page)]) == 0
    before = page.read_text()
    monkeypatch.setattr(run, "TOPICS", rows)
    parts = before.split("\n## ")

    written = []
    for _ in range(2):
        assert run.main(["--no-peers", "--runs", "2", "--sections", "Two,Three", "--output", str(page)]) == 0
        written.append(page.read_text().split("\n## "))

    assert [part.partition("\n")[0] for part in written[1]] == ["# Speed", "One", "Two", "Three", "Measured with"]
    assert (written[0][1], written[0][4]) == (parts[1], parts[3])
    assert [written[1][place].partition("Measured apart")[0] for place in range(5)] == [
        written[0][place].partition("Measured apart")[0] for place in range(5)
    ]
    assert (
        "| two | 0.5x | 0.5x | 0.5x | at most 0.25x | **no** |\n\n- two: dear\n\nMeasured apart, with:\n"
        in page.read_text()
    )
    assert written[1][2].count("2 runs: ") == 1
    assert OURS.versions() in written[1][3]


def test_the_last_note_is_renewed_with_all_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that have no note of their own share it; one that was measured apart keeps its own."""
    monkeypatch.setattr(run, "TOPICS", {name: (Row(name, lambda _bench: 0.5),) for name in ("One", "Two", "Three")})
    page = tmp_path / "results.md"
    common = ["--no-peers", "--output", str(page)]
    assert run.main(common) == 0
    assert run.main([*common, "--sections", "Two"]) == 0
    two = page.read_text().split("\n## ")[2]

    assert run.main([*common, "--runs", "3", "--sections", "Three,One"]) == 0

    names = ["# Speed", "One", "Two", "Three", "Measured with"]
    parts = page.read_text().split("\n## ")
    assert [part.partition("\n")[0] for part in parts] == names
    assert ["3 runs: " in part for part in parts] == [False, False, False, False, True]
    assert ["Measured apart" in part for part in parts] == [False, False, True, False, False]
    assert parts[2] == two


def test_runs_and_rows_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Each run measures each row once more; of some rows alone no page is written."""
    values = iter(range(1, 100))
    rows = {"One": (row(),), "Two": (Row("a", lambda _bench: next(values)), Row("b", lambda bench: bench.rounds))}
    monkeypatch.setattr(run, "TOPICS", rows)
    page = tmp_path / "results.md"
    common = ["--no-peers", "--rounds", "3", "--output", str(page)]

    some = [run.main([*common, "--sections", "Two", "--only", word]) for word in ("b", "a")]
    written = page.exists()
    whole = run.main([*common, "--runs", "3"])

    assert (some, written, whole) == ([0, 0], False, 0)
    assert [line.split() for line in capsys.readouterr().out.splitlines()[:2]] == [["3x", "-", "b"], ["1x", "-", "a"]]
    assert "| a | 3x | 2x | 4x | - |  |\n| b | 3x | 3x | 3x | - |  |\n" in page.read_text()


def test_rows_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long keeps its row, without a number."""
    monkeypatch.setattr(run, "TOPICS", {"One": (Row("quick", lambda _bench: 2.0), Row("slow", lambda _bench: 1 / 0))})
    page = tmp_path / "results.md"

    assert run.main(["--no-peers", "--skip", "slow", "--output", str(page)]) == 0

    assert "| quick | 2x | 2x | 2x | - |  |\n| slow | not measured |" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ["--sections", "Start,Strat"], "there is no section Strat; there are One call, Rules", id="section"
        ),
        pytest.param(["--runs", "0"], "0 is less than one", id="runs"),
    ],
)
def test_wrong_choice_is_refused(words: list[str], said: str, capsys) -> None:
    """Before anything is measured."""
    with pytest.raises(SystemExit):
        run.main(words)

    assert said in capsys.readouterr().err


def test_run_without_peers_writes_a_page(tmp_path: Path, project_root: Path) -> None:
    """Every operation and report of ours works; a goal that this machine misses today fails nothing."""
    page = tmp_path / "results.md"
    command = [sys.executable, "benchmarks/run.py", "--quick", "--no-peers", "--output", str(page)]

    ran = subprocess.run(command, cwd=project_root, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr, len(ran.stdout.splitlines())) == (0, "", len(ROWS))
    assert rows_of(page) == [row.what for row in ROWS]
    assert OURS.versions() in page.read_text()


def test_committed_page_shows_every_row(project_root: Path) -> None:
    """Whoever adds a row also runs it."""
    assert rows_of(project_root / "benchmarks/results.md") == [row.what for row in ROWS]


def rows_of(page: Path) -> list[str]:
    return re.findall(r"^\| (?!what |--)(.+?) \| (?:[^|]* \|)+$", page.read_text(), re.MULTILINE)
