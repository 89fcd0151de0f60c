"""What lines of python and pytest ask of a rule: pytest runs the tests of the workspace, and nothing else runs."""

import pytest
from tests.core.guards.shell.tables.helping import needs_of


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "pytest -q",
        "pytest tests -k 'x and not y' -x",
        "pytest tests/test_app.py::test_x -vv",
        "pytest --maxfail=1 --tb=short -ra",
        "pytest -p no:cacheprovider",
        "pytest -W ignore::DeprecationWarning -W error",
        "pytest --cov=src --cov-report=term-missing",
        "pytest --collect-only -q tests",
        "pytest -n 4",
        "python -m pytest",
        "python3 -m pytest -q tests",
        "python -m pytest -m 'not slow'",
        "python -mpytest -q",
        "python -W error -m pytest",
        "python -B -m pytest",
        "python --version",
        "python -V",
        "python3 --version",
    ],
)
def test_ordinary_purpose_asks_for_nothing(line: str) -> None:
    """What a program is for is covered by a rule that names the program alone."""
    assert needs_of(line) == ""


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("python", "python"),
        ("python evil.py", "python evil.py"),
        ("python -", "python -"),
        ("python -c 'x'", "-c x python"),
        ("python -cx", "-cx python"),
        ("python -m pdb x", "pdb"),
        ("python -m pytest-evil", "pytest-evil"),
        ("python -m pytest.foo", "pytest.foo"),
        ("python -m json.tool a b", "json.tool"),
        ("python -i -m pytest", "-i"),
        ("python -im pytest", "-im"),
        ("python -W error::evil.Cls -m pytest", "error::evil.Cls"),
        ("python -X pycache_prefix=/tmp -m pytest", "-X"),
        ("python pytest", "python pytest"),
        ("python -m pytest ../x", "../x"),
        ("python -m pytest /etc", "/etc"),
        ("python -mpytest --rootdir=..", "--rootdir=.."),
        ("pytest --rootdir=src", "--rootdir=src"),
        ("pytest --rootdir ..", "--rootdir .."),
        ("pytest --confcutdir=..", "--confcutdir=.."),
        ("pytest --basetemp=x", "--basetemp=x"),
        ("pytest --debug", "--debug"),
        ("pytest --debug=x", "--debug=x"),
        ("pytest --junitxml=x", "--junitxml=x"),
        ("pytest --junit-xml x", "--junit-xml"),
        ("pytest --log-file=x", "--log-file=x"),
        ("pytest --pastebin=all", "--pastebin=all"),
        ("pytest --pdb", "--pdb"),
        ("pytest --pdbcls=a:b", "--pdbcls=a:b"),
        ("pytest --trace", "--trace"),
        ("pytest -c x.ini", "-c"),
        ("pytest -cx.ini", "-cx.ini"),
        ("pytest -c=x.ini", "-c=x.ini"),
        ("pytest --config-file=x.ini", "--config-file=x.ini"),
        ("pytest -o addopts=x", "-o"),
        ("pytest -oaddopts=x", "-oaddopts=x"),
        ("pytest --override-ini=a=b", "--override-ini=a=b"),
        ("pytest -p evil", "evil"),
        ("pytest -pevil", "-pevil"),
        ("pytest -qp evil", "evil"),
        ("pytest -p=evil", "-p=evil"),
        ("pytest -k -pevil", "-pevil"),
        ("pytest -k -p evil", "-p"),
        ("pytest -- -pevil", "-pevil"),
        ("pytest @evil.args", "@evil.args"),
        ("pytest -k @evil.args", "@evil.args"),
        ("pytest -W error::evil.Cls", "error::evil.Cls"),
        ("pytest -Werror::evil.Cls", "-Werror::evil.Cls"),
        ("pytest --pythonwarnings=error::evil.Cls", "--pythonwarnings=error::evil.Cls"),
        ("pytest --pyargs os", "--pyargs"),
        ("pytest ../x/test_evil.py::test_e", "../x/test_evil.py::test_e"),
        ("pytest link/../../x", "link/../../x"),
        ("pytest --ignore=/etc", "--ignore=/etc"),
        ("pytest --cov-report=html:/tmp/x", "--cov-report=html:/tmp/x"),
        ("pytest --cov-config=evil.ini", "--cov-config=evil.ini"),
        ("pytest --tx popen//python=./x", "--tx popen//python=./x"),
        ("pytest --unknown", "--unknown"),
        ("pytest --rootd=..", "--rootd=.."),
        ("pytest --deselect=../x", "--deselect=../x"),
    ],
)
def test_more_than_the_ordinary_has_to_be_named(line: str, named: str) -> None:
    """What runs, writes or reads elsewhere is covered only by a rule that holds these words."""
    assert needs_of(line) == named
