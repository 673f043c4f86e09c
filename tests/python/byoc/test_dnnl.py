"""oneDNN: what it takes, and that its answers are ours. Needs Debian's libdnnl2."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay import testing
from tessera.relay.op.contrib import dnnl, get_pattern_table

pytestmark = pytest.mark.skipif(
    not dnnl.is_dnnl_available(), reason="oneDNN is not there: apt install libdnnl-dev, and build again"
)
RANDOM = np.random.default_rng(7)


def tensor(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def weight(*shape):
    return relay.const(tensor(*shape))


def var(name, *shape):
    return relay.var(name, shape=shape)


def module(body):
    mod = tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    return relay.transform.InferType()(mod)


def external(mod):
    return [f for f in mod.functions.values() if f.attrs and str(f.attrs.get("Compiler", "")) == "dnnl"]


def composites(mod):
    found = []

    def visit(node):
        if isinstance(node, relay.Function) and node.attrs and "Composite" in node.attrs:
            found.append(str(node.attrs["Composite"]))

    for function in external(mod):
        relay.analysis.post_order_visit(function.body, visit)
    return sorted(found)


def operators(mod):
    """Operators that are left to us."""
    names = []
    relay.analysis.post_order_visit(
        mod["main"], lambda e: names.append(e.op.name) if isinstance(e, relay.Call) and hasattr(e.op, "name") else None
    )
    return names


def run(mod, inputs, executor="graph", path=None):
    if executor == "vm":
        exe = relay.vm.compile(mod, target="llvm")
        out = tessera.runtime.vm.VirtualMachine(exe, tessera.cpu()).run(*[tessera.nd.array(x) for x in inputs])
        return [out.numpy()] if hasattr(out, "numpy") else [field.numpy() for field in out]
    lib = relay.build(mod, target="llvm")
    if path:
        lib.export_library(str(path))
        lib = tessera.runtime.load_module(str(path))
    graph = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    for i, x in enumerate(inputs):
        graph.set_input(i, x)
    graph.run()
    graph.run()  # a second time: nothing of the first is left
    return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]


def check(body, *names, leaves=(), rtol=1e-4, atol=1e-4, **options):
    """All but `leaves` is taken, as these composite functions, with the answers of our kernels."""
    mod = module(body)
    parts = dnnl.partition_for_dnnl(mod, prune_subgraphs=False)
    assert composites(parts) == sorted(names) and operators(parts) == list(leaves)
    inputs = [tensor(*[int(n) for n in p.checked_type.shape]) for p in mod["main"].params]
    for found, wanted in zip(run(parts, inputs, **options), run(mod, inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol, atol)
    return parts


# ---- contractions ---------------------------------------------------------------------------------------------------

CONVS = {
    "plain": {},
    "stride": {"strides": (2, 2), "padding": (1, 1)},
    "borders": {"padding": (0, 1, 2, 1)},
    "dilation": {"dilation": (2, 2), "padding": (2, 2)},
}


@pytest.mark.parametrize("kind", CONVS)
def test_conv2d(kind):
    check(relay.nn.conv2d(var("x", 2, 3, 10, 9), weight(8, 3, 3, 3), kernel_size=(3, 3), channels=8, **CONVS[kind]))


def test_a_convolution_whose_weights_are_an_input():
    check(relay.nn.conv2d(var("x", 1, 3, 8, 8), var("w", 4, 3, 3, 3), kernel_size=(3, 3), channels=4))


@pytest.mark.parametrize("groups, kernel", [(2, (8, 2, 3, 3)), (4, (4, 1, 3, 3)), (4, (8, 1, 3, 3))])
def test_groups(groups, kernel):
    check(relay.nn.conv2d(var("x", 1, 4, 8, 8), weight(*kernel), groups=groups, channels=kernel[0], kernel_size=(3, 3)))


@pytest.mark.parametrize(
    "kernel_layout, shape", [("HWIO", (3, 3, 5, 8)), ("OHWI", (8, 3, 3, 5)), ("OIHW", (8, 5, 3, 3))]
)
def test_channels_last(kernel_layout, shape):
    conv = relay.nn.conv2d(
        var("x", 1, 7, 8, 5),
        weight(*shape),
        channels=8,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout=kernel_layout,
    )
    check(relay.nn.relu(relay.add(conv, weight(8))), "dnnl.conv2d_bias_relu")


def test_conv1d_and_conv3d():
    check(relay.nn.conv1d(var("x", 2, 3, 11), weight(4, 3, 3), channels=4, kernel_size=3, padding=1, strides=2))
    body = relay.nn.conv3d(var("x", 1, 2, 5, 6, 7), weight(4, 2, 3, 3, 3), channels=4, kernel_size=(3, 3, 3), padding=1)
    check(relay.nn.relu(relay.nn.bias_add(body, weight(4))), "dnnl.conv3d_bias_relu")


@pytest.mark.parametrize("output_padding", [(0, 0), (1, 1)])
def test_transposed_convolutions(output_padding):
    options = {"strides": (2, 2), "padding": (1, 1), "output_padding": output_padding}
    body = relay.nn.conv2d_transpose(
        var("x", 1, 3, 6, 5), weight(3, 4, 3, 3), channels=4, kernel_size=(3, 3), **options
    )
    check(relay.tanh(relay.nn.bias_add(body, weight(4))), "dnnl.deconv2d_bias_tanh")
    check(relay.nn.conv1d_transpose(var("x", 1, 3, 6), weight(3, 4, 3), channels=4, kernel_size=(3,), strides=(2,)))
    body = relay.nn.conv3d_transpose(var("x", 1, 2, 4, 4, 4), weight(2, 3, 2, 2, 2), channels=3, kernel_size=(2, 2, 2))
    check(body)


def gelu(x):
    return x * (relay.erf(x / relay.const(np.float32(2**0.5))) + relay.const(1.0)) * relay.const(0.5)


ACTIVATIONS = {
    "relu": relay.nn.relu,
    "tanh": relay.tanh,
    "sigmoid": relay.sigmoid,
    "clip": lambda x: relay.clip(x, -0.5, 0.75),
    "gelu": gelu,
    "swish": lambda x: x * relay.sigmoid(x),
    "mish": lambda x: x * relay.tanh(relay.log(relay.exp(x) + relay.const(1.0))),
}


@pytest.mark.parametrize("kind", ACTIVATIONS)
@pytest.mark.parametrize("bias", [True, False])
def test_epilogues(kind, bias):
    infix = "_bias" if bias else ""
    conv = relay.nn.conv2d(var("x", 1, 3, 8, 8), weight(8, 3, 1, 1), channels=8, kernel_size=(1, 1))
    conv = relay.add(conv, weight(8, 1, 1)) if bias else conv
    check(ACTIVATIONS[kind](conv), f"dnnl.conv2d{infix}_{kind}")
    dense = relay.nn.dense(var("x", 4, 6), weight(8, 6))
    dense = relay.add(dense, weight(8)) if bias else dense
    check(ACTIVATIONS[kind](dense), f"dnnl.dense{infix}_{kind}")


@pytest.mark.parametrize("summand_first", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_a_residual_is_summed_up_by_the_convolution(summand_first, relu):
    x = var("x", 1, 8, 6, 6)
    first = relay.nn.relu(
        relay.add(relay.nn.conv2d(x, weight(8, 8, 3, 3), padding=1, kernel_size=(3, 3)), weight(8, 1, 1))
    )
    second = relay.add(relay.nn.conv2d(first, weight(8, 8, 1, 1), kernel_size=(1, 1)), weight(8, 1, 1))
    body = relay.add(first, second) if summand_first else relay.add(second, first)
    name = "dnnl.conv2d_bias_sum" + ("_relu" if relu else "")
    check(relay.nn.relu(body) if relu else body, "dnnl.conv2d_bias_relu", name)
    # an operand that is needed afterwards is not written over
    kept = relay.nn.relu(body) if relu else body
    check(relay.Tuple([relay.exp(first), kept]), "dnnl.conv2d_bias_relu", name)
    check(relay.add(relay.nn.relu(body) if relu else body, x), "dnnl.conv2d_bias_relu", name)


def test_what_looks_like_a_bias_and_is_none_is_added_apart():
    conv = relay.nn.conv2d(var("x", 1, 3, 8, 8), weight(8, 3, 1, 1), channels=8, kernel_size=(1, 1))
    check(relay.nn.relu(relay.add(conv, weight(1, 1, 8))))
    check(relay.nn.relu(relay.add(conv, weight(1, 8, 8, 8))))


def test_matmuls():
    check(relay.nn.dense(var("x", 4, 6), var("w", 8, 6)))
    check(relay.nn.dense(var("x", 2, 3, 6), weight(8, 6)))
    check(relay.nn.batch_matmul(var("x", 3, 4, 6), var("y", 3, 5, 6)))
    check(relay.nn.batch_matmul(var("x", 3, 6, 4), weight(1, 6, 5), transpose_a=True, transpose_b=False))


# ---- the others -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"strides": (2, 2), "padding": (1, 1)}, {"padding": (1, 0, 1, 2)}, {"dilation": (2, 2)}],
    ids=str,
)
def test_pooling(options):
    x = var("x", 1, 5, 9, 8)
    check(relay.nn.max_pool2d(x, (3, 3), **options))
    check(relay.nn.avg_pool2d(x, (3, 3), **options))
    check(relay.nn.avg_pool2d(x, (3, 3), count_include_pad=True, **options))


def test_pooling_of_other_shapes():
    check(relay.nn.max_pool2d(var("x", 1, 9, 8, 5), (2, 2), (2, 2), layout="NHWC", ceil_mode=True))
    check(relay.nn.max_pool3d(var("x", 1, 3, 5, 6, 7), (2, 2, 2), (2, 2, 2)))
    check(relay.nn.avg_pool1d(var("x", 2, 3, 9), (3,), (2,)))
    check(relay.nn.global_avg_pool2d(var("x", 2, 5, 6, 7)))
    average = relay.nn.avg_pool2d(var("x", 1, 3, 8, 8), (3, 3), (2, 2), ceil_mode=True)
    check(average, leaves=["nn.avg_pool2d"])


def test_elements_and_rows():
    x = var("x", 2, 3, 4)
    for op in (relay.nn.relu, relay.tanh, relay.sigmoid, relay.exp, relay.abs, relay.round):
        check(op(x))
    check(relay.log(relay.abs(x)))
    check(relay.sqrt(relay.abs(x)))
    check(relay.clip(x, -0.25, 1.0))
    check(relay.nn.leaky_relu(x, 0.3))
    check(relay.nn.softmax(x, axis=1))
    check(relay.nn.log_softmax(x, axis=-1))
    check(relay.nn.layer_norm(x, weight(4), weight(4), epsilon=1e-3))


@pytest.mark.parametrize("op", [relay.add, relay.multiply, relay.subtract, relay.divide, relay.maximum, relay.minimum])
def test_binary_operators(op):
    x = var("x", 2, 3, 4)
    check(op(x, relay.exp(var("y", 2, 3, 4))))
    check(op(x, relay.exp(var("y", 3, 1))))
    reversed_operands = op(var("y", 4), x)
    if op in (relay.subtract, relay.divide):
        check(reversed_operands, leaves=[reversed_operands.op.name], rtol=1e-3, atol=1e-2)
    else:
        check(reversed_operands)


def test_concatenation_of_what_the_library_made():
    x = var("x", 1, 3, 8, 8)
    parts = [relay.nn.conv2d(x, weight(c, 3, 3, 3), channels=c, kernel_size=(3, 3), padding=1) for c in (8, 16, 5)]
    out = relay.nn.relu(relay.concatenate(parts, axis=1))
    check(relay.nn.max_pool2d(out, (2, 2), (2, 2)))


def test_layer_normalisation_written_out_is_found():
    x = var("x", 2, 5, 8)
    moved = x - relay.mean(x, -1, True)
    variance = relay.mean(relay.power(moved, relay.const(2.0)), -1, True)
    body = moved / relay.sqrt(variance + relay.const(1e-5)) * weight(8) + weight(8)
    parts = check(body)
    assert "nn.layer_norm" in str(parts)


def test_epilogues_move_before_a_reshape():
    dense = relay.reshape(relay.nn.dense(var("x", 6, 4), weight(8, 4)), (2, 3, 8))
    mod = module(gelu(relay.add(dense, weight(8))))
    moved = dnnl.rewrite_dense_bias_gelu_reshape_last(mod)
    parts = dnnl.partition_for_dnnl(moved)
    assert composites(parts) == ["dnnl.dense_bias_gelu"]
    x = tensor(6, 4)
    np.testing.assert_allclose(run(parts, [x])[0], run(mod, [x])[0], 1e-4, 1e-5)


def test_other_types_and_dynamic_shapes_stay_ours():
    assert not external(
        dnnl.partition_for_dnnl(module(relay.nn.dense(*[relay.var(n, shape=(4, 4), dtype="float64") for n in "xy"])))
    )
    dynamic = relay.nn.dense(relay.var("x", shape=(relay.Any(), 4)), weight(3, 4))
    assert not external(dnnl.partition_for_dnnl(module(dynamic)))


def test_functions_without_contractions_go_back():
    body = relay.nn.softmax(relay.exp(var("x", 2, 3)))
    assert external(dnnl.partition_for_dnnl(module(body), prune_subgraphs=False))
    assert not external(dnnl.partition_for_dnnl(module(body)))


def test_the_table_is_known_by_name_and_longest_patterns_come_first():
    names = [row[0] for row in get_pattern_table("dnnl")]
    assert names[0] == "dnnl.conv2d_bias_sum_relu" and len(set(names)) == len(names)
    assert names.index("dnnl.conv2d_bias_relu") < names.index("dnnl.conv2d_bias")


@pytest.mark.parametrize("executor", ["graph", "vm", "file"])
def test_a_residual_network(executor, tmp_path):
    mod, params = testing.resnet.get_workload(batch_size=1, num_layers=18, image_shape=(3, 32, 32))
    parts = dnnl.partition_for_dnnl(mod, params)
    assert len(external(parts)) == 2 and operators(parts) == ["nn.batch_flatten"]
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    x = tensor(1, 3, 32, 32)
    path = tmp_path / "lib.so" if executor == "file" else None
    (found,) = run(parts, [x], "vm" if executor == "vm" else "graph", path)
    np.testing.assert_allclose(found, run(mod, [x])[0], 1e-4, 1e-6)


@pytest.mark.slow
def test_resnet50():
    mod, params = testing.resnet.get_workload(batch_size=1, num_layers=50)
    parts = dnnl.partition_for_dnnl(mod, params)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    x = tensor(1, 3, 224, 224)
    np.testing.assert_allclose(run(parts, [x])[0], run(mod, [x])[0], 1e-4, 1e-6)


# ---- narrow types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["conv", "dense"])
def test_bf16(kind):
    if kind == "conv":
        x = var("x", 1, 8, 9, 9)
        body = relay.nn.conv2d(x, weight(16, 8, 3, 3), kernel_size=(3, 3), channels=16, padding=(1, 1))
        body = relay.nn.relu(relay.nn.bias_add(body, weight(16)))
    else:
        x = var("x", 5, 32)
        body = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, weight(24, 32)), weight(24)))
    plain = module(body)
    mixed = relay.transform.FoldConstant()(
        relay.transform.InferType()(relay.transform.ToMixedPrecision("bfloat16")(plain))
    )
    parts = dnnl.partition_for_dnnl(mixed)
    (function,) = external(parts)
    assert {str(p.checked_type.dtype) for p in function.params} == {"bfloat16"}
    data = tensor(*[int(n) for n in x.type_annotation.shape])
    (found,), (wanted,) = run(parts, [data]), run(plain, [data])
    np.testing.assert_allclose(found.astype("float32"), wanted, 0.03, 0.03 * np.abs(wanted).max())


def int8(low, high, *shape, dtype="int8"):
    return RANDOM.integers(low, high, shape).astype(dtype)


def quantized(data, kind, zero=0, act=None, out_dtype="int8", **options):
    """qnn.conv2d or qnn.dense with scales for each channel, a bias and a requantisation."""
    shape = (16, 8, 3, 3) if kind == "conv" else (16, 32)
    scales = RANDOM.uniform(0.005, 0.02, 16).astype("float32")
    zeros = relay.const(zero), relay.const(0)
    args = (data, relay.const(int8(-128, 128, *shape)), *zeros, relay.const(np.float32(0.05)), relay.const(scales))
    if kind == "conv":
        out = relay.qnn.op.conv2d(*args, kernel_size=(3, 3), channels=16, **options)
    else:
        out = relay.qnn.op.dense(*args, units=16)
    axis = 1
    out = relay.nn.bias_add(out, relay.const(int8(-2000, 2000, 16, dtype="int32")), axis=axis)
    out_zero = relay.const(3 if out_dtype == "int8" else 0)
    steps = relay.const(np.float32(0.05) * scales), relay.const(0), relay.const(np.float32(0.2)), out_zero
    out = relay.qnn.op.requantize(out, *steps, axis=axis, out_dtype=out_dtype)
    return relay.clip(out, *act) if act else out


def check_int8(body, *names):
    mod = module(body)
    parts = dnnl.partition_for_dnnl(dnnl.legalize_qnn_for_dnnl(mod))
    assert composites(parts) == sorted(names)
    assert not [name for name in operators(parts) if name.startswith("qnn.")]
    inputs = [
        int8(0 if p.checked_type.dtype == "uint8" else -128, 128, *map(int, p.checked_type.shape)).astype(
            p.checked_type.dtype
        )
        for p in mod["main"].params
    ]
    (found,), (wanted,) = run(parts, inputs), run(mod, inputs)
    assert found.dtype == wanted.dtype and np.unique(found).size > 20
    difference = np.abs(found.astype("int32") - wanted.astype("int32"))
    assert difference.max() <= 1 and (difference > 0).mean() < 0.02 * (1 + 20 * ("sum" in names[0]))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("zero", [0, 5])
@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
def test_convolutions_of_int8(dtype, zero, padding):
    x = relay.var("x", shape=(1, 8, 9, 9), dtype=dtype)
    check_int8(quantized(x, "conv", zero, padding=padding), "dnnl.qnn.conv2d")


def test_activations_and_types_of_int8():
    x = relay.var("x", shape=(1, 8, 9, 9), dtype="int8")
    check_int8(quantized(x, "conv", act=(0.0, 100.0)), "dnnl.qnn.conv2d")
    check_int8(quantized(x, "conv", out_dtype="uint8"), "dnnl.qnn.conv2d")


@pytest.mark.parametrize("zero", [0, -7])
def test_dense_layers_of_int8(zero):
    check_int8(quantized(relay.var("x", shape=(5, 32), dtype="int8"), "dense", zero), "dnnl.qnn.dense")


@pytest.mark.parametrize("is_first", [True, False])
def test_sums_of_int8(is_first):
    x, y = relay.var("x", shape=(1, 8, 9, 9), dtype="int8"), relay.var("y", shape=(1, 16, 7, 7), dtype="int8")
    conv = quantized(x, "conv", act=(-100.0, 100.0))
    numbers = {True: (0.2, 3), False: (0.1, -4)}
    sides = [(conv, *numbers[True]), (y, *numbers[False])]
    (a, a_scale, a_zero), (b, b_scale, b_zero) = sides if is_first else sides[::-1]
    args = [a, b]
    for scale, zero in ((a_scale, a_zero), (b_scale, b_zero), (0.25, 2)):
        args += [relay.const(np.float32(scale)), relay.const(zero)]
    check_int8(relay.qnn.op.add(*args), "dnnl.qnn.conv2d_sum")


def test_a_chain_of_int8_is_one_function():
    x = relay.var("x", shape=(1, 8, 9, 9), dtype="int8")
    first = quantized(x, "conv")
    weights = relay.const(int8(-128, 128, 16, 16, 1, 1))
    second = relay.qnn.op.conv2d(
        first,
        weights,
        *map(relay.const, (3, 0)),
        *(relay.const(np.float32(v)) for v in (0.2, 0.01)),
        kernel_size=(1, 1),
        channels=16,
    )
    numbers = relay.const(np.float32(0.002)), relay.const(0), relay.const(np.float32(0.3)), relay.const(0)
    second = relay.qnn.op.requantize(second, *numbers, axis=1, out_dtype="int8")
    mod = module(second)
    parts = dnnl.partition_for_dnnl(dnnl.legalize_qnn_for_dnnl(mod))
    assert composites(parts) == ["dnnl.qnn.conv2d"] * 2 and len(external(parts)) == 1


def test_what_is_added_along_another_axis_than_channels_is_no_bias_of_int8():
    x = relay.var("x", shape=(1, 8, 18, 18), dtype="int8")
    numbers = (*map(relay.const, (0, 0)), *(relay.const(np.float32(v)) for v in (0.1, 0.2)))
    out = relay.qnn.op.conv2d(x, relay.const(int8(-128, 128, 16, 8, 3, 3)), *numbers, kernel_size=(3, 3), channels=16)
    out = relay.add(out, relay.const(int8(-128, 128, 16, dtype="int32")))  # along the 16 columns
    out = relay.qnn.op.requantize(out, numbers[2], numbers[0], numbers[3], numbers[1], out_dtype="int8")
    mod = module(out)
    assert str(dnnl.legalize_qnn_for_dnnl(mod)) == str(mod)


def test_quantised_layers_of_weights_that_are_inputs_stay_ours():
    x, w = relay.var("x", shape=(5, 32), dtype="int8"), relay.var("w", shape=(16, 32), dtype="int8")
    numbers = (*map(relay.const, (0, 0)), *(relay.const(np.float32(v)) for v in (0.1, 0.2)))
    out = relay.qnn.op.dense(x, w, *numbers, units=16)
    out = relay.qnn.op.requantize(out, numbers[2], numbers[0], numbers[3], numbers[1], out_dtype="int8")
    mod = module(out)
    assert str(dnnl.legalize_qnn_for_dnnl(mod)) == str(mod)


# ---- constants of generators ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 2])
def test_constants_are_those_that_the_updater_of_a_generator_gives(factor, tmp_path):
    """A generator in Python that uses the runtime of oneDNN, with constants of its own."""
    name, data = f"tests_const{factor}", tensor(5, 4)
    onednn = tessera.get_global_func("relay.ext.dnnl")
    tessera.register_func(f"relay.ext.{name}", onednn, override=True)
    if factor != 1:

        def update(function, symbol):
            return {f"{symbol}_const_0": tessera.nd.array(factor * data)}

        tessera.register_func(f"relay.ext.{name}.constant_updater", update, override=True)
    tessera.ir.register_op_attr("nn.dense", f"target.{name}", lambda call: True)
    mod = module(relay.exp(relay.nn.dense(var("x", 3, 4), relay.const(data))))
    parts = relay.transform.PartitionGraph()(relay.transform.AnnotateTarget(name)(mod))
    assert relay.build(parts, target="llvm").get_lib().type_key == "const_loader"
    x = tensor(3, 4)
    wanted = np.exp(x @ (factor * data).T)
    np.testing.assert_allclose(run(parts, [x])[0], wanted, 1e-4)
    np.testing.assert_allclose(run(parts, [x], "vm")[0], wanted, 1e-4)
    np.testing.assert_allclose(run(parts, [x], path=tmp_path / "lib.so")[0], wanted, 1e-4)


def test_a_constant_that_nobody_gives_is_named():
    tessera.register_func("relay.ext.tests_lost", tessera.get_global_func("relay.ext.dnnl"), override=True)
    tessera.register_func("relay.ext.tests_lost.constant_updater", lambda function, symbol: {}, override=True)
    tessera.ir.register_op_attr("nn.dense", "target.tests_lost", lambda call: True)
    mod = module(relay.nn.dense(var("x", 3, 4), weight(5, 4)))
    parts = relay.transform.PartitionGraph()(relay.transform.AnnotateTarget("tests_lost")(mod))
    with pytest.raises(ValueError, match="asks for the constant tvmgen_default_tests_lost_main_0_const_0"):
        relay.build(parts, target="llvm")
