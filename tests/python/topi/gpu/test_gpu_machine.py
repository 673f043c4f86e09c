"""The machine model of GPUs: from the target, a table by architecture, and the device."""

import pytest
import tessera as tvm

machine_of = tvm.get_global_func("topi.gpu.machine_of")


def machine(target):
    return machine_of(tvm.target.Target(target))


def test_an_architecture_says_what_a_multiprocessor_has():
    hopper, turing = machine("cuda -arch=sm_90"), machine("cuda -arch=sm_75")
    assert (hopper.dynamic_shared_bytes, hopper.registers, hopper.warp) == (227 << 10, 65536, 32)
    assert hopper.has_matrix_units and not turing.has_matrix_units
    assert hopper.fma == 128 and turing.fma == 64
    assert machine("cuda -arch=sm_90a").multiprocessors == hopper.multiprocessors
    assert machine("cuda -arch=sm_87").dynamic_shared_bytes == machine("cuda -arch=sm_86").dynamic_shared_bytes


def test_a_target_comes_before_the_table():
    assert machine("cuda -arch=sm_90 -max_num_threads=256").max_threads == 256
    assert machine("rocm").warp == 64 and machine("rocm").shared_bytes == 65536
    assert machine("opencl").max_threads == 256 and machine("opencl").arch == ""


def test_only_cuda_source_has_asynchronous_copies():
    assert not any(machine(target).has_matrix_units for target in ("nvptx -mcpu=sm_90", "rocm", "opencl"))


def test_a_cpu_is_none():
    with pytest.raises(ValueError, match="is no GPU: its kind is llvm"):
        machine("llvm")
