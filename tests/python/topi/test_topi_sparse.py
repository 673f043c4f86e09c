"""Sparse matrices as tensor expressions: CSR and BSR against NumPy."""

import numpy as np
import pytest
import tessera
from tessera import te, topi
from tessera.contrib import sparse
from tessera.topi.testing import compare_numpy_tvm


def csr(matrix):
    array = sparse.array(matrix)
    return [array.data.numpy(), array.indices.numpy(), array.indptr.numpy()]


def bsr(matrix, height, width):
    """(data, indices, indptr) of the blocks that are not zero."""
    rows, columns = matrix.shape[0] // height, matrix.shape[1] // width
    blocks = matrix.reshape(rows, height, columns, width).swapaxes(1, 2)
    data, indices, indptr = [], [], [0]
    for row in blocks:
        used = [j for j in range(columns) if row[j].any()]
        data += [row[j] for j in used]
        indices += used
        indptr.append(len(indices))
    return [np.array(data), np.array(indices, "int32"), np.array(indptr, "int32")]


def thin(rng, *shape):
    return (rng.random(shape) * (rng.random(shape) < 0.3)).astype("float32")


def blocks(rng, rows, columns, height, width):
    mask = np.kron(rng.random((rows // height, columns // width)) < 0.4, np.ones((height, width)))
    return (rng.random((rows, columns)) * mask).astype("float32")


def check(inputs, wanted, compute):
    compare_numpy_tvm(inputs, wanted, "llvm", tessera.cpu(), compute, topi.generic.schedule_extern)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("block", [None, (2, 1), (4, 2)])
def test_linear_layer_with_one_sparse_operand(rng, block, is_left):
    dense = rng.random((3, 8)).astype("float32")
    matrix = thin(rng, 12, 8) if block is None else blocks(rng, 12, 8, *block)
    parts = csr(matrix) if block is None else bsr(matrix, *block)
    wanted = matrix @ dense.T if is_left else dense @ matrix.T
    check([dense, *parts], wanted, lambda *tensors: topi.nn.sparse_dense(*tensors, sparse_lhs=is_left))


def test_transpose_of_a_square_matrix(rng):
    matrix = thin(rng, 9, 9)
    tensors = [te.placeholder(part.shape, part.dtype) for part in csr(matrix)]
    outs = topi.nn.sparse_transpose(*tensors)
    function = tessera.build(te.create_schedule([out.op for out in outs]), [*tensors, *outs], "llvm")
    results = [tessera.nd.empty(part.shape, part.dtype) for part in csr(matrix)]
    function(*map(tessera.nd.array, csr(matrix)), *results)
    for result, wanted in zip(results, csr(matrix.T)):
        np.testing.assert_array_equal(result.numpy(), wanted)


def test_sum_of_dense_and_sparse(rng):
    dense, matrix = rng.random((5, 7)).astype("float32"), thin(rng, 5, 7)
    check([dense, *csr(matrix)], dense + matrix, topi.nn.sparse_add)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("block", [None, (4, 2)])
def test_convolution_with_a_sparse_weight(rng, layout, size, block):
    weight = thin(rng, 8, size * size * 4) if block is None else blocks(rng, 8, size * size * 4, *block)
    data = rng.random((1, 5, 6, 4)).astype("float32")
    if layout == "NHWC":  # columns are (row, column, channel)
        filters = weight.reshape(8, size, size, 4).transpose(1, 2, 3, 0)
    else:  # columns are (channel, row, column)
        filters = weight.reshape(8, 4, size, size).transpose(2, 3, 1, 0)
    wanted = topi.testing.conv2d_nhwc_python(data, filters, 1, "SAME")
    if layout == "NCHW":
        data, wanted = data.transpose(0, 3, 1, 2).copy(), wanted.transpose(0, 3, 1, 2)
    parts = csr(weight) if block is None else bsr(weight, *block)
    check([data, *parts], wanted, lambda *tensors: topi.nn.sparse_conv2d(*tensors, layout=layout, kernel_size=size))


def run_csr(compute, matrix, others, out_shape):
    """Compiles `compute(A, *others)` for a placeholder A in CSR whose number of entries is a variable."""
    count = te.var("count")
    a = sparse.placeholder(matrix.shape, count, "float32", name="A")
    tensors = [te.placeholder(other.shape, name=f"x{i}") for i, other in enumerate(others)]
    out = compute(a, *tensors)
    schedule = topi.generic.schedule_extern([out])
    function = tessera.build(schedule, [a.data, a.indices, a.indptr, *tensors, out], "llvm")
    array = sparse.array(matrix)
    result = tessera.nd.empty(out_shape)
    function(array.data, array.indices, array.indptr, *map(tessera.nd.array, others), result)
    return result.numpy()


@pytest.mark.parametrize("has_bias", [False, True])
def test_csr_placeholders_times_vectors_and_matrices(rng, has_bias):
    matrix = thin(rng, 6, 5)
    column, wide = rng.random((5, 1)).astype("float32"), rng.random((5, 3)).astype("float32")
    bias = [rng.random(6).astype("float32")] if has_bias else []
    add = bias[0][:, None] if has_bias else 0
    np.testing.assert_allclose(run_csr(topi.sparse.csrmv, matrix, [column, *bias], (6, 1)), matrix @ column + add, 1e-5)
    np.testing.assert_allclose(run_csr(topi.sparse.csrmm, matrix, [wide, *bias], (6, 3)), matrix @ wide + add, 1e-5)


@pytest.mark.parametrize("is_weight", [False, True])
def test_dense_of_a_csr_placeholder(rng, is_weight):
    matrix, dense, bias = thin(rng, 6, 5), rng.random((4, 5)).astype("float32"), rng.random(6).astype("float32")
    if is_weight:
        out = run_csr(lambda w, x, b: topi.sparse.dense(x, w, b), matrix, [dense, bias], (4, 6))
        np.testing.assert_allclose(out, dense @ matrix.T + bias, 1e-5)
    else:
        out = run_csr(lambda x, w, b: topi.sparse.dense(x, w, b), matrix, [dense, bias[:4]], (6, 4))
        np.testing.assert_allclose(out, matrix @ dense.T + bias[:4], 1e-5)


def test_two_dense_operands_are_for_topi_nn():
    x, w = te.placeholder((2, 3)), te.placeholder((4, 3))
    with pytest.raises(ValueError, match=r"takes one sparse operand; topi\.nn\.dense takes two dense ones"):
        topi.sparse.dense(x, w)
