"""`sluice pools`: the document that other programs read, exit codes, files, tables, refusals."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import sluice, sluice_process

import sluice as package

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/vm-pools.yaml"

HEAD = """\
version: 1
server_units: 12
vm_types: [{id: VM-1, units: 2, vms: 40}]
"""
TIMES = '{VM-1: {"10": 250, "20": 131.57}}'
ONE = f'{HEAD}jobs: [{{id: "1", deadline_at_s: 270, predictions: {TIMES}}}]\n'
HASTY = f"{HEAD}jobs: [{{id: a, deadline_at_s: 100, predictions: {TIMES}}}]\n"

FIELDS = {"vm_type", "vms", "started_at_s", "finished_at_s", "cost_server_s", "met"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "hasty.yaml").write_text(HASTY)
    return tmp_path


def document(*words, code=0, stdin=b""):
    answer = sluice("pools", *words, "--json", stdin=stdin)
    assert (code, "") == (answer.code, answer.err)
    return json.loads(answer.out)


def test_the_document_of_one_job(folder):
    made = document("one.yaml")
    (job,) = made["jobs"].values()

    assert {"vm_type": "VM-1", "vms": 10, "started_at_s": 0, "finished_at_s": 250, "met": True} == {
        name: job[name] for name in FIELDS - {"cost_server_s"}
    }
    assert 416.7 == round(job["cost_server_s"], 1) == round(made["total_cost_server_s"], 1)
    assert ([], []) == (made["missed"], made["reconfigurations"])


def test_the_example_of_the_contract():
    made = document(EXAMPLE)

    assert (25_873.0, []) == (round(made["total_cost_server_s"], 2), made["missed"])
    assert set(made["jobs"]["1"]) >= FIELDS


def test_a_job_that_never_runs_is_a_true_no(folder):
    made = document("hasty.yaml", code=1)

    assert (["a"], ["a"]) == (made["missed"], made["refused"])
    assert (None, None, None, False) == tuple(
        made["jobs"]["a"][name] for name in ("vm_type", "vms", "started_at_s", "met")
    )
    assert 132.0 == made["jobs"]["a"]["least_deadline_at_s"]


def test_ticks_round_runs_up_and_leave_costs_exact(folder):
    text = ONE.replace("270", "140")
    coarse, exact = (document("-", "--tick", tick, stdin=text.encode()) for tick in ("1", "0"))

    assert (132.0, 131.57) == tuple(made["jobs"]["1"]["finished_at_s"] for made in (coarse, exact))
    assert coarse["total_cost_server_s"] == exact["total_cost_server_s"]


def test_pair_costs(folder):
    costs = document(EXAMPLE, "--pair-costs")["pair_costs"]

    assert (4010.03, 4712.15) == (round(costs["3"]["5"], 2), round(costs["5"]["3"], 2))
    assert "3" in sluice("pools", EXAMPLE, "--pair-costs").out


def test_reconfiguration(folder):
    (change,) = document(EXAMPLE, "--reconfigure")["reconfigurations"]

    assert (600.0, True, 274.0) == tuple(
        change[name] for name in ("at_s", "done", "change_server_s")
    )
    assert {"VM-1": 146, "VM-2": 31, "VM-3": 18} == change["vms"]
    assert change["benefit_server_s"] == change["observed_server_s"] - change["estimated_server_s"]


def test_a_margin_of_error_plans_longer_and_runs_as_predicted(folder):
    text = ONE + "prediction_error: 0.5\n"  # 375 s on 10 VMs is too late for 270
    made = document("-", stdin=text.encode())

    assert (20, 132.0) == tuple(made["jobs"]["1"][name] for name in ("vms", "finished_at_s"))


@pytest.mark.parametrize("policy", ["instant-opt", "per-job", "dedicated"])
def test_baselines(folder, policy):
    made = document("one.yaml", "--policy", policy)
    booted_s = 80 if policy == "per-job" else 0

    assert (policy, []) == (made["policy"], made["missed"])
    assert booted_s == made["jobs"]["1"]["started_at_s"]


def test_boot_time_leaves_less_for_the_run(folder):
    """Booted for 80 s, 250 s on 10 VMs end at 330, after 270; 132 s on 20 VMs do not."""
    assert 20 == document("one.yaml", "--policy", "per-job")["jobs"]["1"]["vms"]


def test_service(folder):
    assert ["7", "11", "12"] == document(EXAMPLE, "--service", "immediate", code=1)["missed"]


def test_tables(folder):
    answer = sluice("pools", "one.yaml")

    assert 0 == answer.code
    assert " 1    VM-1      10        0    250         270    416.67  met\n" in answer.out
    assert "1 job, all deadlines met" in answer.out
    lost = sluice("pools", "hasty.yaml")
    assert 1 == lost.code
    assert "no configuration can meet the deadline" in lost.out


def test_a_plot(folder):
    assert 0 == sluice("pools", EXAMPLE, "--reconfigure", "--plot", "pools.json").code
    spec = json.loads((folder / "pools.json").read_text())

    assert ["VM-1", "VM-2", "VM-3"] == [view["title"]["text"] for view in spec["vconcat"]]
    boxes = [row for view in spec["vconcat"] for row in view["layer"][0]["data"]["values"]]
    assert {str(number) for number in range(1, 16)} == {row["job"] for row in boxes}


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--policy", "vm-awar"], ["--policy", "vm-aware"]),
        (["--service", "later"], ["--service", "delayed, immediate"]),
        (["--policy", "per-job", "--reconfigure"], ["--reconfigure", "no effect"]),
        (["--policy", "dedicated", "--service", "immediate"], ["--service", "no effect"]),
        (["--tick", "-1"], ["--tick", "-1"]),
        (["--tick", "nan"], ["--tick", "nan"]),
        (["--pair-costs", "--plot", "x.html"], ["--plot", "no effect"]),
    ],
)
def test_options_that_are_refused(folder, words, fragments):
    answer = sluice("pools", "one.yaml", *words)

    assert (2, "") == (answer.code, answer.out)
    assert all(fragment in answer.err for fragment in fragments), answer.err


JOB = "{id: a, deadline_at_s: 100, predictions: {VM-1: {'10': 50}}}"


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (f"version: 1\nserver_units: 12\njobs: [{JOB}]", ["vm_types is missing"]),
        (
            f"version: 1\nvm_types: [{{id: VM-1, units: 2, vms: 4}}]\njobs: [{JOB}]",
            ["server_units"],
        ),
        (HEAD + "jobs: [{id: a, predictions: {VM-1: {'10': 50}}}]", ["'a'", "deadline_at_s is"]),
        (
            HEAD + "jobs: [{id: a, deadline_s: 9, predictions: {VM-9: {'10': 50}}}]",
            ["'a'", "predictions", "VM-9", "VM-1"],
        ),
        (
            HEAD + "jobs: [{id: a, deadline_s: 9, maps: {tasks: 2, avg_s: 3}}]",
            ["'a'", "predictions"],
        ),
        (HEAD + f"servers: 6\njobs: [{JOB}]", ["servers is 6", "take 7"]),
    ],
)
def test_files_that_are_refused(folder, text, fragments):
    answer = sluice("pools", "-", stdin=text.encode())

    assert (2, "") == (answer.code, answer.out)
    assert all(fragment in answer.err for fragment in fragments), answer.err


def test_no_jobs_are_an_empty_schedule(folder):
    made = document("-", stdin=HEAD.encode())

    assert ({}, 0.0, None) == (made["jobs"], made["total_cost_server_s"], made["mean_response_s"])


def test_the_python_function_returns_the_same(folder):
    result = package.pools(str(EXAMPLE))

    assert 25_873.0 == round(result.total_cost_server_s, 2)
    assert 15 == len(result.to_frame())
    assert 4010.03 == round(package.pair_costs(str(EXAMPLE))["3"]["5"], 2)


def test_from_another_folder_and_piped(folder):
    made = sluice_process("pools", EXAMPLE, "--json", cwd=folder)

    assert 0 == made.code
    assert 15 == len(json.loads(made.out)["jobs"])


def test_the_least_servers(folder):
    made = document("one.yaml", "--least-servers")

    assert (2, {"VM-1": 12}) == (made["least_servers"], made["vms"])
    assert [{"servers": 1, "missed": None}] == made["smaller"]
    assert (2, 0, 270) == tuple(made["bound"][name] for name in ("servers", "from_s", "until_s"))
    assert made["bound"]["work_server_s"] > 270
    panel = sluice("pools", "one.yaml", "--least-servers").out
    assert "2, for 416.67 server-seconds of work between 0 s and 270 s" in panel


def test_no_number_of_servers_is_a_true_no(folder):
    assert document("hasty.yaml", "--least-servers", code=1)["least_servers"] is None


def test_least_servers_takes_no_other_policy(folder):
    answer = sluice("pools", "one.yaml", "--least-servers", "--policy", "per-job")

    assert (2, "") == (answer.code, answer.out)
    assert "--policy" in answer.err


def test_why_explains_the_vms_of_a_job_and_what_others_would_have_cost(folder):
    """The figures agree with those of the schedule, and the text with the document."""
    answer = sluice("why", "12", "--file", EXAMPLE, "--json")
    made, job = json.loads(answer.out), document(EXAMPLE)["jobs"]["12"]

    assert {name: job[name] for name in FIELDS} == {name: made[name] for name in FIELDS}
    (chosen,) = (one for one in made["alternatives"] if one["verdict"] == "chosen")
    assert (chosen["vm_type"], chosen["started_at_s"]) == ("VM-2", 302)
    text = sluice("why", "12", "--file", EXAMPLE).out
    for words in ("It runs on 40 VMs of VM-2", "when job 6 ends", "1,851.85", "too late"):
        assert words in text
    with_stdin = sluice("why", "1", "--file", "-", stdin=ONE.encode())
    assert "It decides the reservation window of VM-1" in with_stdin.out


def test_why_explains_a_refusal(folder):
    answer = sluice("why", "a", "--file", "hasty.yaml")

    assert 0 == answer.code
    assert "It is refused at 0 s" in answer.out
    assert "The least deadline possible was 132 s." in answer.out


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("12", "--tasks", "fair"), "--tasks: it has no effect"),
        (("12", "--at-s", "3"), "--at-s: it has no effect"),
        (("twelve",), "unknown job 'twelve'"),
    ],
)
def test_why_refuses_what_has_no_effect_on_pools(words, fragment, folder):
    answer = sluice("why", *words, "--file", EXAMPLE)

    assert (2, "") == (answer.code, answer.out)
    assert fragment in answer.err


SLOTS = """\
version: 1
server_units: 4
vm_types: [{id: small, units: 1, vms: 4, map_slots: 1, reduce_slots: 1}]
jobs:
  - {id: a, deadline_s: 60, maps: {tasks: 8, avg_s: 10}}
  - {id: b, submitted_at_s: 5, deadline_s: 30, maps: {tasks: 4, avg_s: 10}}
