"""Static memory planning: lifetimes, offsets in pools, and programs that take the pools as arguments."""

import random

import numpy as np
import pytest
import tessera as tvm
from tessera import tir
from tessera.ir.memory_pools import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from tessera.script import tir as T
from tessera.tir import usmp
from tessera.tir.usmp.utils import CANDIDATE_MEMORY_POOL_ATTR, BufferInfo

ALGORITHMS = ["greedy_by_size", "greedy_by_conflicts", "hill_climb"]
TARGET = tvm.target.Target("llvm")


def workspace(size=-1, name="pool"):
    return WorkspacePoolInfo(name, [TARGET], PoolInfoProperties(size_hint_bytes=size))


def planner(**options):
    config = {f"tir.usmp.{key}": value for key, value in options.items()}

    def run(mod):
        with tvm.transform.PassContext(config=config):
            return tvm.get_global_func("tir.transform.UnifiedStaticMemoryPlanner")()(mod)

    return run


def analysis_of(mod):
    mod = usmp.transform.assign_pool_info()(mod)
    main = mod["main"]
    return usmp.analysis.extract_buffer_info(main, mod)


def conflicts_of(analysis):
    return {info.name_hint: {c.name_hint for c in info.conflicts} for info in analysis.buffer_info_stmts}


def program(steps, sizes, result=0, loops=1):
    """w[k] = sum of the buffers that step k names + k, in `loops` iterations; steps name 'A' or earlier buffers."""
    ib = tir.ir_builder.create()
    A, B = tir.decl_buffer((8,), "float32", name="A"), tir.decl_buffer((8,), "float32", name="B")
    a, b = ib.buffer_ptr(A), ib.buffer_ptr(B)
    held = {}
    for k, size in enumerate(sizes):
        held[k] = ib.allocate("float32", (size,), name=f"w{k}")
    with ib.for_range(0, loops, name="again"):
        for k, (into, sources) in enumerate(steps):
            with ib.for_range(0, 8, name="i") as i:
                value = tir.const(float(k), "float32")
                for source in sources:
                    value = value + (a[i] if source == "A" else held[source][i])
                held[into][i] = value
    with ib.for_range(0, 8, name="i") as i:
        b[i] = held[result][i]
    params = [tir.Var("a", "handle"), tir.Var("b", "handle")]
    func = tir.PrimFunc(params, ib.get(), buffer_map={params[0]: A, params[1]: B})
    func = func.with_attr({"global_symbol": "main", "tir.noalias": True, "target": TARGET})
    return tvm.IRModule({"main": func})


def drawn(seed):
    """A random program whose steps read only what was written before."""
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    sizes = [8 * rng.choice([1, 1, 2, 3, 5, 8, 16]) for _ in range(count)]
    steps, written = [], []
    for _ in range(rng.randint(count, 2 * count)):
        into = rng.randrange(count)
        sources = ["A"] + [rng.choice(written) for _ in range(rng.randint(0, 2)) if written]
        steps.append((into, sources))
        written.append(into)
    return program(steps, sizes, rng.choice(written), rng.choice([1, 1, 3]))


def allocations(func):
    found = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: isinstance(node, (tir.Allocate, tir.AllocateConst)) and found.append(node)
    )
    return [node.buffer_var.name for node in found]


def text_of(func):
    return func.without_attr("pool_args").without_attr("target").script()


def result_of(mod, pools=()):
    a, b = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.array(np.zeros(8, "float32"))
    tvm.build(mod, target="llvm")["main"](a, b, *pools)
    return b.numpy()


def pools_of(mod):
    args = mod["main"].attrs["pool_args"]
    rng = np.random.default_rng(0)
    return [tvm.nd.array(rng.integers(0, 255, int(p.allocated_size)).astype("uint8")) for p in args]


def test_buffers_conflict_while_both_are_live():
    # w0 is last read when w1 is made, so w2 may take its memory.
    found = analysis_of(program([(0, ["A"]), (1, [0]), (2, [1])], [8, 8, 8], result=2))
    assert conflicts_of(found) == {"w0": {"w1"}, "w1": {"w0", "w2"}, "w2": {"w1"}}
    assert found.memory_pressure == 64
    info = next(iter(found.buffer_info_stmts))
    assert (info.name_hint, int(info.size_bytes), int(info.alignment)) == ("w0", 32, 64)


