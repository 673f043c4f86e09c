"""Matmuls of two inputs whose extents are known only at run time: right for any extents, and by any plan that fits."""

import re

import numpy as np
import pytest
import tessera as tvm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tessera import relay

ANY = relay.Any()
failures = tvm.get_global_func("kernel.rule_failures")


def compiled(function, knobs=None, target="llvm"):
    """The program, and the plans of its matmuls."""
    plans = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def note(program, module, context):
        plans.extend(str(plan) for plan in dict(program.attrs.items()).get("tessera.schedule_plans", []))
        return program

    config = {"tir.add_lower_pass": [(0, note)], "kernel.knobs": {"matmul": knobs or {}}}
    before = failures()
    with tvm.transform.PassContext(opt_level=3, config=config):
        program = relay.vm.compile(tvm.IRModule.from_expr(function), target)
    assert failures() == before
    return tvm.runtime.vm.VirtualMachine(program, tvm.cpu()), plans


def knobs_of(plan):
    return {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", plan)}


def matmul(left, right, transpose_a=False, transpose_b=False, dtype="float32"):
    x, y = relay.var("x", shape=left, dtype=dtype), relay.var("y", shape=right, dtype=dtype)
    out = relay.nn.batch_matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
    return relay.Function([x, y], relay.nn.relu(out + relay.const(0.5, dtype)))


def check(program, extents, transpose_a=False, transpose_b=False, dtype="float32", share=False):
    batch, m, n, k = extents
    rng = np.random.default_rng(sum(extents))
    a, b = rng.standard_normal((batch, m, k)), rng.standard_normal((1 if share else batch, k, n))
    a, b = a.astype(dtype), b.astype(dtype)
    given_a = np.ascontiguousarray(a.transpose(0, 2, 1)) if transpose_a else a
    given_b = np.ascontiguousarray(b.transpose(0, 2, 1)) if transpose_b else b
    got = program.run(given_a, given_b).numpy()
    assert got.shape == (batch, m, n)
    np.testing.assert_allclose(got, np.maximum(a.astype("float64") @ b + 0.5, 0), rtol=1e-4, atol=1e-4)


FORMS = {
    "NN": (False, False),
    "NT": (False, True),
    "TN": (True, False),
    "TT": (True, True),
}
PROGRAMS = {}


def program_of(form, dtype="float32", knobs=()):
    key = (form, dtype, knobs)
    if key not in PROGRAMS:
        function = matmul((ANY, ANY, ANY), (ANY, ANY, ANY), *FORMS[form], dtype)
        PROGRAMS[key] = compiled(function, dict(knobs))
    return PROGRAMS[key]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.tuples(st.integers(0, 3), st.integers(0, 70), st.integers(0, 150), st.integers(0, 70)))
@example((1, 1, 1, 1))
@example((0, 3, 4, 5))
@example((2, 0, 4, 5))
@example((2, 3, 0, 5))
@example((2, 3, 4, 0))
@example((1, 200, 130, 67))
@example((2, 3, 101, 33))
@example((1, 4, 48, 16))
def test_any_extents(form, extents):
    program, plans = program_of(form)
    assert [plan.split("(")[0] for plan in plans] == ["matmul"]
    check(program, extents, *FORMS[form])


@pytest.mark.parametrize("form", ["NN", "NT"])
def test_doubles(form):
    program, _ = program_of(form, "float64")
    for extents in [(2, 12, 37, 19), (1, 1, 5, 64), (1, 5, 0, 3)]:
        check(program, extents, *FORMS[form], "float64")


PARTLY = {
    "rows": ((3, ANY, 24), (3, 24, 40), False),
    "columns": ((3, 7, 24), (3, 24, ANY), False),
    "columns of rows": ((3, 7, 24), (3, ANY, 24), True),
    "depth": ((3, 7, ANY), (3, ANY, 40), False),
    "batch": ((ANY, 7, 24), (ANY, 24, 40), False),
    "batch, whole tiles": ((ANY, 16, 24), (ANY, 96, 24), True),
    "one matrix for all": ((ANY, ANY, 24), (1, 24, 40), False),
}


@pytest.mark.parametrize("name", PARTLY)
def test_some_extents_are_known(name):
    left, right, transpose_b = PARTLY[name]
    program, plans = compiled(matmul(left, right, transpose_b=transpose_b))
    assert len(plans) == 1 and plans[0].startswith("matmul(")
    pick = lambda extent, value: value if isinstance(extent, relay.Any) else int(extent)
    share = not isinstance(right[0], relay.Any) and isinstance(left[0], relay.Any)
    for value in (1, 2, 5, 33):
        batch = pick(left[0], value)
        n = right[1 if transpose_b else 2]
        extents = (batch, pick(left[1], value), pick(n, value), pick(left[2], value))
        check(program, extents, transpose_b=transpose_b, share=share)


def test_rows_of_several_axes_are_one():
    x, w = relay.var("x", shape=(ANY, ANY, 24)), relay.var("w", shape=(24, ANY))
    program, plans = compiled(relay.Function([x, w], relay.nn.matmul(x, w)))
    assert plans and plans[0].startswith("matmul(")
    for shape in [(2, 9, 24), (1, 1, 24), (0, 3, 24)]:
        a, b = (np.random.default_rng(0).standard_normal(s).astype("float32") for s in (shape, (24, 31)))
        np.testing.assert_allclose(program.run(a, b).numpy(), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "form, knobs",
    [
        ("NN", {"rows": 1, "vectors": 1}),
        ("NN", {"rows": 13, "vectors": 2, "block_rows": 1}),
        ("NN", {"packs_b": 1, "block_rows": 3}),
        ("NN", {"is_parallel": 0}),
        ("NT", {"dot_rows": 0}),
        ("NT", {"dot_rows": 2, "columns": 3, "block_columns": 1}),
        ("NT", {"by_dots": 1, "rows": 3, "columns": 5}),
        ("TN", {"rows": 5, "vectors": 3}),
    ],
)
def test_any_plan_is_right(form, knobs):
    program, plans = program_of(form, knobs=tuple(knobs.items()))
    assert knobs.items() <= knobs_of(plans[0]).items()
    for extents in [(2, 37, 83, 65), (1, 1, 7, 3), (2, 2, 50, 16), (1, 3, 0, 2), (3, 6, 64, 1)]:
        check(program, extents, *FORMS[form])


@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "llvm -mcpu=nehalem"])
@pytest.mark.parametrize("form", ["NN", "NT"])
def test_other_vectors(form, target):
    program, plans = compiled(matmul((ANY, ANY, ANY), (ANY, ANY, ANY), *FORMS[form]), target=target)
    assert plans[0].startswith("matmul(")
    for extents in [(2, 37, 83, 65), (1, 1, 7, 3), (2, 3, 4, 0)]:
        check(program, extents, *FORMS[form])


def test_few_rows_go_by_dot_products_where_columns_lie_together():
    assert knobs_of(program_of("NT")[1][0])["dot_rows"] >= 1
    assert knobs_of(program_of("NN")[1][0])["dot_rows"] == 0
