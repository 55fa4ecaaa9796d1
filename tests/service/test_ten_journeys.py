"""Users reach what they come for by keyboard alone, on two screens in two colour schemes.

The journeys of section 3 of the service's specification; the tenth is an agent's, and is in
`test_mcp.py`. On one screen they are quick, on the others `slow`; a thorough run has all four.
"""

import json
import re
from datetime import datetime, timedelta

import pytest
from tests import skips
from tests.service.clients import Client, job
from tests.service.pages import SIZES, violations
from tests.service.services import serving
from tests.service.test_activation import SERVED, yarn
from tests.service.test_views import COMBINATIONS, ended, kept, submitted

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
TABS_MAX = 80
PLANNED = {
    "version": 1,
    "prices": {"vm_hour_usd": 1.0, "billing_s": 60},
    "cluster": {"map_slots_per_vm": 1, "reduce_slots_per_vm": 1},
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journeys")
    with serving(folder, "--config", "serve.yaml", config=SERVED) as it:
        yield it


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


@pytest.fixture(scope="module")
def past(service, owner):
    """Jobs that are done, a template, and a file of queues."""
    done = [submitted(owner, service, "counted", 0.2) for _ in range(2)]
    for job_id in done:
        ended(owner, job_id)
    word = {"type": "text", "about": "what to look for", "default": "a"}
    found = job(service, "looked")
    found["run"]["mapper"] = "grep -e {word}"
    del found["id"], found["maps"]
    template = {"about": "Lines with a word.", "job": found, "parameters": {"word": word}}
    assert owner.ask("PUT", "/v1/templates/grep", template).status < 300
    owner.post("/v1/configs", {"name": "halves", "text": yarn(slow=50, fast=50)})
    return done[-1]


@pytest.fixture
def full(service, owner):
    """All slots are taken, for longer than a test; another job waits."""
    made = [submitted(owner, service, f"full-{number}", 300) for number in range(8)]
    yield made[-1]
    for job_id in made:
        owner.delete(f"/v1/jobs/{job_id}")


class Keyboard:
    """A user without a mouse. Leaves a picture of where each journey ended."""

    def __init__(self, page, size, scheme):
        self.page, self._size, self._scheme = page, size, scheme

    def go(self, key, title):
        """Go to a view by its keys."""
        self.page.keyboard.press("Escape")
        self.page.locator("main").focus()
        self.page.keyboard.press("g")
        self.page.keyboard.press(key)
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)

    def reach(self, target):
        """Press Tab until this has the focus."""
        expect(target).to_be_visible()
        for _ in range(TABS_MAX):
            if target.evaluate("found => found === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no Tab reaches {target}")

    def fill(self, label, text):
        """Type a value into the field of this label."""
        self.reach(self.page.get_by_label(label))
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def press(self, name, role="button"):
        """Press the button of this name."""
        self.reach(self.page.get_by_role(role, name=name, exact=True).first)
        self.page.keyboard.press("Enter")

    def arrived(self, journey):
        """The view is accessible, and as wide as the screen."""
        kept(self.page, f"journey-{journey}-{self._size}-{self._scheme}")
        assert violations(self.page) == []
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= SIZES[self._size][0]


@pytest.fixture(params=[pytest.param(one.values, marks=one.marks) for one in COMBINATIONS])
def user(request, service, past, visit):  # the jobs are there first
    size, scheme = request.param
    return Keyboard(visit(size, scheme).log_in(service), size, scheme)


def asked(user, service, name, deadline=None):
    """The form of a job that sleeps a moment, sent."""
    user.go("s", "Submit")
    if deadline is not None:
        user.page.get_by_label("Deadline").fill(f"{deadline:%Y-%m-%dT%H:%M:%S}")
    user.fill("Name", name)
    user.fill("Input", str(service.folder / "in" / "*.txt"))
    user.fill("Output", str(service.folder / "out" / "{job_id}"))
    user.fill("Command of each map", "sh -c 'sleep 0.2; cat'")
    user.press("Ask for a promise")


def test_1_when_is_my_job_done_and_may_it_run(user, service):
    asked(user, service, "counted")
    expect(user.page.get_by_text("It would be done at")).to_be_visible()
    user.arrived(1)
    user.press("Submit it")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("counted")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("✓ done")
    user.go("s", "Submit")
    user.reach(user.page.get_by_label("What to run"))
    user.page.keyboard.press("ArrowDown")
    expect(user.page.get_by_label("word: what to look for")).to_have_value("a")
    user.press("Ask for a promise")
    user.press("Submit it")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("grep ✓ done")


