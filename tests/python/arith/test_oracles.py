"""Every question of `tvm.arith` answered as brute force on numbers and Z3 answer it."""

import pytest
import tessera as tvm
from oracle import I32, Maker, Theorem, points, value
from tessera import arith, tir
from tessera.ir import Range

x, y, z = (tir.Var(name, I32) for name in "xyz")
n = tir.SizeVar("n", I32)
DOMAINS = {x: range(0, 16), y: range(-4, 5), z: range(0, 3)}
SEEDS = range(12)


def analyzer():
    out = arith.Analyzer()
    for var, values in DOMAINS.items():
        out.bind(var, Range(values.start, values.stop))
    return out


def expressions(seed, count=12, depth=3):
    maker = Maker(seed, [x, y, z])
    return [maker.number(depth) for _ in range(count)]


def conditions(seed, count=12, depth=2):
    maker = Maker(seed + 500, [x, y, z])
    return [maker.condition(depth) for _ in range(count)]


def some_points(seed):
    every = list(points(DOMAINS))
    return [every[(i * 37 + seed * 11) % len(every)] for i in range(60)]


def theorem(domains=None):
    pytest.importorskip("z3")
    return Theorem(DOMAINS if domains is None else domains)


# ---- the analyzer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["simplify", "rewrite_simplify", "canonical_simplify"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_simplified_expression_has_the_same_value_everywhere(seed, how):
    for e in expressions(seed) + conditions(seed):
        simple = getattr(analyzer(), how)(e)
        for point in some_points(seed):
            assert value(e, point) == value(simple, point), (str(e), str(simple), point)


@pytest.mark.parametrize("seed", SEEDS)
def test_z3_proves_what_simplify_did(seed):
    prove = theorem()
    for e in expressions(seed) + conditions(seed):
        simple = analyzer().simplify(e)
        assert prove.counterexample(prove(e) == prove(simple)) is None, (str(e), str(simple))


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_and_remainders_hold(seed):
    for e in expressions(seed):
        bound, rest = analyzer().const_int_bound(e), analyzer().modular_set(e)
        for point in some_points(seed):
            got = value(e, point)
            assert bound.min_value <= got <= bound.max_value, (str(e), point)
            assert (got - rest.base) % rest.coeff == 0 if rest.coeff else got == rest.base, (str(e), point)


@pytest.mark.parametrize("seed", SEEDS)
def test_z3_proves_bounds_and_remainders(seed):
    prove = theorem()
    for e in expressions(seed):
        bound, rest = analyzer().const_int_bound(e), analyzer().modular_set(e)
        e3 = prove(e)
        claims = [e3 >= bound.min_value, e3 <= bound.max_value]
        claims.append((e3 - rest.base) % rest.coeff == 0 if rest.coeff else e3 == rest.base)
        for claim in claims:
            assert prove.counterexample(claim) is None, (str(e), claim)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proven_is_true(seed):
    """On numbers everywhere, and by Z3 where it is there."""
    maker = Maker(seed + 900, [x, y, z])
    proven = 0
    for _ in range(60):
        a, b = maker.number(2), maker.number(1)
        if analyzer().can_prove_equal(a, b):
            proven += 1
            assert all(value(a, p) == value(b, p) for p in points(DOMAINS)), (str(a), str(b))
        condition = maker.condition(1)
        if analyzer().can_prove(condition):
            proven += 1
            assert all(value(condition, p) for p in points(DOMAINS)), str(condition)
    assert proven > 3


def test_a_constraint_is_used_only_in_its_scope():
    ana = analyzer()
    with ana.constraint_scope(x > 9):
        assert ana.can_prove(x >= 10)
        bound = ana.const_int_bound(x)
        assert (bound.min_value, bound.max_value) == (10, 15)
    assert not ana.can_prove(x >= 10)
    ana.update(z, arith.ConstIntBound(5, 6), override=True)
    assert ana.const_int_bound(z + 1).min_value == 6


# ---- sets --------------------------------------------------------------------------------------------------------


def is_infinite(end):
    return isinstance(end, tir.Var) and end.name in ("neg_inf", "pos_inf")


def inside(got, found, point):
    low = is_infinite(found.min_value) or value(found.min_value, point) <= got
    return low and (is_infinite(found.max_value) or got <= value(found.max_value, point))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_holds_every_value_its_expression_takes(seed):
    """`x` and `z` run through their sets, `y` stays a symbol that the ends of the set may name."""
    sets = {x: arith.IntervalSet(0, 15), z: arith.IntervalSet(0, 2)}
    for e in expressions(seed):
        found = analyzer().int_set(e, sets)
        for point in some_points(seed):
            assert inside(value(e, point), found, point), (str(e), str(found), point)


