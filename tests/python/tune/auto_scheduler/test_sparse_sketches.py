"""The sketch rules of sparse operators: one sketch, and every state sampled from it computes the right numbers."""

import numpy as np
import pytest
import tessera
from tessera import auto_scheduler, te, topi
from tessera.auto_scheduler import SketchPolicy
from tessera.auto_scheduler.cost_model import RandomModel
from tessera.topi.sparse.utils import random_bsr_matrix, sparse_sketch_rules

KEY = '["sparse_sketches"]'
SMALL = {"sample_init_min_population": 4, "evolutionary_search_population": 8}


def placeholders(data, matrix):
    parts = (matrix.data, matrix.indices.astype("int32"), matrix.indptr.astype("int32"))
    values = [data, *(np.ascontiguousarray(part) for part in parts)]
    return [te.placeholder(value.shape, str(value.dtype), f"p{i}") for i, value in enumerate(values)], values


def check(args, values, out, expected):
    auto_scheduler.workload_registry.register_workload_tensors(KEY, [*args, out], override=True)
    task = auto_scheduler.SearchTask(workload_key=KEY, target="llvm")
    policy = SketchPolicy(task, RandomModel(), SMALL, seed=3, verbose=0, init_search_callbacks=sparse_sketch_rules())
    assert len(policy.generate_sketches()) == 1
    states = policy.sample_initial_population()
    assert states
    for state in states[:3]:
        schedule, tensors = task.compute_dag.apply_steps_from_state(state)
        func = tessera.build(schedule, tensors, "llvm")
        result = tessera.nd.array(np.zeros(expected.shape, "float32"))
        given = {arg.op.name: tessera.nd.array(value) for arg, value in zip(args, values)}
        func(*(given.get(tensor.op.name, result) for tensor in tensors))
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_a_linear_layer_of_blocks(is_left, relu):
    np.random.seed(1)
    data = np.random.randn(6, 32).astype("float32")
    matrix = random_bsr_matrix(24, 32, 4, 2, 0.3, "float32")
    args, values = placeholders(data, matrix)
    out = topi.nn.sparse_dense(*args, sparse_lhs=is_left)
    expected = matrix.dot(data.T) if is_left else matrix.dot(data.T).T
    if relu:
        out, expected = topi.nn.relu(out), np.maximum(expected, 0)
    check(args, values, out, expected)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_a_convolution_of_one_pixel(layout):
    np.random.seed(2)
    data = np.random.randn(1, 6, 5, 16).astype("float32")
    matrix = random_bsr_matrix(8, 16, 4, 1, 0.4, "float32")
    expected = np.einsum("oc,nyxc->nyxo", np.asarray(matrix.todense()), data)
    if layout == "NCHW":
        data, expected = data.transpose(0, 3, 1, 2).copy(), expected.transpose(0, 3, 1, 2)
    args, values = placeholders(data, matrix)
    check(args, values, topi.nn.sparse_conv2d(*args, layout, 1), expected)
