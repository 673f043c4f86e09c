"""Workloads that tests of schedules share."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir
from tessera.meta_schedule.testing import te_workload

FLOPS = {
    "C1D": 6291456,
    "C2D": 236027904,
    "C3D": 13217562624,
    "CAP": 75497472,
    "CBR": 239239168,
    "DEP": 7225344,
    "DIL": 223552896,
    "GMM": 4194304,
    "GRP": 28901376,
    "NRM": 131072,
    "SFM": 262144,
    "T2D": 268435456,
    "TBG": 25165824,
}


@pytest.mark.parametrize("name", sorted(te_workload.CONFIGS))
def test_the_operations_of_each(name):
    func = te_workload.create_te_workload(name, 0)
    assert tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func})) == FLOPS[name]


def run(tensors, arrays):
    out = tvm.nd.array(np.zeros([int(e) for e in tensors[-1].shape], "float32"))
    tvm.build(te.create_schedule(tensors[-1].op), list(tensors), "llvm")(*map(tvm.nd.array, arrays), out)
    return out.numpy()


@pytest.mark.parametrize("kernel, stride, padding", [(4, 2, 1), (3, 1, 1), (3, 2, 0)])
def test_a_transposed_convolution_spreads_its_inputs(kernel, stride, padding):
    tensors = te_workload.conv2d_transpose_nhwc(1, 3, 4, 2, 3, kernel, stride, padding)
    random = np.random.default_rng(0)
    x, w = (random.integers(-3, 4, [int(e) for e in t.shape]).astype("float32") for t in tensors[:2])
    whole = np.zeros((1, 2 * stride + kernel, 3 * stride + kernel, 3), "float32")
    for i, j in np.ndindex(3, 4):
        part = np.einsum("nc,hwco->nhwo", x[:, i, j], w)
        whole[:, i * stride : i * stride + kernel, j * stride : j * stride + kernel] += part
    inside = slice(padding, -padding or None)
    np.testing.assert_array_equal(run(tensors, [x, w]), whole[:, inside, inside])


def test_a_grouped_convolution_reads_the_channels_of_its_group():
    tensors = te_workload.conv2d_nhwc(1, 4, 4, 4, 6, 1, groups=2)
    random = np.random.default_rng(0)
    x, w = (random.integers(-3, 4, [int(e) for e in t.shape]).astype("float32") for t in tensors[:2])
    parts = [x[..., 2 * g : 2 * g + 2] @ w[0, 0, :, 3 * g : 3 * g + 3] for g in range(2)]
    np.testing.assert_array_equal(run(tensors, [x, w]), np.concatenate(parts, axis=-1))
