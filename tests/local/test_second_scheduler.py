"""A second scheduler is started with its own kubeconfig and Lease, and waited for."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from certs.issue import issue_ca
from gpusched.local import second_scheduler
from gpusched.local.second_scheduler import IDENTITY, SECOND, start_second_scheduler


class Plane:
    """What is used of a control plane; the probe is asked until it holds."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = folder / "ca.crt"
        self.ca.write_bytes(issue_ca("test", datetime.now(UTC), timedelta(days=1)).certificate)
        self.spawned = []
        self.asked = 0

    def kubeconfig(self, identity):
        return self.folder / f"{identity}.kubeconfig"

    def spawn_scheduler(self, name, configuration, port):
        self.spawned.append((name, configuration, port))

    def wait_until(self, holds, seconds, what):
        while not holds():
            self.asked += 1
        self.waited = (seconds, what)


@pytest.mark.parametrize("given", [{"leaderElection": {"resourceName": "mine"}}, {}])
def test_it_is_started_and_waited_for(tmp_path, monkeypatch, given):
    plane = Plane(tmp_path)
    answers = iter([OSError("not yet"), 500, 200])

    class Server:
        def __init__(self, url, _context, headers):
            assert (url, headers) == (f"https://127.0.0.1:{plane.spawned[0][2]}", {})

        def request(self, method, path, *, timeout):
            assert (method, path) == ("GET", "/readyz")
            assert timeout > 0
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return type("Answer", (), {"status": answer})

        def close(self):
            self.closed = True

    monkeypatch.setattr(second_scheduler, "Api", Server)

    start_second_scheduler(plane, given)

    ((name, path, _),) = plane.spawned
    written = json.loads(path.read_text(encoding="utf-8"))
    assert (name, path.parent, plane.asked) == (SECOND, tmp_path, 2)
    assert written["leaderElection"] == given.get("leaderElection", {"leaderElect": False})
    assert written["clientConnection"]["kubeconfig"] == str(tmp_path / f"{IDENTITY}.kubeconfig")
