"""Constants are folded exactly as the numbers of their type compute."""

import math
import operator
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tessera import tir
from tessera._ffi import TVMError

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
INDEX_TYPES = ["int32", "int64"]


def limits(dtype):
    bits = int(dtype.strip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrap(value, dtype):
    low, high = limits(dtype)
    return (value - low) % (high - low + 1) + low


def number(expr):
    """The value of a constant; beyond int64 a constant is a call with its two halves."""
    if isinstance(expr, tir.Call):
        assert expr.op.name == "tir.large_uint_imm"
        return expr.args[0].value + (expr.args[1].value << 32)
    return expr.value


def trunc_quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@st.composite
def operands(draw, dtypes):
    dtype = draw(st.sampled_from(dtypes))
    low, high = limits(dtype)
    high = min(high, 2**63 - 1)  # larger constants are calls and not folded
    edges = st.sampled_from([low, low + 1, high, high - 1, 0, 1, max(low, -1)])
    values = st.one_of(edges, st.integers(low, high))
    return dtype, draw(values), draw(values)


WRAPPING = {
    "add": (lambda a, b: a + b, operator.add),
    "sub": (lambda a, b: a - b, operator.sub),
    "mul": (lambda a, b: a * b, operator.mul),
    "min": (tir.min, min),
    "max": (tir.max, max),
}


@pytest.mark.parametrize("name", WRAPPING)
@settings(max_examples=300, deadline=None)
@given(case=operands(INTS))
def test_sums_and_products_wrap_in_the_width_of_their_type(name, case):
    dtype, a, b = case
    build, compute = WRAPPING[name]
    out = build(tir.const(a, dtype), tir.const(b, dtype))
    assert out.dtype == dtype
    assert number(out) == wrap(compute(a, b), dtype)


@pytest.mark.parametrize(
    ("build", "compute"), [(tir.floordiv, operator.floordiv), (tir.truncdiv, trunc_quotient), (tir.div, trunc_quotient)]
)
@settings(max_examples=300, deadline=None)
@given(case=operands(INTS))
def test_quotients_round_as_they_say(build, compute, case):
    dtype, a, b = case
    if b == 0:
        with pytest.raises(TVMError, match="Divide by zero"):
            build(tir.const(a, dtype), tir.const(b, dtype))
    else:
        assert number(build(tir.const(a, dtype), tir.const(b, dtype))) == wrap(compute(a, b), dtype)


@pytest.mark.parametrize(
    ("build", "compute"),
    [(tir.floormod, operator.mod), (tir.truncmod, lambda a, b: a - b * trunc_quotient(a, b))],
)
@settings(max_examples=300, deadline=None)
@given(case=operands(INDEX_TYPES))
def test_remainders_belong_to_their_quotient(build, compute, case):
    dtype, a, b = case
    if b == 0:
        with pytest.raises(TVMError, match="Divide by zero"):
            build(tir.const(a, dtype), tir.const(b, dtype))
    else:
        assert build(tir.const(a, dtype), tir.const(b, dtype)).value == compute(a, b)


@pytest.mark.parametrize("compute", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@settings(max_examples=200, deadline=None)
@given(case=operands(INTS))
def test_comparisons_of_constants_are_booleans(compute, case):
    dtype, a, b = case
    out = compute(tir.const(a, dtype), tir.const(b, dtype))
    assert out.dtype == "bool"
    assert out.value == compute(a, b)


@pytest.mark.parametrize("compute", [operator.and_, operator.or_, operator.xor])
@settings(max_examples=200, deadline=None)
@given(case=operands(INDEX_TYPES))
def test_bit_operations_work_on_twos_complement(compute, case):
    dtype, a, b = case
    assert compute(tir.const(a, dtype), tir.const(b, dtype)).value == compute(a, b)


@pytest.mark.parametrize("compute", [operator.lshift, operator.rshift])
@settings(max_examples=200, deadline=None)
@given(case=operands(INDEX_TYPES), amount=st.integers(-2, 66))
def test_shifts_wrap_and_reject_amounts_outside_the_type(compute, case, amount):
    dtype, a, _ = case
    if 0 <= amount < int(dtype[3:]):
        assert compute(tir.const(a, dtype), amount).value == wrap(compute(a, amount), dtype)
    else:
        with pytest.raises(TVMError, match="Shift amount must be non-negative and less than"):
            compute(tir.const(a, dtype), amount)


def single(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


@pytest.mark.parametrize("compute", [operator.add, operator.sub, operator.mul, operator.truediv])
@settings(max_examples=200, deadline=None)
@given(a=st.floats(width=32, allow_nan=False), b=st.floats(width=32, allow_nan=False))
def test_float32_is_computed_in_float32(compute, a, b):
    if compute is operator.truediv and b == 0:
        return
    out = compute(tir.const(a, "float32"), tir.const(b, "float32"))
    try:
        expected = single(compute(a, b))  # double has more than twice the bits, so rounding twice is rounding once
    except OverflowError:
        return
    assert out.value == expected or (math.isnan(out.value) and math.isnan(expected))


def test_half_precision_is_left_to_the_target():
    out = tir.const(1.5, "float16") + tir.const(2.5, "float16")
    assert isinstance(out, tir.Add)


def test_identities_give_back_the_operand():
    x = tir.Var("x", "int32")
    f = tir.Var("f", "float32")
    for same in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1, tir.truncdiv(x, 1), x << 0, x >> 0, tir.max(x, x)):
        assert same.same_as(x)
    for same in (f + 0, f - 0.0, f * 1, f / 1):
        assert same.same_as(f)
    for zero in (x * 0, 0 * x, x % 1, tir.truncmod(x, 1)):
        assert isinstance(zero, tir.IntImm) and zero.value == 0
    assert isinstance(0 - x, tir.Sub)
    assert isinstance(x - x, tir.Sub)


def test_logic_with_a_constant_is_decided():
    b = tir.Var("b", "bool")
    true, false = tir.const(True, "bool"), tir.const(False, "bool")
    assert tir.all(b, true).same_as(b) and tir.any(b, false).same_as(b)
    assert not tir.all(b, false).value
    assert tir.any(true, b).value


@pytest.mark.parametrize("dtype", INTS)
def test_limits_of_integer_types(dtype):
    low, high = limits(dtype)
    assert number(tir.min_value(dtype)) == low
    assert number(tir.max_value(dtype)) == high


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("float16", 65504.0), ("float32", 3.4028234663852886e38), ("float64", 1.7976931348623157e308)],
)
def test_limits_of_floating_types(dtype, largest):
    assert tir.max_value(dtype).value == largest
    assert tir.min_value(dtype).value == -largest
    assert tir.infinity(dtype).value == math.inf


