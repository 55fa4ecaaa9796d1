"""A configuration file as a queue tree, its format found out from its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from sluice.ingest.positions import NotationError
from sluice.ingest.reading import read_source, source_name
from sluice.ingest.scheduler_configs.amounts import ContainerSize, number_in
from sluice.ingest.scheduler_configs.capacity_scheduler import (
    HADOOP_1_PREFIX,
    PREFIX,
    capacity_tree,
    hadoop_1_tree,
    properties_of,
)
from sluice.ingest.scheduler_configs.fair_scheduler import fair_tree
from sluice.ingest.scheduler_configs.kubernetes import kubernetes_tree
from sluice.ingest.scheduler_configs.xml_elements import read_xml
from sluice.ingest.yaml_notation import read_yaml_documents
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import QueueTree

_BYTES_MAX = 16 * 2**20
_MB = "yarn.scheduler.minimum-allocation-mb"
_VCORES = "yarn.scheduler.minimum-allocation-vcores"
_FORMATS = (
    "capacity-scheduler.xml, the JSON of YARN's scheduler-conf, fair-scheduler.xml,"
    " YuniKorn's queues.yaml or Kueue's queues in YAML"
)

_KUEUE_KINDS = ("LocalQueue", "Cohort", "ResourceFlavor", "Workload")


def read_site(path: str | None) -> dict[str, str]:
    """The properties of a yarn-site.xml; none without a path. Raises InvalidInput."""
    if path is None:
        return {}
    name = source_name(path)
    root = read_xml(_content(path), name)
    if root.tag != "configuration":
        raise InvalidInput(
            f"its root is <{root.tag[:40]}>", where=name, hint="give a yarn-site.xml"
        )
    return properties_of(root, name)


def container_size(site: Mapping[str, str]) -> ContainerSize:
    """The size of a container: YARN's least allocation, 1024 MB and 1 core by default."""
    return ContainerSize(
        mb=number_in(site.get(_MB, "1024"), f"yarn-site.xml, {_MB}", low=1.0),
        vcores=number_in(site.get(_VCORES, "1"), f"yarn-site.xml, {_VCORES}", low=1.0),
    )


def read_queue_tree(path: str, site: Mapping[str, str] | None = None) -> QueueTree:
    """The tree in a file. site: properties of the yarn-site.xml that belongs to it.

    Raises InvalidInput that says what is wrong and where.
    """
    return queue_tree_of(_content(path), source_name(path), site)


def queues_without_jobs(content: bytes, name: str) -> InvalidInput | None:
    """The error for a file of queues where jobs are expected; None for any other file."""
    try:
        queue_tree_of(content, name)
    except InvalidInput:
        return None
    return InvalidInput(
        "it has the queues of a scheduler, and no jobs",
        where=name,
        hint="give it by --config, as in `sluice whatif LOG --config QUEUES`",
    )


def queue_tree_of(content: bytes, name: str, site: Mapping[str, str] | None = None) -> QueueTree:
    """The tree in the content of a file. Raises InvalidInput as `read_queue_tree` does."""
    site = site or {}
    size = container_size(site)
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _yaml_tree(content, name, site, size)
    root = read_xml(content, name)
    if root.tag == "allocations":
        return fair_tree(root, site, size, name)
    if root.tag == "configuration":
        return _properties_tree(properties_of(root, name), site, size, name)
    raise InvalidInput(f"its root is <{root.tag[:40]}>", where=name, hint=f"give {_FORMATS}")


def _properties_tree(
    given: Mapping[str, str], site: Mapping[str, str], size: ContainerSize, name: str
) -> QueueTree:
    if any(key.startswith(PREFIX) for key in given):
        return capacity_tree(given, site, size, name)
    if any(key.startswith(HADOOP_1_PREFIX) for key in given):
        return hadoop_1_tree(given, size, name)
    raise InvalidInput(
        f"no property starts with {PREFIX!r}", where=name,
        hint="give the capacity-scheduler.xml; yarn-site.xml goes to --yarn-site",
    )  # fmt: skip


def _content(path: str) -> bytes:
    content = read_source(path)
    if len(content) > _BYTES_MAX:
        raise InvalidInput("it is larger than 16 MiB", where=path, hint="give a smaller file")
    return content


def _yaml_tree(
    content: bytes, name: str, site: Mapping[str, str], size: ContainerSize
) -> QueueTree:
    documents = [one for one in _yaml_documents(content, name) if one]
    first = documents[0] if documents else {}
    if "property" in first:
        return _properties_tree(_conf_properties(first["property"], name), site, size, name)
    if "partitions" in first or any(one.get("kind") == "ClusterQueue" for one in documents):
        return kubernetes_tree(documents, size, name)
    if "queues.yaml" in _config_map(first):
        return queue_tree_of(str(_config_map(first)["queues.yaml"]).encode(), name)
    if kinds := [
        kind for kind in _KUEUE_KINDS if any(one.get("kind") == kind for one in documents)
    ]:
        raise InvalidInput(
            f"it has no ClusterQueue, only {' and '.join(kinds)}, so no quota is known", where=name,
            hint="add what `kubectl get clusterqueues -o yaml` prints",
        )  # fmt: skip
    raise InvalidInput("it is not the configuration of a known scheduler", where=name,
                       hint=f"give {_FORMATS}")  # fmt: skip


def _conf_properties(given: object, name: str) -> dict[str, str]:
    """The properties in the JSON of the ResourceManager's `/ws/v1/cluster/scheduler-conf`."""
    found: dict[str, str] = {}
    for one in given if isinstance(given, list) else [given]:  # one of a kind is not in a list
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise InvalidInput(
                "a property has no name", where=f"{name}, property",
                hint="give the JSON of /ws/v1/cluster/scheduler-conf",
            )  # fmt: skip
        found[one["name"]] = str(one.get("value") or "")
    return found


def _config_map(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a ConfigMap, in which YuniKorn's file may be."""
    data = document.get("data")
    return data if document.get("kind") == "ConfigMap" and isinstance(data, Mapping) else {}


def _yaml_documents(content: bytes, name: str) -> list[Mapping[str, Any]]:
    try:
        values = read_yaml_documents(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInput("it is not UTF-8", where=name, hint="save it as UTF-8") from None
    except NotationError as error:
        raise InvalidInput(f"it is not valid YAML: {error}", where=name) from None
    found: list[Mapping[str, Any]] = []
    for value in chain.from_iterable(map(_listed, values)):
        if not isinstance(value, Mapping):
            raise InvalidInput("it is not a mapping", where=name, hint=f"give {_FORMATS}")
        found.append(value)
    return found


def _listed(value: object) -> Sequence[object]:
    """The items of a list as `kubectl get` prints it; of any other value itself."""
    if isinstance(value, Mapping) and str(value.get("kind")).endswith("List"):
        items = value.get("items")
        return items if isinstance(items, list) else []
    return [value]
