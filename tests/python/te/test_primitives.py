"""What primitives do to a schedule, and what they reject."""

import numpy as np
import pytest
import tessera
from tessera import te


@pytest.fixture
def product():
    A = te.placeholder((16, 16), name="A")
    B = te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C, te.create_schedule(C.op)


def names(axes):
    return [axis.var.name for axis in axes]


def test_axes_are_named_after_where_they_come_from(product):
    A, B, C, s = product
    fused = s[C].fuse(*C.op.axis)
    outer, inner = s[C].split(fused, 8)
    assert names([fused, outer, inner]) == ["i.j.fused", "i.j.fused.outer", "i.j.fused.inner"]
    assert names(s[C].leaf_iter_vars) == ["i.j.fused.outer", "i.j.fused.inner", "k"]


def test_reorder_permutes_only_the_loops_it_names(product):
    A, B, C, s = product
    i, j = C.op.axis
    s[C].reorder(C.op.reduce_axis[0], i)
    assert names(s[C].leaf_iter_vars) == ["k", "j", "i"]


def test_a_write_cache_takes_the_loops_as_its_layout(product):
    A, B, C, s = product
    s[C].tile(*C.op.axis, 4, 8)
    W = s.cache_write(C, "local")
    assert W.op.name == "C.local"
    assert [int(extent) for extent in W.shape] == [4, 2, 4, 8]
    assert names(s[W].op.axis) == ["i.outer.c", "j.outer.c", "i.inner.c", "j.inner.c"]
    assert names(s[C].leaf_iter_vars) == ["i", "j"]


def test_a_read_cache_is_read_only_by_the_readers_named(product):
    A, B, C, s = product
    R = s.cache_read(A, "shared", [C])
    assert R.op.name == "A.shared"
    assert [t.op.name for t in s[C].op.input_tensors] == ["A.shared", "B"]
    assert [stage.op.name for stage in s.stages] == ["A", "A.shared", "B", "C"]


@pytest.mark.parametrize("factor", ["outer", "fused"])
def test_rfactor_takes_axes_that_share_a_loop_apart_together(factor):
    A = te.placeholder((4, 6, 8), name="A")
    k, r = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 8), "r")
    B = te.compute((4,), lambda i: te.sum(A[i, k, r], axis=[k, r]), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, 2)
    fused = s[B].fuse(inner, r)  # runs through parts of k and all of r
    F = s.rfactor(B, outer if factor == "outer" else fused)
    assert [int(n) for n in F.shape] == [3 if factor == "outer" else 16, 4]
    x = np.random.default_rng(0).standard_normal((4, 6, 8)).astype("float32")
    out = tessera.nd.array(np.zeros(4, "float32"))
    tessera.build(s, [A, B], "llvm")(tessera.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), x.sum((1, 2)), rtol=1e-5, atol=1e-5)


def test_rfactor_makes_partial_results(product):
    A, B, C, s = product
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    F = s.rfactor(C, ki, 2)
    assert [int(extent) for extent in F.shape] == [16, 16, 4]
    assert names(s[F].op.reduce_axis) == ["k.outer"]
    assert names(s[C].op.reduce_axis) == ["k.inner.v"]


def test_a_schedule_is_found_by_tensor_and_by_operation(product):
    A, B, C, s = product
    assert s[C].same_as(s[C.op])
    other = te.compute((4,), lambda i: A[i, i], name="other")
    with pytest.raises(ValueError, match="Cannot find the operation other in schedule; its stages are A, B, C"):
        s[other]


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda s, C: s[C].split(C.op.axis[0]), "Either nparts or factor need to be provided"),
        (lambda s, C: s[C].split(C.op.axis[0], factor=2, nparts=2), "Do not need to provide both"),
        (lambda s, C: s[C].split(C.op.axis[0], factor=0), "stage C, axis i: cannot split by 0"),
        (
            lambda s, C: s[C].reorder(C.op.axis[0], C.op.axis[0]),
            "stage C, axis i: Same axis can not appear more than once",
        ),
        (lambda s, C: s[C].fuse(C.op.axis[0], C.op.reduce_axis[0]), "i and k are not. Reorder them first"),
        (lambda s, C: s.rfactor(C, C.op.axis[0]), "Can only factor reduction axis; i of stage C"),
        (lambda s, C: s[C].bind(C.op.axis[0], C.op.axis[1]), "only thread axes can be bound to"),
        (lambda s, C: s[C].double_buffer(), "stage C: Cannot apply double buffer on output"),
        (lambda s, C: s[C].env_threads([te.thread_axis((0, 4), "threadIdx.x")]), "only valid for composite ops"),
        (lambda s, C: s.cache_read(C, "local", [C]), "Cannot find C in the inputs of C"),
    ],
)
def test_illegal_use_is_rejected_by_name(product, use, message):
    A, B, C, s = product
    with pytest.raises(Exception, match=message):
        use(s, C)


