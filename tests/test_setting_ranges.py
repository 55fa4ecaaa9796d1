"""The values that each numeric setting takes, and what all have by default: contracts with files.

A range that becomes narrower refuses files that were valid; one that becomes wider lets a number
through that its owner cannot work with. Another default changes the results of files without it.
"""

import math
import re
from fractions import Fraction
from typing import NamedTuple

from tests.subject import HOUSE

from sluice.bootstrap.settings import declarations, resolved_settings
from sluice.core.rules import Rules
from sluice.core.settings import CoreSettings
from sluice.model.errors import InvalidInput
from sluice.model.settings import NUMBER_MIN, SettingKind, written

# A bracket belongs to the range, a parenthesis does not. 1e12 is the most of any number.
RANGES = """
capacity.billing_s              [0, 1e12]
capacity.interval_s             [0, 1e12]
capacity.on_demand_vm_usd       [0, 1e12] or none
capacity.penalty_usd            [0, 1e12] or none
capacity.reserved_vm_usd        [0, 1e12] or none
capacity.vm_containers          whole [1, 1e12] or none
capacity.vm_start_s             [0, 1e12]
capacity.vms_max                whole [1, 1e12] or none
copies.min_age_s                [0, 1e12] or none
copies.sepb                     [0, 1]
copies.sepb_pool                [0, 1]
copies.slow_node                [0, 100]
copies.slow_task                [0, 100]
copies.spec_cap                 [0, 1e12]
data.node_wait_s                [0, 1e12]
data.rack_wait_s                [0, 1e12]
equal_failures_max              whole [2, 1000] or none
failures_max                    whole [1, 1000]
fetch_bytes_per_s               (0, 1e12]
goals.every_s                   [0.001, 1e12]
goals.guard                     [0, 1]
hang_at                         [0, 1]
heartbeat_s                     [0, 1e12]
jitter                          [0, 1)
kappa_cpu                       [0, 1000]
kappa_io                        [0, 1000]
kappa_memory                    [0, 1000]
kappa_network                   [0, 1000]
machines.vm_beta                (1, 1e12]
machines.vm_boot_s              [0, 1e12]
machines.vm_change_server_s     [0, 1e12] or none
machines.vm_check_s             [0.001, 1e12]
machines.vm_power_down_s        [0, 1e12] or none
machines.vm_power_up_s          [0, 1e12]
machines.vm_server_units        (0, 1e12] or none
machines.vm_servers             whole [1, 1e12] or none
machines.vm_tick_s              [0, 1e12]
machines.vm_window_s            (0, 1e12] or none
mrorder.exact_jobs_max          whole [1, 10]
mrorder.interval_s              [0.001, 1e12]
mrorder.jobs_max                whole [1, 1000000] or none
mrorder.jobs_min                whole [1, 1000000]
nic_bytes_per_s                 (0, 1e12]
node_faults_max                 whole [1, 1000]
node_mtbf_s                     (0, 1e12] or none
node_repair_s                   (0, 1e12] or none
node_timeout_s                  (0, 1e12]
order.alpha                     [0, 1]
order.discount_price            (0, 1]
order.half_life_s               (0, 1e12]
order.initial_credits           [0, 1e12] or none
order.preempts_after_s          (0, 1e12] or none
order.probe_s                   [0, 1e12]
order.quantum_s                 (0, 1e12]
order.round_s                   (0, 1e12] or none
order.tick_s                    [0.001, 1e12]
p_hang                          [0, 1]
p_slow                          [0, 1]
p_slow_node                     [0, 1]
parallel_copies                 whole [1, 1e12]
peak                            (0, 1e12]
rack_factor                     [1, 1e12]
ras.goal_margin                 [0, 1000]
ras.period_s                    [1, 600]
ras.rounds                      whole [1, 100]
remote_factor                   [1, 1e12]
replicas                        whole [1, 1000]
run.fetch_tries                 whole [1, 100]
run.fetches_max                 whole [1, 64]
run.io_bytes_per_s              (0, 1e12] or none
run.node_lease_s                (0, 1e12] or none
run.ray_map_slots_per_cpu       [0, 1e12]
run.ray_reduce_slots_per_cpu    [0, 1e12]
run.reattach_s                  [0, 1e12]
run.task_memory_bytes_max       whole [1, 1152921504606846976] or none
run.task_output_bytes_max       whole [1, 1152921504606846976] or none
run.task_wall_s                 (0, 1e12] or none
run.yarn_containers_per_vcore   [0, 1e12]
run.yarn_map_slots_per_vcore    [0, 1e12]
run.yarn_memory_mb              whole [64, 1099511627776] or none
run.yarn_nodes                  whole [1, 100000] or none
run.yarn_reduce_slots_per_vcore [0, 1e12]
run.yarn_vcores                 whole [1, 100000] or none
slots.pct_map                   [0, 1]
slots.pct_reduce                [0, 1]
slots.reduce_slots_lent_max     whole [0, 1e12]
slots.w_map                     (0, 1e12]
slots.w_reduce                  (0, 1e12]
slow_factor                     [1, 1e12]
slow_node_factor                [1, 1e12]
slowstart                       [0, 1]
spread_cv                       (0, 100]
task_failure                    [0, 1]
task_timeout_s                  (0, 1e12] or none
thread_cpu                      (0, 1e12]
yarn-like.ramp                  [0, 1]
yarn.heartbeat_seed             whole [0, 1e12]
yarn.master_containers          whole [1, 1e12]
yarn.master_s                   (0, 1e12]
yarn.node_locality_delay        whole [-1, 1e12] or none
yarn.node_locality_threshold    [-1, 1] or none
yarn.node_s                     (0, 1e12]
yarn.rack_locality_delay        whole [-1, 1e12] or none
yarn.rack_locality_threshold    [-1, 1] or none
"""

