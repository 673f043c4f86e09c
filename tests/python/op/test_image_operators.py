"""Operators on images, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from nn_checks import check, tensor, type_of
from tessera import relay
from tessera.relay import image, nn

RESIZE = {1: image.resize1d, 2: image.resize2d, 3: image.resize3d}
EXTENTS = {1: (7,), 2: (5, 6), 3: (3, 4, 5)}
SIZES = {1: (11,), 2: (9, 4), 3: (5, 3, 7)}
MODES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_resize(n, mode, method):
    x = tensor(1, 2, *EXTENTS[n])
    check(lambda v: RESIZE[n](v, SIZES[n], method=method, coordinate_transformation_mode=mode), x, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rounding", ["round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("mode", MODES)
def test_resize_rounds_as_told(rounding, mode):
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": mode, "rounding_method": rounding}
    check(lambda v: image.resize2d(v, (8, 3), **options), tensor(1, 1, 4, 6))


def test_resize_of_a_region():
    x = tensor(1, 2, 5, 6)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    for method in ("nearest_neighbor", "linear", "cubic"):
        check(
            lambda v, method=method: image.resize2d(v, (4, 5), (0.2, 0.1, 0.7, 1.2), method=method, **options),
            x,
            atol=1e-4,
        )
    check(lambda v: image.resize2d(v, (1, 1), (0.2, 0.1, 0.7, 0.9), **options), x)


def test_resize_with_other_splines():
    x = tensor(1, 1, 5, 6)
    check(lambda v: image.resize2d(v, (9, 10), method="cubic", cubic_alpha=-0.75), x, atol=1e-4)
    check(lambda v: image.resize2d(v, (9, 10), method="cubic", cubic_exclude=1), x, atol=1e-4)


def test_resize_in_other_layouts_and_types():
    check(lambda v: image.resize2d(v, (7, 3), layout="NHWC"), tensor(1, 4, 5, 3))
    check(lambda v: image.resize2d(v, (7, 3), layout="NCHW4c"), tensor(1, 2, 4, 5, 4))
    check(lambda v: image.resize3d(v, (3, 7, 3), layout="NDHWC"), tensor(1, 2, 4, 5, 3))
    check(lambda v: image.resize2d(v, (8, 8), method="nearest_neighbor"), tensor(1, 2, 4, 4, dtype="int32"))
    check(lambda v: image.resize2d(v, (7, 3), out_dtype="float64"), tensor(1, 2, 4, 5))
    check(lambda v: image.resize2d(v, (7, 3)), tensor(1, 2, 4, 5, dtype="float64"), rtol=1e-10)
    check(lambda v: image.resize2d(v, relay.const(np.array([7, 3]))), tensor(1, 2, 4, 5))


@pytest.mark.parametrize("layout, shape", [("NCHW", (2, 3, 5, 6)), ("NHWC", (2, 5, 6, 3))])
@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
def test_crop_and_resize(layout, shape, method):
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.9, 0.1, 0.2, 1.3]], "float32")
    indices = np.array([1, 0, 1], "int32")
    check(
        lambda d, b, i: image.crop_and_resize(d, b, i, (4, 3), layout, method, extrapolation_value=2.5),
        tensor(*shape),
        boxes,
        indices,
    )


@pytest.mark.parametrize("method", ["nearest_neighbor", "bilinear", "bicubic"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_upsampling(method, align_corners):
    for layout, shape in (("NCHW", (1, 2, 4, 5)), ("NHWC", (1, 4, 5, 2))):
        check(
            lambda v, layout=layout: nn.upsampling(v, 2, 1.5, layout, method, align_corners), tensor(*shape), atol=1e-4
        )


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("method", ["nearest_neighbor", "trilinear"])
def test_upsampling_of_volumes(mode, method):
    check(
        lambda v: nn.upsampling3d(v, 2, 1.5, 2, method=method, coordinate_transformation_mode=mode),
        tensor(1, 2, 2, 4, 3),
        atol=1e-4,
    )


X = relay.var("x", shape=(2, 6, 4, 4))
BAD = {
    "one size": (lambda: image.resize2d(X, (4,)), "size must have 2 values"),
    "another rank": (lambda: image.resize1d(X, (4,)), "its layout is NCW"),
    "boxes of three": (
        lambda: image.crop_and_resize(X, relay.var("b", shape=(2, 3)), relay.var("i", shape=(2,)), (2, 2), "NCHW"),
        "boxes must be",
    ),
    "indices of another number": (
        lambda: image.crop_and_resize(X, relay.var("b", shape=(2, 4)), relay.var("i", shape=(3,)), (2, 2), "NCHW"),
        "one value for each of the 2 boxes",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_call_is_rejected(name):
    build, message = BAD[name]
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        type_of(build())


def test_affine_grid():
    check(lambda v: image.affine_grid(v, (4, 5)), tensor(3, 2, 3))


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(method, padding_mode, align_corners):
    options = {"method": method, "padding_mode": padding_mode, "align_corners": align_corners}
    grid = tensor(2, 2, 3, 4, low=-1.7, high=1.7)
    check(lambda d, g: image.grid_sample(d, g, **options), tensor(2, 3, 5, 4), grid, atol=1e-4)
    if method != "bicubic":
        grid = tensor(1, 3, 2, 3, 2, low=-1.7, high=1.7)
        check(lambda d, g: image.grid_sample(d, g, layout="NCDHW", **options), tensor(1, 2, 3, 5, 4), grid, atol=1e-4)


def test_morphological_dilation():
    check(lambda d, w: image.dilation2d(d, w), tensor(1, 3, 6, 5), tensor(3, 3, 2))
    options = {"strides": 2, "padding": 1, "dilations": (2, 1)}
    check(lambda d, w: image.dilation2d(d, w, **options), tensor(1, 3, 6, 5), tensor(3, 2, 3))
    check(
        lambda d, w: image.dilation2d(d, w, data_layout="NHWC", kernel_layout="HWI"),
        tensor(1, 6, 5, 3),
        tensor(3, 2, 3),
    )


BAD_SAMPLES = {
    "matrices": (lambda: image.affine_grid(relay.var("m", shape=(1, 3, 3)), (4, 4)), "must be matrices"),
    "small target": (lambda: image.affine_grid(relay.var("m", shape=(1, 2, 3)), (1, 4)), "at least 2 by 2"),
    "grid of three": (
        lambda: image.grid_sample(X, relay.var("g", shape=(2, 3, 4, 4))),
        "grid must be \\(batch, 2, ...\\) of 4 dimensions",
    ),
    "filters of other channels": (
        lambda: image.dilation2d(X, relay.var("w", shape=(5, 2, 2))),
        "data has 6 channels, but weight 5",
    ),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_a_wrong_sample_is_rejected(name):
    build, message = BAD_SAMPLES[name]
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        type_of(build())


@pytest.mark.parametrize("points", [(3, 5), (17, 4), (4, 25)])
def test_points_between_pixels_are_found_once_for_all_channels(points):
    """Points far outside, and extents that fill no vectors; against the sum that defines it."""
    rng = np.random.default_rng(3)
    data = rng.standard_normal((2, 5, 6, 7)).astype("float32")
    grid = rng.uniform(-1.6, 1.6, (2, 2, *points)).astype("float32")
    x, g = relay.var("x", shape=data.shape), relay.var("g", shape=grid.shape)
    out = relay.image.grid_sample(x, g, padding_mode="zeros", align_corners=False)
    got = relay.create_executor("graph", mod=tessera.IRModule.from_expr(relay.Function([x, g], out))).evaluate()(
        data, grid
    )
    across, down = ((grid[:, i].astype("float64") + 1) * size / 2 - 0.5 for i, size in enumerate((7, 6)))
    want = np.zeros((2, 5, *points))
    for dy, dx in np.ndindex(2, 2):
        row, column = np.floor(down).astype(int) + dy, np.floor(across).astype(int) + dx
        weight = (
            (1 - np.abs(down - row))
            * (1 - np.abs(across - column))
            * ((row >= 0) & (row < 6) & (column >= 0) & (column < 7))
        )
        for n in range(2):
            want[n] += data[n][:, row[n].clip(0, 5), column[n].clip(0, 6)] * weight[n]
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)
