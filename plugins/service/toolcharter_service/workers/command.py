"""`toolcharter worker`: runs jobs of the runner `remote` on this machine."""

import signal
import threading
from collections.abc import Sequence
from types import FrameType

import click

from toolcharter import hookimpl, open_bus
from toolcharter_service.config import url_of
from toolcharter_service.workers.settings import read_worker
from toolcharter_service.workers.worker import Worker


@click.command(name="worker")
@click.option(
    "--config", "config_file", required=True, type=click.Path(dir_okay=False), help="The configuration of the worker."
)
def command(config_file: str) -> None:
    """Run programs for profiles with `runner: remote`, in folders of this machine, until a signal ends it."""
    config, workspaces = read_worker(config_file)
    try:
        url = url_of(config.bus)
    except KeyError as error:
        raise click.UsageError(f"The environment variable {error.args[0]!r} is not set; it names the bus.") from None
    bus = open_bus(url)
    worker = Worker(config, workspaces, bus)

    def stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=worker.stop).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    names = ", ".join(one.settings.name for one in workspaces)
    click.echo(f"{worker.name} runs programs for {names}.", err=True)
    try:
        worker.run()
    finally:
        bus.close()


@hookimpl
def register_commands() -> Sequence[click.Command]:
    """Offer `toolcharter worker`."""
    return [command]
