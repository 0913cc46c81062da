from pathlib import Path

import pytest

from gpusched.local.kubelet_configuration import configuration


@pytest.mark.parametrize("pretended", [True, False])
def test_everything_is_below_the_folder_and_nothing_on_the_host(pretended):
    tree = configuration(Path("/run/n1"), Path("/run/n1/cri.sock"), 4711, user_namespace=pretended)

    paths = {key: value for key, value in tree.items() if "/run/n1" in str(value)}
    assert paths == {
        "containerRuntimeEndpoint": "unix:///run/n1/cri.sock",
        "podLogsDir": "/run/n1/pods",
        "volumePluginDir": "/run/n1/plugins",
    }
    assert (tree["address"], tree["port"], tree["healthzPort"]) == ("127.0.0.1", 4711, 0)
    assert (tree["cgroupsPerQOS"], tree["enforceNodeAllocatable"], tree["makeIPTablesUtilChains"]) == (False, [], False)
    assert tree["featureGates"] == {"KubeletInUserNamespace": pretended}
