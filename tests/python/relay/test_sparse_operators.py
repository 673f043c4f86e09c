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


def blocks_of(matrix, height, width):
    """data, indices and indptr of the blocks that are not zero."""
    tiles = matrix.reshape(matrix.shape[0] // height, height, -1, width).swapaxes(1, 2)
    used = tiles.any((2, 3))
    indptr = np.concatenate([[0], np.cumsum(used.sum(1))]).astype("int32")
    return [np.ascontiguousarray(tiles[used]), np.nonzero(used)[1].astype("int32"), indptr]


def csr_of(matrix):
    data, indices, indptr = blocks_of(matrix, 1, 1)
    return [data.reshape(-1), indices, indptr]


def constants(parts):
    return [relay.const(part) for part in parts]


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("block", [(1, 1), (2, 4)])
def test_linear_layer_with_blocks(rng, is_left, block):
    matrix, data = (
        np.kron(thin(rng, 3, 2) != 0, rng.random(block)).astype("float32"),
        rng.random((5, 2 * block[1])).astype("float32"),
    )
    parts = constants(blocks_of(matrix, *block))
    layer = relay.nn.sparse_dense(relay.var("x", shape=data.shape), parts, sparse_lhs=is_left)
    np.testing.assert_allclose(run(layer, data), matrix @ data.T if is_left else data @ matrix.T, 1e-5)


def test_linear_layer_with_padded_rows(rng):
    matrix, data = thin(rng, 4, 6), rng.random((3, 6)).astype("float32")
    values, indices, indptr = csr_of(matrix)
    width = int(np.diff(indptr).max())
    padded, columns = np.zeros((4, width), "float32"), np.zeros((4, width), "int32")
    for row in range(4):
        count = indptr[row + 1] - indptr[row]
        padded[row, :count], columns[row, :count] = (part[indptr[row] : indptr[row + 1]] for part in (values, indices))
    parts = constants([padded.reshape(-1), columns.reshape(-1), np.arange(5, dtype="int32") * width])
    op = tessera.ir.Op.get("nn.internal.sparse_dense_padded")
    attrs = tessera.ir.make_node("relay.attrs.SparseDenseAttrs", sparse_lhs=False)
    layer = relay.Call(op, [relay.var("x", shape=(3, 6)), *parts], attrs)
    np.testing.assert_allclose(run(layer, data), data @ matrix.T, 1e-5)


def test_transpose_of_a_sparse_matrix(rng):
    matrix = thin(rng, 5, 5)
    values, indices, indptr = csr_of(matrix)
    variables = [
        relay.var(name, shape=part.shape, dtype=str(part.dtype)) for name, part in zip("vip", (values, indices, indptr))
    ]
    body = relay.nn.sparse_transpose(variables).astuple()
    mod = tessera.IRModule.from_expr(relay.Function(variables, body))
    out = relay.create_executor("vm", mod=mod, target="llvm").evaluate()(values, indices, indptr)
    got_values, got_indices, got_indptr = (part.numpy() for part in out)
    dense = np.zeros_like(matrix)
    for row in range(5):
        at = slice(got_indptr[row], got_indptr[row + 1])
        dense[row, got_indices[at]] = got_values[at]
    np.testing.assert_array_equal(dense, matrix.T)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("kernel_size", [1, 3])
@pytest.mark.parametrize("block", [(1, 1), (2, 2)])
def test_convolution_with_a_sparse_weight(rng, layout, kernel_size, block):
    weight = thin(rng, 4, 2, kernel_size, kernel_size)
    data = rng.random((1, 2, 5, 5)).astype("float32")
    flat = (weight.transpose(0, 2, 3, 1) if layout == "NHWC" else weight).reshape(4, -1)
    flat = np.ascontiguousarray(flat)
    if flat.shape[1] % block[1]:
        pytest.skip("the blocks do not divide the columns")
    x = data.transpose(0, 2, 3, 1) if layout == "NHWC" else data
    parts = constants(csr_of(flat) if block == (1, 1) else blocks_of(flat, *block))
    conv = relay.nn.sparse_conv2d(relay.var("x", shape=x.shape), *parts, layout=layout, kernel_size=[kernel_size] * 2)
    plain = relay.nn.conv2d(relay.var("x", shape=data.shape), relay.const(weight), padding=kernel_size // 2)
    wanted = run(plain, data)
    wanted = wanted.transpose(0, 2, 3, 1) if layout == "NHWC" else wanted
    np.testing.assert_allclose(run(relay.nn.relu(conv), np.ascontiguousarray(x)), np.maximum(wanted, 0), 1e-4, 1e-5)


def test_indices_outside_read_nothing_outside(rng):
    """Whatever indptr and indices say, memory of others is not read: the run ends, and each value is one of the matrix's."""
    indptr = np.array([-(1 << 30), 1 << 30, 3], "int32")
    parts = [np.ones(3, "float32"), np.array([1 << 30, -5, 2], "int32"), indptr]
    layer = relay.nn.sparse_dense(relay.var("x", shape=(1, 4)), constants(parts))
    assert np.isfinite(run(layer, np.ones((1, 4), "float32"))).all()


def test_shapes_that_are_no_matrix():
    x, data = relay.var("x", shape=(3, 4)), relay.var("d", shape=(2, 2))
    i, p = relay.var("i", shape=(2,), dtype="int32"), relay.var("p", shape=(4,), dtype="int32")
    with pytest.raises(tessera.TVMError, match="sparse_data"):
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.nn.sparse_dense(x, [data, i, p])))


