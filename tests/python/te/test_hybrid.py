"""Hybrid script: one function, run by Python on arrays and as a tensor operation on tensors."""

import numpy as np
import pytest
import tessera
from tessera import te


def computed(function, arrays, out_shape, dtype="float32"):
    """What the operation made from `function` gives for `arrays`."""
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"A{i}") for i, a in enumerate(arrays)]
    out = function(*tensors)
    program = tessera.get_global_func("te.ScheduleToPrimFunc")(te.create_schedule(out.op), [*tensors, out], "main", {})
    result = tessera.nd.array(np.zeros(out_shape, dtype))
    tessera.get_global_func("tir.Interpret")(program, *[tessera.nd.array(a) for a in arrays], result)
    return result.numpy()


@te.hybrid.script
def outer(a, b):
    c = output_tensor((a.shape[0], b.shape[0]), "float32")
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


@te.hybrid.script
def row_sums(a):
    c = output_tensor((a.shape[0],), "float32")
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            if j % 2 == 0:
                total += a[i, j]
            else:
                total -= a[i, j]
        c[i] = total
    return c


@te.hybrid.script
def shifted(a):
    c = output_tensor((a.shape[0],), "float32")
    t = allocate((a.shape[0],), "float32")
    for i in range(a.shape[0]):
        t[i] = max(a[i], 0.5) + 1.0
    for i in range(a.shape[0]):
        c[i] = t[a.shape[0] - 1 - i]
    return c


def test_a_hybrid_function_means_the_same_on_arrays_and_on_tensors():
    a, b = np.random.rand(6).astype("float32"), np.random.rand(7).astype("float32")
    np.testing.assert_allclose(outer(a, b), np.outer(a, b))
    np.testing.assert_allclose(computed(outer, [a, b], (6, 7)), np.outer(a, b))


def test_scalars_and_conditions_of_a_hybrid_function():
    a = np.random.rand(4, 5).astype("float32")
    want = a[:, ::2].sum(1) - a[:, 1::2].sum(1)
    np.testing.assert_allclose(computed(row_sums, [a], (4,)), want, rtol=1e-5, atol=1e-6)


def test_tensors_that_a_hybrid_function_allocates():
    a = np.random.rand(5).astype("float32")
    np.testing.assert_allclose(computed(shifted, [a], (5,)), (np.maximum(a, 0.5) + 1)[::-1], rtol=1e-6)


def test_what_hybrid_script_lacks_is_rejected_with_its_line():
    @te.hybrid.script
    def endless(a):
        c = output_tensor((4,), "float32")
        while True:
            c[0] = a[0]
        return c

    with pytest.raises(ValueError, match="line 4: While is not part of hybrid script"):
        endless(te.placeholder((4,), name="A"))


def computed_by(schedule, tensors, out, arrays):
    """What the scheduled operation gives for `arrays`."""
    program = tessera.get_global_func("te.ScheduleToPrimFunc")(schedule, [*tensors, out], "main", {})
    result = tessera.nd.array(np.zeros([int(e) for e in out.shape], out.dtype))
    tessera.get_global_func("tir.Interpret")(program, *[tessera.nd.array(a) for a in arrays], result)
    return result.numpy(), program


@pytest.fixture
def outer_product():
    a, b = te.placeholder((6,), name="a"), te.placeholder((7,), name="b")
    c = outer(a, b)
    arrays = [np.random.rand(6).astype("float32"), np.random.rand(7).astype("float32")]
    return te.create_schedule(c.op), [a, b], c, arrays


def test_loops_of_a_hybrid_function_are_split_and_reordered(outer_product):
    s, tensors, c, arrays = outer_product
    i, j = c.op.axis
    io, ii = s[c].split(i, 4)
    jo, ji = s[c].split(j, nparts=3)
    s[c].reorder(io, jo, ii, ji)
    result, program = computed_by(s, tensors, c, arrays)
    np.testing.assert_allclose(result, np.outer(*arrays))
    names = []
    tessera.tir.stmt_functor.post_order_visit(
        program.body, lambda n: names.append(n.loop_var.name) if isinstance(n, tessera.tir.For) else None
    )
    assert names[::-1] == ["i.outer", "j.outer", "i.inner", "j.inner"]


