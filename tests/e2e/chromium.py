"""A real Chromium without a window, driven over the DevTools protocol (https://chromedevtools.github.io)."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

_SECONDS = 60.0
_LOOK = 0.05


def find_chromium() -> str | None:
    """The browser's program, None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Page:
    """One tab. `errors` are what the page wrote to the console as errors or threw, `requests` the URLs asked for."""

    def __init__(self, program: str) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._program = program
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory(prefix="gpusched-chromium-")
        self._number = 0
        self._answers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--remote-debugging-port=0",
            f"--user-data-dir={self._folder.name}",
            "--window-size=1500,1100",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            [self._program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._loop.run_until_complete(self._connect())
        except BaseException:
            self.__exit__(None, None, None)
            raise
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        session = getattr(self, "_session", None)
        if session is not None:
            self._loop.run_until_complete(session.close())
        self._loop.run_until_complete(asyncio.sleep(0.1))
        self._loop.close()
        self._process.terminate()
        self._process.wait(20)
        shutil.rmtree(self._folder.name, ignore_errors=True)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> Any:
        """One command of the protocol and its result."""
        return self._loop.run_until_complete(self._call(method, parameters))

    def evaluate(self, script: str) -> Any:
        """The value of a script, which may be a promise. Fails with what the script throws."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, url: str) -> None:
        """Go to a page."""
        self.call("Page.navigate", url=url)
        self.wait(lambda: self.evaluate("document.readyState") == "complete", f"{url} loaded")

    def wait(self, holds: Callable[[], Any], what: str, seconds: float = _SECONDS) -> Any:
        """What `holds` gives as soon as it is true."""
        end = self._loop.time() + seconds
        while self._loop.time() < end:
            found = holds()
            if found:
                return found
            self._loop.run_until_complete(self._take(_LOOK))
        raise AssertionError(f"not within {seconds:.0f} s: {what}; console: {self.errors}")

    def wait_for(self, script: str, seconds: float = _SECONDS) -> Any:
        """What a script gives as soon as that is true."""
        return self.wait(lambda: self.evaluate(script), script, seconds)

    def press(self, key: str, text: str = "") -> None:
        """A key down and up; `text` is what it types."""
        typed = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **typed, **_code(key))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **_code(key))

    def type(self, text: str) -> None:
        """Keys of a text one after the other."""
        for letter in text:
            self.press(letter, letter)

    def screenshot(self, path: Path) -> None:
        """What the window shows."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    async def _connect(self) -> None:
        port_file = Path(self._folder.name) / "DevToolsActivePort"
        async with asyncio.timeout(_SECONDS):
            while not port_file.exists() or not port_file.read_text().strip():  # noqa: ASYNC110 - a file of another process
                await asyncio.sleep(_LOOK)
        port = port_file.read_text().split()[0]
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json") as answer:
            tabs = await answer.json()
        (tab,) = [tab for tab in tabs if tab["type"] == "page"]
        self._socket = await self._session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0)

    async def _call(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        number = self._number
        await self._socket.send_str(json.dumps({"id": number, "method": method, "params": parameters}))
        async with asyncio.timeout(_SECONDS):
            while number not in self._answers:
                self._note(json.loads((await self._socket.receive()).data))
        answer = self._answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    async def _take(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._note(json.loads((await self._socket.receive()).data))
        except TimeoutError:
            return

    def _note(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        about = message.get("params", {})
        match message["method"]:
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(about["exceptionDetails"].get("exception", {}).get("description", "exception"))
            case "Runtime.consoleAPICalled" if about["type"] in {"error", "assert"}:
                self.errors.append(" ".join(str(item.get("value")) for item in about["args"]))
            case "Log.entryAdded" if about["entry"]["level"] == "error":
                self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")


_CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "Home": 36, "End": 35}


def _code(key: str) -> dict[str, int]:
    return {"windowsVirtualKeyCode": _CODES[key]} if key in _CODES else {}