def test_what_a_loop_uses_is_live_in_all_of_it():
    found = analysis_of(program([(0, ["A"]), (1, [0]), (2, [1])], [8, 8, 8], result=2, loops=3))
    assert conflicts_of(found) == {"w0": {"w1", "w2"}, "w1": {"w0", "w2"}, "w2": {"w0", "w1"}}
    assert found.memory_pressure == 96


def test_memory_of_parallel_iterations_is_not_planned():
    @T.prim_func
    def main(A: T.Buffer[8, "float32"]):
        T.func_attr({"global_symbol": "main"})
        for i in T.parallel(8):
            w_data = T.allocate([1], "float32", "global")
            w = T.buffer_decl([1], "float32", data=w_data)
            w[0] = A[i]
            A[i] = w[0] + w[0]

    mod = tvm.IRModule({"main": main})
    assert conflicts_of(analysis_of(mod)) == {}
    assert allocations(planner()(mod)["main"]) == ["w_data"]


def test_blocks_are_rejected():
    @T.prim_func
    def main(A: T.Buffer[8, "float32"]):
        for i in range(8):
            with T.block("b"):
                A[i] = 1.0

    with pytest.raises(ValueError, match="functions of plain loops.*BlockRealize; lower it first"):
        analysis_of(tvm.IRModule({"main": main}))


