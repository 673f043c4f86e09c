"""States: their primitives mirror those of TE schedules, and what does not fit is an error that says what there is."""

import re

import numpy as np
import pytest
import tessera
from tessera import auto_scheduler, te
from tessera.testing.auto_scheduler import (
    conv2d_nchw_bn_relu_auto_scheduler_test,
    get_tiled_matmul,
    invalid_compute_definition,
    matmul_auto_scheduler_test,
    softmax_nm_auto_scheduler_test,
)


def run(sch, args, inputs):
    function = tessera.build(sch, args, "llvm")
    out = tessera.nd.array(np.zeros([int(extent) for extent in args[-1].shape], "float32"))
    function(*[tessera.nd.array(each) for each in inputs], out)
    return out.numpy()


def matmul_inputs(n):
    rng = np.random.default_rng(0)
    return [rng.random((n, n), dtype="float32") for _ in range(2)]


def test_a_tiled_state_becomes_a_schedule():
    dag, state = get_tiled_matmul()
    sch, args = dag.apply_steps_from_state(state)
    a, b = matmul_inputs(512)
    np.testing.assert_allclose(run(sch, args, [a, b]), a @ b, rtol=1e-3)


def test_split_keeps_what_is_attached_at_the_innermost_part():
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    d = te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")
    dag = auto_scheduler.ComputeDAG([a, b, d])
    state = dag.get_init_state()
    state.compute_at(c, d, state[d].iters[0])
    state.split(d, state[d].iters[0], [4])
    lines = str(state).splitlines()
    inner = next(i for i, line in enumerate(lines) if "i.1 (0,4)" in line)
    assert "C = ..." in "".join(lines[inner : inner + 5])


def test_operations_from_before_a_cache_name_their_stages_afterwards():
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    state = auto_scheduler.ComputeDAG([a, b, c]).get_init_state()
    cache = state.cache_write(c, "local")
    assert cache.name == "C.local"
    assert state[c].op.name == "C" and state[cache].op.name == "C.local"
    assert [op.name for op in state.stage_ops] == ["A", "B", "C.local", "C"]


def test_a_copy_changes_alone():
    dag, state = get_tiled_matmul()
    other = state.copy()
    c = state.stage_ops[2]
    other.parallel(c, other[c].iters[0])
    assert len(other.transform_steps) == len(state.transform_steps) + 1
    assert other != state and state == state.copy()


def test_a_loop_that_was_split_is_no_loop_any_more():
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    state = auto_scheduler.ComputeDAG([a, b, c]).get_init_state()
    i = state[c].iters[0]
    state.split(c, i, [4])
    with pytest.raises(ValueError, match=re.escape("i is no loop of stage C any more; its loops are i.0, i.1, j, k")):
        state.parallel(c, i)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda s, c: s.fuse(c, [s[c].iters[0], s[c].iters[2]]), "only neighbouring loops can be fused"),
        (lambda s, c: s.reorder(c, [s[c].iters[0]]), "a reorder names all loops of a stage"),
        (lambda s, c: s.pragma(c, s[c].iters[0], "unknown"), "Unsupported pragma: unknown"),
        (lambda s, c: s.pragma(c, s[c].iters[0], "auto_unroll_max_step"), "has no number"),
        (lambda s, c: s.follow_split(c, s[c].iters[0], 7, 1), "step 7, which is to be followed, is no split"),
        (lambda s, c: s.split(c, s[c].iters[0], [0]), "a length of a split is a positive number or None"),
        (lambda s, c: s.bind(c, s[c].iters[0], "nowhere"), "Invalid thread_name: nowhere"),
    ],
)
def test_what_does_not_fit_is_said(change, message):
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    state = auto_scheduler.ComputeDAG([a, b, c]).get_init_state()
    with pytest.raises(ValueError, match=re.escape(message)):
        change(state, c)


def test_a_state_without_lengths_has_no_bounds():
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    dag = auto_scheduler.ComputeDAG([a, b, c])
    state = dag.get_init_state()
    state.split(c, state[c].iters[0], [None])
    with pytest.raises(ValueError, match="only concrete states have bounds"):
        dag.infer_bound_from_state(state)


def test_bounds_of_an_attached_stage():
    tensors = conv2d_nchw_bn_relu_auto_scheduler_test(1, 8, 8, 4, 4, 3, 1, 1)
    dag = auto_scheduler.ComputeDAG(tensors)
    state = dag.get_init_state()
    pad = next(op for op in state.stage_ops if "pad" in op.name)
    conv = next(op for op in state.stage_ops if len(op.input_tensors) == 2 and op.input_tensors[0].op.same_as(pad))
    state.compute_at(pad, conv, state[conv].iters[2])
    assert "(None)" in str(state)
    bounded = dag.infer_bound_from_state(state)
    assert "(None)" not in str(bounded)