"""


def test_the_grid_of_a_job():
    cells = document("-", "--grid", stdin=SLOTS.encode())["grid"]["a"]["small"]

    assert {"1": 80, "2": 40, "3": 30, "4": 20} == {
        vms: cell["predicted_s"] for vms, cell in cells.items()
    }
    assert {"1": False, "2": True} == {vms: cells[vms]["in_time"] for vms in ("1", "2")}
    assert 20 == cells["2"]["cost_server_s"]
    text = sluice("pools", "-", "--grid", stdin=SLOTS.encode()).out
    assert " a    small      1           80       –        20  too slow\n" in text


def test_jobs_with_task_lengths_need_no_predictions():
    made = document("-", stdin=SLOTS.encode())

    assert [] == made["missed"]
    assert {"a": (2, 40.0, 0.0), "b": (2, 20.0, 0.0)} == {
        name: (job["vms"], job["predicted_s"], job["margin"]) for name, job in made["jobs"].items()
    }


def test_the_optimum_is_a_referee_of_the_online_scheduler():
    made = document(EXAMPLE, "--optimum")

    assert made["proven"]
    assert (25_829.40, 25_873.00) == (
        round(made["cost_server_s"], 2), round(made["online_cost_server_s"], 2),
    )  # fmt: skip
    assert 0.0017 == round(made["above_optimum"], 4)
    assert made["cost_server_s"] == pytest.approx(
        sum(job["cost_server_s"] for job in made["jobs"].values())
    )
    assert "25,829.4 server-seconds" in sluice("pools", EXAMPLE, "--optimum").out


def test_an_optimum_that_does_not_exist_is_a_true_no(folder):
    made = document("hasty.yaml", "--optimum", code=1)

    assert (None, None, True, {}) == tuple(
        made[name] for name in ("cost_server_s", "bound_server_s", "proven", "jobs")
    )
    assert "no schedule meets all deadlines" in sluice("pools", "hasty.yaml", "--optimum").out


@pytest.mark.parametrize("words", [("--grid", "--optimum"), ("--optimum", "--reconfigure")])
def test_views_that_do_not_go_together_are_refused(words, folder):
    answer = sluice("pools", "one.yaml", *words)

    assert (2, "") == (answer.code, answer.out)
    assert words[1] in answer.err


def test_tasks_run_on_the_pools_in_a_simulation():
    answer = sluice("simulate", "-", "--tasks", "vm-pools", "--json", stdin=SLOTS.encode())
    made = json.loads(answer.out)

    assert {"a": True, "b": True} == {
        name: job["deadline_met"] for name, job in made["jobs"].items()
    }
    assert 2 == made["vm_pools"]["jobs"]["a"]["vms"]
    why = sluice("why", "a", "--file", "-", "--tasks", "vm-pools", stdin=SLOTS.encode())
    assert 0 == why.code, why.err


# --- customers who name their cluster -------------------------------------------------------------

REQUESTS = ROOT / "examples/vm-requests.yaml"


def test_jobs_get_the_cluster_that_their_customer_names():
    """The job that must start at once finds both large VMs taken, and would end at 65 s."""
    made = document(REQUESTS, code=1)
    jobs = made["jobs"]

    assert ("large", 2, 5) == tuple(jobs["adhoc"][k] for k in ("vm_type", "vms", "started_at_s"))
    assert (None, 65) == (jobs["adhoc"]["deadline_at_s"], jobs["adhoc"]["start_by_s"])
    assert ["now"] == made["missed"]
    assert (None, 65) == (jobs["now"]["vm_type"], jobs["now"]["least_deadline_at_s"])


def test_a_start_in_time_needs_more_servers():
    assert 3 == document(REQUESTS, "--least-servers")["least_servers"]


def test_the_optimum_is_refused_without_a_deadline():
    answer = sluice("pools", REQUESTS, "--optimum")

    assert 2 == answer.code
    assert "deadline_at_s is missing, and the optimum needs it" in answer.err


def test_a_limit_is_asked_for_where_nothing_says_how_long_a_job_runs(folder):
    types = HEAD.replace("vms: 40}", "vms: 40, map_slots: 1, reduce_slots: 1}")
    (folder / "short.yaml").write_text(
        f"{types}jobs: [{{id: a, profile: unheard-of, vm_request: {{vm_type: VM-1, vms: 2}}}}]\n"
    )
    answer = sluice("pools", "short.yaml")

    assert 2 == answer.code
    assert "limit_s is missing" in answer.err


# --- deadlines and their prices -------------------------------------------------------------------


@pytest.fixture
def relaxed(tmp_path):
    """The worked example with job 12 due at 900 s in place of 460 s."""
    text = EXAMPLE.read_text().replace("deadline_at_s: 460", "deadline_at_s: 900")
    (tmp_path / "relaxed.yaml").write_text(text)
    return str(tmp_path / "relaxed.yaml")


def test_a_later_deadline_never_raises_the_total_without_a_word(relaxed):
    answer = sluice("pools", relaxed)
    made = document(relaxed)
    found = {one["job"]: one for one in made["earlier_deadlines"]}

    assert 26_330.76 == round(made["total_cost_server_s"], 2)
    assert (450, 25_873.0) == (
        found["12"]["planned_for_s"], round(found["12"]["total_cost_server_s"], 2),
    )  # fmt: skip
    assert "note: the later deadline of job 7 makes all jobs dearer" in answer.err
    assert [] == document(EXAMPLE)["earlier_deadlines"]
    assert "" == sluice("pools", EXAMPLE).err


def test_a_later_deadline_by_which_another_job_misses_its_own_is_reported(tmp_path):
    """The report takes one VM where it has time, so that two are not free for the urgent job."""
    path = tmp_path / "pools.json"
    jobs = [
        {"id": "report", "deadline_s": 400, "predictions": {"small": {"1": 100, "2": 52}}},
        {
            "id": "urgent",
            "submitted_at_s": 60,
            "deadline_at_s": 100,
            "predictions": {"small": {"2": 30}},
        },
    ]
    types = [{"id": "small", "units": 1, "vms": 2}]
    path.write_text(json.dumps({"version": 1, "server_units": 1, "vm_types": types, "jobs": jobs}))
    answer, made = sluice("pools", path), document(str(path), code=1)

    assert ["urgent"] == made["missed"]
    (found,) = made["earlier_deadlines"]
    assert ("report", 52, [], 164) == tuple(
        found[name] for name in ("job", "planned_for_s", "missed", "total_cost_server_s")
    )
    assert (
        "note: the later deadline of job report makes job urgent miss its own: with 52 s in place"
        " of 400 s all jobs cost 164 server-seconds"
    ) in " ".join(answer.err.split())


def test_why_says_that_a_later_deadline_makes_all_jobs_dearer():
    answer = sluice("why", "12", "--file", EXAMPLE)

    assert "With a deadline at 488 s it would cost 1,851.85" in answer.out
    assert "all jobs together would cost 457.76 more" in " ".join(answer.out.split())


def test_prices_fall_with_a_later_deadline():
    prices = document(EXAMPLE, "--prices", "9")["prices"]
    shown = sluice("pools", EXAMPLE, "--prices", "9").out

    assert [1_803.73, 1_500.0] == [
        round(one["price_server_s"], 2) for one in prices if one["deadline_at_s"] in {850, 1125}
    ]
    assert sorted(prices, key=lambda one: -one["price_server_s"]) == prices
    assert "1,803.73" in shown
    assert 2 == sluice("pools", EXAMPLE, "--prices", "99").code
    assert 2 == sluice("pools", EXAMPLE, "--prices", "9", "--reconfigure").code


def test_a_quote_has_the_price_of_each_deadline(folder):
    """The pools take one job more, at the price that `pools --prices` shows with it."""
    new = """\
  - {id: new, submitted_at_s: 100, deadline_at_s: 800,
     predictions: {VM-1: {"20": 473}, VM-2: {"20": 296}, VM-3: {"10": 321}}}
