"""A real Chromium for tests, driven by the DevTools protocol over a pipe: no further library.

The protocol: JSON messages, each ended by a zero byte, on the browser's descriptors 3 and 4.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.skips import skip

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1000,1000", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE_S = 30.0  # the machine may be busy
_END_S = 10.0


class Browser:
    """One browser process and the page that it shows.

    console: messages of the page's scripts and of the browser about the page, since it was opened.
    requests: addresses that the page asked for.
    """

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.console: list[str] = []
        self.requests: list[str] = []
        self._out, self._in = to_browser, from_browser
        self._unread = b""
        self._number = 0
        self._session = ""

    def open(self, path: Path) -> None:
        """Load a file in a fresh page, and wait until it is loaded."""
        self.console, self.requests, self._session = [], [], ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        self._ask("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        _until(lambda: bool(self.value(condition)), condition)

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse there, as a user does."""
        for nearby in (x - 1, x):
            self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=nearby, y=y)

    def resize(self, width: int, height: int = 1000) -> None:
        """Show the page in a window of that size, in pixels."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme that the user prefers: "dark" or "light"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", features=features)

    def wheel(self, x: float, y: float, pixels: float, *, ctrl: bool = False) -> None:
        """Turn the mouse wheel at a point; negative pixels are away from the user."""
        self._ask(
            "Input.dispatchMouseEvent",
            type="mouseWheel", x=x, y=y, deltaX=0, deltaY=pixels, modifiers=2 if ctrl else 0,
        )  # fmt: skip

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the button at a point, move in steps, and release it at another."""
        self.point_at(*start)
        self._button("mousePressed", *start)
        for step in range(1, 6):
            x, y = (a + (b - a) * step / 5 for a, b in zip(start, end, strict=True))
            self._ask(
                "Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1
            )
        self._button("mouseReleased", *end)

    def click(self, x: float, y: float, *, times: int = 1) -> None:
        """Click at a point. times: 2 for a double-click."""
        self.point_at(x, y)
        for number in range(1, times + 1):
            self._button("mousePressed", x, y, number)
            self._button("mouseReleased", x, y, number)

    def _button(self, kind: str, x: float, y: float, number: int = 1) -> None:
        self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=number)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """The page as a PNG. whole: also what is below the window."""
        taken = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("sessionId") == self._session:
                self._hear(answer.get("method", ""), answer.get("params", {}))

    def _hear(self, method: str, told: dict[str, Any]) -> None:
        if method == "Log.entryAdded":
            self.console.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(one.get("value")) for one in told["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(told["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], _PATIENCE_S)
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._unread += part
        first, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for the length of the block. Skips where none is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        skip("Chromium is not installed here")
    with contextlib.ExitStack() as stack:
        # Chromium may still write while it ends.
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        asked, ask = os.pipe()
        hear, told = os.pipe()
        stack.callback(os.close, hear)
        # The browser ends when it can read no more commands.
        with os.fdopen(ask, "wb", buffering=0) as commands:
            process = _started(program, folder, asked, told)
            stack.callback(_end, process)
            try:
                yield Browser(commands.fileno(), hear)
            finally:
                _end(process)


def _started(program: str, folder: str, asked: int, told: int) -> subprocess.Popen[bytes]:
    """The browser, which reads commands from its descriptor 3 and answers on 4."""
    # The shell puts the pipes where the browser expects them, whatever their numbers are here.
    script = f'exec "$0" "$@" 3<&{asked} 4>&{told}'
    arguments = [program, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    try:
        return subprocess.Popen(
            ["bash", "-c", script, *arguments],
            env=os.environ | {"HOME": folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(asked, told),
            start_new_session=True,
        )
    finally:
        os.close(asked)
        os.close(told)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the browser and all its processes, which share its session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait(_END_S)


def _until(happened: Callable[[], bool], what: str) -> None:
    gives_up_at = time.monotonic() + _PATIENCE_S
    while not happened():
        assert time.monotonic() < gives_up_at, what
        time.sleep(0.02)
