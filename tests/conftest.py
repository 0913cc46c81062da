"""What holds for all tests."""

import signal

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine does than about the example.
settings.register_profile("any time", deadline=None)
settings.load_profile("any time")


def pytest_configure(config: pytest.Config) -> None:
    """Where a test is run again, the report shows why."""
    if config.pluginmanager.has_plugin("rerunfailures"):
        config.option.rerun_show_tracebacks = True


def pytest_sessionstart() -> None:
    """What a script starts in the background ignores Ctrl-C, and so would every program that is interrupted here."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
