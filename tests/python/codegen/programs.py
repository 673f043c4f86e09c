"""The programs on which all CPU targets have to agree: see test_agreement.py.

A row is a name, the types it is for, and a function that for one type gives the program (a TE schedule with its arguments,
or a PrimFunc), what it is called with and what NumPy says to its tensors afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tessera
from tessera import te, tir, topi

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
WIDE_FLOATS = ("float32", "float64")
FLOATS = ("float16", "bfloat16", *WIDE_FLOATS)
NUMBERS = INTEGERS + FLOATS
ALL = ("bool", *NUMBERS)

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-6, "float64": 1e-13}


# ---- bfloat16 has no NumPy type: its values are float32 numbers that fit, its bits travel as uint16 ----


def to_bfloat(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 numbers, as float32."""
    bits = np.ascontiguousarray(x, "float32").view("uint32").astype("uint64")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return rounded.astype("uint32").view("float32")


def of_type(x: Any, dtype: str) -> np.ndarray:
    """`x` as the numbers of a type; bfloat16 as float32."""
    with np.errstate(all="ignore"):
        return to_bfloat(np.asarray(x)) if dtype == "bfloat16" else np.asarray(x).astype(dtype)


def to_bytes(x: np.ndarray, dtype: str) -> bytes:
    return (x.view("uint32") >> 16).astype("uint16").tobytes() if dtype == "bfloat16" else x.tobytes()


def from_bytes(data: bytes, dtype: str, shape: Sequence[int]) -> np.ndarray:
    if dtype == "bfloat16":
        return (np.frombuffer(data, "uint16").astype("uint32") << 16).view("float32").reshape(shape)
    return np.frombuffer(data, dtype).reshape(shape)


# ---- what a row consists of ----


@dataclass
class Case:
    """A program of one type: a schedule with its arguments or a PrimFunc, and its call."""

    program: Any
    params: Sequence[Any] | None
    args: list[tuple[str, Any]]  # type and contents; a Python number is a scalar
    expected: list[np.ndarray]  # of the last tensors
    tolerance: float | None = None  # relative; that of the answer's type when not given
    name: str = field(default="")


ROWS: dict[str, tuple[Sequence[str], Callable[[str], Case]]] = {}


def row(dtypes: Sequence[str] = ("float32",)) -> Callable[[Callable[[str], Case]], Callable[[str], Case]]:
    def add(make: Callable[[str], Case]) -> Callable[[str], Case]:
        ROWS[make.__name__] = (dtypes, make)
        return make

    return add


def cases() -> Iterator[Case]:
    for name, (dtypes, make) in ROWS.items():
        for dtype in dtypes:
            case = make(dtype)
            case.name = f"{name}_{dtype}"
            yield case


# ---- helpers of the rows ----

N = 37  # no multiple of a vector: every elementwise program has a tail


