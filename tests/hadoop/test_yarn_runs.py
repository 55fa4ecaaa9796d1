"""Runs on a real YARN with files of a real HDFS, whatever is killed in the middle."""

import json
import os
import signal

import pytest
from tests.hadoop.configuration import host_of
from tests.live.command_line import Place, awaited, marked, words_of

pytestmark = [pytest.mark.slow, pytest.mark.yarn, pytest.mark.timeout(600)]

FILES = 8
NODES = [host_of(number) for number in (1, 2, 3)]
ORPHANS_S = 10.0
COMMAND_SH = """\
echo "$SLUICE_ATTEMPT $NM_HOST" >> "$FOLDER/begun"
while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
"$@"
"""
WORDS = [[f"one two w{number}"] * 9 for number in range(FILES)]
MEGABYTES = 20
LONG_WORDS = [f"the-best-of-the-times-{number:03}" for number in range(997)]


@pytest.fixture(scope="module")
def text(hadoop, tmp_path_factory):
    """A folder of small files in HDFS."""
    folder = tmp_path_factory.mktemp("text")
    for number, lines in enumerate(WORDS):
        (folder / f"part-{number}").write_text("\n".join(lines) + "\n")
    hadoop.hdfs("-put", str(folder), "/words")
    return f"{hadoop.files}/words"


@pytest.fixture(scope="module")
def large(hadoop, tmp_path_factory):
    """A folder of files in HDFS that are 20 MB together."""
    folder = tmp_path_factory.mktemp("large")
    for number in range(FILES):
        words = LONG_WORDS[number * 100 :] + LONG_WORDS[: number * 100]
        lines = " ".join([f"w{number}", *words[:40]]) + "\n" + " ".join(words) + "\n"
        times = 1 + MEGABYTES * 1_000_000 // FILES // len(lines)
        (folder / f"part-{number}").write_text(lines * times)
    hadoop.hdfs("-put", str(folder), "/large")
    return f"{hadoop.files}/large"


@pytest.fixture(scope="module")
def undisturbed(hadoop, large, tmp_path_factory):
    """The output on the large text where nothing dies, by file."""
    made = Place(tmp_path_factory.mktemp("undisturbed") / "run")
    made.folder.mkdir()
    run = {"input": [large], "output": "out", "mapper": "tr ' ' '\\n'", "reducer": "uniq -c"}
    made.write([{"id": "words", "reduces": {"tasks": 2}, "run": run}])
    code, _, complained = made.sluice(*words_for(made, hadoop))
    assert code == 0, complained
    found = output_of(made)
    assert sum(len(content) for content in found.values()) > 997 * len(LONG_WORDS[0])
    return found


def output_of(place):
    """The bytes of each file of the output."""
    return {path.name: path.read_bytes() for path in (place.folder / "out").glob("part*")}


@pytest.fixture
def place(tmp_path, text, hadoop):
    made = Place(tmp_path / "run")
    made.folder.mkdir()
    (made.folder / "command.sh").write_text(COMMAND_SH)
    run = {
        "input": [text],
        "output": "out",
        "mapper": "sh command.sh tr ' ' '\\n'",
        "reducer": "uniq -c",
        "env": {"FOLDER": str(made.folder)},
    }
    made.write(
        [{"id": "words", "reduces": {"tasks": 2}, "run": run}],
        settings={"yarn_queue": "a", "yarn_map_slots_per_vcore": 1, "reattach_s": 60},
    )
    yield made
    made.end()
    awaited(lambda: hadoop.applications() == [], "the end of all applications")


def words_for(place, hadoop):
    return ("run", str(place.file), "--engine", "yarn", "--address", hadoop.address)


def begun(place):
    path = place.folder / "begun"
    return path.read_text().splitlines() if path.exists() else []


def counted(place):
    return {line.split()[1]: int(line.split()[0]) for line in place.lines("out")}


EXPECTED = {b"one": 9 * FILES, b"two": 9 * FILES} | {b"w%d" % n: 9 for n in range(FILES)}


