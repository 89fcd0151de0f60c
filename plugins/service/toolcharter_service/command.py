"""`toolcharter serve`: runs the configured service, or serves one profile on loopback for development."""

import logging
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import click
import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from toolcharter import ConfigurationError, Fault, StoreEngine, StoreHandle, StoreUnavailable, open_store
from toolcharter_service.config import (
    ANY_AGENT,
    ConfigFile,
    Listen,
    ServiceConfig,
    examine_config,
    is_unset,
    read_config,
    url_of,
)
from toolcharter_service.gateway import Control
from toolcharter_service.http.app import create_app
from toolcharter_service.http.protocol import PatientProtocol
from toolcharter_service.service import Service

DEV_PORT = 8081
DEV_TENANT = "dev"
_CONFIG = "TOOLCHARTER_SERVICE_CONFIG"
_FLUSH_S = 5.0
"""How much longer than its calls a stopping service may take, in seconds."""


@click.command("serve")
@click.option("--config", "file", type=click.Path(path_type=Path), help="The configuration of the service.")
@click.option("--dev", is_flag=True, help="Serve one profile on 127.0.0.1 to every user of this machine.")
@click.option("--profile", "-p", metavar="PROFILE", help="With --dev: a profile's name or path.")
@click.option(
    "--workspace",
    "-w",
    default=".",
    metavar="FOLDER",
    help="With --dev: the folder that tools may touch; default: the current folder.",
)
@click.option("--events", multiple=True, metavar="URL", help="With --dev: where events go; repeatable.")
@click.option("--store", default="sqlite:", metavar="URL", help="With --dev: the store for persistent state.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port, instead of the configuration's; 8081 with --dev."
)
@click.option("--check", is_flag=True, help="Report all faults without serving; exit status 2 if there is any.")
@click.option("--workers", default=1, type=click.IntRange(1, 64), help="The number of processes.")
def command(
    file: Path | None,
    *,
    dev: bool,
    port: int | None,
    check: bool,
    workers: int,
    **dev_options: Any,
) -> None:
    """Serve registry and gate over HTTP, to holders of a token.

    `toolcharter serve --config FILE`, or `toolcharter serve --dev --profile PROFILE` to try it. --check examines the
    file and everything that it names, as a start does, and changes no store.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    if dev == (file is not None):
        raise click.UsageError("Give --config FILE or --dev.")
    if dev:
        if dev_options["profile"] is None or workers > 1:
            raise click.UsageError("--dev serves one --profile in one process.")
        found = dev_config(**dev_options, port=DEV_PORT if port is None else port)
    else:
        found = examine_config(file or "")
        chosen = found.config.listen.port if port is None else port
        listen = found.config.listen.model_copy(update={"port": chosen})
        found = found._replace(config=found.config.model_copy(update={"listen": listen}))
    if check or found.faults or workers > 1:
        _check_start(found, dev=dev)  # Once, before the workers start: each of them would report the same faults.
    if check:
        click.echo("No fault found.")
    elif workers == 1:
        if dev:
            click.echo("serve --dev: every user of this machine may call every tool of the profile.", err=True)
        _run(create_app(open_service(found, dev=dev)), found.config, None)
    else:
        os.environ[_CONFIG] = str((file or Path()).absolute())
        server = _uvicorn("toolcharter_service.command:worker_app", found.config, workers)
        Multiprocess(server, sockets=[server.bind_socket()]).run()


def _check_start(found: ConfigFile, *, dev: bool) -> None:
    """Build everything that a start builds, and close it again.

    Raises:
        ConfigurationError: It lists all faults.
    """
    # The addresses do not matter for this check, and their own faults are reported already.
    config = found.config.model_copy(update={"listen": Listen(), "hosts": ()})
    service = open_service(found._replace(config=config), dev=dev, migrates=False)
    create_app(service)
    try:
        service.build(starts=False)
    finally:
        service.bus.close()
        service.close()


def dev_config(profile: str, workspace: str, events: tuple[str, ...], store: str, port: int) -> ConfigFile:
    """Build the configuration of `serve --dev`: every agent has the same profile."""
    agent = {"profile": profile, "workspace": str(Path(workspace).absolute())}
    return ConfigFile(
        ServiceConfig.from_profile(
            {
                "listen": {"port": port},
                "store": store,
                "events": list(events) or ["stderr:"],
                "tenants": {DEV_TENANT: {"agents": {ANY_AGENT: agent}}},
            }
        )
    )


def open_service(file: ConfigFile, *, dev: bool = False, migrates: bool = True) -> Service:
    """Create a service and open its store. If that fails, the fault is added to `faults`, and `build` reports it."""
    url, faults = file.config.store, list[Fault]()
    stores = StoreHandle(lambda: cast("StoreEngine", _NoStore()))
    if not is_unset(url):
        try:
            stores = open_store(url_of(url), migrates=migrates)
        except ConfigurationError as error:
            faults += file.locate_faults(error, "store")
    service = Service(file, stores=stores, dev=dev)
    service.faults += faults
    return service


class _NoStore:
    """Replaces a store that cannot be opened, while the configuration's other faults are collected."""

    def keeps_state_in(self) -> tuple[Path, ...]:
        """Return nothing."""
        return ()

    def close(self) -> None:
        """Do nothing."""

    def __getattr__(self, _: str) -> NoReturn:
        raise StoreUnavailable("There is no store.")


def worker_app() -> FastAPI:
    """Create the application of one of several workers. Each worker reads the configuration itself."""
    service = open_service(read_config(os.environ[_CONFIG]))
    # The parent process starts and ends workers; SIGHUP makes it start new ones.
    parent = os.getppid()
    service.control = Control(lambda: os.kill(parent, signal.SIGTERM), lambda: os.kill(parent, signal.SIGHUP))
    return create_app(service)


def _uvicorn(app: FastAPI | str, config: ServiceConfig, workers: int | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        host=config.listen.host,
        port=config.listen.port,
        workers=workers,
        http=PatientProtocol,
        log_level="warning",
        server_header=False,
        # Otherwise any client on this machine could forge its address.
        proxy_headers=False,
        timeout_graceful_shutdown=int(config.stop_s + _FLUSH_S),
        lifespan="on",
    )


def _run(app: FastAPI, config: ServiceConfig, workers: int | None) -> None:
    """Serve until a signal ends the process.

    Raises:
        ConfigurationError: A profile cannot be used.
    """
    service: Service = app.state.service
    service.build()
    server = uvicorn.Server(_uvicorn(app, config, workers))
    begins_again = threading.Event()

    def end(*, again: bool) -> None:
        if again:
            begins_again.set()
        server.should_exit = True

    service.control = Control(partial(end, again=False), partial(end, again=True))
    server.run()
    if not server.started:
        sys.exit(3)
    if begins_again.is_set():
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this very command line
