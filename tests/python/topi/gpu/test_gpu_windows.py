"""Windows whose channels lie together: depthwise convolutions and pooling, channels last, by vectors of channels."""

import numpy as np
import pytest
from gpu_checks import DEVICES, build, plan, random, rules, run, source, var
from tessera import relay

WINDOWS = "windows_by_threads"


def depthwise(images, size, channels, kernel, stride=1, padding=1, dilation=1, dtype="float16"):
    x, w = var("x", images, size, size, channels, dtype=dtype), var("w", kernel, kernel, channels, 1, dtype=dtype)
    return relay.nn.conv2d(
        x,
        w,
        strides=stride,
        padding=padding,
        dilation=dilation,
        channels=channels,
        groups=channels,
        kernel_size=kernel,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


def pool(images, size, channels, kernel, stride, padding, dtype="float16"):
    x = var("x", images, size, size, channels, dtype=dtype)
    return relay.nn.max_pool2d(x, kernel, stride, padding=padding, layout="NHWC")


def windows_of(x, kernel, stride, padding, dilation, fill):
    """All elements of each window, in an axis before the channels."""
    x = np.pad(x, [(0, 0), (padding, padding), (padding, padding), (0, 0)], constant_values=fill)
    extent = (x.shape[1] - dilation * (kernel - 1) - 1) // stride + 1
    reach = stride * (extent - 1) + 1
    parts = [
        x[:, i * dilation :, j * dilation :][:, :reach:stride, :reach:stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return np.stack(parts, -2)


# ---- what is emitted -------------------------------------------------------------------------------------------------


def test_a_thread_has_some_channels_of_neighbouring_positions():
    for dtype, lanes in (("float16", 8), ("float32", 4), ("bfloat16", 8)):
        lib = build(depthwise(32, 56, 144, 3, dtype=dtype), "cuda -arch=sm_90a")
        assert rules(lib) == [WINDOWS] and plan(lib, WINDOWS) == {"span": 4, "lanes": lanes, "threads": 128}
    assert "*(const tsr_vec<half, 8>*)(" in source(build(depthwise(32, 56, 144, 3), "cuda -arch=sm_90a"))


def test_small_images_have_threads_of_single_positions():
    assert plan(build(depthwise(1, 7, 960, 3), "cuda -arch=sm_90a"), WINDOWS)["span"] == 1


def test_channels_that_do_not_lie_together_are_left_to_others():
    assert WINDOWS not in rules(build(depthwise(32, 56, 145, 3), "cuda -arch=sm_90a"))
    x, w = var("x", 32, 144, 56, 56), var("w", 144, 1, 3, 3)
    channels_first = relay.nn.conv2d(x, w, padding=1, channels=144, groups=144, kernel_size=3)
    assert WINDOWS not in rules(build(channels_first, "cuda -arch=sm_90a"))


def test_a_plan_that_does_not_fit_is_reported(capfd):
    lib = build(depthwise(32, 56, 144, 3), "cuda -arch=sm_90a", windows_by_threads={"lanes": 16})
    assert WINDOWS not in rules(lib) and "the plan of a reduction of windows does not fit" in capfd.readouterr().err


# ---- what it answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "size, channels, kernel, stride, padding, dilation",
    [
        (14, 24, 3, 1, 1, 1),
        (15, 16, 3, 2, 1, 1),
        (13, 8, 5, 1, 2, 1),
        (12, 8, 3, 1, 0, 1),
        (17, 40, 3, 1, 2, 2),
        (9, 8, 2, 2, 0, 1),
    ],
)
def test_depthwise(device, size, channels, kernel, stride, padding, dilation):
    lib = build(depthwise(2, size, channels, kernel, stride, padding, dilation, "float32"), device)
    assert rules(lib) == [WINDOWS]
    x, w = random(2, size, size, channels), random(kernel, kernel, channels, 1, seed=1)
    wanted = (windows_of(x, kernel, stride, padding, dilation, 0) * w.reshape(-1, channels)).sum(-2)
    np.testing.assert_allclose(run(lib, device, x=x, w=w), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("span", [1, 2, 4])
def test_spans_share_what_their_windows_have_in_common(device, span):
    lib = build(depthwise(1, 15, 8, 3, dtype="float32"), device, windows_by_threads={"span": span})
    assert plan(lib, WINDOWS)["span"] == span
    x, w = random(1, 15, 15, 8), random(3, 3, 8, 1, seed=1)
    wanted = (windows_of(x, 3, 1, 1, 1, 0) * w.reshape(-1, 8)).sum(-2)
    np.testing.assert_allclose(run(lib, device, x=x, w=w), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_an_epilogue_is_stored_by_vectors_too(device):
    body = relay.nn.bias_add(depthwise(2, 14, 24, 3, dtype="float32"), var("b", 24), axis=3)
    lib = build(relay.clip(body, 0, 6), device)
    assert rules(lib) == [WINDOWS]
    x, w, b = random(2, 14, 14, 24), random(3, 3, 24, 1, seed=1), random(24)
    wanted = np.clip((windows_of(x, 3, 1, 1, 1, 0) * w.reshape(-1, 24)).sum(-2) + b, 0, 6)
    np.testing.assert_allclose(run(lib, device, x=x, w=w, b=b), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_maxima_of_windows(device):
    lib = build(pool(2, 15, 16, 3, 2, 1, "float32"), device)
    assert rules(lib) == [WINDOWS]
    x = random(2, 15, 15, 16)
    np.testing.assert_array_equal(run(lib, device, x=x), windows_of(x, 3, 2, 1, 1, -np.inf).max(-2))


@pytest.mark.parametrize("device", [each for each in DEVICES if each.values[0] == "cuda"])
def test_fp16_is_added_up_in_float32(device):
    lib = build(depthwise(8, 56, 144, 5, padding=2), device)
    assert rules(lib) == [WINDOWS]
    x, w = random(8, 56, 56, 144, dtype="float16"), random(5, 5, 144, 1, dtype="float16", seed=1)
    elements = windows_of(x[:1], 5, 1, 2, 1, 0).astype("float32")
    wanted = (elements * w.reshape(-1, 144).astype("float32")).sum(-2)
    np.testing.assert_allclose(run(lib, device, x=x, w=w)[:1], wanted, rtol=2e-3, atol=2e-3)
