"""ToMixedPrecision: matmuls in fp16 or bf16, sensitive operators in float32."""

import pytest
import tessera
from pass_checks import check, module
from tessera import relay
from tessera.relay.transform import ToMixedPrecision


def var(name, *shape):
    return relay.var(name, shape=shape)


def half(x):
    return relay.cast(x, "float16")


X, W, B = var("x", 2, 4), var("w", 4, 4), var("b", 4)


def narrow_dense(x, w):
    return relay.nn.dense(x, w, out_dtype="float16")


def test_matmuls_are_narrow_and_their_epilogues_too():
    after = relay.nn.relu(narrow_dense(half(X), half(W)) + half(B))
    check(ToMixedPrecision(), relay.nn.relu(relay.nn.dense(X, W) + B), after, rtol=1e-2)


def test_sensitive_operators_get_float32():
    after = relay.nn.softmax(relay.cast(narrow_dense(half(X), half(W)), "float32"))
    check(ToMixedPrecision(), relay.nn.softmax(relay.nn.dense(X, W)), after, rtol=1e-2)


def test_nothing_narrow_nothing_changed():
    check(ToMixedPrecision(), relay.nn.relu(X + B))


def test_the_result_can_keep_its_type():
    with tessera.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        mod = ToMixedPrecision()(module(relay.nn.dense(X, W)))
    assert mod["main"].ret_type.dtype == "float32"
    assert ToMixedPrecision()(module(relay.nn.dense(X, W)))["main"].ret_type.dtype == "float16"


def test_a_value_used_twice_is_cast_once():
    mod = ToMixedPrecision()(module(relay.nn.dense(X, W) + relay.nn.dense(X, W)))
    assert str(mod).count("cast(") == 2


def test_tuples_and_lets_go_along():
    t = relay.var("t")
    parts = relay.split(relay.nn.dense(X, W), 2, axis=1)
    mod = ToMixedPrecision()(module(relay.Let(t, parts[0], relay.exp(t) + parts[1])))
    assert "float16" in str(mod)


def test_unknown_operators_are_float32_or_an_error():
    expr = relay.nn.dense(relay.sinh(X), W)
    assert "sinh" in str(ToMixedPrecision("float16", 2)(module(expr)))
    with pytest.raises(ValueError, match="not known how these operators take narrow types: sinh"):
        ToMixedPrecision("float16", 0)(module(expr))


def test_an_operator_can_say_what_it_wants():
    relay.op.register_mixed_precision_conversion("sinh", lambda call, kind: [0, kind, "float32"], level=15)
    try:
        mod = ToMixedPrecision()(module(relay.sinh(X)))
        assert mod["main"].ret_type.dtype == "float32" and str(mod).count("cast(") == 2
    finally:
        tessera.ir.Op.get("sinh").reset_attr("FTVMMixedPrecisionConversionType")


def test_other_types_are_rejected():
    with pytest.raises(ValueError, match="float16 or bfloat16"):
        ToMixedPrecision("float64")
