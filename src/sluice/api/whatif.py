"""The past under other queues: a history under two configurations of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from sluice.api.options.argument_types import GivenSettings, Source
from sluice.api.options.calls import called_with
from sluice.api.options.queues import WhatIfOptions
from sluice.api.simulate import OnMessage
from sluice.api.sources import settings_of, workload_of
from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.queues.configuration_notes import configuration_notes
from sluice.bootstrap.queues.replay import History
from sluice.bootstrap.queues.search import QueueGoal, suggested_queues
from sluice.ingest.scheduler_configs.amounts import ContainerSize
from sluice.ingest.scheduler_configs.reading import container_size, read_queue_tree, read_site
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.queue_tree import QueueTree
from sluice.reporting.exports.kubernetes_queues import (
    kubernetes_queues_diff,
    kubernetes_queues_yaml,
)
from sluice.reporting.exports.queue_tree import queue_tree_diff, queue_tree_xml
from sluice.reporting.whatif.result import QueueFigures, WhatIf, queue_effects

Config = str | Path | QueueTree


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfigs:
    """The trees of a call, and the size of a container. old: None if there is none."""

    new: QueueTree
    old: QueueTree | None
    size: ContainerSize

    @classmethod
    def read(
        cls, config: Config, against: Config | None = None, yarn_site: str | Path | None = None
    ) -> QueueConfigs:
        """Read the files. Raises InvalidInput that says what is wrong and where."""
        site = read_site(None if yarn_site is None else str(yarn_site))
        trees = [
            one if one is None or isinstance(one, QueueTree) else read_queue_tree(str(one), site)
            for one in (config, against)
        ]
        assert trees[0] is not None
        return cls(new=trees[0], old=trees[1], size=container_size(site))

    def suggesting(self, tree: QueueTree) -> QueueConfigs:
        """A found tree in the place of the new one, which is the old one where there is none."""
        tree = replace(tree, source="suggested")
        return replace(self, new=tree, old=self.new if self.old is None else self.old)

    def is_for_kubernetes(self, name: str) -> bool:
        """Whether a file of this name is written as YuniKorn's or Kueue's.

        It is if the tree was read from such a file, unless the name ends in .xml.
        Raises InvalidInput for a name in .yaml of queues that were read from another format.
        """
        suffix = Path(name).suffix.lower()
        if suffix in {".yaml", ".yml"} and not self.new.documents:
            raise InvalidInput(
                "these queues were not read from a Kubernetes file", where=f"--export {name}",
                hint="give a name in .xml, for a capacity-scheduler.xml",
            )  # fmt: skip
        return bool(self.new.documents) and suffix != ".xml"

    def export(self, name: str, comment: str = "") -> str:
        """Return the text of a file with the new tree, in the format that its name asks for."""
        if self.is_for_kubernetes(name):
            return kubernetes_queues_yaml(self.new, self.size, comment=comment)
        return self.xml(comment)

    def xml(self, comment: str = "") -> str:
        """The new tree as capacity-scheduler.xml."""
        mb, vcores = self.size.mb, self.size.vcores
        return queue_tree_xml(self.new, container_mb=mb, container_vcores=vcores, comment=comment)

    def diff(self, name: str = "") -> str:
        """Return what the exported file changes in the old tree's; "" without an old tree.

        name: of the exported file, as of `export`.
        """
        if self.old is None:
            return ""
        if self.old.documents and self.is_for_kubernetes(name):
            return kubernetes_queues_diff(self.old, self.new, self.size)
        return queue_tree_diff(self.old, self.new, (self.size.mb, self.size.vcores))


@dataclass(frozen=True)
class WhatIfCall(WhatIfOptions):
    """Arguments of `whatif`."""

    source: Source
    config: Config | QueueConfigs
    against: Config | None = None
    _: KW_ONLY
    yarn_site: str | Path | None = None
    mapping: Mapping[str, str] | None = None
    on_fraction: Callable[[float], None] | None = None
    on_message: OnMessage | None = None


@called_with(WhatIfCall)
def whatif(given: WhatIfCall) -> WhatIf:
    """A history under the queues of `config`, and under those of `against` if given.

    source: a workload or its path; `sluice.workload_from_logs` makes one of logs.
    config, against: capacity-scheduler.xml, fair-scheduler.xml, YuniKorn's queues.yaml, Kueue's
    queues in YAML, or a QueueTree.  yarn_site: for the size of containers and preemption.
    mapping: queues by pattern of pool names, for pools that the queues do not name.
    containers: of the cluster; by default those of the source.
    suggest: a goal such as `root.a.wait_s_p95<60`. Capacities that meet it are searched for, from
    those of `config`; the answer is for the tree that was found, against `against` or `config`.
    on_fraction: called with the share of simulations that are done, 0 to 1.
    on_message: called with a sentence about each setting that has no effect.
    Raises InvalidInput.
    """
    if given.seeds < 1:
        raise InvalidInput(f"seeds is {given.seeds}", where="--seeds", hint="give 1 or more")
    if given.containers is not None and given.containers < 1:
        raise wrong_value("containers", given.containers, "--containers", "give 1 or more")
    configs = (
        given.config
        if isinstance(given.config, QueueConfigs)
        else QueueConfigs.read(given.config, given.against, given.yarn_site)
    )
    workload = workload_of(given.source)
    chosen = [chosen_policy("tasks", "queue-tree")]
    resolved = settings_of(workload, given.settings, chosen)
    _report_settings(given.settings, given.on_message)
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job")
    history = History.of(workload, resolved, given.containers)
    suggestion = None
    if given.suggest is not None:
        goal = QueueGoal.read(given.suggest, configs.new)
        suggestion = suggested_queues(
            history,
            configs.new,
            goal,
            mapping=given.mapping or {},
            seeds=given.seeds,
            on_fraction=given.on_fraction,
        )
        configs = configs.suggesting(suggestion.tree)
    trees = [tree for tree in (configs.new, configs.old) if tree is not None]
    runs: list[list[Mapping[str, QueueFigures]]] = [[] for _ in trees]
    for seed in range(given.seeds):
        for place, tree in enumerate(trees):
            runs[place].append(history.figures(tree, given.mapping or {}, seed))
            if given.on_fraction is not None:
                given.on_fraction((seed + (place + 1) / len(trees)) / given.seeds)
    new, old = runs[0], runs[1] if len(trees) > 1 else []
    return WhatIf(
        queues=queue_effects(old, new, is_resampled=history.is_resampled),
        containers=history.containers,
        seeds=given.seeds,
        is_resampled=history.is_resampled,
        unknown_keys=tuple(sorted({key for tree in trees for key in tree.unknown_keys})),
        notes=_notes(trees, history, given.seeds),
        suggestion=None if suggestion is None else suggestion.document(),
        trees=(configs.new, configs.old),
    )


def _report_settings(settings: GivenSettings, on_message: OnMessage | None) -> None:
    """Preemption is that of the configuration, whatever the setting says."""
    names = list(settings) if isinstance(settings, Mapping) else [str(one) for one in settings]
    if on_message is not None and any("preempts_after_s" in name for name in names):
        on_message("`preempts_after_s` has no effect: preemption is that of the configuration")


def _notes(trees: list[QueueTree], history: History, seeds: int) -> tuple[str, ...]:
    notes = [note for tree in trees for note in configuration_notes(tree)]
    if seeds == 1:
        notes.append("1 seed: differences have no interval; use --seeds 10 to get one")
    elif not history.is_resampled:
        jobs = len(history.workload.jobs)
        notes.append(
            f"Too few jobs to resample ({jobs}): intervals show only the randomness of the settings"
        )
    return tuple(dict.fromkeys(notes))
