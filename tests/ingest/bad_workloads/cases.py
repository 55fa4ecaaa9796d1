"""Workload files that are wrong, and what a message about each must say.

A corpus for every way in: the parser, the command line, whatever comes. Each case is one file's
content and fragments of the message: the field as it stands in the file, the id, the line.
"""

from __future__ import annotations

from typing import NamedTuple


class BadFile(NamedTuple):
    name: str
    content: bytes
    fragments: tuple[str, ...]


def bad(name: str, content: str | bytes, *fragments: str) -> BadFile:
    return BadFile(name, content.encode() if isinstance(content, str) else content, fragments)


def job(name: str, line: str, *fragments: str) -> BadFile:
    """A file whose only wrong line is its fifth, of job etl-7."""
    content = (
        "version: 1\n"
        "cluster: {map_slots: 4, reduce_slots: 2}\n"
        "jobs:\n"
        "  - id: etl-7\n"
        f"    {line}\n"
        "    submitted_at_s: 10\n"
    )
    return bad(name, content, 'line 5, job "etl-7"', *fragments)


def phased(name: str, line: str, *fragments: str) -> BadFile:
    """A bad file with a line of a job that says nothing about tasks."""
    content = f"version: 1\njobs:\n  - id: etl-7\n    maps: {{tasks: 4, avg_s: 3}}\n    {line}\n"
    return bad(name, content, 'line 5, job "etl-7"', *fragments)


def top(name: str, line: str, *fragments: str) -> BadFile:
    """A file whose only wrong line is its second."""
    return bad(name, f"version: 1\n{line}\n", "line 2", *fragments)


def graph(name: str, phases: str, *fragments: str, run: str = "{output: b}") -> BadFile:
    """A job whose phases say what they run."""
    content = f"version: 1\njobs:\n  - id: etl-7\n    run: {run}\n    phases: {phases}\n"
    return bad(name, content, 'job "etl-7"', *fragments)


def running(name: str, run: str, *fragments: str) -> BadFile:
    content = f"version: 1\njobs:\n  - id: etl-7\n    run:\n      {run}\n"
    return bad(name, content, 'job "etl-7"', *fragments)


NOTATION = (
    bad("empty", "", "line 1", "is empty"),
    bad("only-comment", "# nothing\n", "is empty"),
    bad("list", "- version: 1\n", "line 1", "a list", "mapping"),
    bad("text", "hello\n", "is text", "mapping"),
    bad("not-utf8", b"version: 1\njobs: \xff\xfe\n", "line 2", "0xff", "UTF-8"),
    bad("yaml-tab", "version: 1\njobs:\n\t- id: a\n", "line 3", "not valid YAML"),
    bad("yaml-unclosed", "version: 1\njobs: [{id: a\n", "line", "not valid YAML"),
    bad("yaml-control", "version: 1\njobs: ä\x07\n", "line 2, column 8", "not valid YAML"),
    bad("yaml-two-documents", "version: 1\n---\nversion: 1\n", "line 2", "second document"),
    bad("yaml-tag", "version: 1\njobs: !!python/object:os.system []\n", "line 2", "tag"),
    bad("yaml-merge", "version: 1\npools:\n  - {<<: {}, id: a}\n", "line 3", "<<"),
    bad("yaml-key-twice", "version: 1\njobs: []\njobs: []\n", "line 3", "'jobs'", "twice"),
    bad("yaml-list-as-key", "version: 1\n? [a]\n: 1\n", "line 2", "key"),
    bad("yaml-alias-unknown", "version: 1\njobs: *all\n", "line 2", "*all"),
    bad("yaml-alias-itself", "version: 1\njobs: &all [*all]\n", "line 2", "*all"),
    bad(
        "yaml-aliases-explode",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
            for old, new in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "line",
        "aliases",
    ),
    bad("yaml-deep", "version: 1\njobs: " + "[" * 101 + "]" * 101, "line 2", "100 levels"),
    bad("yaml-digits", "version: 1\ncapacity: " + "9" * 5000, "line 2", "digits"),
    bad("json-comma", '{"version": 1,\n "jobs": [}\n', "line 2", "not valid JSON"),
    bad("json-cut", '{"version": 1,\n "jobs": [{"id": "a"', "line 2", "not valid JSON"),
    bad("json-key-twice", '{"version": 1,\n "a": {"x": 1},\n "a": 2}', "line 3", '"a"', "twice"),
    bad("json-nan", '{"version": 1,\n "capacity": NaN}', "line 2", "NaN"),
    bad("json-infinity", '{"version": 1,\n "capacity": -Infinity}', "line 2", "-Infinity"),
    bad("json-huge-exponent", '{"version": 1,\n "capacity": 1e999}', "line 2", "capacity", "inf"),
    bad("json-deep", '{"version": 1,\n "jobs": ' + "[" * 100 + "]" * 100 + "}", "line 2", "levels"),
    bad("json-very-deep", "[" * 100_000 + "]" * 100_000, "line 1", "levels"),
    bad("json-digits", '{"version": 1,\n "capacity": ' + "9" * 5000 + "}", "line 2", "digits"),
    bad("json-half-character", '{"version": 1,\n "jobs": [{"id": "\\ud800"}]}', "line 2", "half"),
)

