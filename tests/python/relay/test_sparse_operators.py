"""Operators on sparse matrices and packed bits in Relay."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import sparse
from tessera.relay.data_dep_optimization import bsr_dense


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def thin(rng, *shape):
    return (rng.random(shape) * (rng.random(shape) < 0.3)).astype("float32")


def run(body, *inputs):
    mod = tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*inputs).numpy()


@pytest.mark.parametrize("is_left", [False, True])
def test_linear_layer_with_one_sparse_operand(rng, is_left):
    matrix, data = thin(rng, 6, 8), rng.random((3, 8)).astype("float32")
    layer = relay.nn.sparse_dense(relay.var("x", shape=(3, 8)), sparse.array(matrix), sparse_lhs=is_left)
    wanted = matrix @ data.T if is_left else data @ matrix.T
    np.testing.assert_allclose(run(relay.nn.relu(layer), data), wanted, 1e-5)


def test_sum_of_dense_and_sparse(rng):
    matrix, data = thin(rng, 4, 5), rng.random((4, 5)).astype("float32")
    np.testing.assert_allclose(
        run(relay.nn.sparse_add(relay.var("x", shape=(4, 5)), sparse.array(matrix)), data), data + matrix, 1e-6
    )


def test_an_operator_is_registered_once(rng):
    x, matrix = relay.var("x", shape=(4, 5)), sparse.array(thin(rng, 4, 5))
    first, second = relay.nn.sparse_add(x, matrix), relay.nn.sparse_add(x, matrix)
    assert first.op == second.op and len(first.op.arguments) == 4


def test_linear_layer_of_few_bits(rng):
    data, weight = rng.integers(0, 4, (2, 32)).astype("int32"), rng.integers(0, 4, (3, 32)).astype("int32")
    x, w = relay.var("x", shape=(2, 32), dtype="int32"), relay.const(weight)
    plain = relay.nn.bitserial_dense(x, w, data_bits=2, weight_bits=2, unipolar=False)
    np.testing.assert_array_equal(run(plain, data), data @ weight.T)
    packed = relay.nn.bitpack(w, bits=2, pack_axis=1, bit_axis=1)
    again = relay.nn.bitserial_dense(x, packed, data_bits=2, weight_bits=2, unipolar=False)
    np.testing.assert_array_equal(run(again, data), data @ weight.T)


def test_layers_with_many_zeros_become_sparse(rng):
    mask = np.kron(rng.random((4, 4)) < 0.25, np.ones((2, 2)))
    params = {"w": (rng.random((8, 8)) * mask).astype("float32"), "v": rng.random((4, 8)).astype("float32")}
    x, w, v = relay.var("x", shape=(2, 8)), relay.var("w", shape=(8, 8)), relay.var("v", shape=(4, 8))
    function = relay.Function([x, w, v], relay.nn.dense(relay.nn.dense(x, w), v))
    out, left = bsr_dense.convert(function, params, (2, 2), 0.5)
    assert set(left) == {"w.data", "w.indices", "w.indptr", "v"} and left["w.data"].shape[1:] == (2, 2)
    text = str(out)
    assert text.count("nn.sparse_dense(") == 1 and text.count("nn.dense(") == 1
    data = rng.random((2, 8)).astype("float32")
    bound = relay.build_module.bind_params_by_name(out, left)
    found = (
        relay.create_executor("graph", mod=tessera.IRModule.from_expr(bound), target="llvm").evaluate()(data).numpy()
    )
    np.testing.assert_allclose(found, data @ params["w"].T @ params["v"].T, 1e-4)
