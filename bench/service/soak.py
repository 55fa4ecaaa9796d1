"""Does memory stay flat while pages are read, jobs come and go, and 1,000 streams are open?

A real service on this machine. Clients read the lists of the page and submit a job each second,
for ten minutes (or as many as are given), under 1,000 streams of which half never read. It asserts
that all jobs end, that streams hear of them and stay open, and that memory of the web process stays
below the budget of the service (120 MB) and, as that of the follower and the driver, is flat: at
most 5 % above the middle of the time. The peer is the service itself before the streams were open.
Growth: streams from 0 to 1,000. Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from bench._figures import verdict
from bench._service import Served, place, serving
from bench.service.over_http import Asker

from sluice.api import service as api
from sluice.api import service_web as web_api
from sluice.service.events import CLIENTS_MAX, CLIENTS_OF_ONE_MAX

MB_MAX = 120.0
GROWTH_MAX = 1.05
READ = ("/v1/jobs", "/v1/queues", "/v1/nodes", "/v1/promises", "/v1/whoami")


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1000


def opened(page: str, token: str) -> socket.socket:
    """A stream of events that has begun."""
    host, _, port = urlsplit(page).netloc.partition(":")
    made = socket.create_connection((host, int(port)), timeout=30)
    lines = ("GET /v1/events HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {token}")
    made.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
    assert b" 200 OK" in made.recv(4096)
    return made


def main(minutes: float = 10.0) -> int:
    """Measure; 1 if a budget is missed."""
    with place() as folder:
        tokens = [
            web_api.create_token(f"soak-{number}", tenant="soak", role="operator")
            for number in range(CLIENTS_MAX // CLIENTS_OF_ONE_MAX)
        ]
        with serving(folder, "127.0.0.1:0") as served:
            return measured(served, tokens, minutes)


def measured(served: Served, tokens: list[str], minutes: float) -> int:
    """All figures, each with its budget."""
    user = Asker(served.page, tokens[0])
    known = api.service_status()
    pids = {name: int(known[name]["pid"]) for name in ("driver", "follower")}
    pids["web"] = user.ask("GET", "/v1/about")["pid"]
    for path in READ:
        user.ask("GET", path)
    alone_mb = rss_mb(pids["web"])
    streams = [opened(served.page, tokens[n // CLIENTS_OF_ONE_MAX]) for n in range(CLIENTS_MAX)]
    user = Asker(served.page, tokens[0])  # an idle connection is closed
    sampled: list[dict[str, float]] = []
    began_s, jobs = time.monotonic(), 0
    heard = 0
    while time.monotonic() < began_s + 60 * minutes:
        body = {"id": f"soak-{jobs}", "maps": {"tasks": 1, "avg_s": 0.1, "max_s": 0.1}, "run": {
            "input": [str(served.folder / "in.txt")], "mapper": "cat",
            "output": str(served.folder / "out" / "{job_id}")}}  # fmt: skip
        user.ask("POST", "/v1/jobs", {"job": body})
        jobs += 1
        for path in READ:
            user.ask("GET", path)
        for one in streams[::2]:
            one.settimeout(0)
            try:
                found = one.recv(1 << 20)
                assert found, "a stream was closed"
                heard += b"event: delta" in found
            except BlockingIOError:
                pass
        sampled.append({name: rss_mb(pid) for name, pid in pids.items()})
        time.sleep(max(0.0, began_s + jobs - time.monotonic()))
    while any(row["state"] in {"waiting", "running"} for row in api.jobs(limit=100)["jobs"]):
        time.sleep(0.2)
    assert heard > 0
    figures = {"web, MB at most": (max(one["web"] for one in sampled), MB_MAX)}
    for name in pids:
        middle = sampled[len(sampled) // 2][name]
        late = max(one[name] for one in sampled[len(sampled) // 2 :])
        figures[f"{name}, from the middle ({middle:.0f} MB) to the end"] = late / middle, GROWTH_MAX
    is_fine = True
    print(f"{jobs} jobs, {len(streams)} streams; the web process alone: {alone_mb:.1f} MB")
    for text, (value, most) in figures.items():
        is_fine = is_fine and value <= most
        print(f"{text}: {value:.2f} (at most {most:g}){verdict(fits=value <= most)}")
    for one in streams:
        one.close()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