def in_containers(program, host=None):
    """Processes in containers of YARN whose command line has a word."""
    found = [
        pid for pid in marked("CONTAINER_ID=") if program in b" ".join(words_of(pid, "cmdline"))
    ]
    if host is None:
        return found
    return [pid for pid in found if f"NM_HOST={host}".encode() in words_of(pid)]


def test_maps_run_where_the_blocks_are_and_agents_are_up_within_three_seconds(place, hadoop):
    (place.folder / "go").touch()
    words = words_for(place, hadoop)
    code, printed, complained = place.sluice(
        *words, "--tasks=fair", "--set=data.node_wait_s=30", "--json"
    )

    assert code == 0, complained
    result = json.loads(printed)
    assert counted(place) == EXPECTED
    assert result["attempts"] == {"done": FILES + 2, "failed": 0, "killed": 0, "lost": 0}
    assert result["jobs"]["words"]["started_at_s"] < 3.0
    found = places_of(hadoop)
    ran = {int(name.rsplit("-", 3)[1]): host for name, host in map(str.split, begun(place))}
    assert found == ran


def places_of(hadoop):
    """The host that has each file, by its number."""
    found = {}
    for number in range(FILES):
        found[number] = hadoop.hosts_of(f"/words/part-{number}")[0]
    return found


def gone(host):
    """Wait for the end of all attempts on a host, within the time for orphans."""
    awaited(lambda: in_containers(b"command.sh", host) == [], "the end of orphans", ORPHANS_S)


def kill_node_manager(hadoop, host):
    """The containers on its node live on, until YARN has noticed."""
    assert in_containers(b"command.sh", host)
    hadoop.kill("nm", NODES.index(host) + 1)
    hadoop.await_nodes(2)


@pytest.mark.parametrize("victim", ["agent", "master", "driver", "node", "node of the master"])
def test_a_word_count_of_20_mb_lives_through_a_kill(victim, place, hadoop, large, undisturbed):
    document = json.loads(place.file.read_text())
    document["jobs"][0]["run"]["input"] = [large]
    place.file.write_text(json.dumps(document))
    driver = place.started(*words_for(place, hadoop), "--json")
    awaited(lambda: len(begun(place)) == FILES, "all maps")
    (master,) = in_containers(b"engines.yarn.master")
    (masters_host,) = [host for host in NODES if in_containers(b"yarn.master", host) == [master]]
    busy = next(
        host for _, host in map(str.split, begun(place))
        if (host == masters_host) == (victim == "node of the master")
    )  # fmt: skip
    if victim == "agent":
        os.kill(in_containers(b"engines.yarn.container", busy)[0], signal.SIGKILL)
        gone(busy)
    elif victim == "master":
        os.kill(master, signal.SIGKILL)
        awaited(lambda: in_containers(b"yarn.master") not in ([], [master]), "another one")
    elif victim == "driver":
        driver.kill()
        driver.communicate()
        driver = place.started(*words_for(place, hadoop), "--resume", "--json")
    else:
        kill_node_manager(hadoop, busy)
        if victim == "node of the master":
            awaited(lambda: in_containers(b"yarn.master") not in ([], [master]), "another one")
        gone(busy)
        # Nothing ends the containers there, so that they end with their agents.
        awaited(lambda: in_containers(b"", busy) == [], "the end of containers", ORPHANS_S)
    (place.folder / "go").touch()
    try:
        printed, complained = driver.communicate(timeout=120)

        assert driver.returncode == 0, complained
        assert output_of(place) == undisturbed
        result = json.loads(printed)
        is_lost = victim in {"agent", "node", "node of the master"}
        assert (result["attempts"]["lost"] > 0) == is_lost, result["attempts"]
    finally:
        if victim.startswith("node"):
            hadoop.spawn("nm", NODES.index(busy) + 1)
            hadoop.await_nodes(3)


def test_output_and_input_can_be_in_hdfs(place, hadoop):
    (place.folder / "go").touch()
    document = json.loads(place.file.read_text())
    document["jobs"][0]["run"]["output"] = f"{hadoop.files}/out"
    place.file.write_text(json.dumps(document))
    code, _, complained = place.sluice(*words_for(place, hadoop))

    assert code == 0, complained
    lines = hadoop.hdfs("-cat", "/out/part-*").encode().splitlines()
    assert {line.split()[1]: int(line.split()[0]) for line in lines} == EXPECTED
    assert "_SUCCESS" in hadoop.hdfs("-ls", "/out")
    hadoop.hdfs("-rm", "-r", "/out")


