"""A browser, and the pages that a test opens in it."""

import pytest
from tests.browser import chromium
from tests.service.pages import Visit


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def left():
    """Pages that visits have left."""
    return {}


@pytest.fixture
def visit(browser, left):
    """Opens pages. Their consoles say nothing, and they ask one host alone."""
    made = []

    def visited(size="wide", scheme="light"):
        made.append(Visit(browser, size, scheme, left))
        return made[-1]

    yield visited
    for one in made:
        one.leave()