def test_linear_layer_of_few_bits(rng):
    data, weight = rng.integers(0, 4, (2, 32)).astype("int32"), rng.integers(0, 4, (3, 32)).astype("int32")
    x, w = relay.var("x", shape=(2, 32), dtype="int32"), relay.const(weight)
    plain = relay.nn.bitserial_dense(x, w, data_bits=2, weight_bits=2, unipolar=False)
    np.testing.assert_array_equal(run(plain, data), data @ weight.T)
    packed = relay.nn.bitpack(w, bits=2, pack_axis=1, bit_axis=1)
    again = relay.nn.bitserial_dense(x, packed, data_bits=2, weight_bits=2, unipolar=False)
    np.testing.assert_array_equal(run(again, data), data @ weight.T)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("unipolar", [False, True])
def test_convolution_of_few_bits(rng, layout, is_packed, unipolar):
    data = rng.integers(0, 4, (1, 32, 6, 6)).astype("int32")
    weight = rng.integers(0, 2, (4, 32, 3, 3)).astype("int32")
    nchw = layout == "NCHW"
    x = data if nchw else np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    w = relay.const(weight if nchw else np.ascontiguousarray(weight.transpose(2, 3, 1, 0)))
    if is_packed:
        axes = {"pack_axis": 1, "bit_axis": 0} if nchw else {"pack_axis": 2, "bit_axis": 2}
        w = relay.nn.bitpack(w, bits=1, **axes)
    options = {"strides": 2, "padding": 1, "activation_bits": 2, "weight_bits": 1, "unipolar": unipolar}
    conv = relay.nn.bitserial_conv2d(
        relay.var("x", shape=x.shape, dtype="int32"), w, data_layout=layout, kernel_layout="OIHW", **options
    )
    plain = relay.nn.conv2d(
        relay.var("x", shape=data.shape),
        relay.const((2 * weight - 1 if unipolar else weight).astype("float32")),
        strides=2,
        padding=1,
    )
    wanted = run(plain, data.astype("float32"))
    np.testing.assert_array_equal(run(conv, x), wanted if nchw else wanted.transpose(0, 2, 3, 1))


def test_bits_that_fill_no_word():
    x = relay.var("x", shape=(2, 20), dtype="int32")
    with pytest.raises(tessera.TVMError, match="20 elements do not fill words of uint32"):
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.nn.bitpack(x)))


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


