"""A report: the charts, figures and tables of one result in one HTML file that works offline."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.reporting.charts.chart import Chart, library
from sluice.reporting.charts.names import drawable
from sluice.reporting.charts.numbers import numbers_of
from sluice.reporting.charts.page import CHART, MORE_CHARTS, page
from sluice.reporting.document_html import document_html
from sluice.reporting.formatting import visible
from sluice.store.whole_file import whole_file

ROWS_MAX = 1000  # of each table


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResultReport:
    """One result: its title, its charts and its document. footer: where it comes from."""

    title: str
    charts: tuple[Chart, ...]
    result: Mapping[str, Any]
    footer: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ResultReport: {self.title!r}, {len(self.charts)} charts>"

    def html(self) -> str:
        """The page. Raises MissingExtra if there are charts and vl-convert is not installed."""
        charts = [drawable(chart.spec) for chart in self.charts]
        places = [
            f"{MORE_CHARTS if number else CHART}\n{numbers_of(chart)}"
            for number, chart in enumerate(charts)
        ]
        heading = f"<h1>{html.escape(visible(self.title))}</h1>"
        tables = f"<h2>Figures</h2>{document_html(self.result, rows_max=ROWS_MAX)}"
        return page(
            charts,
            body="\n".join([heading, *places, tables]),
            title=visible(self.title),
            library=library() if self.charts else "",
            footer=self.footer,
            is_long=True,
        )

    def save(self, path: str | Path) -> None:
        """Write the page. Raises as `whole_file` does."""
        content = self.html()
        with whole_file(path) as draft:
            draft.write_text(content, encoding="utf-8")