"""
    (folder / "new.yaml").write_text(f"version: 1\njobs:\n{new}")
    (folder / "all.yaml").write_text(f"{EXAMPLE.read_text()}{new}")
    answer = sluice("quote", "new.yaml", "--queue", EXAMPLE, "--json")
    quoted = json.loads(answer.out)

    assert 0 == answer.code
    assert document("all.yaml", "--prices", "new")["prices"] == quoted["prices"]
    assert quoted["prices"][0]["price_server_s"] > quoted["prices"][-1]["price_server_s"]
    assert "price" in sluice("quote", "new.yaml", "--queue", EXAMPLE).out
    refused = sluice("quote", "new.yaml", "--queue", EXAMPLE, "--slots", "4")
    assert (2, True) == (refused.code, "no effect for a file of VM pools" in refused.err)
    twice = sluice("quote", "all.yaml", "--queue", EXAMPLE)
    assert (2, True) == (twice.code, "it has 16 jobs" in twice.err)


def test_a_choice_has_its_configuration():
    """Maps and reduces that one VM runs at once, as the file gives them."""
    made = document(REQUESTS, code=1)["jobs"]
    grid = document(REQUESTS, "--grid")

    assert {"map_slots": 2, "reduce_slots": 1} == made["adhoc"]["configuration"]
    assert {"map_slots": 1, "reduce_slots": 1} == made["report"]["configuration"]
    assert made["now"]["configuration"] is None
    assert {"map_slots": 2, "reduce_slots": 1} == grid["configurations"]["large"]
    assert document(EXAMPLE)["jobs"]["1"]["configuration"] is None


AFTER = f"""{HEAD}jobs:
  - {{id: first, predictions: {TIMES}}}
  - {{id: last, after: [first], deadline_s: 700, predictions: {TIMES}}}
