"""What can go wrong with a local control plane, as exceptions that say what to do about it."""

from pathlib import Path


class LocalError(Exception):
    """Anything that keeps the local control plane from working; the text is meant for people."""


class ToolchainError(LocalError):
    """There is no Go that could build the binaries, and none could be installed."""


class BuildError(LocalError):
    """The Go build failed; the text ends with the last lines it printed."""


class StartError(LocalError):
    """The control plane did not become ready; the text ends with the last lines of the log that explains it."""


class UnsupportedError(LocalError):
    """An existing cluster cannot do what was asked of it."""


class ChildDiedError(LocalError):
    """A component ended that should be running; `code` is its exit status, negative for a signal."""

    def __init__(self, name: str, code: int, log: Path, last_lines: str) -> None:
        super().__init__(name, code, log, last_lines)
        self.name = name
        self.code = code
        self.log = log
        self.last_lines = last_lines

    def __str__(self) -> str:
        how = f"was killed by signal {-self.code}" if self.code < 0 else f"ended with status {self.code}"
        return f"{self.name} {how}; the end of {self.log.name}:\n{self.last_lines}"


class ApiError(LocalError):
    """The API server refused a request; `status` is the HTTP status, `message` the server's own sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} (HTTP {self.status})"
