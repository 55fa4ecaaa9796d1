"""A service that is started with a changed file goes on with its open jobs, where it can."""

import json

import pytest
from tests.service.services import CONFIG, TEXT, Service, serving

from sluice.bootstrap.service.changed_file import file_changes
from sluice.bootstrap.service.config import ServiceConfig
from sluice.core.events import QueuesChanged
from sluice.ingest.reading import SourceText
from sluice.store.rows import EntryKind, entries
from sluice.store.service.segments import segments_in

QUEUES = "queues: [{id: a, order: ltrf}, {id: b, order: ltrf}]\nscheduler: {tasks: ltyarn}\n"
QUEUED = CONFIG + QUEUES
RENTED = CONFIG.replace("1.0}", "1.0, reserved_vm_usd: 1.0, on_demand_vm_usd: 3.0}")
POOLED = CONFIG + "pools: [{id: a, weight: 2}, {id: b}]\nscheduler: {tasks: fair}\n"


ADMITTED = "scheduler: {admission: capacity}\nsettings: {capacity.vms_max: 5}\n"


def config_of(text):
    source = SourceText(content=text.encode(), name="serve.yaml", file="serve.yaml", folder="/")
    return ServiceConfig.read(source)


def changes(old, new):
    before = config_of(old)
    return file_changes(before, config_of(new), before.scheduler())


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (CONFIG, CONFIG.replace("30}", "20}"), "service.promise_wait_s: 30 -> 20"),
        (CONFIG, CONFIG.replace("nodes: 2", "nodes: 3"), "cluster.nodes: 2 -> 3"),
        (CONFIG, CONFIG.replace("1.0}", "2.5}"), "prices.vm_hour_usd: 1.0 -> 2.5"),
        (RENTED, RENTED.replace("3.0}", "4.0}"), "prices.on_demand_vm_usd: 3.0 -> 4.0"),
        (
            CONFIG,
            CONFIG + "settings: {task_output_bytes_max: 5000}\n",
            "task_output_bytes_max: not given -> 5000",
        ),
        (
            QUEUED,
            QUEUED.replace("{id: b, ", "{id: b, weight: 3, "),
            "queues.b.weight: not given -> 3",
        ),
        (POOLED, POOLED.replace("weight: 2", "weight: 3"), "pools.a.weight: 2 -> 3"),
        (
            POOLED,
            POOLED.replace("weight: 2", "weight: 2, map_slots_min: 1"),
            "pools.a.map_slots_min: not given -> 1",
        ),
        (POOLED, POOLED.replace("}]", "}, {id: c}]"), "pools.c.id: not given -> c"),
    ],
)
def test_limits_nodes_prices_and_weights_are_taken_over(old, new, line):
    found = changes(old, new)
    assert found.taken_over == (line,)
    assert found.kept == ()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (CONFIG, CONFIG + "scheduler: {tasks: fair}\n", "--tasks: fifo -> fair"),
        (CONFIG, CONFIG + "settings: {failures_max: 2}\n", "failures_max: not given -> 2"),
        (CONFIG, CONFIG + "settings: {task_wall_s: 9}\n", "task_wall_s: not given -> 9.0"),
        (
            RENTED + ADMITTED,
            RENTED.replace("3.0}", "4.0}") + ADMITTED,
            "capacity.on_demand_vm_usd: 3.0 -> 4.0",
        ),
        (
            QUEUED,
            QUEUED.replace("{id: b, ", "{id: b, parent: a, "),
            "queues.b.parent: not given -> a",
        ),
        (CONFIG, CONFIG + "pools: [{id: a, weight: 2}]\n", "pools.a.id: not given -> a"),
        (
            POOLED,
            POOLED.replace("}]", "}, {id: c, map_slots_max: 1}]"),
            "pools.c.map_slots_max: not given -> 1",
        ),
    ],
)
def test_what_open_jobs_rest_on_is_named(old, new, line):
    assert line in changes(old, new).kept


def test_comments_change_nothing():
    found = changes(CONFIG, f"# A comment.\n{CONFIG}")
    assert (found.taken_over, found.kept) == ((), ())


def stopped(service):
    service.run("serve", "stop")
    service.process.wait(30)
    service.process.stderr.close()


@pytest.mark.slow
def test_open_jobs_go_on_under_the_changed_file(tmp_path):
    """Queues of other weights, one more node, another limit; then another policy is refused."""
    with serving(tmp_path, config=QUEUED) as service:
        ids = []
        for name, queue in (("first", "a"), ("long", "b")):
            file = tmp_path / service.nap(name, 8 if queue == "b" else 0.1)
            file.write_text(file.read_text().replace("    run:", f"    pool: {queue}\n    run:"))
            ids.append(service.document("submit", file.name)["job_id"])
        service.settled(but={ids[1]})
        stopped(service)
        changed = QUEUED.replace("id: b,", "id: b, weight: 3,").replace("nodes: 2", "nodes: 3")
        (tmp_path / "serve.yaml").write_text(changed)
        service.start()
        assert "cluster.nodes: 2 -> 3; queues.b.weight: not given -> 3" in (
            service.process.stderr.readline()
        )
        assert service.document("serve", "status")["driver"]["nodes_up"] == 3
        rows = service.settled()
        assert [row["state"] for row in rows.values()] == ["done", "done"]  # also the one before
        assert all(service.output(job_id) == TEXT for job_id in ids)
        found = json.loads(service.run("serve", "verify", "--json")[1])["segments"]
        assert ["queues.b.weight: not given -> 3"] == [
            line for each in found for line in each["changed"] if "weight" in line
        ]
        events = [
            row.event()
            for folder in segments_in(tmp_path / "home" / "service" / "journal")
            for row in entries(folder)
            if row.kind is EntryKind.EVENT
        ]
        (queues,) = [one for one in events if isinstance(one, QueuesChanged)]
        assert [1.0, 3.0] == [pool.queue.weight for pool in queues.pools]

        service.document("submit", service.nap("more", 5))
        stopped(service)
        other = Service(tmp_path, ("--config", "serve.yaml", "--tasks", "fair", "--listen", "none"))
        code, _, err = other.run("serve", *other.options)
        assert code == 2
        assert "1 job is open" in err
        assert "--tasks: ltyarn -> fair" in err
        service.start()
        assert {row["state"] for row in service.settled().values()} == {"done"}
