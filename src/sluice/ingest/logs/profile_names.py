"""The profile that a run belongs to, from the name of its job or application.

Runs of one job are one profile, so what differs from run to run is not part of its name: dates,
times, and ids (`nightly-04-2026-10-01` belongs to `nightly-04`). Shells give every session the same
name, whatever it does, so the stages that ran are part of the profile's name there. Rules of the
user come first: `regex -> name`, where the name may contain groups of the expression.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from sluice.estimate.phase_matching import stage_name
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun

RULE = "profile"  # the option's key
ARROW = "->"
_NAME_CHARACTERS_MAX = 200
_STAGE_CHARACTERS_MAX = 60
_MONTH, _DAY = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[T _-]?[0-2]\d[:.\-]?[0-5]\d(?:[:.\-]?[0-5]\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)"
_VARYING = re.compile(
    r"[\s\-_.:/@#]*(?<![0-9A-Za-z])(?:"
    rf"(?:19|20)\d\d([-_./]?){_MONTH}\1{_DAY}{_CLOCK}?"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|(?:application|job|attempt)_\d{6,}_\d+"
    r"|(?:local-)?1\d{9}(?:\d{3})?"
    r")(?![0-9A-Za-z])"
)
_EMPTY_BRACKETS = re.compile(r"\(\s*\)|\[\s*\]")
_EDGES = " \t-_.:/@#"
_SHELLS = re.compile(
    r"spark[ -]?shell|pyspark-?shell|sparkr(?:-?shell)?|databricks shell"
    r"|zeppelin.*|livy-session-\d+|spark sql(?:::\S+)?|sparksql(?:::\S+)?|thrift jdbc/odbc server",
    re.IGNORECASE,
)


class ProfileRules:
    """Rules of the user, in their order; the first that matches gives the profile's name."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._rules = [_rule(text) for text in texts]

    def renamed(self, run: PastRun) -> PastRun:
        """The run with its profile's name; the name in the log is kept too."""
        found = next(filter(None, (_by_rule(rule, run.profile) for rule in self._rules)), None)
        profile = found or default_profile(run)
        if profile == run.profile:
            return run
        return replace(run, profile=profile, name=run.name or run.profile)


def default_profile(run: PastRun) -> str:
    """The profile of a run, whose `profile` is the name in the log."""
    name = undated(run.profile)
    if not run.phases or run.name or not is_session(run):
        return name
    stages = [stage_name(phase.name) for phase in run.phases]
    digest = hashlib.blake2b("\n".join(stages).encode("utf-8", "replace"), digest_size=2)
    return f"{name}: {stages[-1][:_STAGE_CHARACTERS_MAX]} [{digest.hexdigest()}]"


def is_session(run: PastRun) -> bool:
    """Whether users typed what it ran, line by line: in a shell, a notebook or an SQL prompt."""
    name = run.name or run.profile
    return run.source == "spark" and _SHELLS.fullmatch(name.strip()) is not None


def undated(name: str) -> str:
    """The name without dates, times and ids; unchanged if nothing else is in it.

    >>> undated("nightly-04-2026-10-01"), undated("load (20261001T0300) eu"), undated("2026-10-01")
    ('nightly-04', 'load eu', '2026-10-01')
    """
    rest = _EMPTY_BRACKETS.sub("", _VARYING.sub("", name))
    if rest == name:
        return name
    return " ".join(rest.split()).strip(_EDGES) or name


def _by_rule(rule: tuple[re.Pattern[str], str], name: str) -> str | None:
    """The name that a rule gives; None if it does not match."""
    pattern, template = rule
    match = pattern.search(name)
    return None if match is None else match.expand(template).strip()[:_NAME_CHARACTERS_MAX] or None


def _rule(text: str) -> tuple[re.Pattern[str], str]:
    regex, arrow, template = text.rpartition(ARROW)
    where = f"{RULE}={text[:80]}"
    if not arrow or not regex.strip() or not template.strip():
        raise InvalidInput(
            "not a rule for names",
            where=where,
            hint=r"write it as 'regex -> name', as in 'etl-(\w+)-\d+ -> etl-\1'",
        )
    try:
        pattern = re.compile(regex.strip())
        _check_groups(pattern, template.strip())
    except (re.error, IndexError) as error:
        raise InvalidInput(
            f"not a regular expression of Python: {error}", where=where, hint="correct it"
        ) from error
    return pattern, template.strip()


def _check_groups(pattern: re.Pattern[str], template: str) -> None:
    """Raise re.error or IndexError if the template names a group that the pattern lacks."""
    every = re.compile(f"(?:{pattern.pattern})|", pattern.flags)
    match = every.search("")
    assert match is not None, "the empty text matches"
    match.expand(template)
