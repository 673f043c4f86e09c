"""Targets as scripts write them, and as they print."""

import pytest
import tessera
from tessera.target import Target, VirtualDevice


def test_what_a_target_exports_is_a_target():
    target = Target({"kind": "cuda", "arch": "sm_70", "host": {"kind": "llvm", "mcpu": "skylake"}})
    again = Target(target.export())
    assert str(again) == str(target) and str(again.host) == str(target.host)


def test_a_kind_prints_as_its_name():
    assert str(Target("cuda", host="llvm").host.kind) == "llvm" and repr(Target("opencl").kind) == "opencl"


def test_a_number_is_no_target():
    with pytest.raises(ValueError, match="a target is a string"):
        Target(3)


def test_a_virtual_device_prints_its_target_as_text():
    device = VirtualDevice(tessera.cpu(), Target("llvm -mcpu=skylake"))
    assert str(device) == (f"VirtualDevice(device_type=1, virtual_device_id=0, target={Target('llvm -mcpu=skylake')})")
