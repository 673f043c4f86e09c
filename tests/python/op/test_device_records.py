"""Each operator of the table on devices: what runs answers as NumPy does, and what has no device here is compiled and linked."""

import device_audit
import pytest
import tessera
from random_graphs import CASES


def runs_on(kind, *marks):
    is_here = tessera.device(kind, 0).exist
    return pytest.param(kind, marks=[*marks, pytest.mark.skipif(not is_here, reason=f"no {kind} device")])


@pytest.mark.parametrize("kind", [runs_on("opencl"), runs_on("cuda", pytest.mark.gpu)])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_record_runs_on_a_device(name, kind):
    devices = [tessera.device(kind, 0), tessera.cpu()]
    device_audit.run(name, 0, device_audit.target_of(kind), devices)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cuda", "nvptx", "rocm"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_record_is_compiled_for_a_device(name, kind):
    try:
        device_audit.compile_only(name, 0, device_audit.target_of(kind))
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
