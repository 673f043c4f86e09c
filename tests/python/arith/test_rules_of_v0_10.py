"""Results of the simplifiers that programs written for v0.10 compare by structure."""

import pytest
import tessera as tvm
from tessera import arith, te, tir
from tessera.ir import Range

x, y, z = (tir.Var(name, "int32") for name in "xyz")
x64 = tir.Var("x", "int64")
vector = tir.Var("v", "int32x2")
real = tir.Var("f", "float32x2")
mask = tir.Var("m", "uint1x4")
flag = tir.Var("b", "bool")
fld, flm, tdiv, tmod = te.floordiv, te.floormod, te.truncdiv, te.truncmod
low, high = tir.min, tir.max


def ramp(base, stride, lanes):
    return tir.Ramp(base, stride, lanes)


def same(value, lanes):
    return tir.Broadcast(value, lanes)


def is_simplified(how, before, after, analyzer=None):
    got = getattr(analyzer or arith.Analyzer(), how)(before)
    after = after if isinstance(after, tir.PrimExpr) else tir.const(after, before.dtype)
    assert tvm.ir.structural_equal(got, after), f"{before} became {got}, not {after}"


def not_negative(*variables):
    analyzer = arith.Analyzer()
    for var in variables:
        analyzer.update(var, arith.ConstIntBound(0, 1000))
    return analyzer


@pytest.mark.parametrize("how", ["simplify", "rewrite_simplify", "canonical_simplify"])
def test_the_negation_of_a_constant_is_a_constant(how):
    is_simplified(how, tir.Or(tir.Not(tir.const(False)), flag), tir.const(True))
    is_simplified(how, tir.And(tir.Not(tir.const(True)), flag), tir.const(False))


@pytest.mark.parametrize("how", ["simplify", "rewrite_simplify", "canonical_simplify"])
def test_two_unknown_dimensions_are_not_equal(how):
    a, b = tir.Any(), tir.Any()
    is_simplified(how, tir.Sub(a, b), tir.Sub(a, b))
    assert not arith.Analyzer().can_prove_equal(a, b)


@pytest.mark.parametrize(
    "before, after",
    [
        # quotients and remainders meet, whichever way they are rounded
        *[
            case
            for div, mod in ((tdiv, tmod), (fld, flm))
            for case in (
                (y - div(y + z, 7) * 7, mod(y + z, 7) - z),
                (y - div(z + y, 7) * 7, mod(z + y, 7) - z),
                (y - div(y - z, 7) * 7, mod(y - z, 7) + z),
                (div(x + y, 7) * 7 - x, y - mod(x + y, 7)),
                (y * 3 - div(y + z, 4) * 12, (mod(y + z, 4) - z) * 3),
                (y * 3 - div(y - z, 4) * 12, (mod(y - z, 4) + z) * 3),
                (div(x + y, 3) * 12 - x * 4, (y - mod(x + y, 3)) * 4),
                (tir.LT(div(x, 6) * 6, x), tir.LT(0, mod(x, 6))),
                (tir.LT(div(x, 4) * 4, x - y), tir.LT(y, mod(x, 4))),
                (tir.GE(div(x + 2, 4) * 4, x), tir.LE(mod(x + 2, 4), 2)),
                (low(div(x, 10), div(y, 10)), div(low(x, y), 10)),
                (low(div(x + 3, 4) * 4, x), x),
            )
        ],
        (fld(x + y, x), fld(y, x) + 1),
        (fld((y + x) + z, x), fld(y + z, x) + 1),
        (fld(x * 6 - y + z, 2), x * 3 + fld(z - y, 2)),
        (fld(flm(x, 2) + 7, 2) + fld(x, 2), fld(x + 7, 2)),
        (tdiv(low(x * 8, y), 4), low(x * 2, tdiv(y, 4))),
        (tir.GE(tdiv(x, 5), 0), tir.LE(-4, x)),
        (tir.LE(tdiv(x, 2), -1), tir.LE(x, -2)),
        (tmod(x + 10, -2), tmod(x + 10, 2)),
        # min and max
        (low(low(low(low(x, y), z), x * 2), y), low(low(low(x, y), z), x * 2)),
        (high(high(high(high(high(x, y), z), x * 2), z * 2), y), high(high(high(high(x, y), z), x * 2), z * 2)),
        (low(9 - x, 4), 9 - high(x, 5)),
        (high(3 - x, 1), 3 - low(x, 2)),
        (low(x * -2, 0), high(x, 0) * -2),
        (low(x + 10, y + 1) - low(x, y - 9), 10),
        (tir.EQ(high(x, 10), 11), tir.EQ(x, 11)),
        # operands keep their order
        (low(x - z, y) + z, low(x, y + z)),
        (low(x, y) - y, low(x - y, 0)),
        (low(z, x + y) - x, low(z - x, y)),
        (x - high(z, x + y), low(x - z, 0 - y)),
        (fld(y + x * 4, 2), fld(y, 2) + x * 2),
        (fld(low(y, x * 6), 2), low(fld(y, 2), x * 3)),
        (flm(x + y * 360, 16), flm(x + y * 8, 16)),
        # vectors
        (y + ramp(x, 1, 2), ramp(y + x, 1, 2)),
        (flm(ramp(x * 8 + 1, 15, 4), 8), flm(ramp(1, 15, 4), 8)),
        (vector * 0, same(0, 2)),
        (real * 0.0, same(tir.const(0.0, "float32"), 2)),
        (real + 0.0, real),
        (low(low(vector, same(x, 2)), same(y, 2)), low(vector, same(low(x, y), 2))),
        (tir.NE(same(x, 4), same(y, 4)), same(tir.NE(x, y), 4)),
        (tir.LE(same(x, 4), same(y, 4)), same(tir.LE(x, y), 4)),
        (tir.And(mask, same(tir.const(False), 4)), same(tir.const(False), 4)),
        (tir.Or(mask, same(tir.const(False), 4)), mask),
        (tir.Not(tir.LT(ramp(x, 1, 4), same(y, 4))), tir.LE(same(y, 4), ramp(x, 1, 4))),
        # conditions in conditions
        (
            tir.if_then_else(x < 0, tir.if_then_else(y < 0, z, 0), 0),
            tir.if_then_else(tir.And(x < 0, y < 0), z, 0),
        ),
    ],
)
def test_rewrite_simplify(before, after):
    is_simplified("rewrite_simplify", before, after)