def test_a_loop_that_was_split_is_no_loop_any_more(product):
    A, B, C, s = product
    s[C].split(C.op.axis[0], 4)
    with pytest.raises(Exception, match="axis i has already been split or fused; its loops are i.outer, i.inner, j, k"):
        s[C].vectorize(C.op.axis[0])


def test_a_reduction_cannot_be_inlined(product):
    A, B, C, _ = product
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s[C].compute_inline()
    with pytest.raises(Exception, match="stage C cannot be inlined: Reductions are only allowed at the top level"):
        s.normalize()


def test_a_reduction_inside_an_expression_is_rejected():
    A = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 4), name="k")
    with pytest.raises(Exception, match="in compute B: Reductions are only allowed at the top level of compute"):
        te.compute((1,), lambda i: te.sum(A[k], axis=k) + 1.0, name="B")


def test_axes_are_named_by_the_arguments_of_the_body():
    A = te.placeholder((4, 5, 6), name="A")
    assert names(te.compute((4, 5, 6), lambda x, y, z: A[x, y, z]).op.axis) == ["x", "y", "z"]
    assert names(te.compute((4, 5, 6), lambda *i: A(*i)).op.axis) == ["i0", "i1", "i2"]
    assert names(te.compute((4, 5, 6), lambda x, *rest: A(x, *rest)).op.axis) == ["x", "i1", "i2"]
    with pytest.raises(ValueError, match="default and keyword arguments are not allowed"):
        te.compute((4,), lambda i, j=0: A[i, j, 0])


def test_a_tag_scope_tags_what_is_computed_inside():
    A = te.placeholder((4,), name="A")
    with te.tag_scope(tag="mine"):
        B = te.compute((4,), lambda i: A[i], name="B")
        with pytest.raises(ValueError, match="nested tag is not allowed"):
            te.compute((4,), lambda i: A[i], tag="other")
    assert B.op.tag == "mine"
    assert te.compute((4,), lambda i: A[i]).op.tag == ""


def test_tensors_are_equal_when_they_are_the_same_output():
    A = te.placeholder((4,), name="A")
    P, Q = te.compute((4,), lambda i: (A[i], A[i] + 1.0), name="PQ")
    assert P.op.output(0) == P and P != Q
    assert len({P, Q, P.op.output(1)}) == 2
    assert repr(A) == "Tensor(shape=[4], op.name=A)"


def test_a_wrong_number_of_indices_is_rejected():
    A = te.placeholder((4, 4), name="A")
    with pytest.raises(ValueError, match="Need to provide 2 index in tensor but 1 was provided"):
        te.compute((4,), lambda i: A(i))


def test_normalize_leaves_the_schedule_alone(product):
    A, B, C, s = product
    s[C].split(C.op.axis[0], 4)
    before = names(s[C].leaf_iter_vars)
    assert not s.normalize().same_as(s)
    assert names(s[C].leaf_iter_vars) == before
    assert isinstance(s, tessera.te.Schedule)


