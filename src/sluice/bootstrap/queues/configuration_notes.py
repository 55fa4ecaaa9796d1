"""The facts to know of a scheduler's configuration before its queues are simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluice.model.queue_tree import ROOT, QueueTree

_KEYS_SHOWN = 12


def configuration_notes(tree: QueueTree) -> Sequence[str]:
    """The facts to know of a configuration that is simulated, with the name of its file."""
    notes = [*tree.notes, *_capacity_notes(tree)]
    return [f"{tree.source}: {note}" if tree.source else note for note in notes]


def keys_note(keys: Sequence[str]) -> Iterator[str]:
    """A note on the keys of configurations that are not simulated, if there are any."""
    if keys:
        more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
        yield f"keys that are not simulated: {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _capacity_notes(tree: QueueTree) -> Sequence[str]:
    """The settings that a scheduler would refuse although they can be simulated."""
    notes = []
    for parent in (ROOT, *(queue.path for queue in tree.queues)):
        shares = [
            queue.capacity.value
            for queue in tree.children(parent)
            if queue.capacity.kind.value == "percent"
        ]
        if shares and abs(sum(shares) - 100) > 1e-3:  # noqa: PLR2004  # percent, and YARN's tolerance
            notes.append(f"the capacities below {parent} add up to {sum(shares):g} %, not 100 %")
    return notes
