"""Output files of a command: checked before the work, written after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.cli.answers import talk
from sluice.model.errors import InvalidInput
from sluice.reporting.run.chart_kinds import chart_names

if TYPE_CHECKING:
    from sluice.reporting.charts.chart import Chart
    from sluice.reporting.run.result import RunResult

PLOT_ENDINGS = (".html", ".png", ".svg", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Paths as given; None if not requested."""

    trace: str | None = None
    plot: str | None = None
    export: str | None = None
    out: str | None = None
    plot_kind: str = "gantt"

    @classmethod
    def checked(
        cls,
        source: str,
        *,
        trace: str | None = None,
        plot: str | None = None,
        export: str | None = None,
        out: str | None = None,
    ) -> Files:
        """The paths, if they can be written; checked now, so that no long work is lost.

        source: the workload file, which none may overwrite.
        Raises InvalidInput naming the flag, MissingExtra where a chart cannot be drawn.
        """
        plot, kind = _plot_choice(plot, source)
        given: dict[str, str] = {}
        for name, path in (("trace", trace), ("plot", plot), ("export", export), ("out", out)):
            if path is None:
                continue
            _check(f"--{name}", path, source)
            for other, taken in given.items():
                if _are_same(path, taken):
                    raise InvalidInput(
                        f"{path} is also the {other}",
                        where=f"--{name}",
                        hint="name two different files",
                    )
            given[name] = path
        if plot is not None:
            _check_plot(plot)
        return cls(trace=trace, plot=plot, export=export, out=out, plot_kind=kind)

    def write(self, result: RunResult) -> None:
        """Write the requested files. Raises as `whole_file` does."""
        if self.trace is not None:
            from sluice.reporting.run.trace import write_trace

            write_trace(self.trace, result.trace())
            talk(f"trace: {self.trace}")
        if self.plot is not None:
            self.save(result.plot(self.plot_kind), digest=result.digest)

    def save_export(self, text: str) -> None:
        """Write the text to the path of --export. Raises as `whole_file` does."""
        assert self.export is not None
        _write(self.export, text)
        talk(f"export: {self.export}")

    def save_out(self, text: str) -> None:
        """Write the text to the path of --out. Raises as `whole_file` does."""
        assert self.out is not None
        _write(self.out, text)
        talk(f"written: {self.out}")

    def draw(self, plot: Callable[[], Chart]) -> None:
        """Write the chart that `plot` makes, if --plot is given."""
        if self.plot is not None:
            self.save(plot())

    def save(self, chart: Chart, *, digest: str | None = None) -> None:
        """Write the chart to the path of --plot. digest: of the result, for the footer."""
        assert self.plot is not None
        from sluice.cli.progress import steps
        from sluice.cli.provenance import current_provenance

        provenance = current_provenance()
        footer = () if provenance is None else provenance.lines(digest)
        with steps("drawing a chart"):
            replace(chart, footer=footer).save(self.plot)
        talk(f"plot: {self.plot}")


def _write(path: str, text: str) -> None:
    from sluice.store.whole_file import whole_file

    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def checked_folder(flag: str, path: str) -> Path:
    """The folder for charts, which may not exist yet. Raises as `Files.checked` does."""
    folder = Path(path)
    if not path or "\0" in path or (folder.exists() and not folder.is_dir()):
        raise InvalidInput(
            f"{path!r} is not a folder", where=flag, hint="give the name of a folder"
        )
    place = folder if folder.exists() else folder.absolute().parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InvalidInput(f"{path} cannot be written", where=flag, hint="name a writable folder")
    _check_plot("chart.png")
    return folder


def _plot_choice(plot: str | None, source: str) -> tuple[str | None, str]:
    """The file and the kinds of charts that --plot names: OUT, KINDS, or KINDS=OUT.

    Without OUT the chart goes to a file in the current folder, named after the workload.

    >>> _plot_choice("utility,slots", "jobs/night.yaml")
    ('night-utility-slots.html', 'utility,slots')
    >>> _plot_choice("utility=u.png", "night.yaml"), _plot_choice("out.html", "night.yaml")
    (('u.png', 'utility'), ('out.html', 'gantt'))
    """
    if plot is None:
        return None, "gantt"
    kinds, separator, path = plot.partition("=")
    names = chart_names()
    if not all(kind in names for kind in kinds.split(",")):
        return plot, "gantt"
    if not separator:
        name = "workload" if source == "-" else Path(source).stem
        path = f"{name}-{kinds.replace(',', '-')}.html"
    return path, kinds


def _check(flag: str, path: str, source: str) -> None:
    folder = Path(path).parent
    if not path or path == "-":
        raise InvalidInput(
            f"{path!r} is not a file name", where=flag, hint="give the name of a file"
        )
    if "\0" in path:
        raise InvalidInput("the name contains a NUL character", where=flag, hint="leave it out")
    if source != "-" and _are_same(path, source):
        raise InvalidInput(
            f"{path} is the workload, and would be overwritten",
            where=flag,
            hint="name another file",
        )
    if Path(path).is_dir():
        raise InvalidInput(f"{path} is a folder", where=flag, hint="name a file in it")
    if not folder.is_dir():
        raise InvalidInput(
            f"{path} cannot be written: there is no folder {folder}", where=flag, hint="make it"
        )
    if not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise InvalidInput(
            f"{path} cannot be written: permission denied", where=flag, hint="name another file"
        )


def _are_same(path: str, other: str) -> bool:
    return Path(path).resolve() == Path(other).resolve()


def _check_plot(path: str) -> None:
    ending = Path(path).suffix.lower()
    if ending not in PLOT_ENDINGS:
        raise InvalidInput(
            f"{path} has no ending of a chart format",
            where="--plot",
            hint=f"end the name in {', '.join(PLOT_ENDINGS[:-1])} or {PLOT_ENDINGS[-1]}",
        )
    if ending != ".json":
        from sluice.reporting.extras import required

        required("vl_convert", extra="plot", what=f"a chart as {ending}")
