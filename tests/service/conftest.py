"""A browser, and the pages that a test opens in it."""

import pytest
from tests.browser import chromium
from tests.service.pages import Visit


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser):
    """Opens pages. Their consoles say nothing, and they ask one host alone."""
    made = []

    def visited(*options):
        made.append(Visit(browser, *options))
        return made[-1]

    yield visited
    for one in made:
        assert one.said == []
        assert len(one.hosts) <= 1
        one.context.close()
