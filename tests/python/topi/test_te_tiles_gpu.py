"""Schedules of topi for GPUs: they compute what plain loops do, and compile for CUDA."""

import re

import numpy as np
import pytest
import tessera as tvm
from tessera import te, topi
from test_te_tiles import PROGRAMS, of, random_values, run

OPENCL = pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one")
#: A schedule of each kind that v0.10's programs call.
SCHEDULES = {
    "conv2d": topi.cuda.schedule_conv2d_nchw,
    "dense": topi.cuda.schedule_dense_small_batch,
    "batch_matmul": topi.cuda.schedule_batch_matmul,
    "softmax": topi.cuda.schedule_softmax,
    "sum": topi.cuda.schedule_reduce,
    "maximum": topi.cuda.schedule_reduce,
    "pool": topi.cuda.schedule_pool,
}
FURTHER = {
    "dense of 64 x 64": lambda: of(topi.nn.dense, (64, 48), (64, 48)),
    "conv2d of 16 channels": lambda: of(
        lambda a, w: topi.nn.relu(topi.nn.conv2d_nchw(a, w, 1, 1, 1)), (2, 16, 12, 12), (32, 16, 3, 3)
    ),
    "sum of long rows": lambda: of(lambda x: topi.sum(x, axis=1), (6, 1000)),
    "maximum of rows and its root": lambda: of(lambda x: topi.sqrt(topi.abs(topi.max(x, axis=1))), (6, 200)),
    "softmax of long rows": lambda: of(topi.nn.softmax, (5, 300)),
}


def schedule_of(name, out, target):
    words = [schedule for word, schedule in SCHEDULES.items() if word in name]
    with tvm.target.Target(target):
        return (words[0] if words else topi.cuda.schedule_injective)([out])


@OPENCL
@pytest.mark.parametrize("name", [*PROGRAMS, *FURTHER])
def test_a_schedule_computes_what_plain_loops_do(name):
    inputs, out = {**PROGRAMS, **FURTHER}[name]()
    values = random_values(inputs)
    device = tvm.opencl(0)
    mod = tvm.build(schedule_of(name, out, "opencl"), [*inputs, out], tvm.target.Target("opencl", host="llvm"))
    result = tvm.nd.array(np.zeros([int(n) for n in out.shape], out.dtype), device)
    mod(*(tvm.nd.array(value.numpy(), device) for value in values), result)
    (wanted,) = run(te.create_schedule(out.op), inputs, out, "llvm", values)
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-5)


def cuda_source(name):
    inputs, out = {**PROGRAMS, **FURTHER}[name]()
    mod = tvm.build(schedule_of(name, out, "cuda"), [*inputs, out], tvm.target.Target("cuda -arch=sm_80", host="llvm"))
    return mod.imported_modules[0].get_source()


@pytest.mark.parametrize("name", ["conv2d of 16 channels", "dense of 64 x 64", "batch_matmul", "matmul"])
def test_operands_lie_in_shared_memory_and_sums_in_registers(name):
    source = cuda_source(name)
    assert "__shared__" in source and "__syncthreads" in source and "threadIdx.y" in source


@pytest.mark.parametrize("name", ["sum of long rows", "softmax of long rows", "maximum of rows and its root"])
def test_threads_of_a_block_share_a_long_reduction(name):
    source = cuda_source(name)
    assert source.count("__global__") == 1 and re.search(r"__shared__|__shfl", source)


@pytest.mark.parametrize("name", ["max_pool", "sum of columns", "element by element", "layer_norm", "depthwise"])
def test_what_remains_compiles(name):
    assert "__global__" in cuda_source(name)
