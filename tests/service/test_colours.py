"""Colours of the page: readable in light and dark, and seen apart with any kind of colour vision.

Dichromacy is simulated on linear RGB with the matrices of Machado, Oliveira and Fernandes, "A
Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 2009, at
severity 1. Differences are CIE76 in CIELAB (D65).
"""

import re
from itertools import combinations
from pathlib import Path

import pytest

import sluice.service.page

STYLE = Path(sluice.service.page.__file__).parent / "files" / "style.css"
VISIONS = {
    "full": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
TEXT = ("text", "quiet", "link", "waiting", "running", "done", "failed")
BARS = ("map", "reduce", "lost")  # next to each other in one chart
CONTRAST_MIN = 4.5  # WCAG 2.2, 1.4.3
GRAPHIC_MIN = 3.0  # WCAG 2.2, 1.4.11
APART_MIN = 15.0  # a difference of 2.3 is just seen


def palettes():
    """The colours by name, of each theme; a name that dark does not have is as in light."""
    text = STYLE.read_text()
    light = _variables(re.search(r"^:root \{(.*?)^\}", text, re.DOTALL | re.MULTILINE)[1])
    dark = _variables(
        re.search(r'^:root\[data-theme="dark"\] \{(.*?)^\}', text, re.DOTALL | re.MULTILINE)[1]
    )
    return {"light": light, "dark": light | dark}


def _variables(text):
    return {
        name: tuple(int(value[at : at + 2], 16) / 255 for at in (0, 2, 4))
        for name, value in re.findall(r"--(\w+): #([0-9a-f]{6});", text)
    }


def linear(colour):
    return [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in colour]


def contrast(one, other):
    """The ratio of WCAG 2.2."""
    shares = (0.2126, 0.7152, 0.0722)
    lights = sorted(
        sum(share * part for share, part in zip(shares, linear(colour), strict=True)) + 0.05
        for colour in (one, other)
    )
    return lights[1] / lights[0]


def lab(colour, vision):
    """CIELAB of a colour as it is seen."""
    given = linear(colour)
    seen = [min(1.0, max(0.0, _dot(row, given))) for row in VISIONS[vision]]
    to_xyz = (
        (0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505),
    )  # fmt: skip
    white = (0.95047, 1.0, 1.08883)
    x, y, z = (_cube_root(_dot(row, seen) / most) for row, most in zip(to_xyz, white, strict=True))
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))


def _dot(one, other):
    return sum(left * right for left, right in zip(one, other, strict=True))


def _cube_root(share):
    return share ** (1 / 3) if share > 216 / 24389 else (24389 / 27 * share + 16) / 116


def apart(one, other, vision):
    """How far two colours are from each other as they are seen."""
    pairs = zip(lab(one, vision), lab(other, vision), strict=True)
    return sum((left - right) ** 2 for left, right in pairs) ** 0.5


def test_the_contrast_is_that_of_the_standard():
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21.0)
    assert lab((1, 1, 1), "full") == pytest.approx((100, 0, 0), abs=0.02)
    # Red and green of equal lightness are what protanopes and deuteranopes mix up.
    red, green = (0.8, 0.35, 0.3), (0.45, 0.55, 0.3)
    assert apart(red, green, "full") > 2.5 * apart(red, green, "deuteranopia")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_on_both_backgrounds(theme):
    colours = palettes()[theme]
    for ground in ("back", "panel"):
        found = {name: contrast(colours[name], colours[ground]) for name in TEXT}
        assert min(found.values()) >= CONTRAST_MIN, (ground, found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_what_lies_next_to_each_other_is_seen_apart(theme, vision):
    colours = palettes()[theme]
    for one, other in combinations((*BARS, "back"), 2):
        assert apart(colours[one], colours[other], vision) >= APART_MIN, (one, other)
    for name in BARS:
        assert contrast(colours[name], colours["back"]) >= GRAPHIC_MIN, name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_good_and_bad_are_seen_apart(theme, vision):
    colours = palettes()[theme]
    assert apart(colours["done"], colours["failed"], vision) >= APART_MIN
