"""Functions of quantised tensors by tables."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.qnn.op import canonicalizations, legalizations
from tessera.relay.testing.temp_op_attr import TempOpAttr


@pytest.mark.parametrize("in_dtype, out_dtype", [("uint8", "uint8"), ("int8", "int8"), ("int8", "uint8")])
def test_a_table_gives_what_the_function_gives_rounded(in_dtype, out_dtype):
    info = np.iinfo(in_dtype)
    data = np.arange(info.min, info.max + 1).astype(in_dtype)
    scale, zero = relay.const(0.05), relay.const(-5 if in_dtype == "int8" else 100)
    out_scale, out_zero = relay.const(0.1), relay.const(20)
    x = relay.const(data)
    table = canonicalizations.create_integer_lookup_op(
        x, relay.exp, scale, zero, out_scale, out_zero, in_dtype=in_dtype, out_dtype=out_dtype
    )
    real = relay.qnn.op.dequantize(x, scale, zero)
    wanted = relay.qnn.op.quantize(relay.exp(real), out_scale, out_zero, out_dtype=out_dtype)
    found = canonicalizations.run_const_expr(table)
    assert found.dtype == out_dtype
    np.testing.assert_array_equal(found, canonicalizations.run_const_expr(wanted))


def test_hardswish():
    x = np.array([-4, -3, -1, 0, 1, 3, 5], "float32")
    found = canonicalizations.run_const_expr(legalizations.hardswish_func(relay.const(x)))
    np.testing.assert_allclose(found, x * np.clip(x + 3, 0, 6) / 6, 1e-6)


def test_scalars_of_constants():
    assert legalizations.get_scalar_from_constant(relay.const(3)) == 3
    with pytest.raises(ValueError, match="not a constant scalar"):
        legalizations.get_scalar_from_constant(relay.const([1.0]))


def test_an_operator_becomes_a_table():
    x = relay.var("x", shape=(4,), dtype="int8")
    call = relay.qnn.op.exp(x, relay.const(0.05), relay.const(0), relay.const(0.1), relay.const(0))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], call)))
    op = relay.op.get("qnn.exp")
    before = op.get_attr("FTVMLegalize")
    with TempOpAttr("qnn.exp", "FTVMLegalize", lambda attrs, inputs, types: None):
        op.reset_attr("FTVMLegalize")
        legalizations.register_qnn_unary_op_legalize("qnn.exp", relay.exp)
        text = str(relay.transform.Legalize()(mod)["main"])
    assert "qnn.exp" not in text and "take" in text
    assert (op.get_attr("FTVMLegalize") is None) == (before is None)
