"""Rules by name for mixed precision, integers and layouts; parameters of another batch size."""

import numpy as np
import tessera
from tessera import relay
from tessera.relay.op import op as _op
from tessera.relay.testing.temp_op_attr import TempOpAttr
from tessera.relay.transform import fake_quantization_to_integer, infer_layout_utils, mixed_precision


def test_lists_of_mixed_precision_are_what_the_records_say():
    assert "nn.conv2d" in mixed_precision.DEFAULT_ALWAYS_LIST and "nn.relu" in mixed_precision.DEFAULT_FOLLOW_LIST
    assert "exp" in mixed_precision.DEFAULT_NEVER_LIST
    assert not set(mixed_precision.DEFAULT_ALWAYS_LIST) & set(mixed_precision.DEFAULT_NEVER_LIST)


def test_rules_of_mixed_precision():
    x = relay.var("x", shape=(2, 2))
    dense = relay.nn.dense(x, x)
    assert mixed_precision.generic_always_op(dense, "float16") == [0, "float32", "float16"]
    assert mixed_precision.generic_never_op(relay.exp(x), "float16") == [2, "float16", "float16"]
    constants = relay.add(relay.const(1.0), relay.const(2.0))
    assert mixed_precision.generic_follow_op(constants, "float16")[0] == 2
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    with TempOpAttr("exp", "FTVMMixedPrecisionConversionType", mixed_precision.generic_always_op):
        assert "float16" in str(relay.transform.ToMixedPrecision("float16")(mod)["main"].body)
    assert "float16" not in str(relay.transform.ToMixedPrecision("float16")(mod)["main"].body)


def test_rules_of_built_in_operators_are_found_by_name():
    rule = fake_quantization_to_integer.relu
    x = relay.var("x", shape=(2,), dtype="int8")
    kind = tessera.ir.TensorAffineType(relay.const(0.5), relay.const(3), "int8", 0)
    expr, out = rule(relay.nn.relu(x), {x: kind})
    assert "maximum" in str(expr) and out == kind


def test_helpers_of_integer_rules():
    assert fake_quantization_to_integer.approx_equal(relay.const(0.1), relay.const(0.1) + relay.const(1e-12))
    assert not fake_quantization_to_integer.approx_equal(relay.const(0.1), relay.const(0.2))
    zeros = fake_quantization_to_integer.get_zeros(relay.const(np.ones(3, "float32")))
    assert zeros.data.numpy().tolist() == [0, 0, 0] and zeros.data.dtype == "int32"


def test_a_unary_identity_is_used_by_the_pass():
    old = _op.get("negative").get_attr("FTVMFakeQuantizationToInteger")
    x = relay.var("x", shape=(2,), dtype="int8")
    scale, zero = relay.const(0.5), relay.const(0)
    body = relay.qnn.op.quantize(relay.negative(relay.qnn.op.dequantize(x, scale, zero)), scale, zero)
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], body)))
    assert old is None and "dequantize" in str(relay.transform.FakeQuantizationToInteger()(mod))
    try:
        fake_quantization_to_integer.register_unary_identity("negative")
        assert "quantize" not in str(relay.transform.FakeQuantizationToInteger()(mod))
    finally:
        _op.get("negative").reset_attr("FTVMFakeQuantizationToInteger")


def test_a_layout_rule_gives_layouts_and_attributes():
    nchw = tessera.tir.layout("NCHW")
    out = infer_layout_utils.InferCorrectLayoutOutput([nchw], [nchw], None)
    assert (
        str(out.input_layouts[0]) == str(out.output_layouts[0]) == "Layout(NCHW)" or out.input_layouts[0].name == "NCHW"
    )


def test_parameters_get_another_batch_size():
    x, w = relay.var("x", shape=(1, 8)), relay.var("w", shape=(4, 8))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    out = relay.transform.InferType()(relay.transform.ChangeBatch({x: 0}, batch_size=7)(mod))["main"]
    assert out.ret_type.concrete_shape == (7, 4) and out.params[1].type_annotation.concrete_shape == (4, 8)
