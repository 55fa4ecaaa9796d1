"""The weight of a unit on a node of a cluster with an address, in long-term sharing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.errors import InvalidInput
from sluice.model.settings import NUMBER_MAX, NUMBER_MIN, as_number

SETTING = "run.unit_weights"


@dataclass(frozen=True, slots=True)
class NodeWeights:
    """weights: of a unit, by the VM type, rack or host of its node, each above 0."""

    weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_words(cls, words: str) -> NodeWeights:
        """The weights of a text such as `m5=2, r7=1.5`.

        Raises InvalidInput for another text, and for a name that is given twice.
        Source: thesis, section 5.5: a weight for each kind of resource unit.

        >>> NodeWeights.of_words("m5=2, r7=1.5").of("c5", "r7")
        1.5
        """
        weights: dict[str, float] = {}
        for word in filter(None, (part.strip() for part in words.split(","))):
            name, _, number = (part.strip() for part in word.rpartition("="))
            weight = as_number(number)
            if not name or weight is None or not NUMBER_MIN <= weight <= NUMBER_MAX:
                raise InvalidInput(
                    f"{word!r} gives no node a weight above 0, at most {NUMBER_MAX:g}",
                    where=SETTING,
                    hint="give pairs such as 'm5=2, r7=1.5'",
                )
            if name in weights:
                raise InvalidInput(
                    f"{name!r} has two weights", where=SETTING, hint="give each name one weight"
                )
            weights[name] = float(weight)
        return cls(weights)

    def of(self, *names: str) -> float:
        """The weight of a node with these names: that of the first with one; 1 without any."""
        return next((self.weights[name] for name in names if name in self.weights), 1.0)
