"""Golden pairs: requests as they arrive on the wire beside the answers to them, as files for people to review.

`<call>-<case>.input.json` holds the bytes of a request, `<call>-<case>.output.json` the answer to it. All pairs of a
group are asked of the cluster in its `cluster.yaml`. Answers are laid out over lines, and a patch is shown decoded.
"""

import base64
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from gpusched.cli.documents import read_documents
from gpusched.policy.model import Config
from gpusched.simulate.world import load
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter, answer_preempt, answer_prioritize
from webhook.review import answer_review

Answer = Callable[[bytes, Cluster], bytes]

ROOT: Final = Path(__file__).parent
INPUT: Final = ".input.json"
OUTPUT: Final = ".output.json"
#: By group, and by the first word of a file's name, which says what is called and how.
CALLS: Final[Mapping[str, Mapping[str, Answer]]] = {
    "extender": {
        "filter": answer_filter,
        "few": answer_filter,
        "retry": partial(answer_filter, again=lambda _uid: True),
        "prioritize": answer_prioritize,
        "preempt": answer_preempt,
    },
    "admission": {
        "mutate": partial(answer_review, mutating=True),
        "validate": partial(answer_review, mutating=False),
    },
}
#: Calls of a cluster that returns the best two candidates only.
_FEW: Final = frozenset({"few", "retry"})


def inputs() -> list[Path]:
    """Every request, in order."""
    return sorted(path for group in CALLS for path in (ROOT / group).glob(f"*{INPUT}"))


def output_of(path: Path) -> Path:
    """Where the answer to a request stands."""
    return path.with_name(path.name.removesuffix(INPUT) + OUTPUT)


def answered(path: Path) -> str:
    """The answer to the request in a file, laid out."""
    call = path.name.partition("-")[0]
    config = Config(candidates=2) if call in _FEW else Config()
    answer = json.loads(CALLS[path.parent.name][call](path.read_bytes(), cluster_of(path.parent, config)))
    response = answer.get("response", {}) if isinstance(answer, dict) else {}
    if "patch" in response:
        response["patch"] = json.loads(base64.b64decode(response["patch"], validate=True))
    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"


def cluster_of(group: Path, config: Config) -> Cluster:
    """The state of a group, read as a dump."""
    documents, errors = read_documents([str(group / "cluster.yaml")], stdin=None)
    world = load(documents, config)
    assert (errors, world.faults) == ([], [])
    return world.cluster
