from gpusched.local.karpenter import InstanceType


def test_an_instance_type_as_the_kwok_provider_reads_it():
    made = InstanceType("g4dn.xlarge", 0.5, {"cpu": "4", "nvidia.com/gpu": "1"}, {"gpu": "t4", "local": None}).tree()

    assert made == {
        "name": "g4dn.xlarge",
        "offerings": [
            {
                "Price": 0.5,
                "Available": True,
                "Requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["local-a"]},
                    {"key": "gpu", "operator": "In", "values": ["t4"]},
                    {"key": "local", "operator": "DoesNotExist"},
                ],
            }
        ],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "nvidia.com/gpu": "1"},
    }
