"""The JSON of admission.k8s.io/v1 AdmissionReview, as far as gpusched reads and writes it."""

from typing import Final

import msgspec

_NULL: Final = msgspec.Raw(b"null")


class GroupKind(msgspec.Struct):
    """Group, version and kind of the object under review."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Asked(msgspec.Struct, rename="camel"):
    """What is asked, but for the objects that it is about."""

    uid: str = ""
    kind: GroupKind = msgspec.field(default_factory=GroupKind)
    sub_resource: str | None = None
    name: str | None = None
    namespace: str | None = None
    operation: str = ""
    dry_run: bool | None = None

    @property
    def of_pod(self) -> bool:
        """Whether the object is a Pod, or a part of one where there is a `sub_resource`."""
        return self.kind.kind == "Pod" and not self.kind.group


class AdmissionRequest(Asked):
    """What is asked. `tree`, as JSON not read yet, is null on DELETE, `old_tree` on CREATE."""

    tree: msgspec.Raw = msgspec.field(name="object", default=_NULL)
    old_tree: msgspec.Raw = msgspec.field(name="oldObject", default=_NULL)


class Envelope(msgspec.Struct, rename="camel"):
    """What a review is wrapped in."""

    api_version: str = ""
    kind: str = ""

    @property
    def known(self) -> bool:
        """Whether it is the version that gpusched answers."""
        return self.api_version == "admission.k8s.io/v1" and self.kind == "AdmissionReview"


class AdmissionReviewRequest(Envelope):
    """The envelope as it arrives."""

    request: AdmissionRequest | None = None


class Status(msgspec.Struct):
    """Why a request is refused; `reason` Forbidden makes kubectl print the message in full."""

    code: int
    message: str
    reason: str = "Forbidden"


class AdmissionResponse(msgspec.Struct, rename="camel", omit_defaults=True):
    """The answer. `patch` and `patch_type` come together or not at all."""

    uid: str
    allowed: bool
    status: Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    audit_annotations: dict[str, str] | None = None
    warnings: list[str] | None = None


class AdmissionReviewResponse(msgspec.Struct, rename="camel"):
    """The envelope as it goes back."""

    response: AdmissionResponse
    api_version: str = "admission.k8s.io/v1"
    kind: str = "AdmissionReview"
