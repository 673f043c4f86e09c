"""Matmuls of two inputs of 8-bit integers: groups along k are put together while B is copied, for fixed and dynamic extents."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tessera import relay
from test_dynamic_matmul import compiled, knobs_of

ANY = relay.Any()
BYTES = ["uint8", "int8"]
SIGNS = list(itertools.product(BYTES, BYTES))


def integers(dtype, *shape):
    """With the ends of the type among them."""
    info, rng = np.iinfo(dtype), np.random.default_rng(sum(shape))
    out = rng.integers(info.min, info.max + 1, shape).astype(dtype)
    ends = rng.random(shape)
    out[ends < 0.1], out[ends > 0.9] = info.max, info.min
    return out


def matmul(left, right, signs, transpose_b=False, after=lambda y: y):
    x, y = (relay.var(name, shape=shape, dtype=dtype) for name, shape, dtype in zip("xy", (left, right), signs))
    if len(left) == 3:
        out = relay.nn.batch_matmul(x, y, out_dtype="int32", transpose_b=transpose_b)
    else:
        out = relay.nn.matmul(x, y, out_dtype="int32", transpose_b=transpose_b)
    return relay.Function([x, y], after(out))


def check(program, extents, signs, transpose_b=False, rank=3):
    batch, m, n, k = extents
    lead = (batch,) if rank == 3 else ()
    a, b = integers(signs[0], *lead, m, k), integers(signs[1], *lead, k, n)
    given_b = np.ascontiguousarray(b.swapaxes(-1, -2)) if transpose_b else b
    got = program.run(a, given_b).numpy()
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, np.matmul(a.astype("int32"), b.astype("int32")))


PROGRAMS = {}


def program_of(signs, transpose_b):
    key = (signs, transpose_b)
    if key not in PROGRAMS:
        PROGRAMS[key] = compiled(matmul((ANY, ANY, ANY), (ANY, ANY, ANY), signs, transpose_b))
    return PROGRAMS[key]


@pytest.mark.parametrize("transpose_b", [False, True], ids=["plain", "transposed"])
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.sampled_from(SIGNS),
    st.tuples(st.integers(0, 3), st.integers(0, 70), st.integers(0, 150), st.integers(0, 150)),
)
@example(("uint8", "int8"), (1, 1, 1, 1))
@example(("uint8", "int8"), (2, 3, 4, 0))
@example(("uint8", "uint8"), (2, 3, 4, 2))
@example(("int8", "uint8"), (1, 200, 130, 67))
@example(("int8", "int8"), (2, 12, 77, 128))
def test_any_extents(transpose_b, signs, extents):
    program, plans = program_of(signs, transpose_b)
    assert [plan.split("(")[0] for plan in plans if plan.startswith("matmul")] == ["matmul"]
    check(program, extents, signs, transpose_b)


FIXED = [(1, 1, 1, 1), (1, 33, 48, 64), (3, 77, 130, 67), (2, 5, 300, 3), (1, 130, 70, 1100), (1, 400, 500, 33)]


@pytest.mark.parametrize("transpose_b", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("extents", FIXED)
def test_fixed_extents(extents, transpose_b):
    batch, m, n, k = extents
    for signs in SIGNS:
        right = (batch, n, k) if transpose_b else (batch, k, n)
        program, plans = compiled(matmul((batch, m, k), right, signs, transpose_b))
        assert any(plan.startswith("matmul(") for plan in plans)
        check(program, extents, signs, transpose_b)


PARTLY = {
    "rows": ((ANY, 64), (64, 100)),
    "columns": ((33, 64), (64, ANY)),
    "depth": ((33, ANY), (ANY, 100)),
    "rows, depth of no whole groups": ((ANY, 37), (37, 100)),
}


@pytest.mark.parametrize("name", PARTLY)
def test_some_extents_are_known(name):
    left, right = PARTLY[name]
    program, _ = compiled(matmul(left, right, ("uint8", "int8")))
    pick = lambda extent, value: value if isinstance(extent, relay.Any) else int(extent)
    for value in (1, 2, 5, 64, 131):
        check(
            program, (1, pick(left[0], value), pick(right[1], value), pick(left[1], value)), ("uint8", "int8"), rank=2
        )


@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "llvm -mcpu=nehalem"])
@pytest.mark.parametrize("extents", [(2, 37, 83, 65), (1, 16, 32, 64)])
def test_other_vectors(extents, target):
    batch, m, n, k = extents
    for left, right in [((ANY, ANY, ANY), (ANY, ANY, ANY)), ((batch, m, k), (batch, k, n))]:
        program, _ = compiled(matmul(left, right, ("int8", "uint8")), target=target)
        check(program, extents, ("int8", "uint8"))


def test_an_epilogue_follows_in_the_same_loops():
    after = lambda y: relay.cast(y, "float32") * relay.const(0.25)
    program, plans = compiled(matmul((2, 20, 64), (2, 64, 40), ("uint8", "int8"), after=after))
    assert len(plans) == 1
    a, b = integers("uint8", 2, 20, 64), integers("int8", 2, 64, 40)
    want = np.matmul(a.astype("float64"), b.astype("float64")) * 0.25
    np.testing.assert_array_equal(program.run(a, b).numpy(), want.astype("float32"))


@pytest.mark.parametrize(
    "knobs", [{"rows": 3, "vectors": 1}, {"step": 5}, {"block_rows": 1, "block_columns": 1}, {"parts_m": 2}]
)
def test_any_plan_is_right(knobs):
    program, plans = compiled(matmul((1, 40, 90), (1, 90, 70), ("uint8", "int8")), knobs)
    assert knobs.items() <= knobs_of(plans[0]).items()
    check(program, (1, 40, 70, 90), ("uint8", "int8"))