WHOLE_FILE = (
    bad("version-missing", "jobs: []\n", "line 1", "version is missing", "version: 1"),
    bad("version-2", "version: 2\n", "line 1", "version is 2"),
    bad("version-text", 'version: "1"\n', "line 1", 'version is "1"', "without quotes"),
    top("key-of-cluster", "nodes: 3", "unknown key `nodes`. Move it to cluster or cluster.node_gr"),
    top("key-of-job", "tasks: 3", "unknown key `tasks`. Move it to classes, jobs or scheduler."),
    top("key-of-setting", "ras.rounds: 3", "unknown key `ras.rounds`. Move it to settings."),
    top("key-deadline", "deadline_s: 3", "Move it to classes, jobs or limits."),
    top(
        "class-key-of-job",
        "classes: [{id: q, penalty_usd: 1, jobs_max: 1, submitted_at_s: 1}]",
        'class "q": unknown key `submitted_at_s`. Move it to jobs.',
    ),
    top(
        "pool-key-similar",
        "pools: [{id: q, map_slots: 1}]",
        "Did you mean map_slots_min? Or move it to cluster, ",
    ),
    top("key-of-nothing", "zzzz: 3", "unknown key `zzzz`. Remove it."),
    top("key-unknown", "job: []", "unknown key `job`", "jobs"),
    top("jobs-mapping", "jobs: {id: a}", "jobs is a mapping", "list"),
    top("job-text", "jobs: [a]", "job number 1", '"a"', "mapping"),
    top("pools-null-member", "pools: [null]", "pool number 1", "null"),
)

CLUSTER = (
    top("cluster-empty", "cluster: {}", "cluster is empty", "map_slots"),
    top("cluster-null", "cluster: {map_slots: null}", "cluster is empty", "map_slots"),
    top("cluster-node-null", "cluster: {nodes: 3, node: null}", "cluster.node is missing"),
    top("cluster-list", "cluster: []", "cluster is a list"),
    top("cluster-typo", "cluster: {map_slot: 3}", "cluster.map_slot`", "map_slots"),
    top("slots-negative", "cluster: {map_slots: -1}", "cluster.map_slots is -1"),
    top("slots-half", "cluster: {map_slots: 1.5}", "cluster.map_slots is 1.5", "whole"),
    top("slots-true", "cluster: {map_slots: true}", "cluster.map_slots is true"),
    top("slots-none", "cluster: {map_slots: 0, reduce_slots: 0}", "cluster has no slots"),
    top("slots-too-many", "cluster: {map_slots: 1e9}", "cluster.map_slots is 1000000000"),
    top("node-missing", "cluster: {nodes: 3}", "cluster.node is missing"),
    top("nodes-missing", "cluster: {node: {map_slots: 1}}", "cluster.nodes is missing"),
    top("node-without-room", "cluster: {nodes: 3, node: {}}", "cluster.node has no slots"),
    top("node-nan", "cluster: {nodes: 1, node: {cpu: .nan}}", "cluster.node.cpu is", ".nan"),
    top("racks-too-many", "cluster: {nodes: 2, node: {cpu: 1}, racks: 3}", "cluster.racks is 3"),
    top("racks-alone", "cluster: {map_slots: 2, racks: 3}", "cluster.racks", "without nodes"),
    top("two-forms", "cluster: {map_slots: 2, node_groups: [{id: a, cpu: 1}]}", "more than one"),
    top("group-id-missing", "cluster: {node_groups: [{cpu: 1}]}", "node group number 1", "id is"),
    top("group-twice", "cluster: {node_groups: [{id: a, cpu: 1}, {id: a, cpu: 1}]}", '"a"', "id"),
    top("group-without-room", "cluster: {node_groups: [{id: a}]}", 'node group "a"', "no slots"),
)

