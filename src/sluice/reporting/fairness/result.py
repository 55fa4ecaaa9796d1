"""The fairness ledger as a result: document, data frame and chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from sluice.model.queues import Pool
from sluice.planning.sharing.fluid import plain
from sluice.planning.sharing.ledger import Ledger, demand_members, ledger_of
from sluice.planning.sharing.misreports import Misreport, best_misreport
from sluice.planning.sharing.problem import SharingOptions, sharing_problem
from sluice.policies.ltyarn.rules import ShareRules
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.fairness.chart import fairness_chart
from sluice.reporting.fairness.tenants import TenantUse, tenant_use
from sluice.reporting.run.result import RunResult

_RULE_OF = {"ltyarn": "ltrf", "ltrf": "ltrf", "mlrf": "mlrf", "karma": "karma", "decay": "decay"}
_LIE_RUNS_MAX = 400
_HALF_LIFE_STEPS = 4.0  # where no half-life is known


@dataclass(frozen=True, slots=True, repr=False)
class FairnessResult(NotebookView):
    """Who paid for what, used, lent, borrowed and is owed; in container-seconds.

    scheduler: the task policy that decided.  cpu_s: measured processor time by tenant.
    misreports: what tenants could have gained by false demands; None if that was not asked.
    """

    ledger: Ledger
    scheduler: str
    cpu_s: Mapping[str, float]
    misreports: tuple[Misreport, ...] | None = None

    @classmethod
    def of(
        cls,
        use: TenantUse,
        scheduler: str,
        *,
        period_s: float | None = None,
        misreports: bool = False,
        rules: ShareRules | None = None,
    ) -> FairnessResult:
        """The ledger of a run's tenants.

        misreports: also search for gains by false demands, in the fluid model of the rule.
        rules: prices, credits and half-life of the run; by default those of the rule.
        """
        ledger = ledger_of(
            use.tasks, use.weights, use.capacity, ends_at_s=use.ends_at_s, period_s=period_s
        )
        found = _misreports(use, ledger, scheduler, rules) if misreports else None
        return cls(ledger, scheduler, dict(use.cpu_s), found)

    @classmethod
    def of_run(cls, run: RunResult, pools: Iterable[Pool], scheduler: str) -> FairnessResult:
        """The ledger of a run. pools: of the workload file, also those without jobs."""
        end_s = run.finished_at_s or 0.0
        use = tenant_use(run.attempts, run.entries, pools, run.cluster, end_s)
        return cls.of(use, scheduler)

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        ledger = self.ledger
        document: dict[str, object] = {
            "scheduler": self.scheduler,
            "containers": ledger.capacity,
            "tenants": {
                name: {"share": ledger.shares[name], **asdict(row), "cpu_s": self.cpu_s.get(name)}
                for name, row in ledger.total.tenants.items()
            },
            **document_of(ledger, "total.benefit total.loss jain lorenz periods"),
        }
        if self.misreports is not None:
            document["misreports"] = {
                one.name: {
                    "honest": plain(one.honest),
                    "best": plain(one.best),
                    "gain": plain(one.gain),
                    "reports": [plain(units) for units in one.reports],
                    "exhaustive": one.is_exhaustive,
                }
                for one in self.misreports
            }
        return document

    def to_frame(self) -> DataFrame:
        """One row for each period and tenant. Raises MissingExtra without pandas."""
        return data_frame(
            {"started_at_s": one.started_at_s, "ended_at_s": one.ended_at_s, "tenant": name}
            | asdict(row)
            for one in self.ledger.periods
            for name, row in one.tenants.items()
        )

    def plot(self) -> Chart:
        """Return what tenants are owed, and their fairness degrees, over time."""
        return fairness_chart(self.ledger, self.scheduler)


def _misreports(
    use: TenantUse, ledger: Ledger, scheduler: str, rules: ShareRules | None
) -> tuple[Misreport, ...]:
    edges_s = [0.0, *(period.ended_at_s for period in ledger.periods)]
    members = demand_members(use.tasks, use.weights, edges_s)
    options = _options(_RULE_OF.get(scheduler, "ltrf"), rules or ShareRules(), edges_s[1] or 1.0)
    problem = sharing_problem(use.capacity, members, options)
    if len(members) * len(ledger.periods) > _LIE_RUNS_MAX // 4:
        problem = problem.rough()
    return tuple(
        best_misreport(problem, member, runs_max=_LIE_RUNS_MAX) for member in range(len(members))
    )


def _options(policy: str, rules: ShareRules, step_s: float) -> SharingOptions:
    """The rules of a run for steps of a length."""
    own = rules.initial_credits
    half_life_s, round_s = rules.half_life_s, rules.round_s
    return SharingOptions(
        policy=policy,
        discount_price=rules.price,
        alpha=rules.alpha,
        initial_credits=None if own is None else own / step_s,
        half_life_steps=_HALF_LIFE_STEPS if half_life_s is None else half_life_s / step_s,
        charges_late=rules.charges_idle,
        round_steps=None if round_s is None else max(1, round(round_s / step_s)),
    )
