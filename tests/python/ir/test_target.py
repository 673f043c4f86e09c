"""Targets as scripts write them, and as they print."""

import pytest
from tessera.target import Target


def test_what_a_target_exports_is_a_target():
    target = Target({"kind": "cuda", "arch": "sm_70", "host": {"kind": "llvm", "mcpu": "skylake"}})
    again = Target(target.export())
    assert str(again) == str(target) and str(again.host) == str(target.host)


def test_a_kind_prints_as_its_name():
    assert str(Target("cuda", host="llvm").host.kind) == "llvm" and repr(Target("opencl").kind) == "opencl"


def test_a_number_is_no_target():
    with pytest.raises(ValueError, match="a target is a string"):
        Target(3)
