"""Tests run under the conservation laws: after each event that a scheduler takes in, its state is
counted again the slow way.
"""

import gc
import os
import resource
import signal
import zlib

import pytest
from hypothesis import settings
from tests import subject
from tests.conservation import OFTEN, SAMPLED, conserving
from tests.effort import IS_THOROUGH, fewer, left_out, slow_first
from tests.in_events import speak_in_events

from sluice.core.scheduler import Scheduler

# A machine that is busy is no reason to fail: time is measured in bench/, never in a test.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# Objects; at Python's 700, a tenth of all time is collecting garbage. Finding tests makes none.
GC_THRESHOLD = 20_000
gc.set_threshold(100 * GC_THRESHOLD)


def _survive(_number, _frame):
    """Handle a signal by doing nothing."""


def pytest_addoption(parser):
    parser.addini(
        "quick_test_cpu_s", "CPU seconds after which a test that is not marked slow fails",
        default="20",
    )  # fmt: skip


def cpu_s():
    """CPU seconds of this process and of the children that it has waited for."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if subject.IS_COMPILED:
        interpreted = {item for item in items if item.get_closest_marker("interpreted")}
        config.hook.pytest_deselected(items=[*interpreted])
        items[:] = [item for item in items if item not in interpreted]
    # A case that is named, or that failed, is run on any day.
    if not config.getoption("lf", default=False) and not any("::" in word for word in config.args):
        others = left_out(items)
        config.hook.pytest_deselected(items=others)
        gone = {*others}
        items[:] = [item for item in items if item not in gone]
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        items[:] = slow_first(items, lambda one: one.get_closest_marker("slow"), workers)
    functions = [item for item in items if isinstance(item, pytest.Function)]
    # Where Hypothesis keeps the settings of a function, and of a state machine's test case.
    holders = {
        *((getattr(one.obj, "__func__", one.obj), "_hypothesis_internal_use_settings")
          for one in functions),
        *((one.cls, "settings") for one in functions),
    }  # fmt: skip
    for holder, name in holders:
        if isinstance(found := getattr(holder, name, None), settings):
            setattr(holder, name, fewer(found))


def pytest_sessionstart():
    if refusal := subject.refusal():
        pytest.exit(refusal, 4)


def pytest_report_header():
    return subject.header()


def pytest_collection_finish():
    # What was imported and collected stays to the end: no collection need walk through it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    # To count what is frozen is to walk through it, and each run of a live driver asks.
    frozen = gc.get_freeze_count()
    pytest.MonkeyPatch().setattr(gc, "get_freeze_count", lambda: frozen)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Hold quick tests to their budget. CPU time counts: a busy machine is no test's fault."""
    before_s = cpu_s()
    result = yield
    took_s, budget_s = cpu_s() - before_s, float(item.config.getini("quick_test_cpu_s"))
    if took_s > budget_s and item.get_closest_marker("slow") is None:
        pytest.fail(
            f"took {took_s:.1f} s of CPU, over {budget_s:g} s: make it quicker, or mark it slow",
            pytrace=False,
        )
    return result


def pytest_configure(config):
    # A background job of a shell ignores the keyboard, and a job under `nohup` ignores SIGHUP. The
    # commands under test would inherit that. They do not inherit a handler: with one, pytest
    # itself still survives the end of its terminal.
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, _survive),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    config.addinivalue_line(
        "markers", "no_invariants: a large or timed run, without a recount after each event"
    )
    config.addinivalue_line(
        "markers", "interpreted: looks inside or puts itself into what is compiled elsewhere"
    )
    config.addinivalue_line(
        "markers",
        "in_turn(days): each day other cases, so that in so many days all of them are run",
    )


_DECIDES = {"core", "policies", "simulation"}  # folders of tests
_ONE_IN = 4  # tests elsewhere: what they run was counted there


def _is_property(item):
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _is_drawn(item):
    """The same tests in each run. Those that are long do more of what short ones do."""
    is_short = item.get_closest_marker("slow") is None
    return is_short and zlib.crc32(item.nodeid.encode()) % _ONE_IN == 0


@pytest.fixture(autouse=True)
def _conservation(request, monkeypatch):
    """On in tests of what decides, in property tests and in a share of the others.

    A large state is counted more often in properties of what decides.
    Never in tests that say `no_invariants`, nor of compiled modules, into which no test can look.
    """
    item = request.node
    decides, is_property = _DECIDES & set(item.path.parts), _is_property(item)
    is_on = decides or is_property or IS_THOROUGH or _is_drawn(item)
    if item.get_closest_marker("no_invariants") or not is_on or subject.IS_COMPILED:
        return
    is_often = decides and (is_property or IS_THOROUGH)
    monkeypatch.setattr(Scheduler, "handle", conserving(OFTEN if is_often else SAMPLED))
    speak_in_events(monkeypatch)