POOLS = (
    top("windows-without-end", "reconfigure: {window_s: 5e-8}", "window_s is 5e-08", "0.01"),
    top("pool-weight-0", "pools: [{id: etl, weight: 0}]", 'pool "etl"', "weight is 0"),
    top("pool-order", "pools: [{id: etl, order: fiffo}]", 'pool "etl"', "order is", "fifo"),
    top("pool-twice", "pools: [{id: etl}, {id: etl}]", 'pool "etl"', "id is given twice"),
    top("pool-max", "pools: [{id: etl, map_slots_min: 3, map_slots_max: 2}]", "map_slots_max is 2"),
    top("pool-id-long", f"pools: [{{id: {'x' * 201}}}]", "id has 201 characters", "200"),
    top("queue-parent", "queues: [{id: a, parent: rot}]", 'queue "a"', "parent", '"rot"'),
    top("queue-circle", "queues: [{id: a, parent: b}, {id: b, parent: a}]", 'queue "a"', "parent"),
    top("queue-share", "queues: [{id: a, share_min: 3, share_max: 2}]", "share_max is 2"),
    bad(
        "queue-share-below-a-task",
        "version: 1\ncluster: {containers: 9}\n"
        "queues:\n  - {id: a, share_max: 0.5}\n  - {id: b, parent: a}\n"
        "jobs: [{id: j, pool: b, maps: {tasks: 1, avg_s: 1}}]\n",
        'line 4, queue "a"', "share_max is 0.5", 'job "j" takes 1', "a number of containers",
    ),
    bad(
        "pool-unknown",
        "version: 1\npools: [{id: etl}]\njobs:\n  - id: a\n    pool: elt\n"
        "    maps: {tasks: 1, avg_s: 1}\n",
        'line 5, job "a"', "pool names", '"elt"', "etl",
    ),
    bad(
        "pool-no-leaf",
        "version: 1\nqueues: [{id: root}, {id: leaf, parent: root}]\njobs:\n  - id: a\n"
        "    pool: root\n    maps: {tasks: 1, avg_s: 1}\n",
        'line 5, job "a"', "pool names", "leaf",
    ),
)  # fmt: skip

