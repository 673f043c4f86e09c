"""Loops whose stages run side by side compute what they computed one after another."""

import itertools

import numpy as np
import pytest
import tessera as tvm
from helpers import run
from tessera import tir
from tessera.script import tir as T

X = tir.transform


def chain(extent=16, width=4):
    """C[i, j] = ((A[i, j] * 2) + 1) * (A[i, j] * 2), through two buffers that each iteration of i owns."""

    @T.prim_func
    def func(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (extent, width), "float32")
        C = T.match_buffer(c, (extent, width), "float32")
        for i in T.serial(extent):
            with T.block("step"):
                T.reads(A[i, 0:width])
                T.writes(C[i, 0:width])
                P = T.alloc_buffer((1, width), "float32")
                Q = T.alloc_buffer((1, width), "float32")
                for j in T.serial(width):
                    with T.block("p"):
                        T.reads(A[i, j])
                        T.writes(P[0, j])
                        P[0, j] = A[i, j] * T.float32(2)
                for j in T.serial(width):
                    with T.block("q"):
                        T.reads(P[0, j])
                        T.writes(Q[0, j])
                        Q[0, j] = P[0, j] + T.float32(1)
                for j in T.serial(width):
                    with T.block("r"):
                        T.reads(P[0, j], Q[0, j])
                        T.writes(C[i, j])
                        C[i, j] = Q[0, j] * P[0, j]

    return func.with_attr("global_symbol", "main")


def annotated(func, **annotations):
    """The function with annotations on its outermost loop."""
    done = []

    def change(loop):
        if loop.loop_var.name != "i" or done:
            return None
        done.append(loop)
        return tir.For(
            loop.loop_var,
            loop.min,
            loop.extent,
            loop.kind,
            loop.body,
            loop.thread_binding,
            {f"software_pipeline_{key}": value for key, value in annotations.items()},
        )

    return func.with_body(tir.stmt_functor.ir_transform(func.body, None, change, ["tir.For"]))


def expected(a):
    return (a * 2 + 1) * (a * 2)


def check_result(func, shape):
    a = np.random.default_rng(0).random(shape, dtype="float32")
    c = tvm.nd.array(np.zeros(shape, "float32"))
    tvm.build(func, target="llvm")(tvm.nd.array(a), c)
    np.testing.assert_allclose(c.numpy(), expected(a), rtol=1e-6)


def legal(stages, orders):
    """p before q before r, within what a pipeline can keep."""
    for first, second in ((0, 1), (1, 2), (0, 2)):
        if stages[first] > stages[second]:
            return False
        if stages[first] == stages[second] and orders[first] > orders[second]:
            return False
    return True


CASES = list(itertools.product(itertools.product(range(3), repeat=3), itertools.permutations(range(3))))


@pytest.mark.parametrize("stages, orders", [case for case in CASES if legal(*case)])
def test_every_legal_pipeline_of_three_statements_computes_the_same(stages, orders):
    check_result(annotated(chain(), stage=list(stages), order=list(orders)), (16, 4))


@pytest.mark.parametrize("stages, orders", [case for case in CASES if not legal(*case)][::7])
def test_a_pipeline_that_would_read_what_is_not_there_is_rejected(stages, orders):
    with pytest.raises(ValueError, match="after statement"):
        tvm.lower(annotated(chain(), stage=list(stages), order=list(orders)))


@pytest.mark.parametrize("extent", [1, 2, 3, 4])
def test_a_loop_shorter_than_the_pipeline_is_deep(extent):
    check_result(annotated(chain(extent), stage=[0, 2, 3], order=[0, 1, 2]), (extent, 4))


def allocations(func):
    """Elements of each allocation of the lowered function, before memory is shared."""
    found = {}

    def visit(node):
        if isinstance(node, tir.Allocate):
            found[node.buffer_var.name] = int(np.prod([int(extent) for extent in node.extents]))

    with tvm.transform.PassContext(config={"tir.disable_storage_rewrite": True}):
        tir.stmt_functor.post_order_visit(tvm.lower(func)["main"].body, visit)
    return found


def test_memory_between_stages_gets_a_copy_for_each_iteration_under_way():
    assert allocations(annotated(chain(), stage=[0, 1, 1], order=[0, 1, 2])) == {"P": 8, "Q": 4}
    assert allocations(annotated(chain(), stage=[0, 1, 3], order=[0, 1, 2])) == {"P": 16, "Q": 12}


def test_reader_before_writer_needs_one_copy_only():
    assert allocations(annotated(chain(), stage=[0, 0, 1], order=[1, 2, 0])) == {"P": 4, "Q": 4}


def test_a_beginning_and_an_end_stand_around_the_loop():
    func = annotated(chain(), stage=[0, 0, 1], order=[0, 1, 2])
    passes = [X.ConvertBlocksToOpaque(), X.InjectSoftwarePipeline(), X.LowerOpaqueBlock()]
    text = run(passes, func).script()
    assert "T.serial(15)" in text
    assert text.count("* T.float32(2)") == 2  # before the loop, and in it
    assert text.count("Q[") > 0


def test_asynchronous_stages_wait_for_their_copies():
    func = annotated(chain(), stage=[0, 0, 1], order=[0, 1, 2], async_stages=[0])
    passes = [X.ConvertBlocksToOpaque(), X.InjectSoftwarePipeline(), X.LowerOpaqueBlock()]
    text = run(passes, func).script()
    assert "async_scope" in text and "async_commit_queue_scope" in text
    assert '"async_wait_inflight_count", 2' in text  # the two groups of the step that has just begun
    assert text.count("async_wait_inflight_count") == 2  # in the loop and after it
    assert '"async_wait_inflight_count", 0' in text  # at the end nothing more is begun
    check_result(func, (16, 4))


@pytest.mark.parametrize(
    "annotations, message",
    [
        ({"stage": [0, 1]}, "both software_pipeline_stage and software_pipeline_order"),
        ({"stage": [0, 1], "order": [0, 1]}, "has 3 statements"),
        ({"stage": [0, 0, 1], "order": [0, 0, 1]}, "a position of its own"),
        ({"stage": [-1, 0, 1], "order": [0, 1, 2]}, "between 0 and 64"),
        ({"stage": "none", "order": [0, 1, 2]}, "list of numbers"),
    ],
)
def test_annotations_that_make_no_sense_are_rejected(annotations, message):
    with pytest.raises(ValueError, match=message):
        tvm.lower(annotated(chain(), **annotations))


def test_memory_from_outside_the_loop_does_not_pass_between_stages():
    @T.prim_func
    def func(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (16,), "float32")
        C = T.match_buffer(c, (16,), "float32")
        P = T.alloc_buffer((1,), "float32")
        for i in T.serial(16):
            with T.block("step"):
                T.reads(A[i], P[0])
                T.writes(C[i], P[0])
                with T.block("p"):
                    T.reads(A[i])
                    T.writes(P[0])
                    P[0] = A[i]
                with T.block("r"):
                    T.reads(P[0])
                    T.writes(C[i])
                    C[i] = P[0]

    passes = [X.ConvertBlocksToOpaque(), X.InjectSoftwarePipeline()]
    with pytest.raises(ValueError, match="allocated outside the loop"):
        run(passes, annotated(func.with_attr("global_symbol", "main"), stage=[0, 1], order=[0, 1]))
