"""`gpusched quota`: use against quota, and the pods that wait in line."""

from typing import Final

import click
import msgspec

from gpusched.cli import watch as watching
from gpusched.cli.access import Access, access_options
from gpusched.cli.selection import label_selector
from gpusched.cli.session import Session, cluster_option, config_option, list_options
from gpusched.cli.uses_table import quota_table
from gpusched.core.selector import all_match
from gpusched.simulate.uses import GatedPod, QuotaLine, gated_pods, quota_lines

_NONE: Final = "no namespace has a quota, and no pod holds a GPU\n"
_NONE_CHOSEN: Final = "no quota, and no pod that holds a GPU, in what was chosen\n"


class Quotas(msgspec.Struct, frozen=True):
    """The whole answer of `quota`."""

    quotas: tuple[QuotaLine, ...]
    waiting: tuple[GatedPod, ...]


@click.command()
@cluster_option
@config_option
@access_options
@list_options
def quota(
    *,
    cluster: tuple[str, ...],
    config: str | None,
    access: Access,
    form: str,
    no_color: bool,
    watch: bool,
    interval: float,
) -> None:
    """Show what namespaces use of their GPU quota, per family and in memory, and which pods wait for it.

    USED is what pods hold that are on a node. PENDING counts against the quota as well: pods that it has let go, or
    never held up, and that wait for a node. -n chooses a namespace, -l namespaces by their labels. Exit code 1: a
    namespace uses more than its quota.
    """
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)

    def once() -> int:
        inputs = session.read(cluster=cluster, config=config, access=access)
        found = session.world(inputs).cluster

        def chosen(name: str) -> bool:
            return access.namespace in {None, name} and all_match(selector, found.namespace(name).labels)

        result = Quotas(
            tuple(line for line in quota_lines(found) if chosen(line.namespace)),
            tuple(pod for pod in gated_pods(found) if chosen(pod.namespace)),
        )
        names = list(dict.fromkeys(f"namespace/{line.namespace}" for line in result.quotas))
        nothing = _NONE_CHOSEN if access.namespace or selector else _NONE
        session.show(result, lambda: quota_table(result.quotas, result.waiting, session.style) or nothing, names)
        session.tell(inputs)
        exceeded = any(line.limit is not None and line.used > line.limit for line in result.quotas)
        return session.code(inputs, problems=exceeded)

    watching.run(session, once, watch=watch, interval=interval)