JOBS = (
    bad("job-id-missing", "version: 1\njobs:\n  - maps: {tasks: 1, avg_s: 1}\n", "line 3", "id is"),
    bad("job-id-empty", "version: 1\njobs:\n  - id: ''\n    run: 1\n", "line 4", "run is 1"),
    bad("job-id-number", "version: 1\njobs:\n  - id: 5\n", "line 3", "id is 5", "quotes"),
    bad(
        "job-id-control",
        '{"version": 1, "jobs": [\n{"id": "a\\u0007", "maps": {"tasks": 1, "avg_s": 1}}]}',
        "line 2", r'job "a\x07"', "id", "control character",
    ),
    bad(
        "job-twice",
        "version: 1\njobs:\n  - {id: a, maps: {tasks: 1, avg_s: 1}}\n"
        "  - {id: a, maps: {tasks: 1, avg_s: 1}}\n",
        'line 4, job "a"', "id is given twice",
    ),
    bad("job-empty", "version: 1\njobs:\n  - id: a\n", 'line 3, job "a"', "no task"),
    job("job-key-of-others", "depends_on: [a]", "unknown key `depends_on`", "Did you mean after?"),
    job("job-queue-of-others", "queue: a", "unknown key `queue`", "Did you mean pool?"),
    job("job-stages-of-others", "stages: []", "unknown key `stages`", "Did you mean phases?"),
    job("job-release-of-others", "release_s: 5", "`release_s`", "Did you mean submitted_at_s?"),
    job("length-of-others", "maps: {tasks: 2, task_s: 5}", "`maps.task_s`", "Did you mean avg_s?"),
    job("job-key-typo", "deadlin_s: 5", "unknown key `deadlin_s`", "deadline_s"),
    job("job-key-of-cluster", "map_slots: 5", "unknown key `map_slots`", "Move it to cluster, "),
    job("job-key-of-phase", "tasks: 5", "Move it to jobs.maps, jobs.phases or jobs.reduces."),
    job("job-key-of-run", "mapper: cat", "unknown key `mapper`. Move it to jobs.run or"),
    job("job-key-of-demand", "cpu: 5", "unknown key `cpu`. Move it to jobs.demand or"),
    job("job-key-of-file", "prices: {}", "unknown key `prices`. Move it to the top level of"),
    job("job-key-of-settings", "slowstart: 1", "unknown key `slowstart`. Move it to settings."),
    job("job-key-similar", "map: {cpu: 3}", "Did you mean maps? Or move it to jobs.demand."),
    phased("deadline-negative", "deadline_s: -5", "deadline_s is -5", "above 0"),
    phased("deadline-0", "deadline_s: 0", "deadline_s is 0", "above 0"),
    phased("deadline-infinite", "deadline_s: .inf", "deadline_s is", ".inf", "number"),
    phased("deadline-underscore", "deadline_s: 1_000", "deadline_s is", "1_000"),
    phased("deadline-sexagesimal", "deadline_s: 1:30", "deadline_s is", "1:30"),
    phased("deadline-octal", "deadline_s: 010", "deadline_s is", "010"),
    phased("deadline-hex", "deadline_s: 0x10", "deadline_s is", "0x10"),
    phased("deadline-yes", "deadline_s: yes", "deadline_s is", "yes"),
    bad(
        "deadline-both",
        "version: 1\njobs:\n  - id: a\n    deadline_s: 5\n    deadline_at_s: 9\n"
        "    maps: {tasks: 1, avg_s: 1}\n",
        'line 4, job "a"', "deadline_s is given together with deadline_at_s",
    ),
    bad(
        "deadline-before-submission",
        "version: 1\njobs:\n  - id: a\n    submitted_at_s: 9\n    deadline_at_s: 5\n"
        "    maps: {tasks: 1, avg_s: 1}\n",
        'line 5, job "a"', "deadline_at_s is 5",
    ),
    phased("submitted-negative", "submitted_at_s: -1", "submitted_at_s is -1", "0 or more"),
    phased("submitted-huge", "submitted_at_s: 1e300", "submitted_at_s is 1e+300", "1e+12"),
    phased("weight-0", "weight: 0", "weight is 0", "above 0"),
    phased("weight-tiny", "weight: 1e-320", "weight is 1e-320", "too near to zero"),
    job("avg-null", "maps: {tasks: 3, avg_s: null, max_s: 4}", "maps.avg_s is missing", "max_s"),
    job("maps-list", "maps: [1, 2]", "maps is a list", "mapping"),
    job("maps-no-lengths", "maps: {tasks: 3}", "maps has tasks but no lengths", "avg_s"),
    job("maps-no-tasks", "maps: {avg_s: 3}", "maps.tasks is missing"),
    job("tasks-negative", "maps: {tasks: -3, avg_s: 3}", "maps.tasks is -3"),
    job("tasks-fraction", "maps: {tasks: 2.5, avg_s: 3}", "maps.tasks is 2.5", "whole"),
    job("tasks-true", "maps: {tasks: true, avg_s: 3}", "maps.tasks is true"),
    job("tasks-quoted", "maps: {tasks: '3', avg_s: 3}", 'maps.tasks is "3"', "without quotes"),
    job("tasks-too-many", "maps: {tasks: 100000001, avg_s: 3}", "maps.tasks is 100000001"),
    job("avg-0", "maps: {tasks: 3, avg_s: 0}", "maps.avg_s is 0", "above 0"),
    job("avg-negative", "maps: {tasks: 3, avg_s: -2}", "maps.avg_s is -2"),
    job("max-below-avg", "maps: {tasks: 3, avg_s: 5, max_s: 4}", "maps.max_s is 4", "avg_s = 5"),
    job("max-alone", "maps: {tasks: 3, max_s: 4}", "maps.avg_s is missing"),
    job("lengths-two-forms", "maps: {tasks: 1, avg_s: 1, durations_s: [1]}", "maps", "one form"),
    job("durations-count", "maps: {tasks: 3, durations_s: [1, 2]}", "maps.durations_s", "2", "3"),
    job("durations-0", "maps: {durations_s: [1, 0]}", "maps.durations_s[1] is 0.0"),
    job("durations-text", "maps: {durations_s: [1, x]}", "maps.durations_s[1]", '"x"'),
    job("rows-falling", "maps: {tasks: 2, rows: [[4, 1, 1], [2, 1, 1]]}", "maps.rows", "rising"),
    job("rows-short", "maps: {tasks: 2, rows: [[4, 1]]}", "maps.rows[0][2] is missing"),
    job("rows-max", "maps: {tasks: 2, rows: [[4, 2, 1]]}", "maps.rows has a row whose max_s is 1"),
    job("work-0", "maps: {tasks: 2, fixed_s: 0, work_s: 0}", "maps.work_s", "0"),
    job("factor-alone", "maps: {tasks: 2, max_factor: 2}", "maps.work_s is missing"),
    job("factor-low", "maps: {tasks: 2, work_s: 9, max_factor: 0.5}", "maps.max_factor is 0.5"),
    job("units-0", "maps: {tasks: 2, avg_s: 9, units: 0}", "maps.units is 0"),
    job("shuffle-tasks", "shuffle: {tasks: 3, avg_s: 1}", "unknown key `shuffle.tasks`"),
    phased(
        "shuffle-of-nothing",
        "shuffle: {avg_s: 0, max_s: 5}\n    reduces: {tasks: 2, avg_s: 3}",
        "shuffle.avg_s is 0",
    ),
    phased("demand-negative", "demand: {map: {cpu: -1}}", "demand.map.cpu is -1"),
    phased("demand-resource", "demand: {map: {gpu: 1}}", "unknown key `demand.map.gpu`", "cpu"),
    phased(
        "demand-many-others",
        f"demand: {{map: {{resources: {dict.fromkeys('abcdefghijklmnopqrstu', 1)}}}}}",
        "demand.map.resources is refused", "at most 20",
    ),
    phased("demand-other", "demand: {map: {resources: {gpu: -1}}}", "map.resources.gpu is -1"),
    phased(
        "demand-other-name",
        "demand: {map: {resources: {cpu: 1}}}",
        "demand.map.resources names 'cpu'", "next to `resources`",
    ),
    phased("demand-phase", "demand: {mapp: {cpu: 1}}", "unknown key `demand.mapp`", "map"),
    job(
        "demand-no-maps",
        "demand: {map: {cpu: 9}}\n    run: {input: [in], output: out, mapper: cat}",
        "demand.map is given without maps",
    ),
    bad(
        "profile-beside-lengths",
        "version: 1\njobs:\n  - id: a\n    maps: {tasks: 4, avg_s: 3}\n    profile: old\n",
        'line 4, job "a"', "maps has lengths together with profile",
    ),
    phased("map-output", "map_output: {bytes: 5}", "map_output.records is missing"),
    phased("buffer", "buffer: {metadata_share: [0, 1]}", "buffer.metadata_share[0] is 0"),
    phased("merge-width", "buffer: {default: {merge_width: 1}}", "buffer.default.merge_width is 1"),
)  # fmt: skip

