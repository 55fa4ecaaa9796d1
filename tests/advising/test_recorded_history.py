"""All recorded runs as one history."""

from pathlib import Path

import pytest

import sluice
from sluice.api.advise import advise
from sluice.bootstrap.advising.recorded_history import recorded_history
from sluice.model.lengths import ListedLengths


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(name, *, nodes=2, **options):
    Path("in").mkdir(exist_ok=True)
    for number in range(3):
        Path(f"in/{number}.txt").write_text("a b\n")
    text = (
        f"version: 1\ncluster: {{nodes: {nodes}, node: {{map_slots: 1, reduce_slots: 1}}}}\n"
        "settings: {p_slow: 0.5, slow_factor: 3..6}\n"
        "pools: [{id: etl}, {id: people}]\n"
        f"jobs:\n"
        f"- {{id: a, pool: etl, deadline_s: 60, penalty_usd: 1, maps: {{tasks: 3}}, "
        f"run: {{input: [in], output: {name}/a, mapper: cat}}}}\n"
        f"- {{id: b, pool: people, maps: {{tasks: 3}}, "
        f"run: {{input: [in], output: {name}/b, mapper: cat}}}}\n"
    )
    Path(f"{name}.yaml").write_text(text)
    return sluice.run(f"{name}.yaml", **options)


def test_runs_are_one_history_without_what_would_be_drawn_again():
    run("one", tasks="fifo")
    run("two", tasks="order=ltrf+slots=lent")
    said: list[str] = []
    found = recorded_history(said.append)
    assert (found.runs, said) == (2, [])
    assert found.running == "order=ltrf+slots=lent"
    jobs = found.workload.jobs
    assert [job.job_id for job in jobs] == ["1.a", "1.b", "2.a", "2.b"]
    assert all(isinstance(phase.lengths, ListedLengths) for job in jobs for phase in job.phases)
    assert jobs[2].submitted_at_s >= 60
    assert jobs[2].deadline_at_s == pytest.approx(jobs[2].submitted_at_s + 60)
    assert "p_slow" not in found.workload.settings


def test_runs_on_other_nodes_are_left_out_and_said():
    run("one", tasks="fifo", nodes=1)
    run("two", tasks="fair")
    said: list[str] = []
    found = recorded_history(said.append)
    assert found.runs == 1
    assert found.running == "tasks=fair"
    assert ["other nodes" in one for one in said] == [True]


def test_advice_from_runs_compares_with_the_scheduler_of_the_newest():
    run("one", tasks="fifo")
    found = advise(all_runs=True, seconds=1)
    assert found.running is not None
    assert found.running.scheduler == "tasks=fifo"
    assert found.objective == "bill_usd"
    assert found.features["jobs"] == 2
