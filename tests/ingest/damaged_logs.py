"""A log damaged in many ways, and what an importer makes of each."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.ingest.logs_mutations import SEEDS, mutated

from sluice.ingest.logs.report import Contents, Report
from sluice.model.errors import InvalidInput

Reader = Callable[[Path], tuple[Contents, Report]]


def damaged_reads(content: bytes, path: Path, read: Reader) -> Iterator[tuple[str, Contents]]:
    """For each damage "whole", "skipped" or "refused", and what was read in spite of it."""
    for seed in SEEDS:
        path.write_bytes(mutated(content, seed))
        yield _outcome(path, read)


def _outcome(path: Path, read: Reader) -> tuple[str, Contents]:
    try:
        contents, report = read(path)
    except InvalidInput as error:
        refusal = str(error)
    else:
        return "skipped" if report.skipped else "whole", contents
    assert str(path) in refusal
    assert "\n" not in refusal
    return "refused", Contents()
