"""The page in a real browser, as one user sees it."""

import json
from pathlib import Path

SIZES = {"wide": (1280, 800), "phone": (390, 800)}


class Visit:
    """A page that is open, what its console said, and which hosts it asked."""

    def __init__(self, browser, size="wide", scheme="light"):
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def log_in(self, service):
        code, out, err = service.run("page", "--no-open")
        assert code == 0, err
        self.page.goto(out.strip())
        self.page.wait_for_url("**/queue")
        return self.page


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
