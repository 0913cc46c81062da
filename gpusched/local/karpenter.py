"""Karpenter on a local control plane: its controller with the kwok provider, given instance types, and one NodePool."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
import yaml

from gpusched.local.control_plane import ControlPlane
from gpusched.local.credentials import write_private
from gpusched.local.karpenter_programs import CONTROLLER, DEFINITIONS
from gpusched.local.ports import LOOPBACK, free_ports

#: The name of the process among the control plane's children.
PROCESS: Final = "karpenter"
_READY_SECONDS: Final = 60.0
_ASK_SECONDS: Final = 5.0
_ZONE: Final = "local-a"
_CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
_POOL: Final = "gpu"
_Tree = dict[str, object]


class InstanceType(msgspec.Struct, frozen=True):
    """A machine that Karpenter can buy: `price` per hour decides among those that fit, `resources` are its capacity,
    `labels` what the cloud's provider writes on its nodes. A label that is None is one that such nodes do not have.
    """

    name: str
    price: float
    resources: Mapping[str, str]
    labels: Mapping[str, str | None] = {}

    def tree(self) -> _Tree:
        """The form of the kwok provider's file of instance types."""
        requirements: list[_Tree] = [_is(_CAPACITY_TYPE, "on-demand"), _is("topology.kubernetes.io/zone", _ZONE)]
        requirements += [
            _is(key, value) if value is not None else {"key": key, "operator": "DoesNotExist"}
            for key, value in self.labels.items()
        ]
        return {
            "name": self.name,
            "offerings": [{"Price": self.price, "Available": True, "Requirements": requirements}],
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": dict(self.resources),
        }


class Karpenter:
    """Karpenter as a context manager over a control plane that is entered already.

    `taints` are those of its nodes. Leaving it stops the controller; nodes stay.
    """

    def __init__(
        self,
        plane: ControlPlane,
        programs: Mapping[str, Path],
        types: Sequence[InstanceType],
        taints: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self._plane = plane
        self._programs = programs
        self._types = types
        self._taints = taints
        self._metrics_port, self._probe_port = free_ports(2)

    def __enter__(self) -> Self:
        printed = subprocess.run([str(self._programs[DEFINITIONS])], capture_output=True, check=True)
        definitions = [tree for tree in yaml.safe_load_all(printed.stdout) if tree]
        self._plane.apply(definitions)
        for definition in definitions:
            self._plane.wait_for(
                f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition['metadata']['name']}",
                lambda tree: _established(tree) or None,
            )
        self._plane.spawn(PROCESS, [str(self._programs[CONTROLLER])], environment=self._environment())
        self._plane.wait_until(self._ready, _READY_SECONDS, "Karpenter ready")
        self._plane.apply([_node_class(), self._node_pool()])
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._plane.stop(PROCESS)

    def claims(self) -> list[_Tree]:
        """The NodeClaims: one for each node that it has decided to make."""
        items = self._plane.get("/apis/karpenter.sh/v1/nodeclaims")["items"]
        return list(items) if isinstance(items, list) else []

    def _environment(self) -> dict[str, str]:
        types = self._plane.folder / "instance-types.json"
        write_private(types, json.dumps([each.tree() for each in self._types]))
        return {
            **os.environ,
            "KUBECONFIG": str(self._plane.kubeconfig("admin")),
            "INSTANCE_TYPES_FILE_PATH": str(types),
            "METRICS_PORT": str(self._metrics_port),
            "HEALTH_PROBE_PORT": str(self._probe_port),
            "DISABLE_LEADER_ELECTION": "true",
            "BATCH_IDLE_DURATION": "500ms",
        }

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self._probe_port}/readyz", timeout=_ASK_SECONDS) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _node_pool(self) -> _Tree:
        return {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": _POOL},
            "spec": {
                "template": {
                    "spec": {
                        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": _POOL},
                        "requirements": [_is(_CAPACITY_TYPE, "on-demand")],
                        "taints": [dict(taint) for taint in self._taints],
                        "expireAfter": "Never",
                    }
                },
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
            },
        }


def _is(key: str, value: str) -> _Tree:
    return {"key": key, "operator": "In", "values": [value]}


def _node_class() -> _Tree:
    return {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": _POOL}}


def _established(definition: Mapping[str, object]) -> bool:
    status = definition.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions or ()
    )