@pytest.mark.parametrize("seed", SEEDS)
def test_z3_proves_that_a_set_holds_its_expression(seed):
    prove = theorem()
    sets = {x: arith.IntervalSet(0, 15), z: arith.IntervalSet(0, 2)}
    for e in expressions(seed):
        found = analyzer().int_set(e, sets)
        claims = []
        if not is_infinite(found.min_value):
            claims.append(prove(found.min_value) <= prove(e))
        if not is_infinite(found.max_value):
            claims.append(prove(e) <= prove(found.max_value))
        for claim in claims:
            assert prove.counterexample(claim) is None, (str(e), str(found))


def test_sets_are_points_vectors_unions_everything_and_nothing():
    assert arith.IntSet.single_point(x).max_value.same_as(x)
    steps = arith.IntSet.vector(tir.Ramp(x, 2, 4))
    assert all(inside(value(x, p) + 2 * lane, steps, p) for p in points({x: range(3)}) for lane in range(4))
    assert arith.IntervalSet(arith.neg_inf(), arith.pos_inf()).is_everything()
    assert arith.IntervalSet(4, 3).is_nothing() or arith.IntervalSet(arith.pos_inf(), arith.neg_inf()).is_nothing()
    union = arith.union_lower_bound([arith.IntervalSet(0, 3), arith.IntervalSet(4, 9), arith.IntervalSet(2, 5)])
    assert (int(union.min_value), int(union.max_value)) == (0, 9)
    apart = arith.union_lower_bound([arith.IntervalSet(0, 3), arith.IntervalSet(7, 9)])
    held = set(range(int(apart.min_value), int(apart.max_value) + 1)) if not apart.is_nothing() else set()
    assert held <= {0, 1, 2, 3, 7, 8, 9}


REGIONS = [
    ([Range.from_min_extent(x * 3 + z, 1)], tir.const(True)),
    ([Range.from_min_extent(x * 2 + z, 1)], tir.const(True)),
    ([Range.from_min_extent(x * 4, 2)], tir.const(True)),
    ([Range.from_min_extent(x, 3), Range.from_min_extent(z, 1)], tir.const(True)),
    ([Range.from_min_extent(x * 3 + z, 1)], x * 3 + z < 17),
    ([Range.from_min_extent(x * 3, 3), Range.from_min_extent(x, 1)], tir.const(True)),
]


@pytest.mark.parametrize("case", range(len(REGIONS)))
def test_estimates_of_a_region_are_below_exactly_and_above_what_is_touched(case):
    region, predicate = REGIONS[case]
    domains = {x: range(0, 8), z: range(0, 3)}
    ranges = {var: Range(values.start, values.stop) for var, values in domains.items()}
    touched = set()
    for point in points(domains):
        if value(predicate, point):
            begins = [value(r.min, point) for r in region]
            sizes = [value(r.extent, point) for r in region]
            touched |= {tuple(b + d for b, d in zip(begins, (i, j))) for i in range(sizes[0])
                        for j in (range(sizes[1]) if len(sizes) > 1 else [0])}  # fmt: skip
    rank = len(region)
    touched = {t[:rank] for t in touched}

    def box(sets):
        axes = [range(int(s.min_value), int(s.max_value) + 1) for s in sets]
        return {(i, *rest) for i in axes[0] for rest in ([()] if rank == 1 else [(j,) for j in axes[1]])}

    upper = arith.estimate_region_upper_bound(region, ranges, predicate)
    assert touched <= box(upper)
    lower = arith.estimate_region_lower_bound(region, ranges, predicate)
    if lower is not None:
        assert box(lower) <= touched
    strict = arith.estimate_region_strict_bound(region, ranges, predicate)
    if strict is not None:
        assert box(strict) == touched


