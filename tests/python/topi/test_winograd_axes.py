"""Winograd's convolution along some of the spatial axes, the others summed as ever, against NumPy."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from test_blocked_conv import run, values
from test_winograd import OPTION, chosen, close


def reference(x, w, padding, strides, dilation, groups=1):
    if groups > 1:
        parts = zip(np.split(x, groups, 1), np.split(w, groups))
        return np.concatenate([reference(*each, padding, strides, dilation) for each in parts], 1)
    spatial = w.ndim - 2
    axes = tuple(range(2, x.ndim))
    x = np.pad(x, [(0, 0), (0, 0), *zip(padding[:spatial], padding[spatial:])]).astype("float64")
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    windows = windows[(..., *[slice(None, None, d) for d in dilation])]
    windows = windows[(slice(None), slice(None), *[slice(None, None, s) for s in strides])]
    results, kernel = "xyz"[:spatial], "rst"[:spatial]
    return np.einsum(f"nc{results}{kernel},oc{kernel}->no{results}", windows, w, optimize=True)


def conv(data, weight, padding=None, strides=None, dilation=None, groups=1, batch=None):
    spatial = len(data) - 2
    op = {2: relay.nn.conv2d, 3: relay.nn.conv3d}[spatial]
    how = {"strides": strides or (1,) * spatial, "dilation": dilation or (1,) * spatial}
    how["padding"] = padding or tuple(k // 2 for k in weight[2:]) * 2
    how["groups"] = groups
    x = relay.var("x", shape=(data[0] if batch is None else batch, *data[1:]))
    taps = values(*weight, seed=1)
    y = op(x, relay.const(taps), kernel_size=weight[2:], channels=weight[0], **how)
    return relay.Function([x], y), values(*data), lambda given: reference(given, taps, **how)


def axes_of(function, target="llvm -mcpu=skylake-avx512"):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target(target), tvm.transform.PassContext(opt_level=3):
        mod = relay.transform.AlterOpLayout()(mod)
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and "winograd_without" in str(node.op):
            found.append([int(axis) for axis in node.attrs.axes])

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


LAYERS = {
    "1x3x3": (((1, 48, 5, 13, 15), (64, 48, 1, 3, 3)), {}, [1, 2]),
    "1x3x3 without padding": (((1, 64, 3, 12, 17), (48, 64, 1, 3, 3)), {"padding": (0,) * 6}, [1, 2]),
    "1x3x3, padded frames": (((1, 64, 3, 12, 12), (64, 64, 1, 3, 3)), {"padding": (1, 1, 0, 0, 1, 2)}, [1, 2]),
    "3x1x1": (((1, 64, 8, 11, 14), (64, 64, 3, 1, 1)), {}, [0]),
    "3x1x1, tiles that stick out": (((1, 64, 7, 15, 15), (80, 64, 3, 1, 1)), {}, [0]),
    "3x1x1, every second pixel": (((1, 64, 8, 15, 17), (64, 64, 3, 1, 1)), {"strides": (1, 2, 2)}, [0]),
    "3x3x3": (((1, 32, 4, 14, 14), (48, 32, 3, 3, 3)), {}, [0, 1]),
    "3x3x3, every second frame": (((1, 32, 7, 14, 13), (32, 32, 3, 3, 3)), {"strides": (2, 1, 1)}, [1, 2]),
    "3x3x3, frames apart": (((1, 32, 8, 14, 13), (32, 32, 3, 3, 3)), {"dilation": (3, 1, 1)}, [1, 2]),
    "5x3x3": (((1, 32, 6, 12, 12), (32, 32, 5, 3, 3)), {}, [1, 2]),
    "a batch": (((2, 48, 5, 13, 13), (48, 48, 3, 3, 3)), {}, [1, 2]),
    "a batch of 3x1x1": (((3, 64, 4, 9, 10), (64, 64, 3, 1, 1)), {}, [0]),
    "channels in blocks of 8": (((1, 40, 4, 14, 14), (72, 40, 1, 3, 3)), {}, [1, 2]),
    "many frames": (((1, 32, 16, 28, 28), (32, 32, 1, 3, 3)), {}, [1, 2]),
    "a row": (((1, 96, 12, 14), (96, 96, 1, 3)), {}, [1]),
    "a row of a batch": (((2, 96, 9, 11), (96, 96, 1, 3)), {"padding": (0, 0, 0, 2)}, [1]),
    "a column": (((1, 96, 12, 14), (96, 96, 3, 1)), {}, [0]),
    "a column, every second one": (((1, 96, 13, 28), (96, 96, 3, 1)), {"strides": (1, 2)}, [0]),
    "dilated": (((1, 64, 16, 16), (64, 64, 3, 3)), {"dilation": (2, 2), "padding": (2, 2, 2, 2)}, [0, 1]),
    "dilated, odd sides": (((1, 64, 29, 27), (48, 64, 3, 3)), {"dilation": (4, 2), "padding": (4, 2, 3, 2)}, [0, 1]),
    "dilated along one": (((2, 48, 17, 30), (64, 48, 3, 3)), {"dilation": (1, 3), "padding": (0, 3, 1, 3)}, [0, 1]),
    "dilated rows": (((1, 96, 13, 28), (96, 96, 1, 3)), {"dilation": (1, 2), "padding": (0, 2, 0, 2)}, [1]),
    "dilated groups": (((1, 112, 28, 28), (128, 56, 3, 3)), {"groups": 2, "dilation": (2, 2)}, [0, 1]),
    "frames apart": (((1, 64, 16, 9, 9), (64, 64, 3, 1, 1)), {"dilation": (2, 1, 1), "padding": (2, 0, 0) * 2}, [0]),
    "large and dilated": (((1, 64, 60, 60), (64, 64, 3, 3)), {"dilation": (2, 2), "padding": (2, 2, 2, 2)}, [0, 1]),
    "groups": (((1, 64, 28, 28), (64, 32, 3, 3)), {"groups": 2}, [0, 1]),
    "groups that begin within a block": (((1, 112, 26, 27), (128, 56, 3, 3)), {"groups": 2}, [0, 1]),
    "groups of 24 in a batch": (((2, 72, 28, 28), (72, 24, 3, 3)), {"groups": 3}, [0, 1]),
    "groups of 12": (((1, 48, 30, 30), (64, 12, 3, 3)), {"groups": 4}, [0, 1]),
    "groups of a video": (((1, 80, 4, 20, 20), (96, 40, 1, 3, 3)), {"groups": 2}, [1, 2]),
    "a column in groups": (((1, 128, 28, 28), (128, 64, 3, 1)), {"groups": 2}, [0]),
    "a column of 3x5": (((1, 64, 14, 14), (64, 64, 3, 5)), {}, [0]),
}


@pytest.mark.parametrize("name", sorted(LAYERS))
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
def test_it_gives_the_sums_of_a_convolution(name, target):
    (data, weight), how, axes = LAYERS[name]
    function, x, want = conv(data, weight, **how)
    assert axes_of(function, target) == [axes]
    close(run(function, {"x": x}, target), want(x))


@pytest.mark.parametrize("name", ["3x1x1", "3x3x3", "a column", "groups that begin within a block"])
def test_the_batch_may_be_dynamic(name):
    (data, weight), how, axes = LAYERS[name]
    function, x, want = conv(data, weight, batch=relay.Any(), **how)
    assert axes_of(function) == [axes]
    program = relay.create_executor("vm", mod=tvm.IRModule.from_expr(function), target="llvm").evaluate()
    for batch in (1, 3):
        given = np.concatenate([x * (1 + i) for i in range(batch)])
        close(program(given).numpy(), want(given))


@pytest.mark.parametrize("rows", [1, 2, 4, 12])
@pytest.mark.parametrize("kernel", [(1, 3, 3), (3, 3, 3)])
def test_any_number_of_rows_is_right(rows, kernel):
    function, x, want = conv((1, 32, 3, 14, 14), (32, 32, *kernel))
    close(run(function, {"x": x}, config={"kernel.knobs": {"winograd": {"rows": rows}}}), want(x))


def test_what_follows_is_stored_with_it():
    function, x, want = conv((1, 64, 6, 9, 9), (64, 64, 3, 1, 1))
    bias = values(64, 1, 1, 1, seed=2)
    y = relay.nn.relu(function.body + relay.const(bias) + function.params[0])
    close(run(relay.Function(function.params, y), {"x": x}), np.maximum(want(x) + bias + x, 0))


REJECTED = {
    "few frames": ((1, 64, 1, 14, 14), (64, 64, 3, 1, 1), {}),
    "every second frame": ((1, 64, 8, 14, 14), (64, 64, 3, 1, 1), {"strides": (2, 1, 1)}),
    "few pixels": ((1, 512, 8, 1), (512, 512, 3, 1), {}),
}


@pytest.mark.parametrize("name", sorted(REJECTED))
def test_where_it_does_not_pay_or_cannot_be_it_is_not_taken(name):
    data, weight, how = REJECTED[name]
    assert axes_of(conv(data, weight, **how)[0]) == []


def test_the_option_turns_it_off_in_three_dimensions():
    function, x, want = conv((1, 64, 6, 9, 9), (64, 64, 3, 1, 1))
    assert not chosen(function, **{OPTION: False})
    exact = run(function, {"x": x}, config={OPTION: False})
    assert abs(exact - want(x)).max() < 1e-5 * abs(want(x)).max()


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [2, 0]])
def test_the_operators_alone(axes, tile):
    """In plain layouts, along axes in any order."""
    kernel = tuple(3 if axis in axes else 2 for axis in range(3))
    data, weight = values(2, 5, 5, 6, 7), values(6, 5, *kernel)
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=weight.shape)
    how = {"padding": (1, 0, 1, 0, 1, 1), "channels": 6, "kernel_size": kernel}
    u = relay.nn.contrib_conv3d_winograd_weight_transform(w, tile, axes=axes)
    y = relay.nn.contrib_conv3d_winograd_without_weight_transform(x, u, tile_size=tile, axes=axes, **how)
    want = reference(data, weight, how["padding"], (1, 1, 1), (1, 1, 1))
    close(run(relay.Function([x, w], y), {"x": data, "w": weight}), want)
    folded = relay.bind(relay.Function([x, w], y), {w: relay.const(weight)})
    close(run(folded, {"x": data}), want)


def test_axes_are_spatial_ones():
    w = relay.var("w", shape=(6, 5, 3, 3, 3))
    for axes in ([3], [1, 1]):
        call = relay.nn.contrib_conv3d_winograd_weight_transform(w, 4, axes=axes)
        with pytest.raises(tvm.error.DiagnosticError, match="some of 0 to 2, each once"):
            relay.transform.InferType()(tvm.IRModule.from_expr(call))
