"""The analyzer as Python programs use it."""

import pytest
import tessera
from hypothesis import given, settings
from hypothesis import strategies as st
from tessera import arith, tir
from tessera.ir import Range


@pytest.fixture
def analyzer():
    return arith.Analyzer()


x, y, n = tir.Var("x", "int32"), tir.Var("y", "int32"), tir.SizeVar("n", "int32")


def test_a_split_index_is_put_together(analyzer):
    analyzer.bind(y, Range(0, 16))
    assert str(analyzer.simplify((x * 16 + y) // 16)) == str(x)
    assert analyzer.can_prove_equal((x * 16 + y) % 16, y)


def test_bounds_of_an_unknown_variable_are_those_of_its_type(analyzer):
    bound = analyzer.const_int_bound(x)
    assert (bound.min_value, bound.max_value) == (-(2**31), 2**31 - 1)
    assert repr(analyzer.const_int_bound(n)) == "ConstIntBound[0,pos_inf]"
    assert analyzer.const_int_bound(n).max_value == arith.ConstIntBound.POS_INF


def test_a_constraint_ends_with_its_scope(analyzer):
    with analyzer.constraint_scope(x > 0):
        assert analyzer.const_int_bound(x).min_value == 1
        assert analyzer.can_prove(x + 1 >= 2)
    assert not analyzer.can_prove(x + 1 >= 2)


def clamped(index):
    return tir.min(tir.max(index, 0), 3)


def test_the_condition_of_a_select_moves_no_load(analyzer):
    """A Select may evaluate the value it does not choose, so an index is inside the tensor without the condition too."""
    data = tir.decl_buffer((4,), "float32")
    index = clamped(x - y)
    for chosen in (
        lambda load: tir.Select(x - y == index, load, 0.0),
        lambda load: tir.Select(x - y != index, 0.0, load),
    ):
        for simplify in (analyzer.simplify, analyzer.rewrite_simplify, analyzer.canonical_simplify):
            simple = simplify(chosen(tir.BufferLoad(data, [index])))
            loads = []
            tir.stmt_functor.post_order_visit(
                simple, lambda e: loads.append(e) if isinstance(e, tir.BufferLoad) else None
            )
            bound = analyzer.const_int_bound(loads[0].indices[0])
            assert (bound.min_value, bound.max_value) == (0, 3)


def test_the_condition_of_a_select_divides_by_nothing_else(analyzer):
    value = tir.Select(tir.LE(tir.const(1), x), tir.floordiv(y, tir.max(x, 1)), 0)
    tessera.ir.assert_structural_equal(analyzer.simplify(value), value)


def test_what_may_be_evaluated_anywhere_is_simplified_by_the_condition(analyzer):
    condition = tir.LE(tir.const(1), x)
    simple = analyzer.simplify(tir.Select(condition, tir.max(x, 1) + 1, 0))
    tessera.ir.assert_structural_equal(simple, tir.Select(condition, x + 1, 0))
    data = tir.decl_buffer((4,), "float32")
    lazy = tir.if_then_else(x == clamped(x), tir.BufferLoad(data, [clamped(x)]), 0.0)
    want = tir.if_then_else(x == clamped(x), tir.BufferLoad(data, [x]), 0.0)
    tessera.ir.assert_structural_equal(analyzer.simplify(lazy), want)


def test_update_gives_bounds_and_rejects_a_second_opinion(analyzer):
    analyzer.update(x, arith.ConstIntBound(0, 7))
    assert analyzer.can_prove(x < 8)
    with pytest.raises(ValueError, match="bound already"):
        analyzer.update(x, arith.ConstIntBound(0, 9))
    analyzer.update(x, arith.ConstIntBound(0, 9), override=True)
    assert not analyzer.can_prove(x < 8)
    with pytest.raises(TypeError, match="only ConstIntBound"):
        analyzer.update(x, 3)


def test_a_variable_bound_to_an_expression_is_replaced_by_it(analyzer):
    analyzer.bind(x, y * 4 + 1)
    assert analyzer.modular_set(x).coeff == 4
    assert analyzer.simplify(x % 4).value == 1


def test_int_sets_have_ends_and_say_when_they_are_empty(analyzer):
    dom = {x: arith.IntervalSet(0, n - 1)}
    found = analyzer.int_set(x * 2 + 1, dom)
    assert analyzer.can_prove_equal(found.min_value, 1)
    assert analyzer.can_prove_equal(found.max_value, n * 2 - 1)
    assert arith.IntervalSet(arith.neg_inf(), arith.pos_inf()).is_everything()
    assert arith.IntervalSet(arith.pos_inf(), arith.neg_inf()).is_nothing()
    assert arith.IntSet.single_point(x).min_value.same_as(x)


def test_a_condition_gives_the_bound_of_its_variable():
    found = arith.deduce_bound(x, x * 3 + y < 20, {y: arith.IntervalSet(0, 9)}, {})
    assert str(found.max_value) == str((19 - y) // 3)
    relaxed = arith.deduce_bound(x, x * 3 + y < 20, {}, {y: arith.IntervalSet(0, 9)})
    assert relaxed.max_value.value == 3


def test_an_iteration_map_is_found_and_inverted():
    i, j, out = tir.Var("i", "int32"), tir.Var("j", "int32"), tir.Var("o", "int32")
    found = arith.detect_iter_map([i * 4 + j], {i: Range(0, 8), j: Range(0, 4)}, check_level="bijective")
    assert len(found.errors) == 0
    back = arith.inverse_affine_iter_map(found.indices, [out])
    assert tessera.ir.structural_equal(back[i], tir.floordiv(out, 4))
    assert tessera.ir.structural_equal(back[j], tir.floormod(out, 4))
    rejected = arith.detect_iter_map([i * 8 + j], {i: Range(0, 8), j: Range(0, 4)})
    assert [str(e) for e in rejected.errors] == ["Could not normalize iterators"]


def test_equations_are_solved():
    solved = arith.solve_linear_equations([tir.EQ(x + y, 20), tir.EQ(x - y, 10)], [x, y])
    assert (solved.src_to_dst[x].value, solved.src_to_dst[y].value) == (15, 5)


def test_a_new_variable_goes_with_the_first_and_against_the_second():
    ranges = {x: Range(-5, 5), y: Range(0, 10)}
    solved = arith.solve_linear_equations([tir.EQ(x + y, 0)], [x, y], ranges)
    (new,) = solved.dst.variables
    assert tessera.ir.structural_equal(solved.src_to_dst[x], new)
    assert tessera.ir.structural_equal(solved.src_to_dst[y], new * -1)
    assert (solved.dst.ranges[new].min.value, solved.dst.ranges[new].extent.value) == (-9, 10)
    assert [str(relation) for relation in solved.dst.relations] == ["(-5 <= n0: int32)"]


def test_equations_without_a_solution_map_nothing():
    solved = arith.solve_linear_equations([tir.EQ(x + y, 0), tir.EQ(x - y, 0), tir.EQ(x, 5)], [x, y])
    assert [relation.value for relation in solved.dst.relations] == [0]
    assert len(solved.src_to_dst) == len(solved.dst_to_src) == 0


# ---- random expressions: text is built, and Python's own arithmetic is the judge ----

_numbers = st.one_of(st.sampled_from(["a", "b", "c"]), st.integers(-6, 20).map(str))


def _grow(parts):
    pair = st.tuples(parts, parts)
    divisor = st.sampled_from([2, 3, 4, 8, 16])
    return st.one_of(
        pair.map("({0[0]} + {0[1]})".format),
        pair.map("({0[0]} - {0[1]})".format),
        st.tuples(parts, st.sampled_from([-3, -1, 2, 4, 16])).map("({0[0]} * {0[1]})".format),
        st.tuples(parts, divisor).map("floordiv({0[0]}, {0[1]})".format),
        st.tuples(parts, divisor).map("floormod({0[0]}, {0[1]})".format),
        pair.map("min({0[0]}, {0[1]})".format),
        pair.map("max({0[0]}, {0[1]})".format),
    )


_expressions = st.recursive(_numbers, _grow, max_leaves=7)
_RANGES = {"a": (0, 16), "b": (-4, 9), "c": (0, 3)}
_VARS = {name: tir.Var(name, "int32") for name in _RANGES}
_SYMBOLS = dict(_VARS, floordiv=tir.floordiv, floormod=tir.floormod, min=tir.min, max=tir.max)
_INTEGERS = {"floordiv": lambda p, q: p // q, "floormod": lambda p, q: p % q, "min": min, "max": max}


def _value(expr, point):
    """The value of a simplified expression, by substituting numbers and folding."""
    found = tir.stmt_functor.substitute(expr, {_VARS[k]: tir.IntImm("int32", v) for k, v in point.items()})
    found = arith.Analyzer().simplify(found)
    assert isinstance(found, tir.IntImm)
    return found.value


@settings(max_examples=150, deadline=None)
@given(_expressions, st.tuples(*(st.integers(low, low + size - 1) for low, size in _RANGES.values())))
def test_simplified_expressions_have_the_same_value(text, values):
    expr = eval(text, dict(_SYMBOLS))
    point = dict(zip(_RANGES, values))
    expected = eval(text, dict(_INTEGERS, **point))
    if isinstance(expr, int):
        return
    a = arith.Analyzer()
    for name, (low, size) in _RANGES.items():
        a.bind(_VARS[name], Range.from_min_extent(low, size))
    for simplify in (a.simplify, a.rewrite_simplify, a.canonical_simplify):
        assert _value(simplify(expr), point) == expected
    bound, modular = a.const_int_bound(expr), a.modular_set(expr)
    assert bound.min_value <= expected <= bound.max_value
    assert expected == modular.base if modular.coeff == 0 else (expected - modular.base) % modular.coeff == 0


@pytest.mark.parametrize("factor, divisor", [(16, 14), (16, 28), (30, 7), (64, 49)])
def test_a_quotient_and_a_rest_of_what_is_congruent_are_one(factor, divisor):
    """The rest is kept with small factors, so its index is another one than the quotient's."""
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    whole = x * factor + y
    got = arith.Analyzer().canonical_simplify(tir.floordiv(whole, divisor) * divisor + tir.floormod(whole, divisor))
    tessera.ir.assert_structural_equal(got, whole, map_free_vars=True)


def test_a_rest_of_something_else_stays():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    apart = tir.floordiv(x * 16 + y, 14) * 14 + tir.floormod(x * 3 + y, 14)
    got = arith.Analyzer().canonical_simplify(apart)
    values = {x: 5, y: 9}
    put = tir.stmt_functor.substitute(got, {v: tir.const(n, "int32") for v, n in values.items()})
    assert int(arith.Analyzer().simplify(put)) == (5 * 16 + 9) // 14 * 14 + (5 * 3 + 9) % 14
