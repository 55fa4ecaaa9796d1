"""An independent FIFO simulator, task by task, after the pseudo code of ordering spec, section 3.

    simulate(order): t=0
      loop: end tasks ending at t; admit jobs with dispatch<=t; update ready set
            while map slot free and some queued job has an unstarted map:
                start next map of the first such job
            while reduce slot free and some ready job has an unstarted reduce:
                start next reduce of the first such job
            if nothing runs and nothing is to come: stop
            t = next task end or next dispatch

It knows nothing of Sluice but the job as a value, walks over everything at every step, and is
slow on purpose. Every end is `start + length` in both simulators, so the same sums are made in the
same order and completions are equal to the last bit.
"""

from dataclasses import dataclass


@dataclass
class Line:
    """One job on its way through the referee."""

    arrival_s: float
    maps_s: list[float]
    reduces_s: list[float]
    maps_started: int = 0
    maps_ended: int = 0
    reduces_started: int = 0
    end_s: float = 0.0

    @property
    def is_ready(self):
        return self.maps_ended == len(self.maps_s)


def completions_s(jobs, map_slots, reduce_slots):
    """When each job of the list ends; earlier arrival first, then earlier in the list."""
    lines = [_line_of(job) for job in jobs]
    to_come = sorted(lines, key=lambda line: line.arrival_s)  # stable: ties keep list order
    queue: list[Line] = []
    running: list[tuple[float, str, Line]] = []
    free = {"map": map_slots, "reduce": reduce_slots}
    now_s = 0.0
    while True:
        for task in [task for task in running if task[0] == now_s]:
            running.remove(task)
            _end(task, free)
        while to_come and to_come[0].arrival_s <= now_s:
            queue.append(to_come.pop(0))
        while free["map"] and (line := _first(queue, _has_map)) is not None:
            length_s = line.maps_s[line.maps_started]
            line.maps_started += 1
            running.append(_start("map", line, now_s, length_s, free))
        while free["reduce"] and (line := _first(queue, _has_reduce)) is not None:
            length_s = line.reduces_s[line.reduces_started]
            line.reduces_started += 1
            running.append(_start("reduce", line, now_s, length_s, free))
        instants = [task[0] for task in running] + [line.arrival_s for line in to_come]
        if not instants:
            return [line.end_s for line in lines]
        now_s = min(instants)


def _line_of(job):
    lengths_s: dict[str, list[float]] = {"map": [], "reduce": []}
    for phase in job.phases:
        each_s = getattr(phase.lengths, "durations_s", None)
        if each_s is None:
            each_s = [phase.lengths.average_s] * phase.tasks
        lengths_s[phase.kind.value] = list(each_s)
    return Line(job.submitted_at_s, lengths_s["map"], lengths_s["reduce"])


def _first(queue, can_start):
    return next((line for line in queue if can_start(line)), None)


def _has_map(line):
    return line.maps_started < len(line.maps_s)


def _has_reduce(line):
    return line.is_ready and line.reduces_started < len(line.reduces_s)


def _start(kind, line, now_s, length_s, free):
    free[kind] -= 1
    return (now_s + length_s, kind, line)


def _end(task, free):
    end_s, kind, line = task
    free[kind] += 1
    line.maps_ended += kind == "map"
    line.end_s = end_s
