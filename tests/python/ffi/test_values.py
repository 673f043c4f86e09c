"""Devices and element types."""

import numpy as np
import pytest
import tessera
from tessera import DataType


def test_devices_are_made_by_kind_or_target():
    assert tessera.cpu() == tessera.device("cpu") == tessera.device("llvm -mcpu=core-avx2", 0) == tessera.device(1)
    assert tessera.gpu(1) == tessera.cuda(1) == tessera.device("nvptx", 1) != tessera.cuda(0)
    assert tessera.cl(0) == tessera.opencl(0) and tessera.mtl(0) == tessera.metal(0)
    assert len({tessera.cpu(0), tessera.cpu(0), tessera.cuda(0)}) == 2
    with pytest.raises(ValueError, match="Unknown device type nonesuch"):
        tessera.device("nonesuch")


def test_devices_have_a_text():
    assert str(tessera.cuda(2)) == "cuda(2)"
    assert repr(tessera.device(1 + 128 * 2, 3)) == "remote[1]:cpu(3)"
    assert (tessera.vulkan(4).device_type, tessera.vulkan(4).device_id) == (7, 4)


def test_facts_of_a_device_can_be_asked():
    assert tessera.cpu(0).exist is True
    assert tessera.hexagon(0).exist is False
    tessera.cpu(0).sync()


@pytest.mark.parametrize(
    "text, parts",
    [
        ("float32", (2, 32, 1)),
        ("int8x4", (0, 8, 4)),
        ("bool", (1, 1, 1)),
        ("uint1", (1, 1, 1)),
        ("bfloat16", (4, 16, 1)),
        ("handle", (3, 64, 1)),
        ("int", (0, 32, 1)),
    ],
)
def test_types_have_code_bits_and_lanes(text, parts):
    dtype = DataType(text)
    assert (dtype.type_code, dtype.bits, dtype.lanes) == parts


def test_types_are_equal_by_value_and_have_a_text():
    assert DataType("uint1") == DataType("bool") != DataType("int8")
    assert hash(DataType("uint1")) == hash(DataType("bool"))
    assert str(DataType("float32x4")) == repr(DataType("float32x4")) == "float32x4"
    assert DataType(np.float16) == DataType(np.dtype("float16")) == DataType("float16")
    assert DataType("float32x4").itemsize() == 16


@pytest.mark.parametrize("text", ["float3x", "nonesuch", "int8x", "int8x0"])
def test_what_is_no_type_is_rejected(text):
    with pytest.raises(tessera.TVMError, match="unknown type"):
        DataType(text)
