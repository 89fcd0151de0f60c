"""Runs `toolcharter store backup` of the store in use, and kills a `restore` into a second one in the middle."""

import json
import random
import subprocess
import time
from typing import Any

from chaos.world import PROGRAM, World

TAKES_S = 4.0
"""The time within which a restore is killed, in seconds."""


class Restoring:
    """Restores into the second store, which must afterwards hold the whole old content or the whole new one."""

    def __init__(self, world: World, pick: random.Random) -> None:
        self._world, self._pick = world, pick
        self.faults: list[str] = []
        self.kept = self.replaced = 0
        self._number = 0
        self._before = self._content()

    def interrupt(self) -> None:
        """Back up, start to restore, kill the restore, and check the content."""
        self._number += 1
        archive = str(self._world.folder / f"archive{self._number}")
        self._run(self._world.url, "backup", archive)
        wanted = self._archived(archive)
        restoring = subprocess.Popen(
            [PROGRAM, "store", "restore", archive, "--store", self._world.second_url],
            env=self._world.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(self._pick.uniform(0.3, TAKES_S))
        restoring.kill()
        restoring.wait()
        found = self._content()
        if found == wanted:
            self.replaced += 1
        elif found == self._before:
            self.kept += 1
        else:
            self.faults.append(f"a killed restore left {found}, which is neither {self._before} nor {wanted}")
        self._before = found

    def _run(self, url: str, *words: str) -> str:
        # The database may be down for a while: an operator would repeat the backup.
        told = ""
        for _ in range(30):
            ran = subprocess.run(
                [PROGRAM, "store", *words, "--store", url],
                env=self._world.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode == 0:
                return ran.stdout
            told = ran.stderr
            time.sleep(1)
        raise TimeoutError(f"toolcharter store {words[0]}: {told}")

    def _content(self) -> dict[str, int]:
        found: dict[str, Any] = json.loads(self._run(self._world.second_url, "check", "--json"))
        counts = {f"{row['tenant']} {row['distribution']} {row['kind']}": row["records"] for row in found["records"]}
        return {**counts, "items": found["items"]}

    def _archived(self, archive: str) -> dict[str, int]:
        """Return the content of the archive, by a restore that is not killed."""
        url = self._world.postgresql.new()
        self._run(url, "restore", archive)
        second, self._world.second_url = self._world.second_url, url
        try:
            return self._content()
        finally:
            self._world.second_url = second