# ---- bounds from conditions, linear forms ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deduced_bound_is_safe_and_where_nothing_is_relaxed_exact(seed):
    maker = Maker(seed, [y])
    for index in range(12):
        a, c = maker.rng.choice([-4, -2, -1, 1, 2, 3, 5]), maker.rng.randint(-9, 25)
        left = x * a + y * maker.rng.choice([-2, 1, 3])
        condition = [left < c, left <= c, left > c, left >= c][index % 4]
        whole = arith.deduce_bound(x, condition, {y: arith.IntervalSet(-4, 4)}, {})
        relaxed = arith.deduce_bound(x, condition, {}, {y: arith.IntervalSet(-4, 4)})
        for at in range(-40, 41):
            for other in range(-4, 5):
                point = {x: at, y: other}
                assert inside(at, whole, point) == value(condition, point), (str(condition), str(whole), point)
                if not relaxed.is_nothing() and inside(at, relaxed, point):
                    assert value(condition, point), (str(condition), str(relaxed), point)


@pytest.mark.parametrize("seed", SEEDS)
def test_coefficients_of_a_linear_equation_give_it_back(seed):
    maker = Maker(seed, [z])
    found = 0
    for _ in range(20):
        e = x * maker.number(1) + maker.number(1) - y * maker.rng.randint(-4, 4) + maker.number(2)
        parts = arith.detect_linear_equation(e, [x, y])
        if not parts:
            continue
        found += 1
        back = x * parts[0] + y * parts[1] + parts[2]
        for point in some_points(seed):
            assert value(e, point) == value(back, point), (str(e), [str(p) for p in parts])
    assert found > 10
    assert len(arith.detect_linear_equation(x * y, [x, y])) == 0
    assert len(arith.detect_linear_equation(tir.floordiv(x, 3), [x])) == 0


def test_clip_bounds_are_the_condition():
    for condition in (
        tir.all(x * 1 >= 3, x < 11),
        tir.all(x + 2 < n, x > y),
        tir.all(x * 2 <= 17, y >= -1, y < 3),
        tir.all(x >= n, y <= 2),
    ):
        bounds = arith.detect_clip_bound(condition, [x, y])
        if not bounds:
            continue
        for point in points({x: range(-3, 20), y: range(-4, 5), n: range(0, 6)}):
            held = True
            for i, var in enumerate((x, y)):
                low, high = bounds[2 * i], bounds[2 * i + 1]
                held &= low is None or value(low, point) <= point[var]
                held &= high is None or point[var] <= value(high, point)
            assert held == value(condition, point), (str(condition), [str(b) for b in bounds], point)
    assert arith.detect_clip_bound(tir.all(x * 1 >= 3, x < 11), [x])


# ---- maps of iterations ------------------------------------------------------------------------------------------

i, j, k = (tir.Var(name, I32) for name in "ijk")
LOOPS = {i: range(0, 6), j: range(0, 4), k: range(0, 8)}
RANGES = {var: Range(values.start, values.stop) for var, values in LOOPS.items()}
MAPS = [
    [i * 4 + j, k],
    [i * 32 + j * 8 + k],
    [tir.floordiv(i * 4 + j, 3), tir.floormod(i * 4 + j, 3), k],
    [tir.floordiv(k, 2) * 4 + j, i * 2 + tir.floormod(k, 2)],
    [k * 24 + j * 6 + i],
    [j + 3, i, k - 2],
    [i * 8 + k, j],
    [tir.floordiv(i * 4 + j, 5 - 3), k, tir.floormod(i * 4 + j, 2)],
    [i * 4 + k, j],  # not a map: digits overlap
    [i + j, k],
    [i, j],  # k is lost
]


@pytest.mark.parametrize("case", range(len(MAPS)))
def test_a_map_is_bijective_exactly_where_it_is_said_to_be(case):
    indices = MAPS[case]
    images = [tuple(value(e, p) for e in indices) for p in points(LOOPS)]
    found = arith.detect_iter_map(indices, RANGES, check_level="bijective")
    if len(found.errors):
        assert case >= 8, [str(e) for e in found.errors]
        return
    assert len(set(images)) == len(images)
    for mapped, e in zip(found.indices, indices):
        back = arith.normalize_iter_map_to_expr(mapped)
        assert all(value(back, p) == value(e, p) for p in points(LOOPS)), (str(back), str(e))
    outputs = [tir.Var(f"o{axis}", I32) for axis in range(len(indices))]
    inverse = arith.inverse_affine_iter_map(found.indices, outputs)
    for point, image in zip(points(LOOPS), images):
        at = dict(zip(outputs, image))
        assert all(value(inverse[var], at) == point[var] for var in LOOPS), (point, image)


@pytest.mark.parametrize("case", range(8))
def test_z3_proves_normalised_maps(case):
    prove = theorem(LOOPS)
    found = arith.detect_iter_map(MAPS[case], RANGES)
    for mapped, e in zip(found.indices, MAPS[case]):
        assert prove.counterexample(prove(arith.normalize_iter_map_to_expr(mapped)) == prove(e)) is None


