"""Makes a separate Python with the core and the plugins that a measurement needs."""

import compileall
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def installation(plugins: Mapping[str, str], *, with_ours: bool = False) -> Iterator[Path]:
    """Install *plugins*, each of which offers one tool, and return the Python.

    Args:
        plugins: The source of each plugin by its name, which is also its tool's.
        with_ours: Let profiles use our own plugins, too: plugins elsewhere on `sys.path` are not trusted.
    """
    with TemporaryDirectory() as folder:
        venv.create(folder, symlinks=True)
        site = next(Path(folder, "lib").iterdir()) / "site-packages"
        ours = Path(sysconfig.get_path("purelib"))
        if with_ours:
            for entry in ours.iterdir():
                if not (site / entry.name).exists():
                    (site / entry.name).symlink_to(entry)
        else:
            # Also process the `.pth` files there: they lead to editable installs.
            (site / "core.pth").write_text(f"import site; site.addsitedir({str(ours)!r})")
        for name, source in plugins.items():
            _install(site, name, source)
        yield Path(folder, "bin/python")


def _install(site: Path, name: str, source: str) -> None:
    (site / name).mkdir()
    (site / name / "__init__.py").write_text(source)
    compileall.compile_dir(site / name, quiet=1)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    # pluggy gets a group of its own: it refuses modules with several entry points, such as `toolcharter_files`.
    groups = "".join(f"[{group}]\n{name} = {name}\n\n" for group in ("pluggy_bench", "toolcharter"))
    (metadata / "entry_points.txt").write_text(groups)
