"""Kernels compared with what the machine can do."""

import numpy as np
import pytest
import tessera as tvm
import tessera.utils
from tessera import relay
from tessera.utils.roofline import SaveLoweredTIR, x86


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_what_a_cpu_computes_at_best(dtype):
    flops = x86.estimate_peak_fma_vector_flops(tvm.target.Target("llvm"), tvm.cpu(), None, dtype)
    assert 1e7 < flops < 1e14


def test_what_a_cpu_reads_at_best():
    assert 1e8 < x86.estimate_peak_bandwidth_dram(tvm.target.Target("llvm"), tvm.cpu()) < 1e12


def test_rows_of_kernels_have_their_operations_and_bytes():
    x, w = relay.var("x", shape=(64, 128)), relay.var("w", shape=(32, 128))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    report = tvm.utils.roofline_analysis(mod, {"w": np.ones((32, 128), "float32")}, "llvm", tvm.cpu())
    (row,) = [call for call in report.calls if "Bound" in call]
    assert row["Estimated FLOPs"].value == 2 * 64 * 32 * 128 + 64 * 32
    assert row["Loaded Bytes"].value >= 4 * (64 * 128 + 32 * 128 + 64 * 32) and row["Bound"] in ("compute", "memory")
    assert row["Percent of Theoretical Optimal"].ratio >= 0 and "Bound" in report.table()


def test_other_devices_are_not_measured_yet():
    with pytest.raises(NotImplementedError, match="cuda can do is not measured"):
        tvm.utils.estimate_peak_flops("cuda", tvm.cpu())
    assert SaveLoweredTIR().functions == {}