@pytest.mark.parametrize("outer", [[j, k], [k]])
def test_a_divided_space_is_outer_times_extent_plus_inner(outer):
    """`sub_iters` run inside, the others outside: each index is one digit of each."""
    inner = [var for var in (i, j, k) if var in outer]
    for indices in ([i * 4 + j, k], [i, j * 8 + k], [i, j, k]):
        divided = arith.subspace_divide(indices, RANGES, inner)
        if not divided:
            continue
        for index, (high, low) in zip(indices, divided[:-1]):
            extent = low.extent
            high, low = (arith.normalize_iter_map_to_expr(part.source) for part in (high, low))
            for point in points(LOOPS):
                assert value(index, point) == value(high, point) * value(extent, point) + value(low, point)


# ---- equations and inequalities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_solved_equations_have_the_same_solutions(seed):
    rng = Maker(seed, []).rng
    coefficients = [[rng.randint(-3, 3) for _ in range(3)] for _ in range(rng.randint(1, 2))]
    equations = [tir.EQ(a * x + b * y + c * z, rng.randint(-6, 10)) for a, b, c in coefficients]
    box = {x: range(0, 8), y: range(-3, 4), z: range(0, 5)}
    ranges = {var: Range(values.start, values.stop) for var, values in box.items()}
    solutions = {tuple(p.values()) for p in points(box) if all(value(e, p) for e in equations)}
    solved = arith.solve_linear_equations(equations, [x, y, z], ranges)
    free = list(solved.dst.variables)
    reach = {var: range(-60, 61) for var in free} if len(free) < 2 else {var: range(-25, 26) for var in free}
    if len(free) == 3:
        reach = {var: range(-8, 9) for var in free}
    got = set()
    for point in points(reach):
        limits = (solved.dst.ranges[v] for v in free if v in solved.dst.ranges)
        known = [v for v in free if v in solved.dst.ranges]
        if not all(value(r.min, point) <= point[v] < value(r.min + r.extent, point) for v, r in zip(known, limits)):
            continue
        if all(value(c, point) for c in solved.dst.relations):
            got.add(tuple(value(solved.src_to_dst[v], point) for v in (x, y, z)))
    assert got == solutions, ([str(e) for e in equations], len(got), len(solutions))


@pytest.mark.parametrize("seed", range(20))
def test_solved_inequalities_have_the_same_solutions(seed):
    rng = Maker(seed + 77, []).rng
    box = {x: range(0, 9), y: range(0, 9)}
    ranges = {var: Range(values.start, values.stop) for var, values in box.items()}
    conditions = []
    for _ in range(rng.randint(1, 3)):
        left = rng.choice([-2, -1, 1, 2]) * x + rng.choice([-2, -1, 1, 2]) * y
        conditions.append(left <= rng.randint(-4, 12) if rng.random() < 0.5 else left >= rng.randint(-8, 6))
    wanted = {tuple(p.values()) for p in points(box) if all(value(c, p) for c in conditions)}
    solved = arith.solve_linear_inequalities(conditions, [x, y], ranges)
    got = set()
    for point in points(box):
        held = all(value(c, point) for c in solved.relations)
        for var, r in solved.ranges.items():
            held = held and value(r.min, point) <= point[var] < value(r.min + r.extent, point)
        if held:
            got.add(tuple(point.values()))
    assert got == wanted, ([str(c) for c in conditions], str(solved))


def test_bounds_of_a_group_give_its_best_range():
    group = arith.IntGroupBounds.from_range(Range(3, 11))
    best = group.find_best_range()
    assert (int(best.min), int(best.min + best.extent)) == (3, 11)
    group = arith.IntGroupBounds(tir.IntImm(I32, 1), [y, tir.IntImm(I32, 2)], [], [tir.IntImm(I32, 20), y + 5])
    best = group.find_best_range({y: Range(0, 4)})
    for point in points({y: range(0, 4)}):
        exact = range(max(point[y], 2), min(20, point[y] + 5) + 1)
        low = value(best.min, point)
        assert low <= exact.start and exact.stop <= low + value(best.extent, point)
    constraints = arith.IntConstraints([x, y], {x: Range(0, 4)}, [x < y])
    assert list(constraints.variables) == [x, y] and len(constraints.relations) == 1
    assert tvm.ir.structural_equal(constraints.ranges[x], Range(0, 4))
