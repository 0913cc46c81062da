from collections.abc import Callable

import pytest

from gpusched.core.pool import Sharing
from gpusched.policy import values
from gpusched.policy.malformed import Malformed


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (values.parse_families, "Ampere, hopper", ("ampere", "hopper")),
        (values.parse_families, " ADA ,ada-lovelace", ("ada-lovelace",)),
        (values.parse_families, "cdna3,flex", ("cdna3", "flex")),
        (values.parse_products, "a100, NVIDIA-H100-80GB", ("a100", "h100-80gb")),
        (values.parse_products, "Tesla-T4,t4,Tesla-T4-SHARED", ("t4",)),
        (values.parse_sharing, "none, MPS ,none", (Sharing.NONE, Sharing.MPS)),
        (values.parse_cuda, "12.4", 12040),
        (values.parse_driver, "550.54", 550054000),
        (values.parse_driver, "550.107.02", 550107002),
        (values.parse_max_gpus, " 8 ", 8),
        (values.parse_max_gpus, "0", 0),
        (values.parse_placement, " Spread", "spread"),
        (values.parse_visible_devices, "Void", "void"),
        (values.parse_runtime_class, "AUTO", "auto"),
        (values.parse_runtime_class, "never", "never"),
        (values.parse_runtime_class, "nvidia-cdi", "nvidia-cdi"),
    ],
)
def test_parsed(parse: Callable[[str], object], text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (values.parse_families, "hoper", '"hoper" is no GPU family; write hopper'),
        (
            values.parse_families,
            "xyz",
            '"xyz" is no GPU family; write for example turing, ampere, ada-lovelace, hopper, blackwell or cdna3',
        ),
        (values.parse_families, "", '"" names no family; write for example hopper, or leave the key out'),
        (values.parse_families, "hopper,", '"hopper," has an empty entry; write "hopper"'),
        (values.parse_products, "a100,,t4", '"a100,,t4" has an empty entry; write "a100, t4"'),
        (values.parse_products, "a100;t4", '"a100;t4" is not separated by commas; write a100, t4'),
        (values.parse_products, "a_b!", '"a_b!" is no GPU product; write dash-separated words such as h100-80gb'),
        (
            values.parse_sharing,
            "time-slicing;mps",
            '"time-slicing;mps" is not separated by commas; write time-slicing, mps',
        ),
        (values.parse_sharing, "exclusive", '"exclusive" is no kind of sharing; write none'),
        (values.parse_families, "hopper|ampere|", '"hopper|ampere|" is not separated by commas; write hopper, ampere'),
        (values.parse_families, "- a100\n- h100", '"- a100?- h100" is not separated by commas; write a100, h100'),
        (values.parse_families, "h100", '"h100" is no GPU family; write hopper'),
        (values.parse_placement, "most-allocated", '"most-allocated" is no placement; write pack'),
        (values.parse_visible_devices, "forbid", '"forbid" is no way to treat NVIDIA_VISIBLE_DEVICES; write deny'),
        (values.parse_visible_devices, "Ignore", '"Ignore" is no way to treat NVIDIA_VISIBLE_DEVICES; write allow'),
        (values.parse_runtime_class, "None", '"None" is no name of a RuntimeClass; write never for none'),
        (values.parse_runtime_class, "off", '"off" is no name of a RuntimeClass; write never for none'),
        (values.parse_sharing, "timeslicing", '"timeslicing" is no kind of sharing; write time-slicing'),
        (values.parse_cuda, "12", '"12" is no CUDA version; write 12.0'),
        (values.parse_cuda, "v12.4.1", '"v12.4.1" is no CUDA version; write 12.4'),
        (values.parse_cuda, "new", '"new" is no CUDA version; write for example 12.4'),
        (values.parse_driver, "550", '"550" is no driver version; write 550.0'),
        (values.parse_max_gpus, "-1", '"-1" is no number of GPUs; write a whole number such as 8 (0 allows none)'),
        (values.parse_max_gpus, "1.5", '"1.5" is no number of GPUs; write a whole number such as 8 (0 allows none)'),
        (values.parse_placement, "bin-pack", '"bin-pack" is no placement; write pack'),
        (values.parse_placement, "binpack", '"binpack" is no placement; write pack'),
        (values.parse_placement, "", '"" is no placement; write pack or spread'),
        (
            values.parse_visible_devices,
            "gpu",
            '"gpu" is no way to treat NVIDIA_VISIBLE_DEVICES; write allow, warn, deny or void',
        ),
        (values.parse_runtime_class, "NVIDIA", '"NVIDIA" is no name of a RuntimeClass; write nvidia'),
        (
            values.parse_runtime_class,
            "a b",
            '"a b" is no name of a RuntimeClass; write auto, never or the name of a RuntimeClass',
        ),
    ],
)
def test_malformed(parse: Callable[[str], object], text: str, sentence: str) -> None:
    assert parse(text) == Malformed(sentence)


@pytest.mark.parametrize("parse", [values.parse_families, values.parse_products])
def test_a_word_longer_than_a_label_value_is_malformed_and_cheap(parse: Callable[[str], object]) -> None:
    assert isinstance(parse("nvidia-" * 30_000), Malformed)