"""


def test_a_job_that_runs_after_another_arrives_at_its_end(folder):
    """Half of the deadline is that of the job before it: both are as long."""
    (folder / "after.yaml").write_text(AFTER)
    found = document("after.yaml")["jobs"]

    assert 350 == found["first"]["deadline_at_s"]
    assert (250, 500) == (found["last"]["started_at_s"], found["last"]["finished_at_s"])
    shown = sluice("why", "last", "--file", "after.yaml")
    assert (0, True) == (shown.code, "from 250 s to 500 s" in shown.out), shown.err
    for words in (["--prices", "last"], ["--prices", "first"], ["--least-servers"]):
        assert 0 == sluice("pools", "after.yaml", *words).code, words


def test_each_view_takes_jobs_that_run_after_others(folder):
    """The optimum shares no deadline out: the job before has all the time that the last leaves."""
    (folder / "after.yaml").write_text(AFTER)
    optimum = document("after.yaml", "--optimum")
    first, last = optimum["jobs"]["first"], optimum["jobs"]["last"]

    assert optimum["proven"]
    assert last["started_at_s"] >= first["finished_at_s"]
    assert optimum["cost_server_s"] <= optimum["online_cost_server_s"]
    assert {"first": {}, "last": {}} == document("after.yaml", "--pair-costs")["pair_costs"]
    for policy in ("per-job", "dedicated"):
        jobs = document("after.yaml", "--policy", policy)["jobs"]
        assert jobs["last"]["started_at_s"] >= jobs["first"]["finished_at_s"], policy
        assert jobs["last"]["met"], policy


def test_the_optimum_keeps_the_wait_of_a_job_that_runs_after_another(folder):
    """Its VMs are free at 30 s, and it waits 5 s for them: the job before it ends at 25 s."""
    (folder / "soon.yaml").write_text("""\
