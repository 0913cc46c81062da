"""The installation that tests and demo work on: what does not get ready leaves nothing behind."""

import pytest

from gpusched.local.errors import LocalError
from gpusched.local.installed import PLAIN_EXTENDER, SERVICE, Installed
from tests.build import pod, t4_node
from tests.e2e.scheduling import bound_node, create


def test_one_that_does_not_get_ready_refuses_nothing_afterwards(control_plane, fake_nodes, namespace):
    """An extender without TLS has no files for kube-scheduler, which therefore does not start."""
    fake_nodes([t4_node("in-t4", gpus=1)])
    unfit = Installed(control_plane, arguments=[PLAIN_EXTENDER])
    with pytest.raises(LocalError, match="kube-scheduler"):
        unfit.__enter__()
    assert SERVICE not in control_plane.children
    create(control_plane, pod("gpu", namespace))
    assert bound_node(control_plane, namespace, "gpu") == "in-t4"
