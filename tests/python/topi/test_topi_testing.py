"""NumPy references of `topi.testing` in v0.10's layouts agree with TOPI; helpers choose by target.

The functions behind them are also what tests/python/op compares every operator with.
"""

import numpy as np
import pytest
import tessera
from tessera import te, topi
from tessera.topi import testing

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype("float32")


def run(compute, *inputs):
    """What a TOPI function computes of arrays, on this machine."""
    tensors = [te.placeholder(x.shape, str(x.dtype), f"x{i}") for i, x in enumerate(inputs)]
    out = compute(*tensors)
    with tessera.target.Target("llvm"):
        s = testing.get_injective_schedule("llvm")([out])
        function = tessera.build(s, [*tensors, out], "llvm")
    result = tessera.nd.empty([int(n) for n in out.shape], out.dtype)
    function(*map(tessera.nd.array, inputs), result)
    return result.numpy()


@pytest.mark.parametrize("padding", [0, 1, (1, 0), (1, 0, 2, 1), "SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, (2, 1)])
def test_conv2d_in_every_layout_is_topis(stride, padding):
    data, weight = normal(2, 4, 7, 6), normal(5, 4, 3, 2)
    wanted = run(lambda x, w: topi.nn.conv2d(x, w, stride, padding, 1), data, weight)
    found = testing.conv2d_nchw_python(data, weight, stride, padding)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    nhwc = testing.conv2d_nhwc_python(data.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0), stride, padding)
    np.testing.assert_allclose(nhwc.transpose(0, 3, 1, 2), found, rtol=1e-5, atol=1e-5)
    hwcn = testing.conv2d_hwcn_python(data.transpose(2, 3, 1, 0), weight.transpose(2, 3, 1, 0), stride, padding)
    np.testing.assert_allclose(hwcn.transpose(3, 2, 0, 1), found, rtol=1e-5, atol=1e-5)


def test_a_dilated_weight_is_a_dilated_convolution():
    data, weight = normal(1, 3, 9), normal(2, 3, 3)
    found = testing.conv1d_ncw_python(data, weight, 1, 1, 2)
    by_hand = testing.conv1d_ncw_python(data, testing.dilate_python(weight, (1, 1, 2)), 1, 1, 1)
    np.testing.assert_allclose(found, by_hand, rtol=1e-5)
    np.testing.assert_array_equal(testing.dilate_np(weight, 2), testing.dilate_python(weight, (1, 1, 2)))
    with pytest.raises(ValueError, match="2 strides for 3 dimensions"):
        testing.dilate_python(weight, (1, 1))


def test_groups_are_convolutions_of_their_own():
    data, weight = normal(1, 4, 8), normal(6, 2, 3)
    parts = [testing.conv1d_ncw_python(data[:, 2 * g : 2 * g + 2], weight[3 * g : 3 * g + 3], 1, 0, 1) for g in (0, 1)]
    whole = testing.group_conv1d_ncw_python(data, weight, 1, 0, 1, 2)
    np.testing.assert_allclose(whole, np.concatenate(parts, 1), rtol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID", (1, 1)])
def test_depthwise_convolutions_have_a_filter_a_channel(padding):
    data, weight = normal(2, 4, 6, 5), normal(4, 2, 3, 3)
    found = testing.depthwise_conv2d_python_nchw(data, weight, (2, 1), padding)
    for channel in range(4):
        one = testing.conv2d_nchw_python(
            data[:, channel : channel + 1], weight[channel].reshape(2, 1, 3, 3), (2, 1), padding
        )
        np.testing.assert_allclose(found[:, 2 * channel : 2 * channel + 2], one, rtol=1e-5, atol=1e-5)
    nhwc = testing.depthwise_conv2d_python_nhwc(
        data.transpose(0, 2, 3, 1), weight.transpose(2, 3, 0, 1), (2, 1), padding
    )
    np.testing.assert_allclose(nhwc.transpose(0, 3, 1, 2), found, rtol=1e-5, atol=1e-5)
    blocked = data.reshape(2, 2, 2, 6, 5).transpose(0, 1, 3, 4, 2)
    filters = weight[:, :1].reshape(2, 2, 1, 1, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    nchwc = testing.depthwise_conv2d_python_nchwc(blocked, filters, (2, 1), padding)
    plain = testing.depthwise_conv2d_python_nchw(data, weight[:, :1], (2, 1), padding)
    np.testing.assert_allclose(nchwc.transpose(0, 1, 4, 2, 3).reshape(plain.shape), plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(spatial):
    """<conv(x, w), y> = <x, conv_transpose(y, w)>."""
    forward = {1: testing.conv1d_ncw_python, 2: testing.conv2d_nchw_python, 3: testing.conv3d_ncdhw_python}[spatial]
    back = {
        1: testing.conv1d_transpose_ncw_python,
        2: testing.conv2d_transpose_nchw_python,
        3: testing.conv3d_transpose_ncdhw_python,
    }[spatial]
    x, w = normal(2, 3, *[7] * spatial), normal(4, 3, *[3] * spatial)
    out = forward(x, w, 2, 1, *([1] if spatial == 1 else []))
    y = normal(*out.shape)
    np.testing.assert_allclose((out * y).sum(), (x * back(y, w, 2, 1, 0)).sum(), rtol=1e-3)


@pytest.mark.parametrize("layout", ["HWIO", "HWOI", "OIHW", "IOHW"])
def test_a_transposed_convolution_takes_any_order_of_its_weight(layout):
    data, weight = normal(1, 5, 4, 3), normal(3, 2, 3, 3)
    order = ["IOHW".index(letter) for letter in layout]
    found = testing.conv2d_transpose_nhwc_python(data, weight.transpose(order), layout, (2, 2), (1, 1), (1, 1))
    wanted = testing.conv2d_transpose_nchw_python(data.transpose(0, 3, 1, 2), weight, (2, 2), (1, 1), (1, 1))
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_gradient_of_a_weight_is_that_of_finite_differences(layout):
    x, w = normal(1, 2, 5, 5), normal(3, 2, 3, 3)
    y = normal(*testing.conv2d_nchw_python(x, w, 1, 1).shape)
    grad = testing.conv2d_backward_weight_python(y, x, (3, 3), (1, 1), (1, 1)).astype("float64")
    moved = w.copy()
    moved[1, 0, 2, 1] += 1
    change = ((testing.conv2d_nchw_python(x, moved, 1, 1) - testing.conv2d_nchw_python(x, w, 1, 1)) * y).sum()
    np.testing.assert_allclose(grad[1, 0, 2, 1], change, rtol=1e-3)
    if layout == "NHWC":
        last = testing.conv2d_backward_weight_python(
            y.transpose(0, 2, 3, 1), x.transpose(0, 2, 3, 1), (3, 3), (1, 1), (1, 1), "NHWC"
        )
        np.testing.assert_allclose(last, grad.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="3 channels, not 4"):
        testing.conv2d_backward_weight_python(y, x, (3, 3), (1, 1), (1, 1), channels=4)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pools_are_topis(kind):
    data = normal(1, 2, 7, 6)
    for ceil in (False, True):
        wanted = run(lambda x: topi.nn.pool2d(x, (3, 2), (2, 2), (1, 1), (1, 0, 1, 1), kind, ceil), data)
        found = testing.poolnd_python(data, (3, 2), (2, 2), (1, 1), (1, 0), (1, 1), kind, True, ceil)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    last = testing.poolnd_python(data.transpose(0, 2, 3, 1), 2, 2, 1, 0, 0, kind, layout="NHWC")
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), testing.poolnd_python(data, 2, 2, 1, 0, 0, kind))
    np.testing.assert_allclose(
        testing.adaptive_pool(data, (3, 2), kind, "NCHW"),
        run(lambda x: topi.nn.adaptive_pool(x, (3, 2), kind), data),
        rtol=1e-5,
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_the_gradient_of_a_pool_gives_all_of_it_back(kind):
    data, grad = normal(1, 2, 6, 6), normal(1, 2, 3, 3)
    back = testing.pool_grad_nchw(data, grad, (2, 2), (2, 2), (0, 0, 0, 0), kind, False)
    np.testing.assert_allclose(back.sum(), grad.sum(), rtol=1e-4)
    assert np.count_nonzero(back) == (18 if kind == "max" else 72)


def test_images_grow_by_a_scale():
    data = np.arange(6, dtype="float32").reshape(1, 1, 2, 3)
    np.testing.assert_array_equal(
        testing.resize2d_python(data, (2, 1), "NCHW", "nearest_neighbor", "asymmetric")[0, 0],
        np.repeat(data[0, 0], 2, 0),
    )
    np.testing.assert_allclose(
        testing.resize1d_python(data[0], (5 / 3,), "NCW", "linear", "align_corners")[0, 0], [0, 0.5, 1, 1.5, 2]
    )
    assert testing.resize3d_python(data[None], (1, 2, 2), method="cubic").shape == (1, 1, 1, 4, 6)
    with pytest.raises(ValueError, match="no coordinate_transformation_mode 'sideways'"):
        testing.resize1d_python(data[0], (2,), coordinate_transformation_mode="sideways")


def test_whole_crops_and_identity_grids_change_nothing():
    data = normal(2, 3, 4, 5)
    whole = np.array([[0, 0, 1, 1]] * 2, "float32")
    np.testing.assert_allclose(
        testing.crop_and_resize_python(data, whole, [1, 0], (4, 5), "NCHW"), data[[1, 0]], atol=1e-5
    )
    grid = testing.affine_grid_python(np.array([[[1, 0, 0], [0, 1, 0]]] * 2, "float32"), (4, 5))
    np.testing.assert_allclose(testing.grid_sample_python(data, grid), data, atol=1e-5)


def test_slices_and_indices_are_numpys():
    data = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(testing.strided_slice_python(data, [1, 5], [4, 0], [2, -2]), data[1:4:2, 5:0:-2])
    np.testing.assert_array_equal(testing.strided_slice_python(data, [1], [2], [1], "size", [1]), data[:, 1:3])
    changed = testing.strided_set_python(data, 0, [0], [4], [2])
    assert changed[::2].sum() == 0 and (changed[1::2] == data[1::2]).all()
    np.testing.assert_array_equal(testing.slice_axis_python(data, 1, 2), data[:, 2:])
    np.testing.assert_array_equal(
        testing.gather_python(data, 1, np.array([[0], [1], [2], [3]])).ravel(), [0, 7, 14, 21]
    )
    np.testing.assert_array_equal(testing.gather_nd_python(data, np.array([[0, 1], [2, 3]])), [2, 9])
    np.testing.assert_array_equal(testing.one_hot(np.array([2, 0]), 5, 1, 3, -1, "int32"), [[1, 1, 5], [5, 1, 1]])
    found = testing.searchsorted_ref(np.array([1, 3, 3, 5]), np.array([[3, 0], [9, 1]]), True, "int32")
    np.testing.assert_array_equal(found, [[3, 0], [4, 1]])


def test_space_goes_to_depth_and_batch_and_back():
    data = normal(2, 4, 6, 4)
    np.testing.assert_array_equal(testing.depth_to_space_python(testing.space_to_depth_python(data, 2), 2), data)
    there = testing.space_to_batch_nd_python(data, (2, 3), (0, 0), (0, 0))
    np.testing.assert_array_equal(testing.batch_to_space_nd_python(there, (2, 3), (0, 0), (0, 0)), data)


def test_products_and_norms_are_their_formulas():
    x, y = normal(2, 3, 4), normal(1, 5, 4)
    np.testing.assert_allclose(testing.batch_matmul(x, y), x @ y.transpose(0, 2, 1), rtol=1e-5)
    found = testing.dense(x[0], y[0], np.ones(5, "float32"), use_bias=True, use_relu=True)
    np.testing.assert_allclose(found, np.maximum(x[0] @ y[0].T + 1, 0), rtol=1e-5)
    np.testing.assert_allclose(np.exp(testing.log_softmax_python(x)), testing.softmax_python(x), rtol=1e-5)
    np.testing.assert_allclose(testing.softmax_python(x).sum(1), np.ones((2, 4)), rtol=1e-5)


def test_an_lstm_of_one_step_is_its_gates():
    x, wi, wh = normal(1, 2, 3), normal(16, 3), normal(16, 4)
    h, c = testing.lstm_python(x, wi, wh)
    i, f, g, o = np.split(x[0] @ wi.T, 4, 1)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    np.testing.assert_allclose(c[0], sigmoid(i) * np.tanh(g), rtol=1e-5)
    np.testing.assert_allclose(h[0], sigmoid(o) * np.tanh(c[0]), rtol=1e-5)
    both = normal(2, 2, 3)
    backwards = testing.lstm_python(both, wi, wh, reverse=True)[0]
    np.testing.assert_allclose(backwards, testing.lstm_python(both[::-1], wi, wh)[0], rtol=1e-5)


def test_a_map_is_asked_by_the_keys_of_the_target():
    table = {"generic": 0, "cpu": 1, "gpu": 2, "arm_cpu": 3}
    found = [testing.dispatch(target, table) for target in ("llvm", "cuda", "llvm -device=arm_cpu", "c")]
    assert found == [1, 2, 3, 1]
    assert testing.dispatch("cuda", {"generic": 0}) == 0


def test_a_compute_is_compared_with_numpy():
    x = normal(3, 4)
    schedule = testing.get_elemwise_schedule("llvm")
    testing.compare_numpy_tvm([x], np.tanh(x), "llvm", tessera.cpu(), topi.tanh, schedule)
    with pytest.raises(AssertionError):
        testing.compare_numpy_tvm([x], np.sin(x), "llvm", tessera.cpu(), topi.tanh, schedule)
    compute, schedule = testing.get_conv2d_nchw_implement("llvm")
    data, weight = normal(1, 2, 5, 5), normal(3, 2, 3, 3)
    wanted = testing.conv2d_nchw_python(data, weight, 1, 1)
    testing.compare_numpy_tvm(
        [data, weight], wanted, "llvm", tessera.cpu(), lambda x, w: compute(x, w, 1, 1, 1), schedule
    )
    rows = testing.get_reduce_schedule("llvm")
    testing.compare_numpy_tvm([x], x.sum(1), "llvm", tessera.cpu(), lambda t: topi.sum(t, 1), rows)


def test_volumes_by_each_method():
    data = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for method, function in (
        ("nearest_neighbor", topi.testing.resize3d_nearest),
        ("linear", topi.testing.resize3d_linear),
        ("cubic", topi.testing.resize3d_cubic),
    ):
        whole = topi.testing.resize3d_ncdhw(data[None, None], (2, 2, 2), method, "half_pixel")
        np.testing.assert_allclose(function(data, (2, 2, 2), "half_pixel"), whole[0, 0], 1e-6)
    assert topi.testing.get_index(3, 2, 4, "asymmetric") == 1


def test_windows_of_padded_data():
    padded = topi.testing.pad_tensor(np.ones((1, 1, 2, 2)), -1, (1, 0), (0, 1), "float32")
    assert padded.shape == (1, 1, 3, 3) and padded.sum() == 4 - 5
    window = topi.testing.get_slice(2, padded, (0, 1), (2, 2), (1, 1), (1, 1))
    assert padded[window].shape == (1, 1, 2, 2)
