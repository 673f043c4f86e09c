"""`topi.utils` and `topi.nn.utils`: numbers of expressions, indices, layouts, walks over schedules."""

import numpy as np
import pytest
import tessera
from tessera import te, tir, topi
from tessera.topi import utils
from tessera.topi.nn.utils import infer_pad, infer_pad3d, infer_stride


def test_constants_are_read_and_variables_stay():
    n = te.var("n")
    assert utils.get_const_int(tir.const(3) + 4) == 7 and utils.get_const_int(5) == 5
    assert utils.get_const_float(tir.const(0.5, "float32")) == 0.5
    assert utils.get_float_tuple([1, tir.const(0.25, "float32")]) == (1.0, 0.25)
    shape = utils.get_const_tuple([tir.const(2), n, tir.const(2) * 3])
    assert shape[0] == 2 and shape[1].same_as(n) and shape[2] == 6 and isinstance(shape[2], int)
    assert utils.equal_const_int(tir.const(0), 0) and not utils.equal_const_int(n, 0)
    assert utils.is_empty_shape([3, tir.const(0)]) and not utils.is_empty_shape([3, n])
    with pytest.raises(ValueError, match="n: int32 is no constant integer"):
        utils.get_const_int(n)


def test_numbers():
    assert utils.get_const_int(utils.prod([2, 3, 4])) == 24 and utils.get_const_int(utils.prod([])) == 1
    assert [utils.get_max_power2_factor(n, 8) for n in (12, 7, 64)] == [4, 1, 8]
    assert [utils.get_const_int(utils.ceil_div(tir.const(n), 4)) for n in (7, 8, 9)] == [2, 2, 3]
    assert utils.swap([1, 2, 3], 0) == [3, 2, 1]


def test_elements_are_numbered_row_by_row():
    for at in np.ndindex(2, 3, 4):
        number = utils.ravel_index(at, (2, 3, 4))
        assert number == np.ravel_multi_index(at, (2, 3, 4))
        assert utils.get_const_tuple(utils.unravel_index(tir.const(number), (2, 3, 4))) == at


@pytest.mark.parametrize(("b", "e", "s"), [(1, 8, 3), (0, 10, 1), (8, 1, -3), (9, -1, -1), (5, 5, 2)])
def test_indices_of_a_slice_know_their_number(b, e, s):
    chosen = list(range(10))[slice(b, None if e < 0 else e, s)]
    for i in range(10):
        numbers = [tir.const(v) for v in (b, e, s)]
        assert bool(utils.simplify(utils.within_index(*numbers, tir.const(i)))) == (i in chosen)
        if i in chosen:
            found = utils.make_idx(*numbers, tir.const(10), tir.const(i))
            assert utils.get_const_int(found) == chosen.index(i)


def test_a_matrix_of_constants_is_a_tensor():
    matrix, vector = np.arange(6, dtype="float32").reshape(2, 3), np.array([3, 1], "int32")
    out = te.compute((2, 3), lambda i, j: utils.const_matrix(matrix)[i, j] + utils.const_vector(vector)[i])
    s = te.create_schedule(out.op)
    function = tessera.build(s, [out], "llvm")
    found = tessera.nd.empty((2, 3), "float32")
    function(found)
    np.testing.assert_array_equal(found.numpy(), matrix + vector[:, None])


def test_shapes_follow_layouts():
    assert utils.get_shape((1, 32, 7, 8), "NCHW", "NCHW16c") == [1, 2, 7, 8, 16]
    assert utils.get_shape((1, 32, 7, 8), "NCHW", "NHWC") == [1, 7, 8, 32]
    assert utils.nchw_xc_layout("NCHW16c") and not utils.nchw_xc_layout("NCHW")
    assert utils.nchw_pack_layout("NCHW4n8c") and not utils.nchw_pack_layout("NCHW8c")
    assert utils.ncw_xc_layout("NCW4c") and utils.ncw_pack_layout("NCW2n4c") and not utils.ncw_xc_layout("NCW")


def test_the_target_is_asked_for_its_keys():
    with tessera.target.Target("cuda"):
        assert utils.is_target("cuda") and utils.is_target(["cpu", "gpu"]) and not utils.is_target("cpu")


def test_injective_operations_are_inlined_on_the_way_to_the_rest():
    x = te.placeholder((4, 4), name="x")
    total = topi.sum(x, 1)
    out = topi.nn.relu(topi.exp(total) + 1.0)
    s = te.create_schedule(out.op)
    seen = []
    utils.traverse_inline(s, out.op, seen.append)
    assert seen[0].same_as(total.op) and seen[-1].same_as(out.op) and len(seen) == 4
    assert str(tessera.lower(s, [x, out])).count("allocate(") == 1  # the sums


def test_padding_and_strides_are_read_off_shapes():
    data, padded = te.placeholder((1, 3, 8, 9)), te.placeholder((1, 3, 10, 13))
    assert infer_pad(data, padded) == (1, 2) and infer_pad(data, None) == (0, 0)
    volume, wide = te.placeholder((1, 4, 8, 9, 3)), te.placeholder((1, 6, 8, 13, 3))
    assert infer_pad3d(volume, wide, "NDHWC") == (1, 0, 2) and infer_pad3d(volume, None, "NDHWC") == (0, 0, 0)
    kernel, out = te.placeholder((4, 3, 3, 3)), te.placeholder((1, 4, 4, 11))
    assert infer_stride(padded, kernel, out) == (2, 1)
    assert infer_stride(padded, te.placeholder((4, 3, 10, 13)), te.placeholder((1, 4, 1, 1))) == (1, 1)
