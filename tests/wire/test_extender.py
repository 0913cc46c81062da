import msgspec
import pytest

from gpusched.wire.extender import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeListAnswer,
    Victims,
)

NODE = '{"metadata": {"name": "n1"}}'
EMPTY = '"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""'


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            ExtenderFilterResult(node_names=["n1"], failed_and_unresolvable_nodes={"n2": "why"}),
            '{"Nodes":null,"NodeNames":["n1"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"n2":"why"},"Error":""}',
        ),
        (
            ExtenderFilterResult(nodes=NodeListAnswer([msgspec.Raw(NODE.encode())])),
            f'{{"Nodes":{{"items":[{NODE}]}},"NodeNames":null,{EMPTY}}}',
        ),
        ([HostPriority("n1", 10)], '[{"Host":"n1","Score":10}]'),
        (
            ExtenderPreemptionResult({"n1": MetaVictims([MetaPod("u")], 2)}),
            '{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"u"}],"NumPDBViolations":2}}}',
        ),
        (ExtenderBindingResult(), '{"Error":""}'),
    ],
)
def test_answers_spell_the_keys_of_the_go_structs(record: object, text: str) -> None:
    assert msgspec.json.encode(record).decode() == text


def test_requests_accept_null_and_unknown_keys() -> None:
    body = b'{"Pod": null, "Nodes": null, "NodeNames": null, "Cycle": 3}'
    assert msgspec.json.decode(body, type=ExtenderArgs) == ExtenderArgs()
    victims = b'{"n1": {"Pods": null, "NumPDBViolations": 1}}'
    body = b'{"Pod": {}, "NodeNameToVictims": ' + victims + b', "NodeNameToMetaVictims": null}'
    assert msgspec.json.decode(body, type=ExtenderPreemptionArgs) == ExtenderPreemptionArgs(
        pod={}, victims={"n1": Victims(None, 1)}
    )


def test_binding_request() -> None:
    body = b'{"PodName":"p","PodNamespace":"team-a","PodUID":"u","Node":"n1"}'
    assert msgspec.json.decode(body, type=ExtenderBindingArgs) == ExtenderBindingArgs("p", "team-a", "u", "n1")