@pytest.mark.parametrize(
    "before, after",
    [
        (tdiv(tdiv(x, 3) + 2, 5), tdiv(x + 6, 15)),
        (tdiv(x + y, x), tdiv(y, x) + 1),
        (tdiv(x * 6 + y + z, 2), x * 3 + tdiv(y + z, 2)),
        (tdiv(y + x * 4, 2), tdiv(y, 2) + x * 2),
        (tdiv(x + 5, 3) - tdiv(x + 2, 3), 1),
        (tmod(x * 10 + 1 + y * 2 + 2, 2), 1),
        (tdiv(ramp(x * 16 + 2, 1, 8), 16), same(x, 8)),
        (tmod(ramp(x * 8 + 1, 1, 4), 8), ramp(1, 1, 4)),
    ],
)
def test_rewrite_simplify_of_what_is_not_negative(before, after):
    is_simplified("rewrite_simplify", before, after, not_negative(x, y, z))


@pytest.mark.parametrize("divide", [tdiv, tmod, fld, flm])
def test_a_division_by_a_vector_of_zeros_is_an_error(divide):
    with pytest.raises(tvm.TVMError, match="Divide by zero"):
        arith.Analyzer().rewrite_simplify(divide(ramp(1, 1, 2), same(0, 2)))


@pytest.mark.parametrize(
    "before, after",
    [
        (tdiv(tmod(x, 3), 9), 0),
        (tir.LT(x - 7, 1), tir.LT(x, 8)),
        (tir.LE(x - 7, 1), tir.LE(x, 8)),
    ],
)
def test_canonical_simplify(before, after):
    is_simplified("canonical_simplify", before, after)


def test_a_cast_to_fewer_bits_goes_inward_only_where_nothing_overflows():
    analyzer = arith.Analyzer()
    analyzer.bind(x64, Range(0, 100))
    as32 = tir.Cast("int32", x64)
    is_simplified("canonical_simplify", tir.Cast("int32", x64 * 2 + 1), as32 * 2 + 1, analyzer)
    large = tir.Cast("int32", x64 * 2**30)
    is_simplified("canonical_simplify", large, large, analyzer)
    unknown = tir.Cast("int32", tir.Cast("int64", x) * tir.const(2, "int64"))
    is_simplified("canonical_simplify", unknown, unknown)


# ---- regions ----


def bounds(estimate, index, domains, predicate=True):
    ranges = {var: Range(0, extent) for var, extent in domains.items()}
    found = estimate([Range.from_min_extent(index, 1)], ranges, tir.const(True) if predicate is True else predicate)
    return found and (int(found[0].min_value), int(found[0].max_value))


def test_a_guard_that_does_not_fit_the_index_leaves_no_lower_bound():
    estimate = arith.estimate_region_lower_bound
    domains = {x: 2, y: 5}
    assert bounds(estimate, x * 5 + y, domains) == (0, 9)
    assert bounds(estimate, x * 5 + y, domains, y * 2 + x < 7) is None
    assert bounds(estimate, x * 5 + y, domains, z < 5) is None
    assert bounds(estimate, x * 5 + y, domains, x * 5 + y < 7) == (0, 6)


def test_a_guard_over_two_axes_leaves_no_box():
    ranges = {x: Range(0, 4), y: Range(0, 4)}
    region = [Range.from_min_extent(x, 1), Range.from_min_extent(y, 1)]
    assert arith.estimate_region_lower_bound(region, ranges, x + y < 5) is None
    assert arith.estimate_region_upper_bound(region, ranges, x + y < 5) is not None