@pytest.mark.parametrize(
    "inline, left",
    [
        (te.schedule.AutoInlineElemWise, ["row", "flipped", "out"]),
        (te.schedule.AutoInlineBroadcast, ["same", "flipped", "out"]),
        (te.schedule.AutoInlineInjective, ["out"]),
    ],
)
def test_stages_of_a_kind_are_inlined_at_once(inline, left):
    A = te.placeholder((8,), name="A")
    B = te.placeholder((4, 8), name="B")
    same = te.compute((4, 8), lambda i, j: B[i, j] + 1.0, name="same")
    row = te.compute((4, 8), lambda i, j: A[j] + same[i, j], name="row", tag="broadcast")
    flipped = te.compute((4, 8), lambda i, j: row[i, 7 - j], name="flipped")
    out = te.compute((4, 8), lambda i, j: flipped[i, j] * 2.0, name="out")
    s = te.create_schedule(out.op)
    inline(s)
    stages = s.normalize().stages
    assert [t.op.name for t in stages if t.op.name not in "AB" and t.attach_type == 1] == left


def test_a_write_cache_of_what_an_instruction_computes():
    x, y = (te.placeholder((16,), name=name) for name in "xy")
    z = te.compute((16,), lambda i: x[i] + y[i], name="z")
    add = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: tessera.tir.call_packed(
            "test.add", ins[0].access_ptr("r"), ins[1].access_ptr("r"), outs[0].access_ptr("w")
        ),
    )
    A, B = (te.placeholder((4, 16), name=name) for name in "AB")
    C = te.compute((4, 16), lambda i: add(A[i, 0:16], B[i, 0:16]), name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_write(C, "global")
    assert cache.op.name == "C.global" and [t.op.name for t in s.stages][-2:] == ["C.global", "C"]
    text = str(tessera.lower(s, [A, B, C], simple_mode=True))
    assert text.count("test.add") == 1 and "= C.global" in text


def test_a_write_cache_of_a_reduction_whose_identity_names_an_axis():
    A = te.placeholder((4, 8), "int32", name="A")
    k = te.reduce_axis((0, 8), name="k")

    def at_least_the_row(i):
        return te.comm_reducer(lambda a, b: tessera.tir.max(a, b), lambda dtype: i.astype(dtype))(A[i, k], axis=k)

    B = te.compute((4,), at_least_the_row, name="B")
    s = te.create_schedule(B.op)
    s.cache_write(B, "local")
    run = tessera.build(s, [A, B], "llvm")
    a, b = tessera.nd.array(np.full((4, 8), 2, "int32")), tessera.nd.array(np.zeros(4, "int32"))
    run(a, b)
    assert list(b.numpy()) == [2, 2, 2, 3]


def test_a_group_holds_what_lies_between_inputs_and_outputs():
    A = te.placeholder((8,), name="A")
    side = te.compute((8,), lambda i: A[i] * 2.0, name="side")
    first = te.compute((8,), lambda i: A[i] + 1.0, name="first")
    last = te.compute((8,), lambda i: first[i] + side[i], name="last")
    out = te.compute((8,), lambda i: last[i] * 3.0, name="out")
    s = te.create_schedule(out.op)
    group = s.create_group(outputs=last, inputs=first, include_inputs=True)
    assert [t.op.name for t in s.stages if t.group is not None and t.group.same_as(group)] == ["first", "last"]
    with pytest.raises(tessera.TVMError, match="within the same group"):
        s[first].compute_at(s[out], out.op.axis[0])


def test_bounds_of_a_region_that_ends_at_a_constant():
    a = te.placeholder((te.var("m"), te.var("n")), name="a")
    c = te.compute((1, a.shape[1]), lambda i, j: a[0, j] + a[1, j] + a[2, j], name="c")
    rows = te.decl_tensor_intrin(c.op, lambda ins, outs: tessera.tir.call_packed("test.rows", ins[0], outs[0]))
    A = te.placeholder((20, 20), name="A")
    B = te.compute((20, 20), lambda i, j: A[i, j], name="B")
    C = te.compute((10, 20), lambda i: rows(B[i:10, 0:20]), name="C")
    assert int(te.schedule.InferBound(te.create_schedule(C.op))[B.op.axis[0]].extent) == 10
