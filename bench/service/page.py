"""How soon does the page show a queue of 100 and 1,000 jobs, and what does it cost the browser?

A real service and a real Chromium on this machine, driven by Playwright. It asserts that the page
says how many jobs there are and shows the newest, and times what a user waits for: from the address
to the first row. Budgets: first rows 1 s (a quiet machine: 0.5 s), scripts 100 ms, heap 10 MB, own
code 60 KB gzip. Growth: ten times the jobs may take 1.5 times as long.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench._figures import verdict
from bench._service import place, serving
from bench.service.over_http import waiting

import sluice.service.page
from sluice.api import service as api

SIZES = (100, 1000)
ROUNDS = 5
FIRST_S_MAX = 1.0
SCRIPT_MS_MAX = 100.0
HEAP_MB_MAX = 10.0
CODE_KB_MAX = 60.0
GROWTH_MAX = 1.5


def code_kb() -> float:
    """The files of the page, packed one by one as a server may send them."""
    folder = Path(sluice.service.page.__file__).parent / "files"
    return sum(len(gzip.compress(path.read_bytes())) for path in folder.iterdir()) / 1024


def visited(
    page: Any,  # noqa: ANN401  # of Playwright
    debugger: Any,  # noqa: ANN401  # its session
    address: str,
    jobs: int,
) -> tuple[float, float, float]:
    """Seconds to the first row, milliseconds of scripts, megabytes of heap. jobs: to be shown."""
    page.goto("about:blank")
    began_s = time.perf_counter()
    page.goto(address)
    page.locator("tbody tr[data-key]").first.wait_for()
    first_s = time.perf_counter() - began_s
    assert f"{jobs:,}" in page.locator("main").inner_text()
    assert page.locator("tbody tr[data-key]").first.inner_text().startswith(f"w{jobs - 1}")
    found = metrics(debugger)  # since this page was opened
    script_ms = found["ScriptDuration"] * 1000
    assert script_ms > 0
    return first_s, script_ms, found["JSHeapUsedSize"] / 2**20


def metrics(debugger: Any) -> dict[str, float]:  # noqa: ANN401  # a session of Playwright
    """What Chromium counts, by name."""
    found = debugger.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in found}


def main() -> int:
    """Measure; 1 if a budget is missed."""
    from tests.browser import chromium

    figures: dict[str, tuple[float, float]] = {"own code, KB gzip": (code_kb(), CODE_KB_MAX)}
    first: dict[int, float] = {}
    with place() as folder, serving(folder, "127.0.0.1:0") as served, chromium() as browser:
        asked = [sys.executable, "-m", "sluice", "page", "--no-open"]
        link = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(link)
        page.wait_for_url("**/queue")
        debugger = page.context.new_cdp_session(page)
        debugger.send("Performance.enable")
        for jobs in SIZES:
            path = folder / "many.json"
            path.write_text(json.dumps(waiting(folder, jobs)))
            ids = [each["job_id"] for each in api.submit(path)["jobs"]]
            address = f"{served.page}/queue?state=waiting&state=running"
            rounds = [visited(page, debugger, address, jobs) for _ in range(ROUNDS)]
            first[jobs], script_ms, heap_mb = (median(one) for one in zip(*rounds, strict=True))
            figures[f"first row of {jobs} jobs, s"] = (first[jobs], FIRST_S_MAX)
            figures[f"scripts for {jobs} jobs, ms"] = (script_ms, SCRIPT_MS_MAX)
            figures[f"heap for {jobs} jobs, MB"] = (heap_mb, HEAP_MB_MAX)
            for job_id in ids:
                api.kill(job_id)
        page.goto("about:blank")
    small, large = SIZES
    figures["growth for ten times the jobs"] = (first[large] / first[small], GROWTH_MAX)
    is_fine = True
    for text, (value, most) in figures.items():
        is_fine = is_fine and value <= most
        print(f"{text}: {value:.2f} (at most {most:g}){verdict(fits=value <= most)}")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
