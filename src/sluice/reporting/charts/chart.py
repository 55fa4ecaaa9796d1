"""A chart: one Vega-Lite specification for notebook, file and web page.

Notebooks and web pages draw the specification themselves. vl-convert (the extra `plot`) draws
files with its own renderer and fonts; it needs no browser and no network.
"""

from __future__ import annotations

import base64
import functools
import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.reporting.charts.names import drawable, title_text
from sluice.reporting.charts.page import chart_page
from sluice.reporting.extras import MissingExtra, required
from sluice.store.whole_file import whole_file

VEGALITE_VERSION = "5.21"  # of those that vl-convert 1.7 and later bring along
MIME_TYPE = "application/vnd.vegalite.v5+json"
_SCALE = 2.0  # pixels of the file per pixel of the chart, for screens of high resolution
_LIBRARY = "window.vegaEmbed = vegaEmbed;"  # what the bundle of a page defines


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A Vega-Lite specification to show or save. Do not change it afterwards.

    footer: lines below it on an HTML page: where it comes from.
    """

    spec: Mapping[str, Any]
    footer: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """A notebook shows the picture; elsewhere, how to get it."""
        return "<Chart: save it with .save('chart.html')>"

    def save(self, path: str | Path) -> None:
        """Write a file of the type that its ending names: .html (works offline), .png, .svg, .json.

        Raises InvalidInput for another ending, MissingExtra if vl-convert is needed and not
        installed, and as `whole_file` does.
        """
        path = Path(path)
        draw = _FORMATS.get(path.suffix.lower())
        if draw is None:
            raise InvalidInput(
                f"a chart cannot be written as {path.suffix or 'a file without ending'!r}",
                where=str(path),
                hint=f"end the name in one of {', '.join(_FORMATS)}",
            )
        content = draw(self)
        with whole_file(path) as draft:
            draft.write_bytes(content)

    def png(self) -> bytes:
        """Return the chart as a PNG image. Raises MissingExtra without vl-convert."""
        return _png(self)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {
            MIME_TYPE: drawable(self.spec),
            "text/html": self._still(),
            "text/plain": f"<Chart: {title_text(self.spec)}>",
        }

    def _still(self) -> str:
        """HTML for viewers without Vega-Lite: a picture, or how to install what draws it."""
        title = html.escape(title_text(self.spec), quote=True)
        try:
            picture = base64.b64encode(self.png()).decode()
        except MissingExtra as missing:
            return f"<p>{title}: {html.escape(str(missing))}</p>"
        return f'<img alt="{title}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _renderer() -> Any:  # noqa: ANN401  # a module of compiled functions
    return required("vl_convert", extra="plot", what="drawing a chart")


def library() -> str:
    """JavaScript that draws charts in a page. Raises MissingExtra without vl-convert."""
    return _bundle(_renderer())


@functools.cache
def _bundle(renderer: Any) -> str:  # noqa: ANN401  # a module of compiled functions
    # It takes two seconds to put together, and is the same for every page.
    bundle: str = renderer.javascript_bundle(_LIBRARY, vl_version=VEGALITE_VERSION)
    return bundle


def _html(chart: Chart) -> bytes:
    spec = drawable(chart.spec)
    title = title_text(chart.spec)
    return chart_page(spec, title=title, library=library(), footer=chart.footer).encode()


def _png(chart: Chart) -> bytes:
    image: bytes = _renderer().vegalite_to_png(
        drawable(chart.spec), vl_version=VEGALITE_VERSION, scale=_SCALE, allowed_base_urls=[]
    )
    return image


def _svg(chart: Chart) -> bytes:
    drawing: str = _renderer().vegalite_to_svg(
        drawable(chart.spec), vl_version=VEGALITE_VERSION, allowed_base_urls=[]
    )
    return drawing.encode()


def _json(chart: Chart) -> bytes:
    return (json.dumps(chart.spec, allow_nan=False) + "\n").encode()


_FORMATS: dict[str, Callable[[Chart], bytes]] = {
    ".html": _html,
    ".png": _png,
    ".svg": _svg,
    ".json": _json,
}
