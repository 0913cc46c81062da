"""Where the local control plane keeps what outlives a run: binaries, the Go toolchain, logs of failed runs."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: Logs of so many failed runs are kept.
_KEPT_RUNS: Final = 10


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/gpusched`, by default `~/.cache/gpusched`; not created here."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "gpusched"


def machine() -> str:
    """Operating system and processor, such as `linux-x86_64`: home folders are shared between machines."""
    return f"{sys.platform}-{platform.machine().lower()}"


def keep_logs(logs: Path, cache: Path) -> Path | None:
    """Copy the logs of a failed run into the cache, dropping the oldest; None where nothing could be written."""
    kept = cache / "logs"
    target = kept / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        for old in sorted(kept.glob("*"))[: -_KEPT_RUNS + 1]:
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(logs, target, dirs_exist_ok=True)
    except OSError:
        # A full disk is a likely reason of the failure itself: what was copied in part would only make it worse.
        shutil.rmtree(target, ignore_errors=True)
        return None
    return target
