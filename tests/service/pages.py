"""The page in a real browser, as one user sees it."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

SIZES = {"wide": (1280, 800), "phone": (390, 800)}


class Visit:
    """A page that is open, what its console said, and which hosts it asked.

    left: pages that earlier visits have logged in and left, by their service. A new one takes four
    times the processor time. Without one, the page is that of a stranger until it logs in.
    """

    def __init__(self, browser, size="wide", scheme="light", left=None):
        self._browser, self._size, self._scheme = browser, size, scheme
        self._left: dict[str, Any] = {} if left is None else left
        self._service: Any = None
        self._base = ""
        self.said: list[str] = []
        self.hosts: set[str] = set()

    @cached_property
    def page(self):
        """A page in a context of its own, or the one that was logged in."""
        return self._watched(self._browser.new_page())

    def log_in(self, service):
        self._service, self._base = service, service.page.partition("/login")[0]
        if "page" not in vars(self) and self._base in self._left:
            self.page = self._watched(self._left.pop(self._base))
            self.page.goto(f"{self._base}/queue")
        else:
            code, out, err = service.run("page", "--no-open")
            assert code == 0, err
            self.page.goto(out.strip())
        self.page.wait_for_url("**/queue")
        return self.page

    def leave(self):
        """Check that all was quiet, and leave the page to a later visit, as it was."""
        assert self.said == [], self.said
        assert len(self.hosts) <= 1
        for event, heard in self._heard.items():
            self.page.remove_listener(event, heard)
        is_over = self._service is None or self._service.process.poll() is not None
        if is_over or self._base in self._left:
            self.close()
            return
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.evaluate("localStorage.clear()")
        # Nothing runs there, and for a page of the same host the browser starts no process.
        self.page.goto(f"{self._base}/healthz")
        self._left[self._base] = self.page

    def close(self):
        """Close the page for good, with its context."""
        self.page.context.close()

    def _watched(self, page):
        width, height = SIZES[self._size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=self._scheme)
        self._heard = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "request": lambda request: self.hosts.add(request.url.split("/")[2]),
        }
        for event, heard in self._heard.items():
            page.on(event, heard)
        return page


_AXE = Path(__file__).parent / "vendored" / "axe.min.js"
_RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"


def violations(page):
    """Return the faults that axe finds in the page: a line for each rule and element.

    The scripts of the page may not evaluate text, so the debugger of the browser does it.
    """
    debugger = page.context.new_cdp_session(page)
    debugger.send("Runtime.evaluate", {"expression": _AXE.read_text("utf-8")})
    found = debugger.send(
        "Runtime.evaluate",
        {"expression": f"axe.run(document, {_RULES}).then((found) => JSON.stringify(found))",
         "awaitPromise": True},
    )  # fmt: skip
    assert "value" in found["result"], found
    answer = json.loads(found["result"]["value"])
    assert answer["passes"]  # it has looked at something
    return [
        f"{rule['id']}: {node['target']} {node.get('failureSummary', '')}"
        for rule in answer["violations"]
        for node in rule["nodes"]
    ]
