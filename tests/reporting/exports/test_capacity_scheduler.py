"""Hadoop's capacity-scheduler.xml: capacities add up, names are safe, nothing breaks the file."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.model.errors import InvalidInput
from sluice.reporting.exports.capacity_scheduler import (
    QueueShare,
    capacity_scheduler_xml,
    queue_names,
)
from sluice.reporting.exports.fair_scheduler import SlotQueue, fair_scheduler_xml
from sluice.reporting.exports.workload_text import workload_text

PREFIX = "yarn.scheduler.capacity.root"


def settings_of(queues, **options):
    root = ET.fromstring(capacity_scheduler_xml(queues, **options))  # noqa: S314  # ours
    return {one.findtext("name"): one.findtext("value") for one in root.iter("property")}


printable = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=30)


@given(st.lists(st.tuples(printable, st.floats(0, 1e6)), min_size=1, max_size=20))
def test_capacities_add_up_to_a_hundred_whatever_the_shares(queues):
    """YARN refuses to start otherwise."""
    shares = [QueueShare(name=name, share=share) for name, share in queues]
    if not any(share.share for share in shares):
        return
    said = settings_of(shares)
    names = said[f"{PREFIX}.queues"].split(",")

    assert len(queues) + (not any(name == "default" for name, _ in queues)) == len(names)
    assert len(set(names)) == len(names)
    assert "default" in names
    percents = [round(1000 * float(said[f"{PREFIX}.{name}.capacity"])) for name in names]
    assert 100_000 == sum(percents)
    assert 0 < min(percents)
    for name, percent in zip(names, percents, strict=True):
        assert percent <= round(1000 * float(said[f"{PREFIX}.{name}.maximum-capacity"])) <= 100_000


@given(st.lists(printable, max_size=20))
def test_names_are_safe_and_different(names):
    made = queue_names(names)

    assert len(names) == len(set(made))
    assert all(set(name) <= set("_-" + "0123456789" + LETTERS) for name in made)


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_a_comment_cannot_end_itself():
    said = settings_of([QueueShare(name="a", share=1)], comment="<!-- a --> & --- b")

    assert "a,default" == said[f"{PREFIX}.queues"]


@pytest.mark.parametrize(
    "name", ["a---b.yaml", "--", "-->", "<!--", "\udcff.yaml", "new\nline\x01"]
)
def test_a_file_s_name_does_not_break_the_file(name):
    """A path may hold anything, and stands in the comment at the head."""
    fair = fair_scheduler_xml([SlotQueue(name="a", map_slots=1, reduce_slots=1, vms=1)],
                              comment=f"plan 1 of {name}")  # fmt: skip
    capacity = capacity_scheduler_xml([QueueShare(name="a", share=1)], comment=f"plan 1 of {name}")

    for text in (fair, capacity):
        ET.fromstring(text.encode())  # noqa: S314  # ours
    assert workload_text({"version": 1}, name="a.yaml", comment=f"plan 1 of {name}").encode()


def test_no_queue_is_named_as_the_one_above_all():
    assert queue_names(["root", "root-2", "root"]) == ["root-2", "root-2-2", "root-3"]


def test_many_names_that_are_alike_take_no_time():
    """Ten thousand jobs may have names of which nothing is left."""
    assert len(set(queue_names(["\u00fc"] * 10_000))) == 10_000


def test_limits_are_shown_where_there_are_some():
    said = settings_of([QueueShare(name="a", share=3, share_max=0.5, jobs_max=7),
                        QueueShare(name="b", share=5)])  # fmt: skip

    assert ("37.500", "50.000", "7") == (
        said[f"{PREFIX}.a.capacity"],
        said[f"{PREFIX}.a.maximum-capacity"],
        said[f"{PREFIX}.a.max-parallel-apps"],
    )
    assert f"{PREFIX}.b.max-parallel-apps" not in said


@pytest.mark.parametrize("jobs_max", [1, 7, None])
def test_no_queue_rejects_what_should_wait(jobs_max):
    """YARN rejects applications beyond maximum-applications, and derives 0 of a tiny capacity."""
    said = settings_of([QueueShare(name="a", share=1, jobs_max=jobs_max),
                        QueueShare(name="b", share=1e-9)])  # fmt: skip

    for name in ("a", "b", "default"):
        assert "10000" == said[f"{PREFIX}.{name}.maximum-applications"]


def test_a_class_may_be_called_default():
    said = settings_of([QueueShare(name="default", share=1), QueueShare(name="b", share=1)])

    assert "default,b" == said[f"{PREFIX}.queues"]
    assert "50.000" == said[f"{PREFIX}.default.capacity"]


def test_the_head_says_how_to_apply_the_file_and_how_to_roll_back():
    head = capacity_scheduler_xml([QueueShare(name="a", share=1)]).partition("<configuration>")[0]

    for said in ("Apply: keep a copy", "yarn rmadmin -refreshQueues", "Roll back: "):
        assert said in head


def test_more_queues_than_steps_are_refused():
    with pytest.raises(InvalidInput, match="too many"):
        capacity_scheduler_xml([QueueShare(name="a", share=1)] * 100_000)


def test_without_any_share_there_is_no_file():
    with pytest.raises(InvalidInput, match="no queue has a share"):
        capacity_scheduler_xml([QueueShare(name="a", share=0)])