def test_loops_of_a_hybrid_function_are_fused_and_annotated(outer_product):
    s, tensors, c, arrays = outer_product
    fused = s[c].fuse(*c.op.axis)
    s[c].parallel(fused)
    result, program = computed_by(s, tensors, c, arrays)
    np.testing.assert_allclose(result, np.outer(*arrays))
    assert "parallel (i.j.fused, 0, 42)" in repr(program)


def test_loops_of_a_hybrid_function_are_bound_to_threads(outer_product):
    s, tensors, c, arrays = outer_product
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    program = tessera.get_global_func("te.ScheduleToPrimFunc")(s, [*tensors, c], "main", {})
    assert '"thread_extent" = 6' in str(program)


def test_a_schedule_as_a_hybrid_module_runs_and_is_saved(tmp_path):
    A, k = te.placeholder((8, 8), name="A"), te.reduce_axis((0, 8), name="k")
    B = te.compute((8, 8), lambda i, j: te.max(A[i, j], 0.0) + 1, name="B")
    C = te.compute((8,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 3)
    module = te.hybrid.build(s, [A], [C])
    a = np.random.randn(8, 8).astype("float32")
    np.testing.assert_allclose(module(a), (np.maximum(a, 0) + 1).sum(1), rtol=1e-5)
    module.save(str(tmp_path / "saved"))
    again = te.hybrid.HybridModule()
    again.load(str(tmp_path / "saved.py"))
    np.testing.assert_allclose(again(a), module(a))
    assert again.get_source() == module.get_source()


def test_a_module_called_with_tensors_makes_an_operation():
    a, b = te.placeholder((4,), name="a"), te.placeholder((3,), name="b")
    c = outer(a, b)
    module = te.hybrid.build(te.create_schedule(c.op), [a, b], [c])
    x, y = np.arange(4, dtype="float32"), np.arange(3, dtype="float32")
    np.testing.assert_array_equal(module(x, y), np.outer(x, y))
    np.testing.assert_array_equal(computed(module, [x, y], (4, 3)), np.outer(x, y))


@te.hybrid.script
def sum_of_two(tensors, scale):
    c = output_tensor(tensors[0].shape, "float32")
    for i in range(tensors[0].shape[0]):
        c[i] = (tensors[0][i] + tensors[1][i]) * scale[1]
    return c


@pytest.mark.parametrize("container", [list, tuple, tessera.runtime.convert])
def test_lists_of_tensors_and_constants_are_inputs(container):
    def add(a, b):
        return sum_of_two(container([a, b]), tessera.runtime.convert([2.0, 3.0]))

    x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
    np.testing.assert_array_equal(computed(add, [x, y], (4,)), (x + y) * 3)


@te.hybrid.script
def outer_plus_row(a, b):
    c = outer(a, b)
    d = output_tensor(c.shape, "float32")
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            d[i, j] = c[i, j] + float32(i)
    return d


def test_one_script_calls_another():
    x, y = np.arange(4, dtype="float32"), np.arange(1, 4, dtype="float32")
    expected = np.outer(x, y) + np.arange(4)[:, None]
    np.testing.assert_array_equal(outer_plus_row(x, y), expected)
    np.testing.assert_array_equal(computed(outer_plus_row, [x, y], (4, 3)), expected)


@te.hybrid.script
def means_of_rows(a, table):
    third = 1.0 / 3.0
    width = len(table[0])
    c = output_tensor((a.shape[0],), "float32")
    for i in range(a.shape[0]):
        total = 0.0
        for j in const_range(width):
            total += a[i, j] * table[0][j] + table[1, j]
        c[i] = total * third
    return c


def test_names_of_numbers_are_constants_and_others_live_in_their_loop():
    def on_tensors(a):
        return means_of_rows(a, [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])

    a = np.arange(12, dtype="float32").reshape(4, 3)
    np.testing.assert_allclose(computed(on_tensors, [a], (4,)), (a @ [1, 2, 3] + 1) / 3, rtol=1e-6)
    body = on_tensors(te.placeholder((4, 3), name="a")).op.body
    assert isinstance(body, tessera.tir.For) and isinstance(body.body, tessera.tir.ProducerRealize)
    assert body.body.producer.op.name == "total"


def test_a_thread_is_bound_by_its_name():
    axis, first, extent, _ = te.hybrid.calls.bind("bind", ["threadIdx.x", 8])
    assert axis.thread_tag == "threadIdx.x" and int(first) == 0 and extent == 8
    with pytest.raises(ValueError, match="the name of a thread axis"):
        te.hybrid.calls.bind("bind", [1, 8])
