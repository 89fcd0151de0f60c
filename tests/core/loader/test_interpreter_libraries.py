"""What variables of the environment have the gate's process load, as far as it lies in a workspace."""

from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.errors import ConfigurationError
from toolcharter.loader.interpreter import native_library_paths


@each_row(
    ("environ", "expected"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"LD_LIBRARY_PATH": ""}, [], id="empty"),
        pytest.param({"LD_LIBRARY_PATH": "/a:/b;c"}, ["/a", "/b", "c"], id="folders"),
        pytest.param({"LD_PRELOAD": "/a.so:/b.so /c.so"}, ["/a.so", "/b.so", "/c.so"], id="libraries"),
        pytest.param(
            {"OPENSSL_CONF": "/o.cnf", "SSL_CERT_FILE": "/ca.pem", "SSL_CERT_DIR": "/x::/y"},
            ["/x", "/y", "/o.cnf", "/ca.pem"],
            id="openssl",
        ),
    ],
)
def test_each_entry_of_each_variable_is_named(environ: dict[str, str], expected: list[str]) -> None:
    """Lists are taken apart as the loader and OpenSSL take them apart."""
    assert list(native_library_paths("/ws", environ)) == expected


@pytest.mark.parametrize(
    ("value", "named"),
    [
        pytest.param("/usr/lib:", "an empty entry, which is the current folder", id="empty at the end"),
        pytest.param(".", "'.'", id="the current folder"),
    ],
)
def test_a_workspace_that_is_a_folder_of_libraries_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, named: str
) -> None:
    """A tool could write `libz.so.1` there, and the gate would load it."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigurationError) as caught:
        list(native_library_paths(str(tmp_path.resolve()), {"LD_LIBRARY_PATH": value}))

    assert str(caught.value).splitlines() == [
        f"workspace: LD_LIBRARY_PATH names {named}, and so the workspace: tools could write libraries that toolcharter loads.",
        "Take that entry out of LD_LIBRARY_PATH.",
    ]
