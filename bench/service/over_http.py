"""What does HTTP add to a question, and how soon does a page show a change?

A real service on this machine, asked over TCP with a token. It asserts that both ways give the same
rows, and times what users and pages wait for. The peer is the same question over the private socket
of the follower. Growth: lists with 10, 100 and 1,000 open jobs, streams with 1, 50 and 200 clients.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from bench._figures import verdict
from bench._service import Served, place, serving

from sluice.api import service as api
from sluice.api import service_web as web_api

ROUNDS = 30
LIST_MS_MAX = 5.0  # more than the peer takes, for 100 rows
READY_S_MAX = 5.0
CHANGE_MS_MAX = 700.0  # four batches a second, and a busy machine
FAN_OUT_CORE_MAX = 0.5
TOKENS = 12


class Asker:
    """A client with a connection of its own."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """The answer as JSON."""
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, self._headers)
        response = self._connection.getresponse()
        text = response.read()
        assert response.status < 300, text
        return json.loads(text)

    def changes(self) -> http.client.HTTPResponse:
        """An open stream of events."""
        self._connection.request("GET", "/v1/events", headers=self._headers)
        return self._connection.getresponse()


def timed_ms(act: Callable[[], object]) -> float:
    """The median time of a call, in milliseconds."""
    found = []
    for _ in range(ROUNDS):
        began_s = time.perf_counter()
        act()
        found.append((time.perf_counter() - began_s) * 1000)
    return median(found)


def waiting(folder: Path, jobs: int) -> dict[str, Any]:
    """A workload of jobs that wait: the first of them holds all slots."""
    return {
        "version": 1,
        "jobs": [
            {
                "id": f"w{number}",
                "maps": {"tasks": 1, "avg_s": 60, "max_s": 60},
                "run": {
                    "input": [str(folder / "in.txt")],
                    "output": str(folder / "out" / "{job_id}"),
                    "mapper": "sh -c 'sleep 60; cat'",
                },
            }
            for number in range(jobs)
        ],
    }


def change_ms(
    user: Asker, streams: list[http.client.HTTPResponse], body: dict[str, Any], name: str
) -> list[float]:
    """How long after a submission is acknowledged each stream has the new job; 0 for before."""
    arrived: list[float] = []
    known = f'"name": "{name}"'.encode()

    def listen(stream: http.client.HTTPResponse) -> None:
        while known not in stream.readline():
            pass
        arrived.append(time.perf_counter())

    listeners = [threading.Thread(target=listen, args=(one,)) for one in streams]
    for one in listeners:
        one.start()
    made = user.ask("POST", "/v1/jobs", {"job": {**body, "id": name}})
    began_s = time.perf_counter()
    for one in listeners:
        one.join()
    user.ask("DELETE", f"/v1/jobs/{made['job_id']}")
    return sorted(max(0.0, at_s - began_s) * 1000 for at_s in arrived)


def cpu_s(pid: int) -> float:
    """What a process has taken of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure; 1 if a budget is missed."""
    with place() as folder:
        tokens = cycle(  # each may have 20 streams
            [web_api.create_token(f"bench-{number}", tenant="bench", role="operator")
             for number in range(TOKENS)]
        )  # fmt: skip
        with serving(folder, "127.0.0.1:0") as served:
            return measured(served, lambda: Asker(served.page, next(tokens)))


def measured(served: Served, client: Callable[[], Asker]) -> int:
    """All figures, each with its budget."""
    user, folder = client(), served.folder
    figures: dict[str, tuple[float, float]] = {"ready, s": (served.ready_s, READY_S_MAX)}
    for jobs in (10, 100, 1000):
        made = user.ask("POST", "/v1/workloads", waiting(folder, jobs))["jobs"]
        assert user.ask("GET", "/v1/jobs?limit=100")["items"] == api.jobs(limit=100)["jobs"]
        alone_ms = timed_ms(lambda: api.jobs(limit=100))
        over_ms = timed_ms(lambda: user.ask("GET", "/v1/jobs?limit=100"))
        figures[f"list of {jobs} open jobs, ms more than the {alone_ms:.1f} of the socket"] = (
            over_ms - alone_ms, LIST_MS_MAX,
        )  # fmt: skip
        for each in made:
            user.ask("DELETE", f"/v1/jobs/{each['job_id']}")
    body = waiting(folder, 1)["jobs"][0]
    web = user.ask("GET", "/v1/about")["pid"]
    for clients in (1, 50, 200):
        streams = [client().changes() for _ in range(clients)]
        time.sleep(1)
        change_ms(user, streams, body, f"first-{clients}")
        began_s, before_s = time.perf_counter(), cpu_s(web)
        found = [change_ms(user, streams, body, f"c{clients}-{number}") for number in range(3)]
        core = (cpu_s(web) - before_s) / (time.perf_counter() - began_s)
        for stream in streams:
            stream.close()
        assert all(len(one) == clients for one in found)
        slowest_ms = median(one[-1] for one in found)
        figures[f"change at the last of {clients} pages, ms"] = (slowest_ms, CHANGE_MS_MAX)
        figures[f"a core's share of the web process, {clients} pages"] = (core, FAN_OUT_CORE_MAX)
    is_fine = True
    for text, (value, most) in figures.items():
        is_fine = is_fine and value <= most
        print(f"{text}: {value:.2f} (at most {most:g}){verdict(fits=value <= most)}")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
