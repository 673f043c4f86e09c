"""Random choices of a schedule: what they may be, that a seed fixes them, and that decisions are followed."""

import math

import pytest
from tessera import te, tir


def matmul(n=128):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, te.compute((n, n), lambda i, j: c[i, j] + 1.0, name="D")]


def schedule(seed=42, **options):
    return tir.Schedule(te.create_prim_func(matmul()), seed=seed, **options)


def factors(sch, loop, n, limit=16, decision=None):
    return [sch.get(v) for v in sch.sample_perfect_tile(loop, n, limit, decision)]


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_factors_multiply_to_the_extent_and_the_innermost_is_limited(parts):
    sch = schedule()
    loop = sch.get_loops("C")[0]
    for _ in range(20):
        drawn = factors(sch, loop, parts, 8)
        assert len(drawn) == parts and math.prod(drawn) == 128
        assert parts == 1 or drawn[-1] <= 8


def test_the_same_seed_draws_the_same_and_forks_differ():
    def draw(sch):
        loop = sch.get_loops("C")[0]
        choice = sch.get(sch.sample_categorical([1, 2, 4], [0.2, 0.3, 0.5]))
        return [factors(sch, loop, 3) for _ in range(8)] + [choice]

    assert draw(schedule(7)) == draw(schedule(7))
    assert draw(schedule(7)) != draw(schedule(8))
    sch = schedule(7)
    assert draw(sch.copy()) != draw(sch)
    sch.seed(7)
    assert draw(sch) == draw(schedule(7))
    assert schedule(1).fork_seed() == 48271 * 32767 % 1999999973


def test_draws_are_those_of_the_minimal_standard_generator():
    # 16 = 2^4 in two parts is one draw of [0, 4] from the generator; the distribution is that of the C++ library.
    sch = tir.Schedule(te.create_prim_func(matmul(16)), seed=42)
    loop = sch.get_loops("C")[0]
    state, want = 42, []
    while len(want) < 10:
        state = state * 48271 % (2**31 - 1)
        scale = (2**31 - 2) // 5
        if state < 5 * scale:
            want.append([2 ** (state // scale), 2 ** (4 - state // scale)])
    assert [factors(sch, loop, 2) for _ in range(10)] == want


def test_an_earlier_decision_is_made_to_fit():
    sch = schedule()
    loop = sch.get_loops("C")[0]
    assert factors(sch, loop, 2, decision=[8, 16]) == [8, 16]
    assert factors(sch, loop, 2, decision=[3, 7]) == [1, 128]
    assert factors(sch, loop, 3, decision=[9, 9, 32]) == [1, 4, 32]
    with pytest.raises(ValueError, match="a list of 2 ints"):
        sch.sample_perfect_tile(loop, 2, decision=[1, 2, 64])


def test_a_loop_of_unknown_extent_is_left_to_split():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")]))
    (loop,) = sch.get_loops("B")
    drawn = sch.sample_perfect_tile(loop, 2)
    assert [sch.get(v) for v in drawn] == [-1, 1]
    assert len(sch.split(loop, drawn)) == 2


def test_wrong_choices_say_what_is_wrong():
    sch = schedule()
    with pytest.raises(ValueError, match="2 candidates and 3 probabilities"):
        sch.sample_categorical([1, 2], [0.1, 0.2, 0.7])
    with pytest.raises(ValueError, match="the decision 5 is no index of 2 candidates"):
        sch.sample_categorical([1, 2], [0.5, 0.5], decision=5)
    with pytest.raises(ValueError, match="max_innermost_factor is at least 1"):
        sch.sample_perfect_tile(sch.get_loops("C")[0], 2, 0)
    with pytest.raises(ValueError, match="a seed lies in"):
        schedule(0)


def chain():
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")
    return [a, te.compute((16, 16), lambda i, j: b[i, j] + 1.0, name="C")]


@pytest.mark.parametrize("decision, taken", [(-2, -2), (-1, -1), (0, 0), (1, 1), (7, 1), (-5, -1)])
def test_a_block_is_computed_where_the_decision_says(decision, taken):
    sch = tir.Schedule(te.create_prim_func(chain()))
    location = sch.sample_compute_location("B", decision=decision)
    assert sch.trace.insts[-1].kind.name == "SampleComputeLocation"
    assert int(sch.trace.get_decision(sch.trace.insts[-1])) == taken
    sch.compute_at("B", location)
    script = sch.mod["main"].script()
    assert script.count("T.grid") == {-2: 1, -1: 2, 0: 0, 1: 1}[taken]
    assert ('T.block("B")' in script) == (taken != -2)


def test_a_mark_is_not_a_loop():
    sch = tir.Schedule(te.create_prim_func(chain()))
    location = sch.sample_compute_location("B", decision=-1)
    with pytest.raises(ValueError, match="leave the block where it is"):
        sch.get(location)
    with pytest.raises(ValueError, match="this is no loop"):
        sch.parallel(location)


def test_sampled_locations_are_all_possible():
    seen = set()
    for seed in range(10**7, 10**9, 3 * 10**7):
        sch = tir.Schedule(te.create_prim_func(matmul(16)), seed=seed)
        location = sch.sample_compute_location("C")
        seen.add(int(sch.trace.get_decision(sch.trace.insts[-1])))
        sch.compute_at("C", location)
    assert seen == {-1, 0, 1}
