"""Tables of the page sort by any column, and the log of an attempt is followed while it runs."""

import pytest
from tests import skips
from tests.service.clients import Client, job
from tests.service.pages import SIZES, violations
from tests.service.services import serving

skips.required("fastapi")
skips.required("playwright.sync_api")
from playwright.sync_api import expect  # noqa: E402  # only where it is installed

expect.set_options(timeout=30_000)  # the machine may be busy
SECONDS = {"b-middle": 0.4, "a-long": 0.8, "c-short": 0.1}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("tables"), "--config", "serve.yaml") as running:
        yield running


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


@pytest.fixture(scope="module")
def done(service, owner):
    """Three jobs that are done, the newest last, and a held one without an end."""
    for name, seconds in SECONDS.items():
        owner.post("/v1/jobs", {"job": job(service, name, seconds)})
    service.settled()
    owner.post("/v1/jobs", {"job": job(service, "d-held"), "hold": True})


def column(page, number):
    """The texts of a column of the first table."""
    return (
        page.locator("main table").first.locator(f"tbody td:nth-child({number})").all_inner_texts()
    )


def cut_to(page, limit):
    """Lists of jobs come in parts of this size."""
    page.route(
        "**/v1/jobs?*",
        lambda route: route.continue_(url=route.request.url.replace("limit=100", f"limit={limit}")),
    )


def test_keys_sort_the_queue_by_any_column_and_back(done, service, visit):
    page = visit().log_in(service)
    expect(page.get_by_role("row")).to_have_count(5)
    newest_first = column(page, 1)
    head = page.get_by_role("columnheader", name="job", exact=True)
    button = head.get_by_role("button")
    button.focus()

    page.keyboard.press("Enter")
    assert column(page, 1) == ["a-long", "b-middle", "c-short", "d-held"]
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert violations(page) == []
    page.keyboard.press("Space")
    assert column(page, 1) == ["d-held", "c-short", "b-middle", "a-long"]
    expect(head).to_have_attribute("aria-sort", "descending")
    page.keyboard.press("Enter")
    assert column(page, 1) == newest_first
    assert head.get_attribute("aria-sort") is None
    expect(button).to_be_focused()


def test_the_last_end_comes_first_and_no_end_last(done, service, visit):
    page = visit().log_in(service)
    expect(page.get_by_role("row")).to_have_count(5)
    by_end = page.get_by_role("button", name="ends", exact=True)

    by_end.click()
    falling = column(page, 1)
    by_end.click()
    rising = column(page, 1)

    assert falling[-1] == rising[-1] == "d-held"
    assert falling[:-1] == rising[-2::-1]


def test_a_part_of_a_list_is_sorted_alone_and_says_so(done, service, visit):
    page = visit().log_in(service)
    cut_to(page, 3)
    page.reload()
    expect(page.get_by_text("3 of 4 jobs: filter, or load more")).to_be_visible()
    page.get_by_role("button", name="job", exact=True).click()

    expect(page.locator("caption")).to_contain_text("Sorted by job: these 3 alone")
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("caption")).to_have_text("4 jobs")
    assert column(page, 1) == sorted([*SECONDS, "d-held"])
    page.get_by_label("Order").select_option("first to end")  # of the service, for the whole list
    expect(page.locator("th[aria-sort]")).to_have_count(0)


def test_attempts_begin_with_the_longest_and_stay_as_they_were_sorted(service, owner, visit):
    file = service.folder / "in" / "long.txt"
    file.write_text("3\n")
    asked = job(service, "uneven", 3)
    asked["maps"]["tasks"] = 2
    asked["run"]["mapper"] = "sh -c 'read first; test $first = 3 && sleep 3; cat'"
    page = visit().log_in(service)
    made = owner.post("/v1/jobs", {"job": asked}).json["job_id"]
    page.goto(f"{page.url.removesuffix('/queue')}/jobs/{made}")
    page.get_by_text("The same as a table, the longest first").click()
    table = page.get_by_role("table", name="Attempts")
    expect(table.get_by_role("row")).to_have_count(3)
    seconds = table.locator("tbody td:nth-child(4)")

    expect(table.locator("th[aria-sort=descending]")).to_contain_text("seconds")
    table.get_by_role("button", name="seconds").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("✓ done")  # it was drawn again
    file.unlink()
    expect(table.get_by_role("button", name="seconds")).to_be_focused()
    shown = [float(text) for text in seconds.all_inner_texts()]
    assert shown == sorted(shown)
    assert shown[0] < 2 < shown[1]


def test_cards_of_a_phone_are_sorted_by_buttons(done, service, visit):
    page = visit("phone", "dark").log_in(service)
    page.get_by_role("button", name="queue", exact=True).click()
    page.get_by_role("button", name="id", exact=True).click()

    expect(page.locator("main tbody tr").first).to_contain_text("job-000001")
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"][0]
    assert violations(page) == []