@pytest.mark.parametrize(
    "policy",
    [
        ("--tasks", "dynamicmr"),
        ("--set", "ras.period_s=2", "--tasks", "ras"),
        ("--tasks", "ltyarn"),
        ("--set", "mrorder.interval_s=1", "--release", "mrorder"),
        ("--order", "ltrf", "--goals", "guarded", "--slots", "lent", "--copies", "late"),
    ],
    ids=lambda words: words[-1],
)
def test_every_system_runs_on_yarn(policy, place, hadoop):
    (place.folder / "go").touch()
    document = json.loads(place.file.read_text())
    if "ltyarn" in policy:
        document["settings"] |= {"yarn_map_slots_per_vcore": 0, "yarn_reduce_slots_per_vcore": 0}
        document["settings"]["yarn_containers_per_vcore"] = 1
    place.file.write_text(json.dumps(document))
    code, _, complained = place.sluice(*words_for(place, hadoop), *policy)

    assert code == 0, complained
    assert counted(place) == EXPECTED


def containers(hadoop):
    """How many containers the ResourceManager counts for the one application."""
    return sum(int(one["runningContainers"]) for one in hadoop.applications())


def test_a_node_that_is_given_back_gives_its_container_back_while_the_run_goes_on(tmp_path, hadoop):
    """The first job holds the one node that the run begins with; for the second one is rented."""
    made = Place(tmp_path)
    made.write_input("in-first", "1\n", "2\n")
    made.write_input("in-second", *(f"{number}\n" for number in range(6)))
    wait = f"sh -c 'while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; cat'"
    jobs = [
        {
            "id": job_id,
            "submitted_at_s": submitted_at_s,
            "deadline_s": deadline_s,
            "penalty_usd": 1,
            "maps": {"tasks": tasks, "avg_s": avg_s, "max_s": avg_s + 1},
            "reduces": {"tasks": 1, "avg_s": 0.2, "max_s": 0.5},
            "run": {
                "input": [f"in-{job_id}"], "output": job_id, "mapper": mapper, "reducer": "cat",
            },
        }
        for job_id, submitted_at_s, deadline_s, tasks, avg_s, mapper in [
            ("first", 0.0, 1000, 2, 600, wait), ("second", 30.0, 500, 6, 5, "cat"),
        ]
    ]  # fmt: skip
    settings = {
        "yarn_queue": "a", "yarn_nodes": 1, "yarn_vcores": 2, "yarn_memory_mb": 512,
        "yarn_map_slots_per_vcore": 0, "yarn_reduce_slots_per_vcore": 0,
        "yarn_containers_per_vcore": 1, "capacity.interval_s": 0.5, "capacity.vms_max": 3,
        "capacity.vm_start_s": 0.3,
    }  # fmt: skip
    prices = {"on_demand_vm_usd": 0.40, "reserved_vm_usd": 0.15, "billing_s": 1}
    made.write(jobs, settings=settings, prices=prices)
    words = (*words_for(made, hadoop), "--tasks", "yarn-like", "--admission", "capacity", "--json")
    driver = made.started(*words)
    try:
        awaited(lambda: containers(hadoop) == 3, "a rented node")  # and one of the master
        awaited((tmp_path / "second").exists, "the end of the second job")
        awaited(lambda: containers(hadoop) == 2, "the end of its container", ORPHANS_S)
        assert len(in_containers(b"engines.yarn.container")) == 1
        assert driver.poll() is None
        (tmp_path / "go").touch()
        printed, complained = driver.communicate(timeout=60)
        assert driver.returncode == 0, complained
        assert made.lines("first") == [b"1", b"2"]
        assert len(json.loads(printed)["machines"]["leases"]) == 1
    finally:
        made.end()
        awaited(lambda: hadoop.applications() == [], "the end of all applications")
