"""The page's side of a process: who may read it, and where its answers come from."""

import time
from collections.abc import Callable

from gpusched.serve.admin_app import Readiness
from gpusched.serve.extender_role import Surroundings
from gpusched.serve.live_cluster import LiveCluster
from gpusched.serve.options import AdminAccess
from gpusched.serve.view.access import Access
from gpusched.serve.view.access_reviews import ApiReviews
from gpusched.serve.view.answers import View
from gpusched.serve.view.endpoints import Endpoints
from gpusched.serve.view.events import EventStreams
from gpusched.serve.view.refusals import Refusals
from gpusched.serve.view.workloads import Workloads


def view_endpoints(
    around: Surroundings, readiness: Readiness, cluster: LiveCluster, failed: Callable[[str], None]
) -> Endpoints:
    """The endpoints over the state and the API server of this process."""
    refusals = Refusals(time.time)
    around.decisions.told.append(refusals.note)
    api = around.api
    workloads = Workloads(cluster, around.explainer, api.get_workload, api.failed_creates, time.monotonic, failed)
    view = View(cluster, around.explainer, workloads, refusals, around.following.closed)
    access = Access(
        ApiReviews(around.session),
        view.namespaces,
        time.monotonic,
        open_=around.options.admin_access is AdminAccess.OPEN,
    )
    return Endpoints(view, access, EventStreams(view, lambda: readiness.draining, time.monotonic), failed)