version: 1
server_units: 4
vm_types: [{id: t, units: 2, vms: 1}, {id: u, units: 2, vms: 1}]
jobs:
  - {id: first, predictions: {t: {"1": 10}}}
  - {id: other, deadline_s: 30, predictions: {u: {"1": 30}}}
  - id: last
    after: [first]
    deadline_s: 100
    predictions: {u: {"1": 10}}
    vm_request: {vm_type: u, vms: 1, start_within_s: 5}
""")
    for words in ((), ("--tick", "0")):
        found = document("soon.yaml", "--optimum", *words)

        assert found["proven"]
        assert 25 <= found["jobs"]["first"]["finished_at_s"] <= 30, words
        assert 30 == found["jobs"]["last"]["started_at_s"]
    assert ["last"] == document("soon.yaml", code=1)["missed"]


SETUP = """\
version: 1
server_units: 4
vm_types: [{id: small, units: 1, vms: 4}]
%s
jobs:
  - {id: short, predictions: {small: {"1": 10}}}
  - {id: long, after: [short], deadline_s: 330, predictions: {small: {"1": 200}}}
"""


@pytest.mark.parametrize(
    ("setting", "words"),
    [("boot_s: 50", ["--policy", "per-job"]), ("power: {down_after_s: 0, up_s: 50}", [])],
)
def test_shares_of_a_deadline_count_what_vms_and_servers_take_to_start(folder, setting, words):
    """Of 330 s, the short job needs 60 and the long one 250; 10 in 210 would be 16 s."""
    (folder / "setup.yaml").write_text(SETUP % setting)
    jobs = document("setup.yaml", *words)["jobs"]

    assert 63 < jobs["short"]["deadline_at_s"] < 65
    assert all(job["met"] for job in jobs.values())
