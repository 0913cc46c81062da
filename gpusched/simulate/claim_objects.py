"""The claims of one pod to volumes and devices by name, and what the objects of the cluster say of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from gpusched.core.fields import Field

#: Objects by kind, namespace (empty where the kind has none) and name.
ClaimObjects = Mapping[tuple[str, str, str], Mapping[str, object]]

_VOLUME: Final = "PersistentVolumeClaim"
_DEVICES: Final = "ResourceClaim"
_TEMPLATE: Final = "ResourceClaimTemplate"
_CLASS: Final = "StorageClass"
#: Groups and kinds of these objects.
CLAIM_KINDS: Final = frozenset(
    {("", _VOLUME), ("storage.k8s.io", _CLASS), ("resource.k8s.io", _DEVICES), ("resource.k8s.io", _TEMPLATE)}
)


class PodClaims:
    """What one pod claims by name: of claims that are made for each pod the template is named, since pods of one
    template are to be told the same. `kinds` are those of which all objects are known.
    """

    def __init__(
        self, tree: Mapping[str, object], namespace: str, objects: ClaimObjects, kinds: Collection[str]
    ) -> None:
        self._pod = Field(tree)
        self._namespace = namespace
        self._objects = objects
        self._kinds = kinds

    def words(self) -> dict[str, str]:
        """What stands for `{key}` in sentences: the claims with their classes, or that there are some."""
        volumes, devices, templates = self._volumes(), self._devices(), self._templates()
        unbound = [name for name in volumes if not self._bound(name)] or volumes
        classes = dict.fromkeys(name for volume in unbound for name in self._classes(_VOLUME, volume))
        made = self._named(_TEMPLATE, templates)
        verb = "is" if len(unbound) < 2 else "are"
        return {
            "ns": self._namespace,
            "unbound": f"{self._named(_VOLUME, unbound)} {verb}" if unbound else "a PersistentVolumeClaim of it is",
            "unbound_claims": self._named(_VOLUME, unbound) or "its PersistentVolumeClaims",
            "see_unbound": f"kubectl -n {self._namespace} describe pvc{_trailing(unbound)}",
            "volume": f"the volume of {self._named(_VOLUME, volumes)}" if volumes else "its volume",
            "see_volume": f"kubectl -n {self._namespace} describe pvc{_trailing(volumes)}",
            "classes": f"StorageClass {', '.join(classes)}" if classes else "its StorageClass",
            "devices": self._named(_DEVICES, devices) or (made and f"the claims of {made}") or "its ResourceClaims",
            "device_names": _trailing(devices),
            "template": made or "its template",
            "template_names": _trailing(templates),
        }

    def named(self) -> str:
        """All of them."""
        kinds = (_VOLUME, self._volumes()), (_DEVICES, self._devices()), (_TEMPLATE, self._templates())
        return ", ".join(self._named(kind, names) for kind, names in kinds if names)

    def certain(self) -> Iterator[tuple[str, str]]:
        """What keeps the pod waiting by these objects alone, and what to do about it."""
        for name in self._volumes():
            yield from self._missing(_VOLUME, name, "claimName in spec.volumes") or self._unbound(name)
        for name in self._devices():
            yield from self._missing(_DEVICES, name, "its name in spec.resourceClaims")
        for name in self._templates():
            yield from self._missing(_TEMPLATE, name, "its name in spec.resourceClaims")

    def _missing(self, kind: str, name: str, where: str) -> list[tuple[str, str]]:
        if kind not in self._kinds or (kind, self._namespace, name) in self._objects:
            return []
        what = f"{kind} {name}"
        space = f"in namespace {self._namespace}"
        return [(f"{what} does not exist {space}", f"Create {what} {space}, or correct {where}")]

    def _unbound(self, name: str) -> Iterator[tuple[str, str]]:
        """Where its StorageClass binds at once: others wait for a pod that has a node."""
        known = self._objects.get((_VOLUME, self._namespace, name))
        if known is None or self._bound(name) or _CLASS not in self._kinds:
            return
        for storage in self._classes(_VOLUME, name):
            found = self._objects.get((_CLASS, "", storage))
            if found is None:
                cause = f"{_VOLUME} {name} is not bound: {_CLASS} {storage}, which it names, does not exist"
                yield cause, f"Create {_CLASS} {storage}, or name another in {_VOLUME} {name}"
            elif Field(found).get("volumeBindingMode").value != "WaitForFirstConsumer":
                see = f"kubectl -n {self._namespace} describe pvc {name}"
                yield f"{self._named(_VOLUME, [name])} is not bound to a volume yet", f"See what it waits for: {see}"

    def _bound(self, name: str) -> bool:
        status = Field(self._objects.get((_VOLUME, self._namespace, name))).get("status")
        return status.get("phase").value == "Bound"

    def _named(self, kind: str, names: list[str]) -> str:
        if not names:
            return ""
        told = []
        for name in names:
            classes = ", ".join(self._classes(kind, name))
            noun = _CLASS if kind == _VOLUME else "DeviceClass"
            told.append(f"{name} ({noun} {classes})" if classes else name)
        return f"{kind}{'' if len(names) == 1 else 's'} {', '.join(told)}"

    def _classes(self, kind: str, name: str) -> Iterable[str]:
        spec = Field(self._objects.get((kind, self._namespace, name))).get("spec")
        if kind == _VOLUME:
            return _texts([spec.get("storageClassName")])
        requests = (spec.get("spec") if kind == _TEMPLATE else spec).get("devices").get("requests").items()
        # Since v1beta2 what is asked for stands one level deeper.
        asked = [part for item in requests for part in (item, item.get("exactly"), *item.get("firstAvailable").items())]
        return _texts(part.get("deviceClassName") for part in asked)

    def _volumes(self) -> list[str]:
        volumes = self._pod.get("spec").get("volumes").items()
        return _texts(volume.get("persistentVolumeClaim").get("claimName") for volume in volumes)

    def _devices(self) -> list[str]:
        return _texts(item.get("resourceClaimName") for item in self._pod.get("spec").get("resourceClaims").items())

    def _templates(self) -> list[str]:
        claims = self._pod.get("spec").get("resourceClaims").items()
        return _texts(item.get("resourceClaimTemplateName") for item in claims)


def _texts(fields: Iterable[Field]) -> list[str]:
    """The texts among the values, each once."""
    return list(dict.fromkeys(field.value for field in fields if isinstance(field.value, str) and field.value))


def _trailing(names: list[str]) -> str:
    return "".join(f" {name}" for name in names)
