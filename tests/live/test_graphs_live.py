"""Jobs whose phases form a graph, on real processes: the same bytes, also after kills."""

import json
import random

import pytest
from tests.effort import IS_THOROUGH, first_of
from tests.live.chaos import Chaos
from tests.live.command_line import Place, awaited
from tests.live.recorded_decisions import checks_out
from tests.live.recorded_lives import lives_of

REPORT_PY = """\
import time


def orders(line):
    client, amount = line.split(",")
    yield int(client), int(amount)


def clients(line):
    client, city = line.split(",")
    yield int(client), city


def join(client, amounts, cities):
    time.sleep(0.05)
    for city in cities:
        yield city, sum(amounts)


def total(city, amounts):
    yield city, sum(amounts)
"""
TAB = r"awk -F, -v OFS='\t' '{print $1, $2}'"
JOIN = r"""awk -F '\t' -v OFS='\t' '$2 !~ /^[0-9]/ {city = $2; next} {print city, $2}'"""
TOTAL = r"""awk -F '\t' -v OFS='\t' '$1 != c {if (c) print c, n; c = $1; n = 0}
{n += $2} END {if (c) print c, n}'"""
KILLS = 3 if IS_THOROUGH else 2  # of the driver, for each seed
GRAPHS = [
    {
        "id": "commands",
        "run": {"output": "out/commands", "split_bytes": 400},
        "phases": [
            {"name": "orders", "run": {"input": ["orders"], "mapper": TAB}},
            {"name": "clients", "after": [], "run": {"input": ["clients"], "mapper": TAB}},
            {"name": "join", "after": ["clients", "orders"], "tasks": 3, "run": {"reducer": JOIN}},
            {"name": "total", "tasks": 2, "run": {"reducer": TOTAL}},
        ],
    },
    {
        "id": "functions",
        "run": {"output": "out/functions", "split_bytes": 400},
        "phases": [
            {"name": "orders", "run": {"input": ["orders"], "python": "report.py:orders"}},
            {
                "name": "clients",
                "after": [],
                "run": {"input": ["clients"], "python": "report.py:clients"},
            },
            {
                "name": "join",
                "after": ["orders", "clients"],
                "tasks": 3,
                "run": {"python": "report.py:join"},
            },
            {"name": "total", "tasks": 2, "run": {"python": "report.py:total"}},
        ],
    },
]


def write_graphs(place, jobs=GRAPHS):
    orders = [f"{number % 17},{number * 31 % 97}" for number in range(400)]
    clients = [f"{number},city-{number % 5}" for number in range(17)]
    place.write_input("orders", "\n".join(orders[:200]) + "\n", "\n".join(orders[200:]) + "\n")
    place.write_input("clients", "\n".join(clients) + "\n")
    (place.folder / "report.py").write_text(REPORT_PY)
    place.write(jobs)


def totals():
    found: dict[str, int] = {}
    for number in range(400):
        city = f"city-{number % 17 % 5}"
        found[city] = found.get(city, 0) + number * 31 % 97
    return sorted(f"{city}\t{total}".encode() for city, total in found.items())


def lines(place, job_id):
    return sorted(line.rstrip(b"\n") for line in place.lines(f"out/{job_id}"))


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    write_graphs(place)
    yield place
    place.end()


@pytest.mark.parametrize(
    "words", ["--tasks fair --order critical-path", "--tasks fifo --set run.data_plane=network"]
)
def test_a_graph_gives_what_a_plain_program_gives(place, words):
    code, document = place.document(*words.split())

    assert code == 0
    for job_id in ("commands", "functions"):
        assert lines(place, job_id) == totals()
        phases = {row["name"]: row for row in document["measured"][job_id]["phases"]}
        assert {name: row["tasks"] for name, row in phases.items()} == {
            "orders": 6, "clients": 1, "join": 3, "total": 2,
        }  # fmt: skip
    assert place.remains() == []
    assert checks_out(place.runs[-1])
    assert "ended" in place.sluice("why", "commands")[1]
    assert "orders" in place.sluice("profiles", "commands")[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_of(range(3), 1))
def test_kills_of_driver_and_agents_change_no_byte(tmp_path, seed):
    plain = Place(tmp_path / "plain")
    write_graphs(plain)
    assert plain.run()[0] == 0
    rng, kills = random.Random(seed), 0
    while kills < KILLS:
        place = Place(tmp_path / f"killed-{kills}-{rng.random()}")
        write_graphs(place)
        chaos = Chaos(place, rng)
        chaos.run(KILLS - kills)
        kills += chaos.kills

        lives = lives_of(place.runs[0])
        assert place.outputs() == plain.outputs(), chaos.log
        assert lines(place, "functions") == totals()
        assert place.remains() == [], chaos.log
        assert lives.rerun == [], chaos.log


@pytest.mark.slow
def test_output_in_the_middle_of_a_graph_that_is_lost_is_made_again(place):
    """Its own input may be gone as well: both are made again, and the output is the same."""
    jobs = json.loads(json.dumps(GRAPHS[:1]))
    jobs[0]["phases"][3]["run"]["reducer"] = "sh total.sh"
    jobs[0]["phases"][3]["tasks"] = 12  # more than the slots: some start when it is lost
    wait = "test -e go || touch ready\nuntil test -e go; do sleep 0.1; done\n"
    (place.folder / "total.sh").write_text(f"{wait}{TOTAL}\n")
    place.write(jobs)
    process = place.started("run", str(place.file))
    awaited((place.folder / "ready").exists, "the first tasks of the last phase")
    (scratch,) = place.runs[0].glob("scratch")
    spills = list(scratch.glob("*/data/*.spill"))
    assert spills
    for path in spills:
        path.unlink()
    (place.folder / "go").touch()
    _, complained = process.communicate(timeout=60)
    assert process.returncode == 0, complained

    assert lines(place, "commands") == totals()
    made_again = {key[1] for key in lives_of(place.runs[0]).finished}
    assert made_again == {0, 1, 2, 3}
