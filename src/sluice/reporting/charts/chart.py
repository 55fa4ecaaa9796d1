"""A chart: one Vega-Lite specification for notebook, file and web page.

Notebooks and web pages draw the specification themselves. Files are drawn by vl-convert (the
extra `plot`), which brings its own renderer and fonts: no browser and no network.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.reporting.extras import MissingExtra, required

VEGALITE_VERSION = "5.21"  # of those that vl-convert 1.7 and later bring along
MIME_TYPE = "application/vnd.vegalite.v5+json"
_SCALE = 2.0  # pixels of a file for each of the chart, for screens that have that many


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification, to be shown or saved. It is not changed after it is made."""

    spec: Mapping[str, Any]

    def save(self, path: str | Path) -> None:
        """Write a file whose ending says what: .html (works offline), .png, .svg or .json.

        Raises InvalidInput for another ending or a path that cannot be written, MissingExtra
        where vl-convert is needed and not there.
        """
        path = Path(path)
        draw = _FORMATS.get(path.suffix.lower())
        if draw is None:
            raise InvalidInput(
                f"no chart can be written as {path.suffix or 'a file without ending'!r}",
                where=str(path),
                hint=f"end the name in one of {', '.join(_FORMATS)}",
            )
        content = draw(self.spec)
        try:
            path.write_bytes(content)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InvalidInput(
                f"it cannot be written: {reason}", where=str(path), hint="check the path"
            ) from error

    def png(self) -> bytes:
        """The chart as an image. Raises MissingExtra without vl-convert."""
        return _png(self.spec)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {
            MIME_TYPE: dict(self.spec),
            "text/html": self._still(),
            "text/plain": f"<Chart: {_title(self.spec)}>",
        }

    def _still(self) -> str:
        """For viewers that do not know Vega-Lite: a picture, or a word on how to get one."""
        title = html.escape(_title(self.spec), quote=True)
        try:
            picture = base64.b64encode(self.png()).decode()
        except MissingExtra as missing:
            return f"<p>{title}: {html.escape(str(missing))}</p>"
        return f'<img alt="{title}" style="max-width:100%" src="data:image/png;base64,{picture}">'


def _title(spec: Mapping[str, Any]) -> str:
    title = spec.get("title", "")
    return str(title.get("text", "") if isinstance(title, Mapping) else title)


def _renderer() -> Any:  # noqa: ANN401  # a module of compiled functions
    return required("vl_convert", extra="plot", what="drawing a chart")


def _html(spec: Mapping[str, Any]) -> bytes:
    page: str = _renderer().vegalite_to_html(
        dict(spec), vl_version=VEGALITE_VERSION, bundle=True, renderer="svg"
    )
    return page.encode()


def _png(spec: Mapping[str, Any]) -> bytes:
    image: bytes = _renderer().vegalite_to_png(
        dict(spec), vl_version=VEGALITE_VERSION, scale=_SCALE, allowed_base_urls=[]
    )
    return image


def _svg(spec: Mapping[str, Any]) -> bytes:
    drawing: str = _renderer().vegalite_to_svg(
        dict(spec), vl_version=VEGALITE_VERSION, allowed_base_urls=[]
    )
    return drawing.encode()


def _json(spec: Mapping[str, Any]) -> bytes:
    return (json.dumps(spec, allow_nan=False) + "\n").encode()


_FORMATS: dict[str, Callable[[Mapping[str, Any]], bytes]] = {
    ".html": _html,
    ".png": _png,
    ".svg": _svg,
    ".json": _json,
}