def test_the_quotients_of_a_sum_of_loops_are_an_interval():
    domains = {x: 2, y: 4}
    for estimate in (arith.estimate_region_lower_bound, arith.estimate_region_upper_bound):
        assert bounds(estimate, (x * 4 + y) // 3, domains) == (0, 2)
        assert bounds(estimate, (x * 4 + y) // 3, domains, x * 4 + y < 5) == (0, 1)
        assert bounds(estimate, (x + y) // 3, domains) == (0, 1)


# ---- index maps and offsets ----


def test_an_axis_of_one_element_that_a_map_drops_comes_back_as_its_first_index():
    back = tir.IndexMap.from_func(lambda a, b: [b // 8, b % 8]).inverse([1, 32])
    assert [int(i) for i in back.map_indices([2, 3])] == [0, 19]


def test_an_offset_merges_quotients_and_remainders_by_symbols():
    k0, k1, s, n = (tir.Var(name, "int32") for name in ("k0", "k1", "s", "n"))
    strided = tir.decl_buffer((tir.Var("m", "int32"), n), strides=[s, 1])
    index = [(k0 % k1) // s, (k0 % k1) % s + (k0 // k1) * k1]
    assert str(strided.offset_of(index)[0]) == str(k0)
    plain = tir.decl_buffer((tir.Var("m", "int32"), n))
    tile = k1 // s
    index = [(k0 // tile * tile) // n + (k0 % tile) // n, (k0 // tile * tile) % n + (k0 % tile) % n]
    assert str(plain.offset_of(index)[0]) == str(k0)


# ---- remainders ----


def test_a_truncated_remainder_says_what_its_dividend_leaves():
    analyzer = arith.Analyzer()
    with analyzer.constraint_scope(tir.EQ(tmod(x, 6), 1)):
        found = analyzer.modular_set(x)
        assert (found.coeff, found.base) == (6, 1)
        with analyzer.constraint_scope(tir.EQ(tmod(x, 10), 3)):
            found = analyzer.modular_set(x)
            assert (found.coeff, found.base) == (30, 13)
    with analyzer.constraint_scope(tir.EQ(tmod(x, 6), -1)):
        found = analyzer.modular_set(x)
        assert (found.coeff, found.base) == (6, 5)


def test_low_bits_are_a_remainder():
    found = arith.Analyzer().modular_set((x * 16 + y * 4 + 2) & 7)
    assert (found.coeff, found.base) == (4, 2)


class TestReductions:
    """Reductions are simplified with what their axes are."""

    k = te.reduce_axis((0, 10), name="k")
    j = te.reduce_axis((-5, 3), name="j")
    A = te.placeholder((10,), name="A")

    def test_sources_know_the_ranges_of_axes(self):
        k, j = self.k, self.j
        before = te.sum(tir.Select(k.var + j.var < 12, k.var + j.var, 0), [k, j])
        is_simplified("canonical_simplify", before, te.sum(k.var + j.var, [k, j]))
        is_simplified("canonical_simplify", te.sum(fld(k.var, 10), [k]), te.sum(tir.const(0, "int32"), [k]))

    def test_conditions_know_them_too(self):
        before = te.sum(self.A[self.k], [self.k], where=self.k.var < 20)
        is_simplified("canonical_simplify", before, te.sum(self.A[self.k], [self.k]))

    def test_over_no_axes_they_are_their_source_or_what_they_start_from(self):
        element = self.A[3].asobject()
        is_simplified("canonical_simplify", te.sum(element, []), element)
        is_simplified("canonical_simplify", te.sum(element, [], where=flag), tir.Select(flag, element, tir.const(0.0)))
        is_simplified("canonical_simplify", te.sum(element, [], init=1.0), tir.const(1.0) + element)
        never = tir.const(False, "bool")
        is_simplified("canonical_simplify", te.sum(element, [], where=never, init=2.0), tir.const(2.0))

    def test_components_of_a_tuple_that_nothing_needs_are_left_out(self):
        both = te.comm_reducer(
            lambda a, b: (a[0] + b[0], a[1] * b[1]), lambda t0, t1: (tir.const(0, t0), tir.const(1, t1))
        )
        second = arith.Analyzer().canonical_simplify(both((self.A[self.k], self.A[self.k] + 1.0), self.k)[1])
        assert len(second.source) == len(second.combiner.result) == 1
        assert second.value_index == 0
        assert second.combiner.identity_element[0].value == 1

    def test_components_that_decide_for_another_stay(self):
        best = te.comm_reducer(
            lambda a, b: (tir.Select(a[1] >= b[1], a[0], b[0]), high(a[1], b[1])),
            lambda t0, t1: (tir.const(-1, t0), tvm.te.min_value(t1)),
        )
        where = arith.Analyzer().canonical_simplify(best((self.k.var, self.A[self.k]), self.k)[0])
        assert len(where.source) == 2


def test_a_guard_is_divided_only_where_nothing_of_the_rest_is_left():
    within = arith.Analyzer()
    within.bind(y, Range(0, 16))
    is_simplified("simplify", x * 16 + y < 32, x < 2, within)
    is_simplified("simplify", x * 16 + y < 70, x * 16 + y < 70, within)
