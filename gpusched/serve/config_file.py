"""The configuration file of a running service: read again when it changes; a bad one is reported and not used."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.policy.model import Config

Loader = Callable[[Path], tuple[Config, Sequence[str]]]
"""Reads a file: the configuration, and every error in it as a line for people."""

#: Seconds between two looks. A mounted ConfigMap is swapped by a symbolic link, which a look follows.
_POLL: Final = 2.0


class ConfigFile:
    """Watches one file. `load` must not raise for what is in the file, or for a file that is not there.

    `on_bad` is told the errors of a file that is not used.
    """

    def __init__(self, path: Path, load: Loader, metrics: Metrics, log: Log) -> None:
        self.on_bad: list[Callable[[Sequence[str]], None]] = []
        self._errors: tuple[str, ...] = ()
        self._path = path
        self._load = load
        self._metrics = metrics
        self._log = log
        self._stamp = self._look()

    async def watch(self, take: Callable[[Config], Awaitable[None]]) -> None:
        """Hand over each new configuration until cancelled."""
        while True:
            await asyncio.sleep(_POLL)
            config = self.changed()
            if config is not None:
                await take(config)

    def lines(self) -> list[str]:
        """Whether the file is what is in use, for people."""
        if not self._errors:
            return [f"configuration: as in {self._path}"]
        return ["configuration: the former one, for the file has errors", *(f"  {line}" for line in self._errors)]

    def changed(self) -> Config | None:
        """The configuration if the file changed and has no errors."""
        stamp = self._look()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        config, errors = self._load(self._path)
        self._errors = tuple(errors)
        self._metrics.config_valid.set(0 if errors else 1)
        if errors:
            self._log.error("configuration has errors, the former one stays in use", errors=list(errors))
            for told in self.on_bad:
                told(errors)
            return None
        self._log.info("configuration loaded", file=str(self._path))
        return config

    def _look(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
