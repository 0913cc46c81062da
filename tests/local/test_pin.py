import pytest

from gpusched.local.errors import LocalError
from gpusched.local.pin import module

UPSTREAM = """
module k8s.io/kubernetes

go 1.26.0

godebug default=go1.25

replace (
	k8s.io/metrics => ./staging/src/k8s.io/metrics
	k8s.io/api => ./staging/src/k8s.io/api
	example.com/other => example.com/fork v1.0.0
)
"""


def test_staging_modules_are_replaced_by_the_releases_they_are_published_as():
    assert module("1.37.2", UPSTREAM) == (
        "module gpusched.io/local/controlplane\n\ngo 1.26.0\n\ngodebug default=go1.25\n\n"
        "require k8s.io/kubernetes v1.37.2\n\nreplace (\n"
        "\tk8s.io/api => k8s.io/api v0.37.2\n\tk8s.io/metrics => k8s.io/metrics v0.37.2\n)\n"
    )


def test_module_of_the_node_differs_by_its_name_alone():
    assert module("1.37.2", UPSTREAM, "node") == module("1.37.2", UPSTREAM).replace("local/controlplane", "local/node")


def test_module_file_without_a_go_line_is_refused():
    with pytest.raises(LocalError, match=r"go\.mod of Kubernetes 1\.37\.2 has no go line"):
        module("1.37.2", "module k8s.io/kubernetes\n")