@pytest.mark.parametrize("dtype", INTS)
def test_constants_outside_their_type_are_rejected(dtype):
    low, high = limits(dtype)
    if high < 2**63 - 1:
        with pytest.raises(TVMError, match="exceeds maximum"):
            tir.const(high + 1, dtype)
    if low > -(2**63):
        with pytest.raises(TVMError, match=r"negative value|exceeds minimum"):
            tir.const(low - 1, dtype)


@pytest.mark.parametrize(("dtype", "value"), [("float16", 65520.0), ("float32", 1e39), ("float32", -1e39)])
def test_floats_outside_their_type_are_rejected(dtype, value):
    with pytest.raises(TVMError, match=f"(exceeds maximum|exceeds minimum) of {dtype}"):
        tir.const(value, dtype)
    assert tir.const(math.inf, dtype).value == math.inf


def test_plain_numbers_get_a_type_they_fit():
    func = tir.PrimFunc([], tir.Evaluate(0))
    attrs = func.with_attr({"big": 1e300, "small": 1.5, "long": 2**40, "int": 7}).attrs
    assert [attrs[key].dtype for key in ("big", "small", "long", "int")] == ["float64", "float32", "int64", "int32"]
    assert tir.Evaluate(1e300).value.dtype == "float64"


def test_overflow_of_folded_floats_is_infinity():
    largest = tir.max_value("float32")
    assert (largest + largest).value == math.inf
    assert (tir.min_value("float32") * 2.0).value == -math.inf


def test_casts_of_integer_constants_keep_their_value_or_fail():
    assert tir.const(3, "int32").astype("float32").value == 3.0
    with pytest.raises(TVMError, match="exceeds maximum of uint8"):
        tir.const(300, "int32").astype("uint8")


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4"])
def test_casts_of_float_constants_give_what_they_give_at_run_time(dtype):
    bits, is_signed = int(dtype.lstrip("uint")), dtype.startswith("int")
    least = -(2**31) if bits < 32 or dtype == "int32" else -(2**63)  # of what does not fit
    for value in (3.7, -3.7, 300.0, -1.0, 3e9, 1e30, -1e30, math.inf, -math.inf, math.nan):
        wanted = (int(value) if abs(value) < -least else least) % 2**bits
        wanted -= 2**bits if is_signed and wanted >= 2 ** (bits - 1) else 0
        got = tir.const(value, "float64").astype(dtype)
        if wanted < 2**63:
            assert got.value == wanted, (value, dtype)
        else:  # no constant: an expression that gives it
            assert [int(half) for half in got.args] == [wanted % 2**32, wanted >> 32], (value, dtype)


def test_min_and_max_of_constants_are_nan_where_one_is():
    nan, one = tir.const(math.nan, "float32"), tir.const(1.0, "float32")
    for function in (tir.min, tir.max):
        assert all(math.isnan(function(*pair).value) for pair in ((nan, one), (one, nan), (nan, nan)))


def test_functions_of_constants():
    assert tir.abs(tir.const(-3)).value == 3
    assert tir.abs(tir.const(-(2**31), "int32")).value == -(2**31)  # wraps: there is no +2**31
    assert [tir.round(tir.const(v, "float32")).value for v in (0.5, 1.5, 2.5, -0.5)] == [0, 2, 2, 0]
    assert tir.trunc(tir.const(-2.5, "float32")).value == -2
    assert tir.isnan(tir.const(math.nan, "float32")).value == 1
    assert tir.isinf(tir.const(math.inf, "float32")).value == 1
    assert tir.isfinite(tir.const(1.0, "float32")).value == 1
    assert tir.likely(tir.const(True, "bool")).value == 1


@pytest.mark.parametrize("dtype", [*INTS, "float32", "float64"])
@pytest.mark.parametrize("value", [0, 1, 6, 100])
def test_a_constant_is_true_unless_it_is_zero(dtype, value):
    assert tir.const(value, dtype).astype("bool").value == (value != 0)


def test_negative_constants_and_fractions_are_true():
    assert tir.const(-2, "int64").astype("bool").value
    assert tir.const(0.25, "float32").astype("bool").value


@pytest.mark.parametrize(
    "value, dtype", [(2**64, "uint64"), (2**63, "int64"), (-(2**63) - 1, "int64"), (2**70, "int32")]
)
def test_a_whole_number_that_fits_no_type_is_an_error(value, dtype):
    with pytest.raises(TVMError, match=f"{value} does not fit in {dtype}"):
        tir.const(value, dtype)
    assert str(tir.const(2**64 - 1, "uint64")).startswith("@tir.large_uint_imm")