RUN = (
    running("run-empty", "{}", "run.output is missing"),
    running("run-no-input", "{output: b, mapper: cat}", "run.input is missing"),
    running("run-no-mapper", "{input: [a], output: b}", "run.mapper is missing"),
    running("run-mapper-null", "{input: [a], output: b, mapper: null}", "run.mapper is missing"),
    running("run-input-kind", "{input: {a: 1}, output: b, mapper: cat}", "run.input is", "list"),
    running("run-input-blank", "{input: '', output: b, mapper: cat}", "run.input[0] is empty"),
    running("run-cut", "{input: [a], output: b, map: cat}", "Did you mean mapper? Or move it"),
    running("run-input-none", "{input: [], output: b, mapper: cat}", "run.input"),
    running("run-quote", '{input: [a], output: b, mapper: "cat \'x"}', "run.mapper", "quotation"),
    running(
        "run-blank", "{input: [a], output: b, mapper: cat, reducer: ' '}", "run.reducer is emp"
    ),
    running("run-both", "{input: [a], output: b, mapper: cat, python: 'a.py:B'}", "run.python is"),
    running("run-python", "{input: [a], output: b, python: a}", "run.python is", "NAME"),
    running("run-split", "{input: [a], output: b, mapper: cat, split_bytes: 0}", "run.split_bytes"),
    running(
        "run-env-value",
        "{input: [a], output: b, mapper: cat, env: {A: 1}}",
        "run.env.A is a number, not text",
    ),
    running(
        "run-env-name", "{input: [a], output: b, mapper: cat, env: {A=B: x}}", "run.env.A=B is"
    ),
    running("run-nul", '{input: ["a\\0"], output: b, mapper: cat}', "run.input[0]", "NUL"),
)

