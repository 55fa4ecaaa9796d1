"""Small logs of dbt, Ray, Tez, Philly and Alibaba, as these systems write them."""

import json
from datetime import UTC, datetime

T0 = 1_767_600_000


def instant(seconds):
    return datetime.fromtimestamp(T0 + seconds, UTC).isoformat().replace("+00:00", "Z")


def dbt_result(name, start, end, status="success"):
    """One node: it was compiled for half a second before it was executed."""
    timing = [
        {"name": "compile", "started_at": instant(start), "completed_at": instant(start + 0.5)},
        {"name": "execute", "started_at": instant(start + 0.5), "completed_at": instant(end)},
    ]
    return {"status": status, "timing": timing, "thread_id": "Thread-1", "message": None,
            "execution_time": end - start, "failures": None, "unique_id": name}  # fmt: skip


def dbt_results(results):
    schema = "https://schemas.getdbt.com/dbt/run-results/v6.json"
    head = {"dbt_schema_version": schema, "dbt_version": "1.8.2", "generated_at": instant(500),
            "invocation_id": "7f1c"}  # fmt: skip
    return (
        f'{{"metadata": {json.dumps(head)}, "args": {{"which": "build"}}, "results": '
        f'{listing(results)}, "elapsed_time": 9.5}}'
    )


def listing(items):
    """A JSON list with a line for each item, which a cut of lines leaves valid."""
    return "[" + ",\n".join(map(json.dumps, items)) + "]"


def tez_record(kind, entity, *events, **about):
    shown = [{"ts": 1000 * (T0 + at), "eventtype": event} for event, at in events]
    record = {"entity": entity, "entitytype": f"TEZ_{kind}", "events": shown, "otherinfo": about}
    return json.dumps(record) + "\n\x01"


def tez_attempt(vertex, task, start, end, number=0, status="SUCCEEDED"):
    entity = f"attempt_1767600000000_0001_1_{vertex:02}_{task:06}_{number}"
    times = {"startTime": 1000 * (T0 + start), "endTime": 1000 * (T0 + end)}
    return tez_record("TASK_ATTEMPT_ID", entity, ("TASK_ATTEMPT_STARTED", start)) + tez_record(
        "TASK_ATTEMPT_ID", entity, ("TASK_ATTEMPT_FINISHED", end), status=status, **times
    )


def tez_history(attempts, *, status="SUCCEEDED"):
    dag = "dag_1767600000000_0001_1"
    names = ("Map 1", "Map 2", "Reducer 3")
    edges = [{"inputVertexName": one, "outputVertexName": names[2]} for one in names[:2]]
    plan = {"dagName": "daily", "vertices": [{"vertexName": one} for one in names], "edges": edges}
    vertices = "".join(
        tez_record("VERTEX_ID", f"vertex_1767600000000_0001_1_{at:02}", vertexName=name)
        for at, name in enumerate(names)
    )
    return (
        tez_record("DAG_ID", dag, ("DAG_SUBMITTED", 0), dagPlan=plan)
        + vertices
        + "".join(attempts)
        + tez_record("DAG_ID", dag, ("DAG_FINISHED", 100), status=status)
    )


def philly_job(name, submitted, attempts, status="Pass"):
    """attempts: (start, end, GPUs on each machine)."""

    def at(seconds):
        return None if seconds is None else instant(seconds).replace("T", " ").rstrip("Z")

    listed = [
        {"start_time": at(start), "end_time": at(end), "detail": [
            {"ip": f"m{at_}", "gpus": [f"gpu{n}" for n in range(count)]}
            for at_, count in enumerate(machines)
        ]}
        for start, end, machines in attempts
    ]  # fmt: skip
    return {"status": status, "vc": "ee9e8c", "jobid": name, "attempts": listed,
            "submitted_time": at(submitted), "user": "ce2f4c"}  # fmt: skip


ALIBABA = """\
M1,4,j_1,1,Terminated,100,130,100,0.5
M2,2,j_1,1,Terminated,100,120,100,0.5
J3_1_2,3,j_1,1,Terminated,130,150,100,0.5
R4_3_Stg1,1,j_1,1,Terminated,150,155,50,0.4
task_NzU4,5,j_2,1,Terminated,110,111,100,0.5
M1,1,j_3,1,Failed,110,111,100,0.5
M1,1,j_4,1,Running,110,,100,0.5
"""


def samples():
    """A log of each, long enough to be damaged in many ways, by the name of its format."""
    models = [f"model.shop.m{n}" for n in range(60)]
    return {
        "dbt": dbt_results([dbt_result(one, n, n + 2) for n, one in enumerate(models)]).encode(),
        "tez": tez_history([tez_attempt(n % 3, n, n, n + 5) for n in range(40)]).encode(),
        "philly": listing(
            philly_job(f"application_{n}", n, [(n + 1, n + 9, (1, 2))]) for n in range(60)
        ).encode(),
        "ray": listing(
            {
                "cat": f"task::f{n % 3}",
                "name": "f",
                "ph": "X",
                "ts": 1e6 * (T0 + n),
                "dur": 5e5,
                "args": {"task_id": f"{n:016x}01000000"},
            }
            for n in range(60)
        ).encode(),
        "alibaba": "".join(
            f"{name},{1 + n % 9},j_{n},1,Terminated,{n + at},{n + at + 30},100,0.5\n"
            for n in range(1, 60)
            for at, name in enumerate(("M1", "R2_1"))
        ).encode(),
    }
