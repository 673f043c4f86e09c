"""Quantised layers in types and layouts that a target has, as functions that users call."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.qnn.op import layout_conversions, legalizations
from tessera.relay.qnn.op.op import register_qnn_legalize


def typed(expr):
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))["main"].body


def layer(data="int8", weight="int8"):
    x, w = relay.var("x", shape=(2, 6), dtype=data), relay.var("w", shape=(4, 6), dtype=weight)
    numbers = relay.const(3, "int32"), relay.const(0, "int32"), relay.const(0.5), relay.const(0.25)
    return typed(relay.qnn.op.dense(x, w, *numbers, units=4))


def run(expr, *values):
    free = relay.analysis.free_vars(expr)
    by_name = dict(zip("xw", values, strict=True))
    mod = tvm.IRModule.from_expr(relay.Function(free, expr))
    return relay.create_executor("graph", mod).evaluate()(*(by_name[v.name_hint] for v in free)).numpy()


@pytest.mark.parametrize(
    "cpu, types", [("skylake-avx512", ("uint8", "int8")), ("x86-64", ("int16", "int16"))], ids=["fast", "plain"]
)
def test_layers_are_computed_with_what_the_cpu_multiplies(cpu, types):
    call = layer()
    with tvm.target.Target(f"llvm -mcpu={cpu}"):
        out = legalizations.qnn_dense_legalize(call.attrs, call.args, list(call.type_args))
    made = typed(relay.Function(relay.analysis.free_vars(out), out))
    made = made.body if isinstance(made, relay.Function) else made
    assert tuple(kind.dtype for kind in list(made.type_args)[:2]) == types
    generator = np.random.default_rng(0)
    x, w = (generator.integers(-128, 128, shape).astype("int8") for shape in ((2, 6), (4, 6)))
    np.testing.assert_array_equal(run(out, x, w), (x.astype("int32") - 3) @ w.astype("int32").T)


def test_types_that_are_right_stay():
    call = layer("uint8", "int8")
    dense = relay.qnn.op.dense
    types = list(call.type_args)
    assert legalizations.helper_change_dtypes_to_uint8_int8(call.attrs, call.args, types, dense) is None
    same = legalizations.helper_change_dtypes_to_be_same(call.attrs, call.args, types, dense)
    assert typed(same).type_args[0].dtype == "int8"


def test_users_say_how_an_operator_is_legal():
    @register_qnn_legalize("qnn.dense", level=11)
    def rule(attrs, inputs, types):
        return relay.nn.dense(*(relay.cast(x, "int32") for x in inputs[:2]), units=attrs.units, out_dtype="int32")

    try:
        mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(layer()), layer()))
        done = relay.transform.Legalize("FTVMQnnLegalize")(relay.transform.InferType()(mod))
        assert "nn.dense" in str(done) and "qnn.dense" not in str(done)
    finally:
        tvm.ir.Op.get("qnn.dense").reset_attr("FTVMQnnLegalize")


def test_convolutions_take_the_layouts_that_are_wanted():
    x, w = relay.var("x", shape=(1, 4, 6, 6), dtype="int8"), relay.var("w", shape=(8, 4, 3, 3), dtype="int8")
    numbers = relay.const(0, "int32"), relay.const(0, "int32"), relay.const(0.5), relay.const(0.25)
    call = relay.qnn.op.conv2d(x, w, *numbers, kernel_size=(3, 3), channels=8)
    out = layout_conversions.convert_qnn_conv2d(call.attrs, call.args, None, ["NHWC", "default"])
    assert (out.attrs.data_layout, out.attrs.kernel_layout) == ("NHWC", "HWIO")
    with pytest.raises(ValueError, match="cannot be default"):
        layout_conversions.convert_qnn_conv2d(call.attrs, call.args, None, ["default", "OIHW"])
