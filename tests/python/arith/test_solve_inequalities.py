"""Linear inequalities over the integers: ranges, relations and conditions, against every point of a box."""

import random

import pytest
import tessera as tvm
from oracle import points, value
from tessera import arith, tir
from tessera.ir import Range

x, y, z = (tir.Var(name, "int32") for name in "xyz")
COMPARISONS = [tir.EQ, tir.LE, tir.LT, tir.GE, tir.GT]


def as_condition(relations, variables, ranges):
    return arith._ffi_api.SolveInequalitiesAsCondition(variables, ranges, relations)


def texts(items):
    return [repr(item) for item in items]


def test_a_start_names_later_variables_and_an_extent_is_the_greatest():
    ranges = {x: Range(-50, 50), y: Range(0, 20)}
    relations = [x + y <= 30, x - y >= 6]
    solved = arith.solve_linear_inequalities(relations, [x, y], ranges)
    assert str(solved) == (
        "IntConstraints([x, y], {x: range(min=(y + 6), ext=25), y: range(min=0, ext=13)}, [(x <= (30 - y))])"
    )
    assert texts(as_condition(relations, [x, y], ranges)) == [
        "(y >= 0)",
        "(y <= 12)",
        "(x >= (y + 6))",
        "(x <= (30 - y))",
    ]


def test_ranges_that_start_at_zero_keep_what_the_box_loses():
    ranges = {x: Range(-50, 50), y: Range(0, 20)}
    solved = arith.solve_linear_inequalities([x + y <= 30, x - y >= 6], [x, y], ranges, deskew_range=True)
    moved_x, moved_y = solved.dst.variables
    assert [solved.dst.ranges[v].extent.value for v in (moved_x, moved_y)] == [25, 13]
    assert len(solved.dst.relations) == 1
    assert tvm.ir.structural_equal(solved.src_to_dst[x], moved_x + (moved_y + 6))
    assert tvm.ir.structural_equal(solved.dst_to_src[moved_x], x - y - 6)


def test_bounds_that_meet_are_values():
    relations = [x + y >= 12, x - y >= 4, x <= 8]
    solved = arith.solve_linear_inequalities(relations, [x, y])
    assert str(solved) == "IntConstraints([x, y], {x: range(min=8, ext=1), y: range(min=4, ext=1)}, [])"
    moved = arith.solve_linear_inequalities(relations, [x, y], deskew_range=True)
    assert (len(moved.dst.variables), int(moved.src_to_dst[x]), int(moved.src_to_dst[y])) == (0, 8, 4)


def test_opposite_inequalities_are_an_equation():
    relations = [x - y >= 3, x - y <= 3]
    assert texts(as_condition(relations, [x, y], {y: Range(0, 4)})) == ["(y >= 0)", "(y <= 3)", "(x == (y + 3))"]


def test_a_system_without_solutions_has_the_relation_false():
    solved = arith.solve_linear_inequalities([x > y, y > x], [x, y], {x: Range(0, 9), y: Range(0, 9)})
    assert str(solved) == "IntConstraints([], {}, [(bool)0])"
    moved = arith.solve_linear_inequalities([x > 9], [x], {x: Range(0, 9)}, deskew_range=True)
    assert texts(moved.dst.relations) == ["(bool)0"] and len(moved.src_to_dst) == 0


def test_what_is_not_linear_stays_a_relation():
    solved = arith.solve_linear_inequalities([x <= 6, x >= 6, x - z * y >= 0], [x, y, z])
    assert str(solved) == "IntConstraints([x, y, z], {x: range(min=6, ext=1)}, [((x - (z*y)) >= 0)])"


def test_a_row_whose_numbers_leave_their_type_is_left_out():
    huge = 2**30
    ranges = {x: Range(0, 10), y: Range(0, 10)}
    relations = [x * huge - y * 3 <= 0, y * huge - x * 5 <= 0]
    box = {x: range(10), y: range(10)}
    wanted = [p for p in points(box) if p[x] * huge <= p[y] * 3 and p[y] * huge <= p[x] * 5]
    assert [p for p in points(box) if holds(arith.solve_linear_inequalities(relations, [x, y], ranges), p)] == wanted


def holds(solved, point):
    inside = (value(r.min, point) <= point[v] < value(r.min + r.extent, point) for v, r in solved.ranges.items())
    return all(value(c, point) for c in solved.relations) and all(inside)


@pytest.mark.parametrize("seed", range(60))
def test_every_form_has_the_points_of_the_system(seed):
    rng = random.Random(seed)
    variables = [x, y, z][: rng.randint(1, 3)]
    most = 5 if len(variables) < 3 else 2
    box = {v: range(-4, 5) for v in variables}
    ranges = {v: Range(-4, 5) for v in variables}

    def side():
        return sum((v * rng.randint(-most, most) for v in variables), tir.IntImm("int32", rng.randint(-9, 9)))

    relations = [rng.choice(COMPARISONS)(side(), side()) for _ in range(rng.randint(1, 4))]
    wanted = [p for p in points(box) if all(value(r, p) for r in relations)]
    conditions = as_condition(relations, variables, ranges)
    assert [p for p in points(box) if all(value(c, p) for c in conditions)] == wanted
    solved = arith.solve_linear_inequalities(relations, variables, ranges)
    assert [p for p in points(box) if holds(solved, p)] == wanted

    moved = arith.solve_linear_inequalities(relations, variables, ranges, deskew_range=True)
    free = list(moved.dst.variables)
    found = set()
    if texts(moved.dst.relations) != ["(bool)0"]:
        for point in points({v: range(int(moved.dst.ranges[v].extent)) for v in free}) if free else [{}]:
            if all(value(c, point) for c in moved.dst.relations):
                found.add(tuple(value(moved.src_to_dst[v], point) for v in variables))
    assert found == {tuple(p[v] for v in variables) for p in wanted}