_READS = "{name: a, run: {input: [x], mapper: cat}}"
GRAPHS = (
    graph("graph-no-run", "[{name: a}]", "phases[0].run is missing"),
    graph("graph-nothing", "[{name: a, run: {}}]", "phases[0].run has nothing to run"),
    graph("graph-two-ways", "[{name: a, run: {mapper: cat, reducer: cat}}]", "mapper and reducer"),
    graph("graph-no-input", "[{name: a, run: {mapper: cat}}]", "phases[0].run.input is missing"),
    graph("graph-sorted-files", "[{name: a, run: {input: [x], reducer: cat}}]", "run.reducer is"),
    graph("graph-late-input", f"[{_READS}, {_READS.replace('a,', 'b,', 1)}]", "Add after: []"),
    graph("graph-no-task", "[{name: a, tasks: 0, run: {input: [x], mapper: cat}}]", "tasks is 0"),
    graph("graph-shell", "[{name: a, run: {input: [x], mapper: 'a | b'}}]", 'run.mapper holds "|"'),
    graph("graph-python", "[{name: a, run: {input: [x], python: a}}]", "phases[0].run.python is"),
    graph(
        "graph-combined-python",
        "[{name: a, run: {input: [x], python: a.py, combiner: cat}}]",
        "phases[0].run.python is given together with combiner",
    ),
    graph(
        "graph-of-a-job-with-a-mapper",
        f"[{_READS}]",
        "run.mapper is given together with phases",
        run="{output: b, mapper: cat}",
    ),
    bad(
        "graph-without-output",
        f"version: 1\njobs:\n  - {{id: etl-7, phases: [{_READS}]}}\n",
        'job "etl-7"',
        "phases[0].run is given, and the job has no run",
    ),
    bad(
        "graph-of-a-class",
        f"version: 1\nclasses:\n  - {{id: c, penalty_usd: 1, jobs_max: 2, deadline_s: 9,"
        f" phases: [{_READS}]}}\n",
        "unknown key `phases[0].run`",
    ),
)

