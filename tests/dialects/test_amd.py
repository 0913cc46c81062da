import pytest

from tests.dialects.surveys import facts_of, only_pool, survey

MI300X = {
    "amd.com/gpu.vram": "192G",
    "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
    "amd.com/gpu.device-id": "74a1",
    "amd.com/gpu.family": "AI",
}


@pytest.mark.parametrize(
    ("labels", "slots", "expected"),
    [
        pytest.param(
            MI300X, {"amd.com/gpu": 8}, ("cdna3", "mi300x-oam", "none", 1, 8, 196608, 196608, 196608), id="whole"
        ),
        pytest.param(
            MI300X | {"amd.com/gpu.vram": "24G", "amd.com/gpu.compute-memory-partition": "cpx_nps4"},
            {"amd.com/gpu": 64},
            ("cdna3", "mi300x-oam", "none", 1, 64, 196608, 24576, 24576),
            id="partitions-under-one-name",
        ),
        pytest.param(
            MI300X | {"amd.com/gpu.vram": "24G"},
            {"amd.com/gpu": 64},
            ("cdna3", "mi300x-oam", "none", 1, 64, 196608, 24576, 24576),
            id="partitions-seen-by-size",
        ),
        pytest.param(
            MI300X | {"amd.com/gpu.vram": "24G"},
            {"amd.com/cpx_nps4": 64},
            ("cdna3", "mi300x-oam", "none", 1, 64, 196608, 24576, 24576),
            id="partition-resource",
        ),
        pytest.param(
            {"amd.com/gpu.family": "AI", "amd.com/gpu.device-id": "74b5", "amd.com/gpu.cu-count": "304"},
            {"amd.com/gpu": 8},
            ("cdna3", "mi300x-vf", "none", 1, 8, None, None, None),
            id="virtual-functions",
        ),
        pytest.param(
            {"beta.amd.com/gpu.vram.64G": "8", "beta.amd.com/gpu.device-id.740f": "8"},
            {"amd.com/gpu": 8},
            ("cdna2", "mi210", "none", 1, 8, 65536, 65536, 65536),
            id="beta-labels",
        ),
        pytest.param(
            {"amd.com/gpu.vram.64G": "1", "amd.com/gpu.vram.32G": "1", "amd.com/gpu.family": "GC_11_0_0"},
            {"amd.com/gpu": 2},
            ("rdna3", None, "none", 1, 2, None, None, None),
            id="unlike-devices",
        ),
        pytest.param({}, {"amd.com/gpu": 2}, (None, None, "none", 1, 2, None, None, None), id="no-labels"),
        pytest.param(
            {"amd.com/gpu.vram": "lots", "amd.com/gpu.family": "AI"},
            {"amd.com/gpu": 2},
            (None, None, "none", 1, 2, None, None, None),
            id="unreadable",
        ),
    ],
)
def test_amd(labels: dict[str, str], slots: dict[str, int], expected: tuple[object, ...]) -> None:
    assert facts_of(only_pool(survey(labels, slots))) == expected