def test_a_dag_needs_all_its_inputs_and_names_of_its_own():
    a, b, c = matmul_auto_scheduler_test(16, 16, 16)
    with pytest.raises(ValueError, match="the placeholder B is read and not among the tensors"):
        auto_scheduler.ComputeDAG([a, c])
    with pytest.raises(ValueError, match="B has two axes r1"):
        auto_scheduler.ComputeDAG(invalid_compute_definition())


def test_extern_operations_are_not_searched():
    a = te.placeholder((8,), name="A")
    out = te.extern((8,), [a], lambda ins, outs: tessera.tir.call_packed("f", ins[0], outs[0]), name="E")
    with pytest.raises(ValueError, match="only computations by te.compute can be searched"):
        auto_scheduler.ComputeDAG([a, out])


def test_the_program_in_python_makes_the_same_schedule():
    dag, state = get_tiled_matmul()
    a, b, c = dag.tensors
    s = te.create_schedule(c.op)
    exec(dag.print_python_code_from_state(state), {"s": s, "te": te, "A": a, "B": b, "C": c, "tuple": tuple})
    sch, args = dag.apply_steps_from_state(state)
    lower = lambda schedule: str(tessera.lower(schedule, [a, b, c], simple_mode=True))
    assert lower(s) == lower(sch)
    assert list(args) == [a, b, c]


@pytest.mark.parametrize("option", [1, 2])
def test_constant_operands_are_laid_out_as_loops_read_them(option):
    dag = auto_scheduler.ComputeDAG(matmul_auto_scheduler_test(64, 64, 64))
    c = dag.ops[2]
    state = dag.get_init_state()
    rows = state.split(c, state[c].iters[0], [8])
    columns = state.split(c, state[c].iters[2], [16])
    state.reorder(c, [rows[0], columns[0], state[c].iters[4], rows[1], columns[1]])
    state.vectorize(c, state[c].iters[4])
    sch, args = dag.apply_steps_from_state(state, option)
    a, b = matmul_inputs(64)
    packed = b.reshape(64, 4, 16).transpose(1, 0, 2).copy()
    assert [int(extent) for extent in args[1].shape] == ([64, 64] if option == 1 else [4, 64, 16])
    assert ("B.packed" in str(tessera.lower(sch, args, simple_mode=True))) == (option == 1)
    np.testing.assert_allclose(run(sch, args, [a, b if option == 1 else packed]), a @ b, rtol=1e-4)


@pytest.mark.parametrize(("columns", "transposed", "lanes"), [(16, False, 16), (64, False, 64), (16, True, 0)])
def test_operands_are_packed_by_vectors_where_elements_stay_side_by_side(columns, transposed, lanes):
    a = te.placeholder((32, 128), name="A")
    b = te.placeholder((128, 128), name="B")
    k = te.reduce_axis((0, 128), name="k")
    product = lambda i, j: te.sum(a[i, k] * (b[j, k] if transposed else b[k, j]), axis=k)
    c = te.compute((32, 128), product, name="C", attrs={"layout_free_placeholders": [b]})
    dag = auto_scheduler.ComputeDAG([a, b, c])
    state = dag.get_init_state()
    tiles = state.split(c, state[c].iters[1], [columns])
    state.reorder(c, [tiles[0], state[c].iters[0], state[c].iters[3], tiles[1]])
    sch, args = dag.apply_steps_from_state(state, 1)
    packing = str(tessera.lower(sch, args)).split("B.packed", 1)[1].split("C_", 1)[0]
    assert ("parallel" in packing, "ramp" in packing) == (True, lanes > 0), packing
    if lanes:
        assert f", 1, {lanes})" in packing
    rng = np.random.default_rng(0)
    x, y = rng.random((32, 128), "float32"), rng.random((128, 128), "float32")
    np.testing.assert_allclose(run(sch, args, [x, y]), x @ (y.T if transposed else y), rtol=1e-4)


def test_loops_in_order_leave_the_layout():
    dag = auto_scheduler.ComputeDAG(softmax_nm_auto_scheduler_test(8, 8))
    sch, args = dag.apply_steps_from_state(dag.get_init_state(), 1)
    assert len(args) == 2 and "packed" not in str(tessera.lower(sch, args))


def test_shape_of_a_layout():
    shape = auto_scheduler.get_shape_from_rewritten_layout("3n4c8n", ["n", "c"])
    assert shape == [24, 4]
    with pytest.raises(ValueError, match="is not like 16n4c"):
        auto_scheduler.get_shape_from_rewritten_layout("n4c", ["n", "c"])
