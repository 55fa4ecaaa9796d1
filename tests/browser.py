"""A real Chromium for tests: the one of this machine, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.skips import required, skip

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_MS = 30_000  # the machine may be busy
_SIDE = 1000  # pixels of the window


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, as Playwright has it. Skips where Chromium or Playwright is not installed."""
    playwright = required("playwright.sync_api")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        skip("Chromium is not installed here")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with one page for the length of the block. Skips as `chromium`."""
    with chromium() as found:
        yield Browser(found)


class Browser:
    """One page that shows a file, with what its users do.

    console: messages of the page's scripts and of the browser about the page, since it was opened.
    requests: addresses that the page asked for.
    """

    def __init__(self, found: Any) -> None:
        self.console: list[str] = []
        self.requests: list[str] = []
        self._page = found.new_page(viewport={"width": _SIDE, "height": _SIDE})
        self._page.set_default_timeout(_PATIENCE_MS)
        self._page.on("console", lambda message: self.console.append(message.text))
        self._page.on("pageerror", lambda error: self.console.append(str(error)))
        self._page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is loaded."""
        self._page.goto("about:blank")
        self.console.clear()
        self.requests.clear()
        self._page.goto(path.resolve().as_uri())

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return self._page.evaluate(f"() => ({expression})")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        self._page.wait_for_function(f"() => ({condition})")

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse there, as a user does."""
        self._page.mouse.move(x - 1, y)
        self._page.mouse.move(x, y)

    def resize(self, width: int, height: int = _SIDE) -> None:
        """Show the page in a window of that size, in pixels."""
        self._page.set_viewport_size({"width": width, "height": height})

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme that the user prefers: "dark" or "light"."""
        self._page.emulate_media(color_scheme=scheme)

    def wheel(self, x: float, y: float, pixels: float, *, ctrl: bool = False) -> None:
        """Turn the mouse wheel at a point; negative pixels are away from the user."""
        self._page.mouse.move(x, y)
        if ctrl:
            self._page.keyboard.down("Control")
        self._page.mouse.wheel(0, pixels)
        if ctrl:
            self._page.keyboard.up("Control")

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the button at a point, move in steps, and release it at another."""
        self.point_at(*start)
        self._page.mouse.down()
        self._page.mouse.move(*end, steps=5)
        self._page.mouse.up()

    def click(self, x: float, y: float, *, times: int = 1) -> None:
        """Click at a point. times: 2 for a double-click."""
        self._page.mouse.click(x, y, click_count=times)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """The page as a PNG. whole: also what is below the window."""
        taken: bytes = self._page.screenshot(full_page=whole)
        return taken
