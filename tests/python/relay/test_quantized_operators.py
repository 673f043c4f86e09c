"""qnn.quantize and qnn.dequantize: integers that stand for real numbers."""

import numpy as np
import pytest
import tessera
from tessera import relay


def run(expr, *inputs, opt_level=3, target="llvm"):
    mod = tessera.IRModule.from_expr(expr)
    with tessera.transform.PassContext(opt_level=opt_level):
        return relay.create_executor("graph", mod, tessera.cpu(), target).evaluate()(*inputs).numpy()


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("dtype, zero", [("uint8", 3), ("int8", -5), ("int16", 0)])
def test_quantize_rounds_and_stays_in_the_range(dtype, zero, opt_level):
    x = np.array([-1e6, -3.3, -0.25, 0.0, 0.24, 1.0, 63.0, 1e6], "float32")
    data = relay.var("x", shape=x.shape)
    out = run(relay.qnn.op.quantize(data, relay.const(0.5), relay.const(zero), out_dtype=dtype), x, opt_level=opt_level)
    info = np.iinfo(dtype)
    away = np.sign(x) * np.floor(np.abs(x / np.float32(0.5)) + 0.5)
    np.testing.assert_array_equal(out, np.clip(away + zero, info.min, info.max).astype(dtype))


def test_scales_and_zero_points_of_an_axis():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    scale, zero = np.array([0.5, 0.25, 2.0], "float32"), np.array([0, 10, -7], "int32")
    data = relay.var("x", shape=x.shape)
    whole = relay.qnn.op.quantize(data, relay.const(scale), relay.const(zero), axis=1)
    got = run(relay.qnn.op.dequantize(whole, relay.const(scale), relay.const(zero), axis=1), x)
    step = scale[:, None]
    want = (np.clip(np.round(x / step) + zero[:, None], -128, 127) - zero[:, None]) * step
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_a_scale_that_fits_no_axis_is_refused():
    data = relay.var("x", shape=(2, 3))
    call = relay.qnn.op.quantize(data, relay.const(np.ones(4, "float32")), relay.const(0), axis=1)
    with pytest.raises(Exception, match="an element for each place along axis 1"):
        relay.transform.InferType()(tessera.IRModule.from_expr(call))


def test_what_is_no_integer_stands_for_nothing():
    call = relay.qnn.op.dequantize(relay.var("x", shape=(2, 3)), relay.const(1.0), relay.const(0))
    with pytest.raises(Exception, match="must be integers"):
        relay.transform.InferType()(tessera.IRModule.from_expr(call))


def test_round_to_even():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999998], "float32")
    data = relay.var("x", shape=x.shape)
    out = run(relay.Call(tessera.ir.Op.get("round_to_even"), [data]), x)
    np.testing.assert_array_equal(out, np.round(x))