def test_2_why_does_it_still_wait(user, full):
    row = user.page.locator(f"tr[data-key={full}]")
    expect(row).to_be_visible()
    while row.get_attribute("data-selected") != "true":
        user.page.keyboard.press("j")
    user.page.keyboard.press("Enter")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("full-7 ○ waiting")
    expect(user.page.get_by_text("7 open jobs came before it")).to_be_visible()
    expect(user.page.get_by_text("Would start earlier with")).to_be_visible()
    user.arrived(2)


@pytest.mark.usefixtures("full")
def test_3_can_i_have_it_by_then(user, service):
    asked(user, service, "counted", datetime.now().astimezone() + timedelta(seconds=30))
    expect(user.page.get_by_text("✕ Deadline")).to_be_visible()
    user.arrived(3)
    user.press("Submit with this")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("counted ○ waiting")
    kept_at_least = re.compile(r"(9\d|100) %")  # the level of a promise
    expect(user.page.locator("dl.facts").get_by_text(kept_at_least)).to_be_visible()
    user.press("Kill …")
    user.press("Kill")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("✕ killed")


def test_4_faster_or_cheaper(user, service):
    many = service.folder / "many"
    many.mkdir(exist_ok=True)
    for number in range(4):
        (many / f"{number}.txt").write_text("a b\n")
    jobs = [
        {**job(service, name, 0.1), "maps": {"tasks": 4, "fixed_s": 1, "work_s": 400 * number}}
        for number, name in enumerate(("one", "two"), 1)
    ]
    for each in jobs:
        each["run"]["input"] = [str(many)]
    user.go("l", "Plans")
    user.fill("or its text", json.dumps({**PLANNED, "jobs": jobs}))
    user.press("Plan")
    expect(user.page.get_by_text("plans: from")).to_be_visible()
    user.reach(user.page.get_by_role("radio", checked=True))
    before = user.page.get_by_role("radio", checked=True).get_attribute("value")
    user.page.keyboard.press("ArrowDown")
    after = user.page.get_by_role("radio", checked=True).get_attribute("value")
    assert after != before
    user.arrived(4)
    user.press(f"Put plan {after} to work …")
    user.press("Submit 2 jobs")
    # Where the plan rents more than is up, the page says so first.
    heading = user.page.get_by_role("heading", name="Queue", level=1)
    onward = user.page.get_by_role("button", name="To the queue")
    expect(heading.or_(onward)).to_be_visible()
    if onward.is_visible():
        user.press("To the queue")
    expect(user.page.get_by_role("row").filter(has_text="two").first).to_contain_text("✓ done")


def test_5_what_happens_now_and_what_is_stuck(user, full):
    expect(user.page.get_by_text("6 jobs running, 2 waiting")).to_be_visible()
    user.reach(user.page.get_by_label("State"))
    user.page.keyboard.type("waiting")
    expect(user.page.locator("tbody tr")).to_have_count(2)
    expect(user.page.locator(f"tr[data-key={full}]")).to_contain_text("○ waiting")
    user.arrived(5)
    user.go("n", "Nodes")
    expect(user.page.get_by_role("row").filter(has_text="node-1").first).to_be_visible()


def test_6_why_did_it_take_so_long(user, past):
    user.page.keyboard.press("/")
    user.page.keyboard.type("counted")
    user.page.keyboard.press("Enter")
    row = user.page.locator(f"tr[data-key={past}]")
    expect(row).to_be_visible()
    while row.get_attribute("data-selected") != "true":
        user.page.keyboard.press("j")
    user.page.keyboard.press("Enter")
    expect(user.page.get_by_role("heading", level=1)).to_contain_text("counted ✓ done")
    user.reach(user.page.locator("summary").filter(has_text="Where its time went"))
    user.page.keyboard.press("Enter")
    expect(user.page.get_by_text("Critical path")).to_be_visible()
    user.arrived(6)


def test_7_what_if_we_change_the_queues(user):
    user.go("t", "Time machine")
    user.press("halves", role="link")
    expect(user.page.get_by_role("heading", name="Replay halves")).to_be_visible()
    user.reach(user.page.get_by_label("The last"))
    user.page.keyboard.type("week")
    user.fill("Queues of other jobs", "*=root.slow")
    user.press("Replay")
    expect(user.page.get_by_role("row").filter(has_text="slow").first).to_be_visible()
    user.arrived(7)


def test_8_do_we_get_what_we_pay_for(user):
    user.go("f", "Fairness")
    user.reach(user.page.get_by_label("The last"))
    user.page.keyboard.type("hour")
    expect(user.page.get_by_text("The rule in force is")).to_be_visible()
    user.arrived(8)


def test_9_can_i_believe_the_eta(user):
    user.go("r", "Profiles")
    user.press("counted", role="link")
    expect(user.page.get_by_text("Promised against measured")).to_be_visible()
    user.arrived(9)
    user.go("p", "Promises")
    expect(user.page.get_by_role("row").filter(has_text="counted").first).to_be_visible()