_ROW = re.compile(r"(\S+) +(whole )?([\[(])(\S+), (\S+)([\])])( or none)?")
_DOCUMENTED = re.compile(r"^\| `([\w.-]+)` \| (.*?) \|", re.MULTILINE)
_NUMERIC = {SettingKind.NUMBER, SettingKind.WHOLE, SettingKind.SPAN, SettingKind.NUMBERS}


class Range(NamedTuple):
    """A row of the table. within, outside: the two numbers at each end, as near as can be."""

    key: str
    is_whole: bool
    within: tuple[float, float]
    outside: tuple[float, float]
    may_be_none: bool


def rows():
    for key, whole, opening, low, high, closing, none in _ROW.findall(RANGES):
        ends = []
        for number, is_within, away in ((low, opening == "[", -1), (high, closing == "]", 1)):
            end = (int if whole else float)(Fraction(number))  # 1e12 as a whole number, too
            beyond = next_number(end, away if is_within else -away, is_whole=bool(whole))
            ends.append((end, beyond) if is_within else (beyond, end))
        within, outside = zip(*ends, strict=True)
        yield Range(key, bool(whole), within, outside, bool(none))


def next_number(number, sign, *, is_whole):
    """The nearest number above or below that a setting can have."""
    if is_whole:
        return number + sign
    return math.nextafter(number, sign * math.inf) if number else sign * NUMBER_MIN


def is_taken(key, value):
    try:
        resolved_settings({key: value})
    except InvalidInput:
        return False
    return True


def test_each_numeric_setting_has_a_range():
    numeric = [key for key, one in declarations().all_settings().items() if one.kind in _NUMERIC]

    assert sorted(numeric) == [one.key for one in rows()]


def test_each_setting_has_the_default_in_the_documentation():
    text = (HOUSE / "docs" / "workload-file.md").read_text("utf-8")
    defaults = {
        key: written(one.default).strip("[]")  # an empty cell for an empty list
        for key, one in declarations().all_settings().items()
    }

    assert defaults == dict(_DOCUMENTED.findall(text))


def test_the_core_has_the_same_defaults_without_settings():
    rules, core = Rules(), CoreSettings()

    assert vars(core) == {name: getattr(rules, name) for name in vars(core)}


def test_each_setting_takes_the_ends_of_its_range():
    refused = [(one.key, end) for one in rows() for end in one.within if not is_taken(one.key, end)]

    assert [] == refused


def test_each_setting_refuses_what_is_just_outside_of_its_range():
    taken = [(one.key, end) for one in rows() for end in one.outside if is_taken(one.key, end)]

    assert [] == taken


def test_only_whole_settings_refuse_parts_and_only_some_can_be_none():
    found = [
        (one.key, not is_taken(one.key, one.within[0] + 0.5), is_taken(one.key, None))
        for one in rows()
    ]

    assert [(one.key, one.is_whole, one.may_be_none) for one in rows()] == found
