"""The actions of a reader in every chart: zoom and pan, follow one job, pick from the legend.

`interactive` adds Vega-Lite parameters to a finished specification, so no chart declares its own.
A chart is a tree: concatenations of views, a view of layers, a layer of layers; its leaves are the
marks. Pictures are drawn by the same specification and show its initial state.

- Zoom and pan: wherever x (or else y) has a continuous scale. Views with the same axis of time
  zoom together. A view of points zooms in both directions.
- Follow: the pointer on a mark fades the marks of other jobs (schedulers, tenants, ...), in all
  views of the chart. Marks without such a field, such as a sum over all jobs, stay.
- Pick: a click on an entry of a legend fades the others; another click adds or removes an entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

X_SCALE = "THIS_VIEW_x"  # in an expression: the name of the x scale of the view that it is in

_CONCATENATIONS = ("vconcat", "hconcat", "concat")
_CONTINUOUS = frozenset({"quantitative", "temporal"})
_FOLLOWED = ("job", "scheduler", "profile", "tenant", "member", "class")  # fields, first one wins
_STROKED = frozenset({"line", "rule", "trail"})
_FADED = 0.12  # of the opacity


def interactive(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with zoom, linked hover and legends to pick from; `spec` stays."""
    resolve = spec.get("resolve", {}).get("scale", {})
    is_one = not any(how in spec for how in _CONCATENATIONS)
    namer = _Namer(has_own_legends=is_one or resolve.get("color") == "independent")
    return _expanded(spec, namer)


def _expanded(node: Mapping[str, Any], namer: _Namer) -> dict[str, Any]:
    for how in _CONCATENATIONS:
        if how in node:
            return {**node, how: [_expanded(child, namer) for child in node[how]]}
    name = namer.view()
    leaves = list(_leaves(node, {}, ()))
    params = _view_params(leaves, namer)
    changed = iter([leaf.changed(params, first) for first, leaf in enumerate(leaves)])
    view: dict[str, Any] = _named(_rebuilt(node, changed), f"{name}_x")
    return {**view, "name": name}


class _Namer:
    """Names of views and parameters that are unique in a chart, or shared where they should be."""

    def __init__(self, *, has_own_legends: bool) -> None:
        self._has_own_legends = has_own_legends
        self._views = 0
        self._zooms: dict[object, str] = {}

    def view(self) -> str:
        self._views += 1
        return f"view_{self._views}"

    def zoom(self, channel: Mapping[str, Any]) -> str:
        """Views whose axes have one field and one domain share a name, and so zoom together."""
        domain = channel.get("scale", {}).get("domain")
        key = (channel["field"], str(domain)) if domain is not None else self._views
        return self._zooms.setdefault(key, f"zoom_{len(self._zooms) + 1}")

    def pick(self, field: str) -> str:
        return f"pick_{field}_{self._views}" if self._has_own_legends else f"pick_{field}"


@dataclass(frozen=True, slots=True)
class _Param:
    """A parameter to declare at the leaf of that number. field: which a condition needs."""

    leaf: int
    declaration: Mapping[str, Any]
    field: str = ""

    @property
    def name(self) -> str:
        return str(self.declaration["name"])


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One mark, with the channels and rows that it has or inherits."""

    spec: Mapping[str, Any]
    channels: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    @property
    def mark(self) -> Mapping[str, Any]:
        mark = self.spec.get("mark", "point")
        return {"type": mark} if isinstance(mark, str) else mark

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(self.rows[0]) if self.rows else frozenset()

    def continuous(self, name: str) -> bool:
        """Whether a channel has a field on a continuous scale."""
        channel = self.channels.get(name, {})
        return "field" in channel and channel.get("type") in _CONTINUOUS

    @property
    def legend_field(self) -> str | None:
        """The field that a legend of names explains; None without one."""
        colour = self.channels.get("color", {})
        is_named = colour.get("type") == "nominal" and colour.get("legend", {}) is not None
        return colour.get("field") if is_named and colour.get("scale", {}) is not None else None

    def changed(self, params: Sequence[_Param], number: int) -> dict[str, Any]:
        """The mark with the parameters that it declares, faded where it is not the one meant."""
        declared = [dict(param.declaration) for param in params if param.leaf == number]
        tests = [{"param": param.name} for param in params if param.field in self.fields]
        spec = dict(self.spec)
        if declared:
            spec["params"] = [*spec.get("params", ()), *declared]
        if tests:
            mark = self.mark
            is_stroked = mark["type"] in _STROKED or (
                mark["type"] == "point" and not mark.get("filled")
            )
            channel = "strokeOpacity" if is_stroked else "fillOpacity"
            full = mark.get(channel, 1)
            test = {"test": {"and": tests}, "value": full}
            fade = {channel: {"condition": test, "value": full * _FADED}}
            spec["encoding"] = {**spec.get("encoding", {}), **fade}
        return spec


def _leaves(
    node: Mapping[str, Any], channels: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> Iterator[_Leaf]:
    channels = {**channels, **node.get("encoding", {})}
    rows = node.get("data", {}).get("values", rows)
    if "layer" not in node:
        yield _Leaf(node, channels, rows)
    for layer in node.get("layer", ()):
        yield from _leaves(layer, channels, rows)


def _rebuilt(node: Mapping[str, Any], leaves: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the same tree with other leaves, in their order."""
    if "layer" not in node:
        return next(leaves)
    return {**node, "layer": [_rebuilt(layer, leaves) for layer in node["layer"]]}


def _view_params(leaves: Sequence[_Leaf], namer: _Namer) -> list[_Param]:
    found = [_zoom(leaves, namer), _follow(leaves), _pick(leaves, namer)]
    return [param for param in found if param is not None]


def _zoom(leaves: Sequence[_Leaf], namer: _Namer) -> _Param | None:
    for both in (("x", "y"), ("x",), ("y",)):
        for number, leaf in enumerate(leaves):
            if not all(map(leaf.continuous, both)):
                continue
            if len(both) > 1 and leaf.mark["type"] != "point":
                continue
            name = namer.zoom(leaf.channels[both[0]])
            select = {"type": "interval", "encodings": list(both)}
            return _Param(number, {"name": name, "select": select, "bind": "scales"})
    return None


def _follow(leaves: Sequence[_Leaf]) -> _Param | None:
    for field in _FOLLOWED:
        for number, leaf in enumerate(leaves):
            if field in leaf.fields:
                select = {
                    "type": "point", "fields": [field], "on": "pointerover", "clear": "pointerout",
                }  # fmt: skip
                return _Param(number, {"name": f"follow_{field}", "select": select}, field)
    return None


def _pick(leaves: Sequence[_Leaf], namer: _Namer) -> _Param | None:
    for number, leaf in enumerate(leaves):
        field = leaf.legend_field
        if field is not None and field in leaf.fields:
            select = {"type": "point", "fields": [field], "toggle": "true"}
            declared = {"name": namer.pick(field), "select": select, "bind": "legend"}
            return _Param(number, declared, field)
    return None


def _named(value: Any, scale: str) -> Any:  # noqa: ANN401  # any JSON value
    """The value with the name of the x scale in its expressions; data stay as they are."""
    if isinstance(value, str):
        return value.replace(X_SCALE, scale)
    if isinstance(value, Mapping):
        return {key: held if key == "data" else _named(held, scale) for key, held in value.items()}
    return [_named(held, scale) for held in value] if isinstance(value, list | tuple) else value