def called_twice():
    @T.prim_func
    def main(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        nothing: T.handle = T.reinterpret(T.uint64(0), dtype="handle")
        w0 = T.allocate([8], "float32", "global")
        T.evaluate(T.tvm_call_cpacked("twice", A.data, w0, nothing, dtype="int32"))
        w1 = T.allocate([8], "float32", "global")
        T.evaluate(T.tvm_call_cpacked("twice", w0, w1, nothing, dtype="int32"))
        T.evaluate(T.tvm_call_cpacked("twice", w1, B.data, nothing, dtype="int32"))

    @T.prim_func
    def twice(X: T.Buffer[8, "float32"], Y: T.Buffer[8, "float32"]):
        T.func_attr({"global_symbol": "twice", "tir.noalias": True})
        t_data = T.allocate([8], "float32", "global")
        t = T.buffer_decl([8], "float32", data=t_data)
        for i in range(8):
            t[i] = X[i] + X[i]
        for i in range(8):
            Y[i] = t[i]

    return tvm.IRModule({"main": main, "twice": twice})


def test_calls_are_entered_with_what_they_are_given():
    found = analysis_of(called_twice())
    assert conflicts_of(found) == {"w0": {"t_data", "w1"}, "w1": {"t_data", "w0"}, "t_data": {"w0", "w1"}}
    assert found.memory_pressure == 96


def test_a_function_that_calls_itself_is_rejected():
    @T.prim_func
    def main(A: T.Buffer[8, "float32"]):
        T.evaluate(T.tvm_call_packed("main", A.data, dtype="int32"))

    with pytest.raises(ValueError, match="calls itself"):
        analysis_of(tvm.IRModule({"main": main}))


def test_pools_are_handed_on_to_the_functions_that_need_them():
    mod = planner()(called_twice())
    main, twice = mod["main"], mod["twice"]
    assert [p.name for p in main.params][2:] == ["global_workspace_2_var"]
    assert [p.name for p in twice.params][2:] == ["global_workspace_2_var"]
    assert [int(p.allocated_size) for p in main.attrs["pool_args"]] == [160]
    assert allocations(main) + allocations(twice) == []
    text = text_of(main)
    pool = "global_workspace_2_buffer_var.data"
    assert f'T.tvm_call_cpacked("twice", A.data, w0, {pool}, nothing, dtype="int32")' in text
    plain = tir.transform.LegalizePackedCalls()(called_twice())
    planned = tir.transform.LegalizePackedCalls()(mod)
    np.testing.assert_array_equal(result_of(plain), 8 * np.arange(8))
    np.testing.assert_array_equal(result_of(planned, pools_of(mod)), 8 * np.arange(8))


def test_an_allocation_becomes_an_address_in_the_pool():
    before = program([(0, ["A"]), (1, [0])], [8, 8], result=1)
    after = planner()(before)["main"]
    text = text_of(after)
    assert 'w0: T.Ptr[T.float32] = T.address_of(global_workspace_2_buffer_var[0], dtype="handle")' in text
    assert 'w1: T.Ptr[T.float32] = T.address_of(global_workspace_2_buffer_var[64], dtype="handle")' in text
    (pool,) = after.attrs["pool_args"]
    assert (pool.pool_info.pool_name, int(pool.allocated_size), int(pool.pool_var_idx)) == ("global_workspace", 96, 2)


def test_scripts_are_printed_without_what_they_have_no_words_for():
    mod = usmp.transform.assign_pool_info()(program([(0, ["A"])], [8]))
    found = usmp.analysis.extract_buffer_info(mod["main"], mod)
    buffers = usmp.utils.create_array_buffer_info(found.buffer_info_stmts)
    allocations = usmp.algo.greedy_by_size(buffers, found.memory_pressure)
    stmts = usmp.utils.assign_stmt_pool_allocations(found.buffer_info_stmts, allocations)
    printable = usmp.transform.convert_pool_allocations_to_offsets(stmts, emit_tvmscript_printable=True)(mod)["main"]
    assert "pool_args" not in printable.attrs
    assert "pool_args" in usmp.transform.convert_pool_allocations_to_offsets(stmts)(mod)["main"].attrs


def test_constants_go_to_a_pool_that_knows_them():
    data = tvm.nd.array(np.arange(8, dtype="float32"))
    A = tir.decl_buffer((8,), "float32", name="A")
    held = tir.Var("held", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global"))
    table = tir.decl_buffer((8,), "float32", name="table", data=held)
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(A, tir.BufferLoad(table, [i]), [i]))
    body = tir.AllocateConst(held, "float32", [8], data, loop)
    param = tir.Var("a", "handle")
    func = tir.PrimFunc([param], body, buffer_map={param: A}).with_attr("global_symbol", "main")
    after = planner()(tvm.IRModule({"main": func}))["main"]
    (pool,) = after.attrs["pool_args"]
    assert isinstance(pool.pool_info, ConstantPoolInfo)
    (constant,) = pool.pool_info.constant_info_array
    assert (constant.name_hint, int(constant.byte_offset)) == ("held", 0)
    np.testing.assert_array_equal(constant.data.numpy(), data.numpy())
    assert allocations(after) == []


def test_pools_of_the_module_are_used_in_their_order_as_far_as_they_reach():
    near, far = workspace(64, "near"), workspace(name="far")
    mod = program([(0, ["A"]), (1, [0]), (2, [0, 1])], [8, 8, 8], result=2)
    mod = mod.with_attr("workspace_memory_pools", WorkspaceMemoryPools([near, far]))
    planned = planner()(mod)
    sizes = {p.pool_info.pool_name: int(p.allocated_size) for p in planned["main"].attrs["pool_args"]}
    assert sizes == {"near": 32, "far": 96}
    np.testing.assert_array_equal(result_of(planned, pools_of(planned)), result_of(mod))


def test_a_module_whose_pools_no_target_reaches_is_rejected():
    other = WorkspacePoolInfo("vram", [tvm.target.Target("cuda")])
    mod = program([(0, ["A"])], [8]).with_attr("workspace_memory_pools", WorkspaceMemoryPools([other]))
    with pytest.raises(ValueError, match='no pool of the module\'s attribute "workspace_memory_pools" is reached'):
        planner()(mod)


def test_candidates_that_are_given_stay():
    mine = workspace(name="mine")
    mod = usmp.transform.assign_pool_info()(program([(0, ["A"])], [8]))
    allocate = mod["main"].body
    given = tir.Allocate(
        allocate.buffer_var, "float32", [8], tir.const(True), allocate.body, {CANDIDATE_MEMORY_POOL_ATTR: [mine]}
    )
    mod["main"] = mod["main"].with_body(given)
    assert planner()(mod)["main"].attrs["pool_args"][0].pool_info.same_as(mine)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pool_that_is_too_small_is_rejected_by_name(algorithm):
    a, b = (BufferInfo(name, 100, [workspace(150, "small")]) for name in "ab")
    pool = a.pool_candidates[0]
    b = BufferInfo("b", 100, [pool])
    a.set_conflicts([b])
    with pytest.raises(RuntimeError, match=r"no room left for buffer \w of 100 bytes.*small \(150 bytes\)"):
        getattr(usmp.algo, algorithm)([a, b])


def test_an_unknown_algorithm_is_rejected_and_one_of_the_users_is_asked():
    mod = program([(0, ["A"]), (1, [0])], [8, 8], result=1)
    with pytest.raises(ValueError, match='no algorithm "best".*greedy_by_size'):
        planner(algorithm="best")(mod)

    @tvm.register_func("tir.usmp.algo.one_after_another", override=True)
    def one_after_another(buffers, memory_pressure):
        allocations, offset = {}, 1024
        for info in buffers:
            allocations[info] = usmp.PoolAllocation(info.pool_candidates[0], offset)
            offset += 1024
        return allocations

    planned = planner(custom_algorithm="one_after_another")(mod)
    assert int(planned["main"].attrs["pool_args"][0].allocated_size) == 2 * 1024 + 32
    np.testing.assert_array_equal(result_of(planned, pools_of(planned)), result_of(mod))


def test_inputs_in_the_workspace_are_rejected():
    with pytest.raises(NotImplementedError, match="use_workspace_io"):
        planner(use_workspace_io=True)(program([(0, ["A"])], [8]))


def random_buffers(seed, pools):
    """Buffers as spans of time; those that meet conflict. With the least memory that can hold them."""
    rng = random.Random(seed)
    spans = []
    for i in range(rng.randint(1, 40)):
        begin = rng.randrange(60)
        size = rng.choice([1, 16, 64, 100, 256, 1000, 4096])
        info = BufferInfo(f"b{i}", size, rng.sample(pools, rng.randint(1, len(pools))), rng.choice([1, 1, 4, 16]))
        spans.append((info, begin, begin + rng.randint(1, 20), size))
    for info, begin, end, _ in spans:
        info.set_conflicts([o for o, b, e, _ in spans if o is not info and b < end and begin < e])
    least = max(sum(size for _, b, e, size in spans if b <= t < e) for t in range(80))
    return spans, least


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_live_buffers_never_overlap_and_plans_are_near_the_least(algorithm):
    plan = getattr(usmp.algo, algorithm)
    worst = 0.0
    for seed in range(60):
        pool = workspace()
        spans, least = random_buffers(seed, [pool])
        allocations = plan([info for info, *_ in spans], least)
        taken = [(int(allocations[info].byte_offset), size, b, e) for info, b, e, size in spans]
        for n, (first, size, begin, end) in enumerate(taken):
            assert first % int(spans[n][0].alignment) == 0
            for other, other_size, b, e in taken[:n]:
                if b < end and begin < e:
                    assert first + size <= other or other + other_size <= first, f"seed {seed}"
        worst = max(worst, max(first + size for first, size, _, _ in taken) / least)
    # Seen: 1.02, 1.75 and 1.001; on average no order loses more than four hundredths.
    assert worst <= {"greedy_by_size": 1.1, "greedy_by_conflicts": 1.8, "hill_climb": 1.05}[algorithm], worst


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_limits_of_pools_are_kept_or_the_plan_is_rejected(algorithm):
    rejected = 0
    for seed in range(60):
        pools = [workspace(size, f"p{size}") for size in (1000, 5000, 9000)]
        spans, _ = random_buffers(seed, pools)
        try:
            allocations = getattr(usmp.algo, algorithm)([info for info, *_ in spans], 0)
        except RuntimeError:
            rejected += 1
            continue
        for info, _, _, size in spans:
            pool = allocations[info].pool_info
            assert any(pool.same_as(candidate) for candidate in info.pool_candidates)
            assert int(allocations[info].byte_offset) + size <= int(pool.size_hint_bytes)
    assert 0 < rejected < 60


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_programs_compute_the_same_from_a_pool(algorithm):
    for seed in range(12):
        mod = drawn(seed)
        planned = planner(algorithm=algorithm)(mod)
        assert allocations(planned["main"]) == []
        np.testing.assert_array_equal(result_of(planned, pools_of(planned)), result_of(mod), err_msg=f"seed {seed}")


def test_a_chain_of_a_thousand_buffers_is_planned_in_two_allocations():
    steps = [(0, ["A"])] + [(k, [k - 1]) for k in range(1, 1000)]
    planned = planner()(program(steps, [8] * 1000, result=999))
    assert int(planned["main"].attrs["pool_args"][0].allocated_size) == 96


def test_pools_say_what_they_are():
    pools = ConstantMemoryPools([ConstantPoolInfo("flash", [TARGET])])
    assert pools.pools[0].pool_name == "flash"