def numbers(dtype: str, shape: Any = N, seed: int = 0, low: float = -40, high: float = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype("bool")
    if dtype.startswith("uint"):
        return rng.integers(0, int(high), shape).astype(dtype)
    if dtype.startswith("int"):
        return rng.integers(int(low), int(high), shape).astype(dtype)
    return of_type(rng.uniform(low, high, shape), dtype)


def whole_range(dtype: str, seed: int = 0) -> np.ndarray:
    """Integers of all sizes, the extremes first."""
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
    rest = np.random.default_rng(seed).integers(info.min, info.max, N - len(ends), dtype, endpoint=True)
    return np.concatenate([ends, rest])


def vectorised(tensor: te.Tensor, lanes: int = 8) -> te.Schedule:
    s = te.create_schedule(tensor.op)
    _, inner = s[tensor].split(s[tensor].fuse(*tensor.op.axis), lanes)
    s[tensor].vectorize(inner)
    return s


def elementwise(
    inputs: Sequence[tuple[str, np.ndarray]],
    compute: Callable[..., Any],
    answer: tuple[str, np.ndarray],
    tolerance: float | None = None,
) -> Case:
    """One formula over tensors of one shape, in vectors with a tail."""
    shape = inputs[0][1].shape
    tensors = [te.placeholder(shape, dtype, name=f"x{i}") for i, (dtype, _) in enumerate(inputs)]
    out = te.compute(shape, lambda *i: compute(*(p[i] for p in tensors)), name="out")
    assert out.dtype == answer[0], (out.dtype, answer[0])
    args = [*inputs, (answer[0], np.zeros_like(answer[1]))]
    return Case(vectorised(out), [*tensors, out], args, [answer[1]], tolerance)


def binary(dtype: str, compute: Any, reference: Any, a: Any = None, b: Any = None, result: str = "") -> Case:
    a = numbers(dtype, seed=1) if a is None else a
    b = numbers(dtype, seed=2) if b is None else b
    with np.errstate(all="ignore"):
        expected = of_type(reference(a, b), result or dtype)
    return elementwise([(dtype, a), (dtype, b)], compute, (result or dtype, expected))


def whole(dtype: str, seed: int) -> np.ndarray:
    return whole_range(dtype, seed) if dtype in INTEGERS else numbers(dtype, seed=seed)


# ---- arithmetic ----


@row(NUMBERS)
def add(dtype: str) -> Case:
    return binary(dtype, lambda x, y: x + y, lambda x, y: x + y, whole(dtype, 1), whole(dtype, 2))


@row(NUMBERS)
def subtract(dtype: str) -> Case:
    return binary(dtype, lambda x, y: x - y, lambda x, y: x - y, whole(dtype, 1), whole(dtype, 2))


@row(NUMBERS)
def multiply(dtype: str) -> Case:
    return binary(dtype, lambda x, y: x * y, lambda x, y: x * y, whole(dtype, 1), whole(dtype, 2))


@row(NUMBERS)
def smaller(dtype: str) -> Case:
    return binary(dtype, tir.min, np.minimum, whole(dtype, 1), whole(dtype, 2))


@row(NUMBERS)
def larger(dtype: str) -> Case:
    return binary(dtype, tir.max, np.maximum, whole(dtype, 1), whole(dtype, 2))


def with_nan(dtype: str, seed: int, every: int) -> np.ndarray:
    """Numbers, infinities and zeros, with a NaN (also one with a sign) at each multiple of `every`."""
    x = numbers(dtype, seed=seed)
    x[::7], x[1::7], x[2::7] = np.inf, -np.inf, 0
    x[::every], x[0] = np.nan, np.copysign(np.nan, -1)
    return x


@row(FLOATS)
def smaller_with_nan(dtype: str) -> Case:
    return binary(dtype, tir.min, np.minimum, with_nan(dtype, 1, 2), with_nan(dtype, 2, 3))


@row(FLOATS)
def larger_with_nan(dtype: str) -> Case:
    return binary(dtype, tir.max, np.maximum, with_nan(dtype, 1, 2), with_nan(dtype, 2, 3))


@row(FLOATS)
def clip_with_nan(dtype: str) -> Case:
    """Constants on either side: both orders of the operands keep the NaN."""
    x = with_nan(dtype, 1, 3)
    compute = lambda v: tir.max(tir.const(-8, dtype), tir.max(tir.min(tir.min(tir.const(20, dtype), v), 16), -4))
    return elementwise([(dtype, x)], compute, (dtype, np.clip(x, -4, 16)))


@row(SIGNED + FLOATS)
def absolute(dtype: str) -> Case:
    x = whole(dtype, 1)
    return elementwise([(dtype, x)], tir.abs, (dtype, np.abs(x)))


@row(NUMBERS)
def clamp(dtype: str) -> Case:
    low, high = tir.const(5, dtype), tir.const(20, dtype)
    x = numbers(dtype)
    compute = lambda v: tir.Select(v < low, low, tir.if_then_else(v > high, high, v))
    return elementwise([(dtype, x)], compute, (dtype, np.clip(x, 5, 20)))


# ---- division: towards zero, towards minus infinity, and without traps ----


def divisors(dtype: str) -> np.ndarray:
    b = whole_range(dtype, 2)
    b[b == 0] = 3
    if dtype in SIGNED:
        b[0] = 7  # the least number divided by -1 has no answer
        b[b == -1] = -2
    return b


def truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(a % b != 0, a // b + ((a < 0) != (b < 0)), a // b).astype(a.dtype)


@row(INTEGERS)
def truncdiv(dtype: str) -> Case:
    return binary(dtype, tir.truncdiv, truncated, whole_range(dtype), divisors(dtype))


@row(INTEGERS)
def truncmod(dtype: str) -> Case:
    return binary(dtype, tir.truncmod, lambda a, b: a - truncated(a, b) * b, whole_range(dtype), divisors(dtype))


@row(INTEGERS)
def floordiv(dtype: str) -> Case:
    return binary(dtype, tir.floordiv, lambda a, b: a // b, whole_range(dtype), divisors(dtype))


@row(INTEGERS)
def floormod(dtype: str) -> Case:
    return binary(dtype, tir.floormod, lambda a, b: a % b, whole_range(dtype), divisors(dtype))


@row(SIGNED)
def divide_by_constants(dtype: str) -> Case:
    x = whole_range(dtype)
    compute = lambda v: tir.floordiv(v, tir.const(7, dtype)) + tir.floormod(v, tir.const(8, dtype))
    return elementwise([(dtype, x)], compute, (dtype, x // 7 + x % 8))


@row(FLOATS)
def divide(dtype: str) -> Case:
    b = numbers(dtype, seed=2, low=0.5)
    return binary(dtype, lambda x, y: x / y, lambda x, y: x / y, b=b)


@row(FLOATS)
def remainder(dtype: str) -> Case:
    b = numbers(dtype, seed=2, low=2, high=6)
    return binary(dtype, tir.fmod, lambda x, y: np.fmod(x, y), b=b)


# ---- bits and comparisons ----


@row(INTEGERS)
def shift_left(dtype: str) -> Case:
    count = np.arange(N).astype(dtype) % np.array(np.iinfo(dtype).bits, dtype)
    return binary(dtype, lambda x, y: x << y, np.left_shift, whole_range(dtype), count)


@row(INTEGERS)
def shift_right(dtype: str) -> Case:
    count = np.arange(N).astype(dtype) % np.array(np.iinfo(dtype).bits, dtype)
    return binary(dtype, lambda x, y: x >> y, np.right_shift, whole_range(dtype), count)


@row(INTEGERS)
def bits(dtype: str) -> Case:
    return binary(
        dtype, lambda x, y: (x & y) | (~x ^ y), lambda x, y: (x & y) | (~x ^ y), whole(dtype, 1), whole(dtype, 2)
    )


@row(UNSIGNED)
def popcount(dtype: str) -> Case:
    x = whole_range(dtype)
    counts = np.array([int(v).bit_count() for v in x]).astype(dtype)
    return elementwise([(dtype, x)], tir.popcount, (dtype, counts))


@row(NUMBERS)
def compare(dtype: str) -> Case:
    a, b = whole(dtype, 1), whole(dtype, 2)
    a[::4] = b[::4]
    compute = lambda x, y: tir.Select(x < y, 1, 0) + tir.Select(x >= y, 2, 0) + tir.Select(x.equal(y), 4, 0)
    expected = ((a < b) * 1 + (a >= b) * 2 + (a == b) * 4).astype("int32")
    return elementwise([(dtype, a), (dtype, b)], compute, ("int32", expected))


@row(("bool",))
def logic(dtype: str) -> Case:
    compute = lambda x, y: tir.any(tir.all(x, y), tir.all(tir.Not(x), tir.Not(y)))
    return binary(dtype, compute, lambda x, y: x == y)


@row(NUMBERS)
def compare_to_bool(dtype: str) -> Case:
    return binary(dtype, lambda x, y: x < y, np.less, result="bool")


# ---- casts: every type to every type ----


@row(ALL)
def cast_to_all(dtype: str) -> Case:
    x = numbers(dtype, low=0, high=100)
    source = te.placeholder(x.shape, dtype, name="x")
    outs = te.compute(x.shape, lambda i: [source[i].astype(to) for to in ALL], name="out")
    s = te.create_schedule(outs[0].op)
    _, inner = s[outs[0]].split(outs[0].op.axis[0], 8)
    s[outs[0]].vectorize(inner)
    expected = [of_type(x, to) for to in ALL]
    args = [(dtype, x)] + [(to, np.zeros_like(e)) for to, e in zip(ALL, expected)]
    return Case(s, [source, *outs], args, expected)


@row(SIGNED)
def wrap_around(dtype: str) -> Case:
    x = whole_range(dtype)
    compute = lambda v: v.astype("int8").astype("int64") + v.astype("uint16").astype("int64")
    expected = x.astype("int8").astype("int64") + x.astype("uint16").astype("int64")
    return elementwise([(dtype, x)], compute, ("int64", expected))


@row(("float16", "bfloat16"))
def all_bit_patterns(dtype: str) -> Case:
    """To float32 and back by way of float64 * 3: infinities, denormals, and rounding of every kind."""
    words = np.arange(0, 1 << 16, 7).astype("uint16")
    x = (words.astype("uint32") << 16).view("float32") if dtype == "bfloat16" else words.view("float16")
    x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        wide = x.astype("float64") * 3
        expected = wide.astype("float16") if dtype == "float16" else to_bfloat(wide)
    compute = lambda v: (v.astype("float64") * tir.const(3, "float64")).astype(dtype)
    return elementwise([(dtype, x)], compute, (dtype, expected), tolerance=0)


# ---- functions ----


def function(dtype: str, compute: Any, reference: Any, low: float = -6, high: float = 6) -> Case:
    x = numbers(dtype, low=low, high=high)
    with np.errstate(all="ignore"):
        expected = of_type(reference(x.astype("float64")), dtype)
    return elementwise([(dtype, x)], compute, (dtype, expected))


@row(FLOATS)
def exp(dtype: str) -> Case:
    return function(dtype, te.exp, np.exp)


@row(FLOATS)
def log(dtype: str) -> Case:
    return function(dtype, te.log, np.log, low=1.5, high=60)


@row(FLOATS)
def tanh(dtype: str) -> Case:
    return function(dtype, te.tanh, np.tanh)


@row(FLOATS)
def sigmoid(dtype: str) -> Case:
    return function(dtype, te.sigmoid, lambda x: 1 / (1 + np.exp(-x)))


@row(FLOATS)
def square_roots(dtype: str) -> Case:
    return function(dtype, lambda x: te.sqrt(x) + te.rsqrt(x), lambda x: np.sqrt(x) + 1 / np.sqrt(x), low=0.5, high=60)


@row(FLOATS)
def sine_and_cosine(dtype: str) -> Case:
    # Shifted away from 0, where a relative error means nothing.
    return function(dtype, lambda x: te.sin(x) + te.cos(x) + tir.const(4, dtype), lambda x: np.sin(x) + np.cos(x) + 4)


@row(WIDE_FLOATS)
def erf(dtype: str) -> Case:
    import math

    return function(dtype, te.erf, np.vectorize(math.erf))


@row(("float16", *WIDE_FLOATS))
def power(dtype: str) -> Case:
    a, b = numbers(dtype, seed=1, low=1, high=4), numbers(dtype, seed=2, low=-2, high=2)
    return binary(dtype, te.power, lambda x, y: np.power(x.astype("float64"), y.astype("float64")), a, b)


@row(FLOATS)
def atan(dtype: str) -> Case:
    return function(dtype, te.atan, np.arctan)


@row(FLOATS)
def floor_and_ceil(dtype: str) -> Case:
    compute = lambda x: te.floor(x) + te.ceil(x) * tir.const(2, dtype)
    return function(dtype, compute, lambda x: np.floor(x) + 2 * np.ceil(x), -8, 8)


@row(FLOATS)
def truncate(dtype: str) -> Case:
    return function(dtype, te.trunc, np.trunc, -8, 8)


@row(FLOATS)
def round_to_even(dtype: str) -> Case:
    return function(dtype, lambda x: tir.nearbyint(x * tir.const(0.5, dtype)), lambda x: np.rint(x * 0.5), -8, 8)


@row(FLOATS)
def round_half_away(dtype: str) -> Case:
    return function(dtype, te.round, lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -8, 8)


@row(FLOATS)
def not_a_number(dtype: str) -> Case:
    x = numbers(dtype)
    x[::5] = np.nan
    x[1::5] = np.inf
    compute = lambda v: tir.Select(tir.isnan(v), tir.const(-1, dtype), tir.max(v, tir.const(2, dtype)))
    expected = np.where(np.isnan(x), -1, np.maximum(x, 2)).astype(x.dtype)
    return elementwise([(dtype, x)], compute, (dtype, expected))


def truncated_float(value: float, to: str) -> int:
    """What a cast gives for a float: the definition, of ir/prim/match.h, in whole numbers."""
    bits = np.iinfo(to).bits
    limit = 2**31 if bits < 32 or to == "int32" else 2**63
    if to == "uint64" and 2**63 <= value < 2**64:
        return int(value)
    result = int(value) if abs(value) < limit else -limit
    result %= 2**bits
    return result - 2**bits if to in SIGNED and result >= 2 ** (bits - 1) else result


#: At and around the ends of all integer types; what is not of a float type becomes its nearest number, or infinite.
AROUND_THE_ENDS = [
    np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.9, 128, -128.9, -129, 255.9, 256, 300, -300,
    32767.5, 32768, -32769, 65535, 65536, 70000, 2.0**31 - 128, 2.0**31 - 0.5, 2.0**31, -(2.0**31), -(2.0**31) - 0.5,
    -(2.0**31) - 256, 3e9, 2.0**32 - 256, 2.0**32, 2.0**32 + 512, 1e10, -1e10, 2.0**53 + 2, 2.0**63 - 1024, 2.0**63,
    -(2.0**63), -(2.0**63) - 2048, 2.0**63 + 2048, 1e19, 2.0**64 - 2048, 2.0**64, 1e30, -1e30,
]  # fmt: skip


def integer_of(source: str) -> Callable[[str], Case]:
    def make(dtype: str) -> Case:
        x = of_type(np.array(AROUND_THE_ENDS), source)
        answer = np.array([truncated_float(float(v), dtype) for v in x], dtype)
        return elementwise([(source, x)], lambda v: v.astype(dtype), (dtype, answer))

    make.__name__ = f"integer_of_{source}"
    return make


for source in FLOATS:
    row(INTEGERS)(integer_of(source))


@row(("int32",))
def fixed_point_multiply(dtype: str) -> Case:
    x = np.random.default_rng(3).integers(-(1 << 20), 1 << 20, N).astype("int32")
    y, q, s = 1234567890, 31, 2
    expected = (((x.astype("int64") << s) * y + (1 << (q - 1))) >> q).astype("int32")
    constants = [tir.const(v, "int32") for v in (y, q, s)]
    return elementwise([(dtype, x)], lambda v: tir.q_multiply_shift(v, *constants), (dtype, expected))


# ---- reductions ----


def reduction(dtype: str, x: np.ndarray, reduce: Any, expected: Any, tolerance: float | None = None) -> Case:
    source = te.placeholder(x.shape, dtype, name="x")
    k = te.reduce_axis((0, x.shape[1]), name="k")
    out = te.compute((x.shape[0],), lambda i: reduce(source[i, k], axis=k), name="out")
    s = te.create_schedule(out.op)
    s[out].split(k, 4)
    s[out].parallel(out.op.axis[0])
    answer = of_type(expected, dtype)
    return Case(s, [source, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer], tolerance)


@row(NUMBERS)
def total(dtype: str) -> Case:
    x = numbers(dtype, (5, 18), low=1, high=8)
    return reduction(dtype, x, te.sum, x.sum(1, dtype=x.dtype if dtype in INTEGERS else "float64"))


@row(NUMBERS)
def product(dtype: str) -> Case:
    from functools import partial

    x = numbers(dtype, (5, 6), low=1, high=4)
    one = partial(te.comm_reducer(lambda a, b: a * b, lambda t: tir.const(1, t), name="product"))
    return reduction(dtype, x, one, x.prod(1, dtype=x.dtype if dtype in INTEGERS else "float64"))


@row(NUMBERS)
def extremes(dtype: str) -> Case:
    x = numbers(dtype, (5, 18))
    return reduction(dtype, x, te.max, x.max(1))


@row(NUMBERS)
def least(dtype: str) -> Case:
    x = numbers(dtype, (5, 18))
    return reduction(dtype, x, te.min, x.min(1))


@row(FLOATS)
def extremes_with_nan(dtype: str) -> Case:
    """The first, a later and the last element of a row is NaN; one row has none."""
    x = numbers(dtype, (5, 18))
    x[0, 0] = x[1, 7] = x[2, 17] = x[3, :] = np.nan
    return reduction(dtype, x, te.max, x.max(1))


@row(FLOATS)
def least_with_nan(dtype: str) -> Case:
    x = numbers(dtype, (5, 18))
    x[0, 0] = x[1, 7] = x[2, 17] = x[3, :] = np.nan
    return reduction(dtype, x, te.min, x.min(1))


def position_with_nan(dtype: str, compute: Any, reference: Any) -> Case:
    x = numbers(dtype, (6, 20))
    x[0, 0] = x[1, 7] = x[1, 12] = x[2, 19] = x[3, :] = np.nan
    x[1, 3], x[4, :] = np.inf, -np.inf
    source = te.placeholder(x.shape, dtype, name="x")
    out = compute(source, axis=1)
    answer = reference(x, axis=1).astype("int32")
    return Case(te.create_schedule(out.op), [source, out], [(dtype, x), ("int32", np.zeros_like(answer))], [answer])


@row(FLOATS)
def argmax_with_nan(dtype: str) -> Case:
    return position_with_nan(dtype, topi.argmax, np.argmax)


@row(FLOATS)
def argmin_with_nan(dtype: str) -> Case:
    return position_with_nan(dtype, topi.argmin, np.argmin)


@row(("int8", "uint32", "int64", *FLOATS))
def argmax(dtype: str) -> Case:
    x = numbers(dtype, (6, 20))
    source = te.placeholder(x.shape, dtype, name="x")
    out = topi.argmax(source, axis=1)
    answer = x.argmax(1).astype("int32")
    return Case(te.create_schedule(out.op), [source, out], [(dtype, x), ("int32", np.zeros_like(answer))], [answer])


@row(("bool",))
def all_and_any(dtype: str) -> Case:
    x = numbers(dtype, (8, 3))
    source = te.placeholder(x.shape, dtype, name="x")
    every, some = topi.all(source, axis=1), topi.any(source, axis=1)
    out = te.compute((8,), lambda i: every[i].astype("int32") * 2 + some[i].astype("int32"), name="out")
    answer = (x.all(1) * 2 + x.any(1)).astype("int32")
    return Case(te.create_schedule(out.op), [source, out], [(dtype, x), ("int32", np.zeros_like(answer))], [answer])


# ---- kernels ----


@row(("float32", "float64", "float16", "bfloat16", "int32", "int64"))
def matmul(dtype: str) -> Case:
    """Tiled, vectorised, unrolled and parallel, with tails in every direction."""
    m, n, k = 13, 22, 17
    a, b = numbers(dtype, (m, k), 1, 0, 3), numbers(dtype, (k, n), 2, 0, 3)
    pa, pb = te.placeholder(a.shape, dtype, name="a"), te.placeholder(b.shape, dtype, name="b")
    r = te.reduce_axis((0, k), name="k")
    out = te.compute((m, n), lambda i, j: te.sum(pa[i, r] * pb[r, j], axis=r), name="out")
    s = te.create_schedule(out.op)
    io, jo, ii, ji = s[out].tile(*out.op.axis, 4, 8)
    s[out].reorder(io, jo, r, ii, ji)
    s[out].vectorize(ji)
    s[out].unroll(ii)
    s[out].parallel(io)
    wide = "float64" if dtype in FLOATS else dtype
    answer = of_type(a.astype(wide) @ b.astype(wide), dtype)
    return Case(s, [pa, pb, out], [(dtype, a), (dtype, b), (dtype, np.zeros_like(answer))], [answer])


@row(("int8", "uint8", "int16"))
def matmul_widening(dtype: str) -> Case:
    m, n, k = 6, 16, 24
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    a, b = (
        rng.integers(info.min, info.max, (m, k)).astype(dtype),
        rng.integers(info.min, info.max, (k, n)).astype(dtype),
    )
    pa, pb = te.placeholder(a.shape, dtype, name="a"), te.placeholder(b.shape, dtype, name="b")
    r = te.reduce_axis((0, k), name="k")
    out = te.compute(
        (m, n), lambda i, j: te.sum(pa[i, r].astype("int32") * pb[r, j].astype("int32"), axis=r), name="out"
    )
    s = te.create_schedule(out.op)
    s[out].reorder(r, *out.op.axis)
    s[out].vectorize(out.op.axis[1])
    answer = a.astype("int64") @ b.astype("int64")
    answer = answer.astype("int32")
    return Case(s, [pa, pb, out], [(dtype, a), (dtype, b), ("int32", np.zeros_like(answer))], [answer])


def windows(x: np.ndarray, size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))


@row(("float32", "float16", "int32"))
def conv2d(dtype: str) -> Case:
    x, w = numbers(dtype, (1, 3, 9, 9), 1, 0, 3), numbers(dtype, (4, 3, 3, 3), 2, 0, 3)
    px, pw = te.placeholder(x.shape, dtype, name="x"), te.placeholder(w.shape, dtype, name="w")
    zero = tir.const(0, dtype)
    padded = te.compute(
        (1, 3, 11, 11),
        lambda n, c, i, j: tir.if_then_else(tir.all(i >= 1, i < 10, j >= 1, j < 10), px[n, c, i - 1, j - 1], zero),
        name="padded",
    )
    c, u, v = te.reduce_axis((0, 3)), te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    out = te.compute(
        (1, 4, 9, 9), lambda n, f, i, j: te.sum(padded[n, c, i + u, j + v] * pw[f, c, u, v], axis=[c, u, v]), name="out"
    )
    s = te.create_schedule(out.op)
    s[padded].compute_inline()
    s[out].parallel(out.op.axis[1])
    wide = "float64" if dtype in FLOATS else "int64"
    view = windows(np.pad(x.astype(wide), ((0, 0), (0, 0), (1, 1), (1, 1))), 3)
    answer = of_type(np.einsum("ncijuv,fcuv->nfij", view, w.astype(wide)), dtype)
    return Case(s, [px, pw, out], [(dtype, x), (dtype, w), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "float64"))
def depthwise(dtype: str) -> Case:
    x, w = numbers(dtype, (1, 6, 8, 8), 1, 0, 3), numbers(dtype, (6, 3, 3), 2, 0, 3)
    px, pw = te.placeholder(x.shape, dtype, name="x"), te.placeholder(w.shape, dtype, name="w")
    u, v = te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    out = te.compute(
        (1, 6, 6, 6), lambda n, c, i, j: te.sum(px[n, c, i + u, j + v] * pw[c, u, v], axis=[u, v]), name="out"
    )
    s = te.create_schedule(out.op)
    s[out].vectorize(out.op.axis[3])
    answer = of_type(np.einsum("ncijuv,cuv->ncij", windows(x.astype("float64"), 3), w.astype("float64")), dtype)
    return Case(s, [px, pw, out], [(dtype, x), (dtype, w), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "bfloat16", "int8", "uint8"))
def max_pool(dtype: str) -> Case:
    x = numbers(dtype, (1, 2, 9, 9))
    px = te.placeholder(x.shape, dtype, name="x")
    u, v = te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    out = te.compute((1, 2, 4, 4), lambda n, c, i, j: te.max(px[n, c, i * 2 + u, j * 2 + v], axis=[u, v]), name="out")
    s = te.create_schedule(out.op)
    s[out].unroll(u)
    s[out].unroll(v)
    answer = np.ascontiguousarray(windows(x, 3)[:, :, ::2, ::2].max((4, 5)))
    return Case(s, [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "float64", "float16"))
def average_pool(dtype: str) -> Case:
    x = numbers(dtype, (1, 2, 8, 8), low=1, high=5)
    px = te.placeholder(x.shape, dtype, name="x")
    u, v = te.reduce_axis((0, 2)), te.reduce_axis((0, 2))
    total = te.compute(
        (1, 2, 4, 4), lambda n, c, i, j: te.sum(px[n, c, i * 2 + u, j * 2 + v], axis=[u, v]), name="total"
    )
    out = te.compute((1, 2, 4, 4), lambda *i: total(*i) / tir.const(4, dtype), name="out")
    answer = of_type(x.astype("float64").reshape(1, 2, 4, 2, 4, 2).mean((3, 5)), dtype)
    return Case(te.create_schedule(out.op), [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(FLOATS)
def softmax(dtype: str) -> Case:
    x = numbers(dtype, (4, 19), low=-3, high=3)
    px = te.placeholder(x.shape, dtype, name="x")
    k1, k2 = te.reduce_axis((0, 19)), te.reduce_axis((0, 19))
    peak = te.compute((4,), lambda i: te.max(px[i, k1], axis=k1), name="peak")
    power = te.compute(x.shape, lambda i, j: te.exp(px[i, j] - peak[i]), name="power")
    total = te.compute((4,), lambda i: te.sum(power[i, k2], axis=k2), name="total")
    out = te.compute(x.shape, lambda i, j: power[i, j] / total[i], name="out")
    s = te.create_schedule(out.op)
    for stage in (peak, power, total):
        s[stage].compute_at(s[out], out.op.axis[0])
    s[out].parallel(out.op.axis[0])
    e = np.exp(x.astype("float64") - x.max(1, keepdims=True).astype("float64"))
    answer = of_type(e / e.sum(1, keepdims=True), dtype)
    return Case(s, [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "float64"))
def layer_norm(dtype: str) -> Case:
    x = numbers(dtype, (4, 24), low=0, high=9)
    px = te.placeholder(x.shape, dtype, name="x")
    k1, k2 = te.reduce_axis((0, 24)), te.reduce_axis((0, 24))
    size = tir.const(24, dtype)
    mean = te.compute((4,), lambda i: te.sum(px[i, k1] / size, axis=k1), name="mean")
    spread = te.compute(
        (4,), lambda i: te.sum((px[i, k2] - mean[i]) * (px[i, k2] - mean[i]) / size, axis=k2), name="spread"
    )
    out = te.compute(x.shape, lambda i, j: (px[i, j] - mean[i]) * te.rsqrt(spread[i]) + tir.const(8, dtype), name="out")
    wide = x.astype("float64")
    answer = ((wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True) + 8).astype(dtype)
    return Case(te.create_schedule(out.op), [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "int8", "uint64"))
def transpose(dtype: str) -> Case:
    x = numbers(dtype, (7, 16))
    px = te.placeholder(x.shape, dtype, name="x")
    out = te.compute((16, 7), lambda i, j: px[j, i], name="out")
    s = te.create_schedule(out.op)
    s[out].reorder(out.op.axis[1], out.op.axis[0])
    s[out].vectorize(out.op.axis[0])
    return Case(s, [px, out], [(dtype, x), (dtype, np.zeros_like(x.T.copy()))], [x.T.copy()])


@row(ALL)
def lanes_apart(dtype: str) -> Case:
    """Vectors whose lanes lie at known indices that are no neighbours: strided, repeated, backwards, in small groups."""
    maps: list[Callable[[Any], Any]] = [
        lambda i: i * 2,
        lambda i: i * 3 + 1,
        lambda i: i * 7,
        lambda i: 70 - i * 2,
        lambda i: i // 4 * 4 + 2,
        lambda i: i // 2 + 5,
        lambda i: i % 4 * 4 + i // 16,
        lambda i: i // 3 + i % 2,
    ]
    x = np.random.default_rng(3).integers(0, 2, 256).astype("bool") if dtype == "bool" else numbers(dtype, 256)
    source = te.placeholder((256,), dtype, name="x")

    def read(at: Callable[[Any], Any], name: str) -> te.Tensor:
        return te.compute((32,), lambda i: source[at(i)], name=name)

    outs = [read(at, f"out{n}") for n, at in enumerate(maps)]
    s = te.create_schedule([out.op for out in outs])
    for n, out in enumerate(outs):
        _, inner = s[out].split(out.op.axis[0], 16 if n % 2 else 8)
        s[out].vectorize(inner)
    answers = [x[[at(i) for i in range(32)]] for at in maps]
    args = [(dtype, x), *((dtype, np.zeros_like(answer)) for answer in answers)]
    return Case(s, [source, *outs], args, answers)


@row(("int8", "uint16", "int32", "int64"))
def gather(dtype: str) -> Case:
    """Indices of every integer type, in vectors."""
    table = numbers("float32", 64)
    index = numbers(dtype, N, low=0, high=64)
    pt, pi = te.placeholder(table.shape, "float32", name="table"), te.placeholder(index.shape, dtype, name="index")
    out = te.compute(index.shape, lambda i: pt[pi[i].astype("int64")], name="out")
    answer = table[index]
    args = [("float32", table), (dtype, index), ("float32", np.zeros_like(answer))]
    return Case(vectorised(out), [pt, pi, out], args, [answer])


@row(("float32", "int64"))
def cumulative_sum(dtype: str) -> Case:
    x = numbers(dtype, (12, 5), low=0, high=6)
    px = te.placeholder(x.shape, dtype, name="x")
    state = te.placeholder(x.shape, dtype, name="state")
    first = te.compute((1, 5), lambda _, j: px[0, j], name="first")
    update = te.compute(x.shape, lambda t, j: state[t - 1, j] + px[t, j], name="update")
    out = te.scan(first, update, state, inputs=[px])
    answer = of_type(np.cumsum(x, 0, dtype="float64" if dtype in FLOATS else dtype), dtype)
    return Case(te.create_schedule(out.op), [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "int16", "float64"))
def symbolic_shapes(dtype: str) -> Case:
    n, m = te.size_var("n"), te.size_var("m")
    pa, pb = te.placeholder((n, m), dtype, name="a"), te.placeholder((m,), dtype, name="b")
    out = te.compute((n, m), lambda i, j: pa[i, j] * pb[j] + pb[j], name="out")
    s = te.create_schedule(out.op)
    _, inner = s[out].split(out.op.axis[1], 4)
    s[out].vectorize(inner)
    s[out].parallel(out.op.axis[0])
    a, b = numbers(dtype, (9, 14), 1, 1, 9), numbers(dtype, 14, 2, 1, 9)
    answer = of_type(a * b + b, dtype)
    return Case(s, [pa, pb, out], [(dtype, a), (dtype, b), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "int32"))
def large_workspace(dtype: str) -> Case:
    """A buffer that comes from the runtime, used by several threads."""
    x = numbers(dtype, (6, 700), low=0, high=9)
    px = te.placeholder(x.shape, dtype, name="x")
    twice = te.compute(x.shape, lambda i, j: px[i, j] + px[i, j], name="twice")
    out = te.compute((6, 699), lambda i, j: twice[i, j] + twice[i, j + 1], name="out")
    s = te.create_schedule(out.op)
    s[twice].compute_at(s[out], out.op.axis[0])
    s[out].parallel(out.op.axis[0])
    answer = of_type(2 * x[:, :-1] + 2 * x[:, 1:], dtype)
    return Case(s, [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32",))
def several_outputs(dtype: str) -> Case:
    x = numbers(dtype, (4, 6))
    px = te.placeholder(x.shape, dtype, name="x")
    outs = te.compute(x.shape, lambda i, j: (px[i, j] + 1.0, (px[i, j] * 4.0).astype("int64")), name="out")
    expected = [x + np.float32(1), (x * 4).astype("int64")]
    args = [(dtype, x), (dtype, np.zeros_like(expected[0])), ("int64", np.zeros_like(expected[1]))]
    return Case(te.create_schedule(outs[0].op), [px, *outs], args, expected)


# ---- arguments, calls, control flow ----


@row(("float32", "float64"))
def scalar_arguments(dtype: str) -> Case:
    """Slots that hold numbers of every kind."""
    px = te.placeholder((N,), dtype, name="x")
    i, j, f = te.var("i", "int32"), te.var("j", "int64"), te.var("f", dtype)
    out = te.compute((N,), lambda at: px[at] * f + i.astype(dtype) + j.astype(dtype), name="out")
    x = numbers(dtype)
    answer = of_type(x * 1.5 + (-7) + (1 << 33), dtype)
    args = [("int32", -7), (dtype, x), (dtype, 1.5), ("int64", 1 << 33), (dtype, np.zeros_like(answer))]
    return Case(te.create_schedule(out.op), [i, px, f, j, out], args, [answer])


@row(("float32",))
def strided_tensors(dtype: str) -> Case:
    """The shape and strides of the tensor are read at run time."""
    n = te.size_var("n")
    pa = te.placeholder((n, n), dtype, name="a")
    out = te.compute((n, n), lambda i, j: pa[j, i], name="out")
    x = numbers(dtype, (5, 5))
    return Case(te.create_schedule(out.op), [pa, out], [(dtype, x), (dtype, np.zeros_like(x))], [x.T.copy()])


@row(("int32",))
def calls_of_c_functions(dtype: str) -> Case:
    """Arguments narrower than a register, and more than fit into registers."""
    types = ("int8", "uint8", "int16", "uint16", "int32")
    xs = [whole_range(t, i) for i, t in enumerate(types)]
    xs[4] //= 8

    def half(x: np.ndarray) -> np.ndarray:
        return truncated(x.astype("int64"), np.array(2))

    tensors = [te.placeholder((N,), t, name=f"x{i}") for i, t in enumerate(types)]
    out = te.compute(
        (N,),
        lambda i: tir.call_extern("int32", "test_narrow", *(p[i] for p in tensors))
        + tir.call_extern("int8", "test_negate", tensors[0][i]).astype("int32")
        + tir.call_extern(
            "float64", "test_many", tensors[4][i], tensors[4][i].astype("int64"), tir.const(1, "float32"), tensors[4][i],
            tir.const(7, "int64"), tir.const(0.5, "float64"), tir.const(0.25, "float32"), tensors[4][i].astype("int64"),
        ).astype("int64").astype("int32"),
        name="out",
    )  # fmt: skip
    with np.errstate(all="ignore"):
        wide = xs[4].astype("int64")
        many = np.trunc(wide * 4 + 1 + 7 + 0.5 + 0.25).astype("int64")
        answer = (sum(half(x) for x in xs) + (-xs[0]).astype("int8") + many).astype("int32")
    args = [*zip(types, xs), ("int32", np.zeros_like(answer))]
    return Case(te.create_schedule(out.op), [*tensors, out], args, [answer])


@row(("float32",))
def calls_by_name(dtype: str) -> Case:
    x = numbers(dtype)
    px = te.placeholder(x.shape, dtype, name="x")
    scaled = te.extern(
        x.shape, [px], lambda ins, outs: tir.call_packed("test.scale", ins[0], outs[0], 2.5), dtype=dtype, name="scaled"
    )
    out = te.compute(x.shape, lambda i: scaled[i] + 1.0, name="out")
    answer = x * np.float32(2.5) + np.float32(1)
    return Case(te.create_schedule(out.op), [px, out], [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("int64",))
def while_loops(dtype: str) -> Case:
    """The steps of Collatz's game."""
    x = np.arange(1, N + 1).astype("int64")

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    ib = tir.ir_builder.create()
    px = tir.decl_buffer((N,), "int64", "x")
    po = tir.decl_buffer((N,), "int64", "out")
    xs, outs = ib.buffer_ptr(px), ib.buffer_ptr(po)
    with ib.for_range(0, N, "i") as i:
        now = ib.allocate("int64", (1,), name="now", scope="local")
        now[0] = xs[i]
        outs[i] = tir.const(0, "int64")
        with ib.while_loop(now[0] != tir.const(1, "int64")):
            half = tir.floordiv(now[0], tir.const(2, "int64"))
            more = now[0] * tir.const(3, "int64") + tir.const(1, "int64")
            now[0] = tir.Select(tir.floormod(now[0], tir.const(2, "int64")).equal(tir.const(0, "int64")), half, more)
            outs[i] = outs[i] + tir.const(1, "int64")
    function = tir.PrimFunc([px, po], ib.get())
    answer = np.array([steps(int(v)) for v in x]).astype("int64")
    return Case(function, None, [(dtype, x), (dtype, np.zeros_like(answer))], [answer])


@row(("float32", "int8", "float64"))
def constants_in_the_code(dtype: str) -> Case:
    table = numbers(dtype, 16, 7, 0, 9)
    x = numbers(dtype, 16, 1, 0, 9)
    px = tir.decl_buffer((16,), dtype, "x")
    po = tir.decl_buffer((16,), dtype, "out")
    constant = tir.decl_buffer((16,), dtype, "table")
    i = tir.Var("i", "int32")
    body = tir.For(
        i, 0, 16, tir.ForKind.SERIAL, tir.BufferStore(po, tir.BufferLoad(px, [i]) + tir.BufferLoad(constant, [i]), [i])
    )
    data = tessera.nd.array(table)
    function = tir.PrimFunc([px, po], tir.AllocateConst(constant.data, dtype, [16], data, body))
    answer = of_type(x + table, dtype)
    return Case(function, None, [(dtype, x), (dtype, np.zeros_like(answer))], [answer])
