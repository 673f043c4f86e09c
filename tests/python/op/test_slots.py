"""Slots of the operator table: passes read them alone, so an operator made in Python counts like a built-in one."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay, te
from tessera.relay import transform
from tessera.relay.dataflow_pattern import is_op, is_var, wildcard
from tessera.relay.op.op import ElementMoves, Reduction

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def operators():
    """test.flat has the elements under one dimension, test.soft is x / (1 + |x|), test.noisy is x when nothing is trained."""

    def make(name, result):
        relay.op.register(name, "An operator of these tests.")
        op = relay.op.get(name)
        op.set_num_inputs(1)
        op.add_argument("data", "Tensor", "the input")
        op.add_type_rel(name, result)
        op.set_attr("TOpIsStateful", False)
        return op

    flat = make(
        "test.flat",
        lambda args, attrs: relay.TensorType([int(np.prod([int(n) for n in args[0].shape]))], args[0].dtype),
    )
    flat.set_attr("TOpPattern", relay.op.OpPattern.INJECTIVE)
    flat.set_attr("TElementMoves", ElementMoves.VIEW)
    flat.set_attr("FTVMFakeQuantizationToInteger", lambda call, types: [call, types[call.args[0]]])
    flat.set_attr("FTVMCompute", lambda attrs, inputs, out: [tessera.topi.reshape(inputs[0], out.shape)])
    soft = make("test.soft", lambda args, attrs: args[0])
    soft.set_attr("TOpPattern", relay.op.OpPattern.ELEMWISE)
    soft.set_attr("TFlopsPerElement", 3)
    soft.set_attr("TFastForm", "test.quick")
    soft.set_attr("FTVMMixedPrecisionConversionType", lambda call, dtype: [1, dtype, dtype])
    soft.set_attr(
        "FTVMCompute",
        lambda attrs, inputs, out: [
            te.compute(out.shape, lambda *i: inputs[0](*i) / (te.abs(inputs[0](*i)) + tessera.tir.const(1, out.dtype)))
        ],
    )
    make("test.quick", lambda args, attrs: args[0])
    noisy = make("test.noisy", lambda args, attrs: args[0])
    noisy.set_attr("FInferenceForm", lambda call, args: args[0])

    def broadcast(args, attrs):
        return args[0] if len(args[0].shape) >= len(args[1].shape) else args[1]

    def pair(name):
        op = make(name, broadcast)
        op.set_num_inputs(2)
        op.add_argument("other", "Tensor", "the other operand")
        return op

    mix = pair("test.mix")
    mix.set_attr("TIsCommutative", True)
    mix.set_attr("TNeutralElement", 2.0)
    minus = pair("test.minus")
    minus.set_attr("TNeutralElement", 0.0)
    make("test.fives", lambda args, attrs: args[0]).set_attr("TFillValue", 5.0)
    order = make("test.order", lambda args, attrs: relay.TensorType(args[0].shape, "int32"))
    order.set_attr("TSeesOrderOnly", True)
    shaped = make("test.zeros_of", lambda args, attrs: args[0])
    shaped.set_attr("FConcreteForm", lambda call, type: relay.zeros(tuple(type.shape), type.dtype))
    total = make("test.total", lambda args, attrs: relay.TensorType(args[0].shape[:1], args[0].dtype))
    total.set_attr("TOpPattern", relay.op.OpPattern.COMM_REDUCE)
    total.set_attr("TReduction", Reduction.SUM)
    layer = pair("test.layer")
    layer.set_attr("FLayerChannels", lambda call: [1, 1, 0, 1, 2])
    layer.set_attr("TPackWeights", pack)


def pack(attrs, args, placeholders, type):
    target = tessera.target.Target.current(allow_none=True)
    return call("test.mix", *args) if target is not None and "avx2" in str(target) else None


def call(name, *args, attrs=None):
    return relay.Call(tessera.ir.Op.get(name), list(args), attrs)


def module(body):
    return transform.InferType()(tessera.IRModule.from_expr(body))


def names(mod):
    found = []
    relay.analysis.post_order_visit(
        mod["main"], lambda node: found.append(node.op.name) if isinstance(node, relay.Call) else None
    )
    return found


def var(*shape, dtype="float32"):
    return relay.var("x", shape=shape, dtype=dtype)


def test_a_view_of_python_needs_no_kernel():
    mod = transform.FuseOps(2)(module(call("test.flat", var(2, 3))))
    assert "relay.reshape_only=1" in str(mod)


def test_a_view_of_python_sinks_below_the_functions_that_follow():
    x, w = var(4, 8), relay.var("w", shape=(6, 8))
    mod = module(relay.nn.relu(call("test.flat", relay.nn.dense(x, w))))
    after = transform.InferType()(tessera._ffi.get_global_func("relay._transform.SinkViews")()(mod))
    assert names(after) == ["nn.dense", "nn.relu", "reshape"]


def test_mixed_precision_of_python():
    body = call("test.soft", relay.nn.dense(var(4, 8), relay.var("w", shape=(6, 8))))
    mod = transform.InferType()(transform.ToMixedPrecision("float16", 0)(module(body)))
    assert mod["main"].ret_type.dtype == "float16"


def test_what_users_say_comes_before_the_record():
    relay.op.register_mixed_precision_conversion("tanh", lambda call, dtype: [2, "float32", "float32"])
    try:
        body = relay.tanh(relay.nn.dense(var(4, 8), relay.var("w", shape=(6, 8))))
        mod = transform.InferType()(transform.ToMixedPrecision("float16", 0)(module(body)))
        assert mod["main"].ret_type.dtype == "float32"
    finally:
        op = tessera.ir.Op.get("tanh")
        op.reset_attr("FTVMMixedPrecisionConversionType")
        op.set_attr("FTVMMixedPrecisionConversionType", lambda call, dtype: [1, dtype, dtype], 5)


def test_fake_quantization_of_python():
    scale, zero = relay.const(np.float32(0.5)), relay.const(3)
    floats = relay.qnn.op.dequantize(var(2, 3, dtype="int8"), scale, zero)
    out = relay.qnn.op.quantize(call("test.flat", floats), scale, zero, out_dtype="int8")
    assert names(transform.FakeQuantizationToInteger()(module(out))) == ["test.flat"]


def test_a_rule_may_say_that_it_has_no_form():
    relay.op.register_fake_quantization_to_integer("sinh", lambda expr, type_map: None)
    try:
        scale, zero = relay.const(np.float32(0.5)), relay.const(0)
        floats = relay.qnn.op.dequantize(var(3, dtype="int8"), scale, zero)
        mod = module(relay.qnn.op.quantize(relay.sinh(floats), scale, zero))
        assert names(transform.FakeQuantizationToInteger()(mod)) == ["qnn.dequantize", "sinh", "qnn.quantize"]
    finally:
        tessera.ir.Op.get("sinh").reset_attr("FTVMFakeQuantizationToInteger")


def test_fast_and_inference_forms_of_python():
    x = var(3)
    assert names(transform.FastMath()(module(call("test.soft", x)))) == ["test.quick"]
    assert names(transform.SimplifyInference()(module(relay.exp(call("test.noisy", x))))) == ["exp"]


def test_a_pattern_of_a_commutative_operator_matches_both_orders():
    x, y = relay.var("x", shape=(3,)), relay.exp(relay.var("y", shape=(3,)))
    for name, commutes in (("test.mix", True), ("test.minus", False), ("multiply", True), ("divide", False)):
        pattern = is_op(name)(is_var("x"), wildcard())
        assert pattern.match(call(name, x, y))
        assert pattern.match(call(name, y, x)) == commutes, name


@pytest.mark.parametrize(
    "name, element, sides",
    [("test.mix", 2, 2), ("test.minus", 0, 1), ("add", 0, 2), ("subtract", 0, 1), ("multiply", 1, 2), ("divide", 1, 1)],
)
def test_a_neutral_element_is_dropped(name, element, sides):
    x = var(3)
    neutral, other = relay.const(np.float32(element)), relay.const(np.float32(7))
    assert names(transform.SimplifyExpr()(module(call(name, x, neutral)))) == []
    assert names(transform.SimplifyExpr()(module(call(name, neutral, x)))) == ([] if sides == 2 else [name])
    assert names(transform.SimplifyExpr()(module(call(name, x, other)))) == [name]


def test_a_filled_tensor_of_python_is_its_one_value():
    x = var(3)
    mod = transform.SimplifyExpr()(module(relay.multiply(x, call("test.fives", x))))
    assert names(mod) == ["multiply"] and float(mod["main"].body.args[1].data.numpy()) == 5


def test_the_order_of_quantized_values_is_that_of_their_integers():
    floats = relay.qnn.op.dequantize(var(3, dtype="int8"), relay.const(np.float32(0.5)), relay.const(3))
    assert names(transform.SimplifyExpr()(module(call("test.order", floats)))) == ["test.order"]
    assert names(transform.SimplifyExpr()(module(relay.argsort(floats)))) == ["argsort"]
    assert names(transform.SimplifyExpr()(module(relay.sort(floats)))) == ["qnn.dequantize", "sort"]


def test_an_operator_of_python_with_a_concrete_form():
    assert names(transform.SimplifyExpr()(module(call("test.zeros_of", var(3))))) == ["zeros"]
    assert names(transform.SimplifyExpr()(module(call("test.zeros_of", var(relay.Any()))))) == ["test.zeros_of"]


def test_a_reduction_of_python_goes_over_one_axis():
    attrs = tessera.ir.make_node("relay.attrs.ReduceAttrs", axis=[1, 2], keepdims=0, exclude=0)
    mod = module(call("test.total", var(4, 5, 6), attrs=attrs))
    after = tessera._ffi.get_global_func("relay._transform.JoinReducedAxes")()(mod)
    assert names(after) == ["reshape", "test.total"]


def test_the_weight_of_a_layer_of_python_takes_a_scale_in():
    scale = relay.const(np.array([2, 3, 4], "float32"))
    x, w = var(4, 3), relay.var("w", shape=(3, 3))
    after = transform.BackwardFoldScaleAxis()(module(relay.multiply(call("test.layer", x, w), scale)))
    assert after["main"].body.op.name == "test.layer"


def test_a_rule_of_python_sees_the_target_of_the_pass():
    x, w = var(4, 3), relay.const(np.zeros((3, 3), "float32"))
    mod = module(call("test.layer", x, w))
    pack_weights = tessera._ffi.get_global_func("relay._transform.PackWeights")()
    assert names(pack_weights(mod)) == ["test.layer"]
    with tessera.target.Target("llvm -mattr=+avx2"):
        assert names(pack_weights(mod)) == ["test.mix"]


def test_an_operator_of_python_runs_with_the_others():
    x = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")
    data = var(4, 6)
    mod = tessera.IRModule.from_expr(call("test.soft", call("test.flat", relay.nn.relu(data))))
    (got,) = [relay.create_executor("graph", mod, tessera.cpu(), "llvm").evaluate()(x).numpy()]
    want = np.maximum(x, 0).reshape(-1)
    np.testing.assert_allclose(got, want / (1 + np.abs(want)), rtol=1e-6)


@pytest.mark.parametrize("name", ["reshape", "squeeze", "expand_dims", "nn.batch_flatten", "contrib_reverse_reshape"])
def test_views_say_so(name):
    assert tessera.ir.Op.get(name).get_attr("TElementMoves") == ElementMoves.VIEW


@pytest.mark.parametrize(
    "name, kind", [("nn.dense", 0), ("nn.conv2d", 0), ("add", 1), ("transpose", 1), ("nn.softmax", 2), ("sum", 2)]
)
def test_built_in_operators_fill_the_slot_of_mixed_precision(name, kind):
    x = relay.const(np.zeros((2, 2), "float32"))
    said = tessera.ir.Op.get(name).get_attr("FTVMMixedPrecisionConversionType")(call(name, x, x), "float16")
    narrow = "float32" if kind == 2 else "float16"
    assert [int(said[0]), str(said[1]), str(said[2])] == [kind, narrow, narrow]


def test_an_operator_without_a_written_function_has_that_of_its_record():
    x = var(4)
    parameters = inspect.signature(relay.small_float_encode).parameters
    assert list(parameters) == ["data", "format", "saturate", "rounding"]
    out = relay.small_float_encode(x, format="float8_e4m3fn")
    assert out.op.name == "small_float_encode" and out.attrs.format == "float8_e4m3fn"
    assert relay.op.fft.__doc__.startswith("The Fourier transform")
    with pytest.raises(TypeError, match="missing a required argument: 'format'"):
        relay.small_float_encode(x)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_operator'"):
        relay.nn.no_such_operator


def test_the_records_are_read_as_they_are_registered():
    """tests/test_rooms.py takes the names of operators from the text of src/op."""
    spec = importlib.util.spec_from_file_location("test_rooms", TOP / "tests/test_rooms.py")
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    registered = {str(name) for name in tessera.ir.Op.list_op_names()}
    assert rooms.operators() == {name for name in registered if not name.startswith(("tir.", "test."))}


def test_a_type_relation_is_known_by_its_name():
    relay.op.register("test.named", "An operator of these tests.")
    op = relay.op.get("test.named")
    op.set_num_inputs(2)
    op.add_type_rel("Broadcast")
    call = relay.Call(op, [relay.var("x", shape=(1, 3)), relay.var("y", shape=(2, 1))])
    assert transform.InferTypeLocal(call) == relay.TensorType((2, 3))
    with pytest.raises(ValueError, match='no type relation is named "Nonsense"'):
        op.add_type_rel("Nonsense")
    relation = tessera.ir.EnvFunc.get("tvm.relay.type_relation.Identity")
    assert relation([relay.TensorType((2, 3))], None) == relay.TensorType((2, 3))


def test_a_global_function_is_saved_by_its_name():
    tessera.register_func("test.env_func", lambda x: x + 1, override=True)
    function = tessera.ir.EnvFunc.get("test.env_func")
    again = tessera.ir.load_json(tessera.ir.save_json([function]))[0]
    assert again.name == "test.env_func" and again(1) == 2 and again.func(1) == 2
    with pytest.raises(tessera.TVMError, match="test.nothing"):
        tessera.ir.EnvFunc.get("test.nothing")