SETTINGS = (
    top("setting-unknown", "settings: {jiter: 0.1}", "settings.jiter", "jitter"),
    top("setting-range", "settings: {jitter: 1}", "settings.jitter is 1", "below 1"),
    top("setting-nan", "settings: {jitter: .nan}", "settings.jitter is", ".nan"),
    top("setting-true", "settings: {jitter: true}", "settings.jitter is true"),
    top("setting-half", "settings: {replicas: 1.5}", "settings.replicas is 1.5", "whole"),
    top("setting-choice", "settings: {contention: share}", "settings.contention", "shared"),
    top("setting-prefixed", "settings: {ras.jitter: 2}", "settings.ras.jitter is 2"),
    top("setting-range-back", "settings: {slow_factor: [6, 3]}", "settings.slow_factor is [6, 3]"),
    top("settings-list", "settings: [jitter]", "settings is a list"),
)

PLANNING = (
    top("price-negative", "prices: {vm_hour_usd: -1}", "prices.vm_hour_usd is -1"),
    top("budgets", "limits: {budget_usd_min: 9, budget_usd_max: 5}", "limits.budget_usd_max is 5"),
    top("class-typo", "classes: [{id: q1, penalty_usd: 1, job_max: 2}]", 'class "q1"', "jobs_max"),
    top(
        "class-jobs", "classes: [{id: q1, penalty_usd: 1, jobs_min: 3, jobs_max: 2}]", "jobs_max is"
    ),
    top("member-demand", "members: [{id: A, demands: [1, -2]}]", 'member "A"', "demands[1] is -2"),
    top("member-twice", "members: [{id: A, demands: []}, {id: A, demands: []}]", 'member "A"'),
    top("type-units", "vm_types: [{id: VM-1, units: 0, vms: 4}]", 'type "VM-1"', "units is 0"),
    top("capacity-0", "capacity: 0", "capacity is 0", "above 0"),
    top("error-1", "prediction_error: 1", "prediction_error is 1"),
    phased("prediction", "predictions: {VM-1: {10: 0}}", "predictions.VM-1.10 is 0"),
    phased("size", "predictions: {VM-1: {ten: 5}}", "predictions.VM-1", "ten", "whole number"),
    phased("size-0", "predictions: {VM-1: {0: 5}}", "predictions.VM-1", '"0"', "1 or more"),
    phased("size-twice", "predictions: {VM-1: {'1': 5, '01': 6}}", "gives 1 VMs twice"),
    phased("request-0", "vm_request: {vm_type: VM-1, vms: 0}", "vm_request.vms is 0"),
    phased("request-type", "vm_request: {vms: 2}", "vm_request.vm_type is missing"),
    phased(
        "request-start",
        "vm_request: {vm_type: VM-1, vms: 1, start_within_s: -1}",
        "vm_request.start_within_s is -1",
    ),
    top("power-down", "power: {down_after_s: -1}", "power.down_after_s is -1"),
    top("power-up", "power: {up_s: .inf}", "power.up_s is"),
    phased("no-prediction", "predictions: {VM-1: {}}", "predictions is empty"),
    bad(
        "type-above-server",
        "version: 1\nserver_units: 2\nvm_types: [{id: VM-1, units: 4, vms: 4}]\n",
        'type "VM-1"',
        "units is 4, above server_units",
    ),
    top("type-vms", "vm_types: [{id: VM-1, units: 2, vms: -1}]", 'type "VM-1"', "vms is -1"),
    top("type-vms-part", "vm_types: [{id: VM-1, units: 2, vms: 1.5}]", 'type "VM-1"', "vms is 1.5"),
    top("server-units-0", "server_units: 0", "server_units is 0"),
    top("beta-1", "reconfigure: {beta: 1}", "reconfigure.beta is 1"),
    top("window-0", "reconfigure: {window_s: 0}", "reconfigure.window_s is 0"),
    top("change", "reconfigure: {vm_change_server_s: -1}", "vm_change_server_s is -1"),
    top("bound-0", "windows: {bound_s: 0}", "windows.bound_s is 0"),
    top("boot", "boot_s: -1", "boot_s is -1"),
)

CASES = (
    *NOTATION, *WHOLE_FILE, *CLUSTER, *POOLS, *JOBS, *RUN, *GRAPHS, *SETTINGS, *PLANNING,
)  # fmt: skip
