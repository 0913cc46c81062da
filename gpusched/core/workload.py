"""The workload that people know, told from the controller of a pod or of what stands between the two."""

import re
from typing import Final

#: A CronJob's controller names its Jobs by the minute (pkg/controller/cronjob, getJobName): those of 2019 to 2046.
_BY_MINUTE: Final = re.compile(r"(.+)-(?:2[6-9]|3\d)\d{6}", re.ASCII)


def workload_by_name(kind: str, name: str, template_hash: str) -> str:
    """Kind and name, such as `Deployment/web`, of the workload of a controller, as far as its name tells.

    A Deployment's ReplicaSets end on the hash that is a label of their pods (pkg/controller/deployment/sync.go), a
    CronJob's Jobs on the time.
    """
    if kind == "ReplicaSet" and template_hash and name.endswith(f"-{template_hash}"):
        return f"Deployment/{name.removesuffix(f'-{template_hash}')}"
    timed = _BY_MINUTE.fullmatch(name) if kind == "Job" else None
    return f"CronJob/{timed[1]}" if timed else f"{kind}/{name}"