@pytest.mark.parametrize("layout, kernel_size", [("NHWC", 1), ("NCHW", 3)])
def test_convolutions_with_many_zeros_become_sparse(rng, layout, kernel_size):
    from tessera.relay.data_dep_optimization import bsr_conv2d

    keep = (rng.random((8, 4, 1, 1)) < 0.2) * np.ones((8, 4, kernel_size, kernel_size))
    weight = (rng.random(keep.shape) * keep).astype("float32")
    nchw = layout == "NCHW"
    shape = (1, 4, 6, 6) if nchw else (1, 6, 6, 4)
    params = {"w": weight if nchw else np.ascontiguousarray(weight.transpose(2, 3, 1, 0))}
    options = {"data_layout": layout, "kernel_layout": "OIHW" if nchw else "HWIO", "padding": kernel_size // 2}
    x, w = relay.var("x", shape=shape), relay.var("w", shape=params["w"].shape)
    function = relay.Function([x, w], relay.nn.conv2d(x, w, **options))
    out, left = bsr_conv2d.convert(function, params, (1, 1), 0.5, layout, kernel_size)
    assert set(left) == {"w.data", "w.indices", "w.indptr"} and "nn.sparse_conv2d(" in str(out)
    data = rng.random(shape).astype("float32")

    def evaluate(function, values):
        mod = tessera.IRModule.from_expr(relay.build_module.bind_params_by_name(function, values))
        return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(data).numpy()

    wanted = evaluate(function, {"w": tessera.nd.array(params["w"])})
    np.testing.assert_allclose(evaluate(out, left), wanted, 1e-4, 1e-5)
    strided = relay.Function([x, w], relay.nn.conv2d(x, w, strides=2, **options))
    assert "nn.sparse_conv2d(" not in str(bsr_conv2d.convert(strided, params, (1, 1), 0.5, layout, kernel_size)[0])


def test_a_model_with_random_sparse_weights(rng):
    pytest.importorskip("scipy")
    from tessera.topi.sparse.utils import convert_model_dense_to_sparse

    x, w = relay.var("x", shape=(2, 32)), relay.var("w", shape=(16, 32))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    params = {"w": tessera.nd.array(rng.random((16, 32)).astype("float32"))}
    out, left = convert_model_dense_to_sparse(mod, params, random_params=True, bs_r=4, bs_c=1, sparsity=0.85)
    assert "nn.sparse_dense(" in str(out) and "w.data" in left


def test_named_weights_become_sparse_ones(rng):
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(6, 8), float32], %v: Tensor[(4, 6), float32]) {
      nn.dense(nn.dense(%x, %w), %v)
    }"""
    matrix, x, v = thin(rng, 6, 8), rng.random((3, 8)).astype("float32"), rng.random((4, 6)).astype("float32")
    parts = bsr_dense._blocks(matrix, 2, 1)
    shape = [*parts[0].shape, *parts[1].shape, *parts[2].shape]
    mod = relay.transform.DenseToSparse(["w"], [shape])(tessera.parser.fromtext(text))
    assert [param.name_hint for param in mod["main"].params] == ["x", "w.data", "w.indices", "w.indptr", "v"]
    out = relay.create_executor("graph", mod).evaluate()(x, *parts, v).numpy()
    np.testing.assert_allclose(out, x @ matrix.T @ v.T, 1e-5)
    assert tessera.ir.structural_equal(
        relay.transform.DenseToSparse(["nothing"], [shape])(tessera.parser.fromtext(text)),
        relay.transform.InferType()(tessera.parser.fromtext(text)),
    )


def test_named_convolutions_become_sparse_ones(rng):
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]) {
      nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
    }"""
    weight, x = thin(rng, 8, 4, 3, 3), rng.random((1, 4, 6, 6)).astype("float32")
    parts = bsr_dense._blocks(weight.reshape(8, -1), 1, 1)
    shape = [*parts[0].shape, *parts[1].shape, *parts[2].shape]
    before = tessera.parser.fromtext(text)
    after = relay.transform.Conv2dToSparse(["w"], [shape], "NCHW", 3)(before)
    assert "nn.sparse_conv2d(" in after.astext()
    wanted = relay.create_executor("graph", before).evaluate()(x, weight).numpy()
    found = relay.create_executor("graph", after).evaluate()(x, *parts).numpy()
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_a_sparse_weight_without_entries_has_gradients():
    """An extent of 0 is none that a reshape copies."""
    x = relay.var("x", shape=(3, 8))
    empty = (np.zeros(0, "float32"), np.zeros(0, "int32"), np.zeros(5, "int32"))
    layer = relay.transform.InferType()(
        tessera.IRModule.from_expr(relay.Function([x], relay.nn.sparse_dense(x, constants(empty))))
    )
    backward = relay.transform.gradient(layer["main"], mode="first_order")
    value, (found,) = relay.create_executor("debug").evaluate(backward)(np.ones((3, 8), "float32"))
    assert value.shape == (3, 4) and not value.numpy().any() and not found.numpy().any()
