"""Convolutions of fp16 and bf16 on GPUs with matrix units have their channels last, and a pixel's few channels are padded."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay


def var(name, *shape, dtype="float16"):
    return relay.var(name, relay.TensorType(shape, dtype))


def optimized(body, target):
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    with tvm.transform.PassContext(opt_level=3):
        with tvm.target.Target(target, host="llvm"):
            return relay.optimize(mod, tvm.target.Target(target, host="llvm"))[0]


def calls(mod, op):
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == op:
            found.append(node)

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


def convolutions(channels, dtype="float16"):
    def ones(*shape):  # as ToMixedPrecision leaves them
        return relay.cast(relay.const(np.ones(shape, "float32")), dtype)

    one = relay.nn.conv2d(var("x", 2, channels, 32, 32, dtype=dtype), ones(16, channels, 3, 3), padding=(1, 1))
    one = relay.nn.relu(relay.nn.bias_add(one, ones(16)))
    two = relay.nn.conv2d(one, ones(16, 1, 3, 3), padding=(1, 1), groups=16, channels=16)
    return relay.nn.global_avg_pool2d(relay.nn.max_pool2d(two))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_channels_are_last_from_the_first_convolution_on(dtype):
    mod = optimized(convolutions(16, dtype), "cuda -arch=sm_80")
    assert [str(call.attrs.data_layout) for call in calls(mod, "nn.conv2d")] == ["NHWC", "NHWC"]
    assert len(calls(mod, "layout_transform")) <= 2  # of the input, and of the output


def test_float32_and_devices_without_matrix_units_stay_as_they_are():
    for dtype, target in [("float32", "cuda -arch=sm_80"), ("float16", "cuda -arch=sm_70"), ("float16", "opencl")]:
        mod = optimized(convolutions(16, dtype), target)
        assert {str(call.attrs.data_layout) for call in calls(mod, "nn.conv2d")} == {"NCHW"}
        assert not calls(mod, "layout_transform")


@pytest.mark.parametrize("channels, padded", [(1, 4), (3, 4), (4, 4), (5, 8), (8, 8), (9, 9)])
def test_few_channels_of_a_pixel_are_one_access(channels, padded):
    mod = optimized(convolutions(channels), "cuda -arch=sm_80")
    (first,) = (call for call in calls(mod, "nn.conv2d") if call.attrs.groups == 1)
    assert [int(extent) for extent in first.args[0].checked_type.shape] == [2, 32, 32, padded]
    assert len(calls(mod, "nn.pad")) == (channels != padded)  # of the data; the weight is a constant


def test_cudnn_has_weights_whose_channels_are_last_too():
    mod = optimized(convolutions(16), "cuda -arch=sm_80 -libs=cudnn")
    layouts = {call.attrs.groups: str(call.attrs.kernel_layout) for call in calls(mod, "nn.conv2d")}
    assert layouts == {1: "OHWI", 16: "HWOI"}  # depthwise convolutions are ours


def test_a_bias_that_is_an_addition_follows_the_layout_that_a_user_asks_for():
    x, w = var("x", 2, 8, 9, 9, dtype="float32"), var("w", 8, 8, 3, 3, dtype="float32")
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), var("b", 8, dtype="float32")))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    mod = relay.transform.CanonicalizeOps()(
        relay.transform.InferType()(mod)
    )  # nn.bias_add has no layout rule, as in v0.10
    mod = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)
    (bias,) = calls(mod, "add")
    assert bias.args[0].op.name == "nn.conv2d"
    assert mod["main"].body.op.name == "layout_transform"
    data = [
        np.random.default_rng(0).random([int(e) for e in p.checked_type.shape], "float32") for p in mod["main"].params
    ]
    plain = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    answers = [relay.create_executor("graph", each, tvm.cpu(), "llvm").evaluate()(*data) for each in (mod, plain)]
    np.testing.assert_allclose(answers[0].numpy(), answers[1].numpy(), rtol=1e-5)
