import tessera as tvm
from helpers import body_text, buffer, function, loop, run
from tessera import te, tir

i = te.var("i")
REWRITE = tir.transform.StorageRewrite()
TRUE = tir.const(True)


def allocate(buf, body):
    return tir.Allocate(buf.data, buf.dtype, list(buf.shape), TRUE, body)


def chain(sizes):
    """A -> T0 -> T1 -> ... -> B, each in a loop of its own."""
    A, B = buffer("A", (sizes[0],)), buffer("B", (sizes[0],))
    temps = [buffer(f"T{k}", (n,)) for k, n in enumerate(sizes)]
    steps, source = [], A
    for temp in temps + [B]:
        var = te.var("i")
        steps.append(loop(var, 8, tir.BufferStore(temp, source[var + 1 - 1] + 1.0, [var])))
        source = temp
    body = tir.SeqStmt(steps)
    for temp in reversed(temps):
        body = allocate(temp, body)
    return function([A, B], body)


def test_buffers_whose_lives_do_not_meet_share_memory():
    text = body_text(run(REWRITE, chain([64, 64, 64])))
    assert text.count("T.allocate") == 2
    assert "T2" not in text


def test_memory_much_larger_than_needed_is_not_taken_over():
    assert body_text(run(REWRITE, chain([64, 64, 64 * 64]))).count("T.allocate") == 3


def test_an_allocation_leaves_a_serial_loop_but_not_a_parallel_one():
    def nest(kind):
        A, T = buffer("A", (8,)), buffer("T", (64,))
        inner = tir.SeqStmt([tir.BufferStore(T, A[i], [i]), tir.BufferStore(A, T[i] + 1.0, [i])])
        return body_text(run(REWRITE, function([A], loop(i, 8, allocate(T, inner), kind))))

    assert nest(tir.ForKind.SERIAL).startswith("T_1 = T.allocate") or nest(tir.ForKind.SERIAL).startswith("T")
    assert "T.allocate" not in nest(tir.ForKind.SERIAL).split("for i")[1]
    assert "T.allocate" in nest(tir.ForKind.PARALLEL).split("for i")[1]


def test_a_buffer_used_in_a_loop_lives_through_all_of_it():
    # T is read in the next iteration too, so U, first used later in the body, may not take its memory.
    A, T, U = buffer("A", (64,)), buffer("T", (64,)), buffer("U", (64,))
    body = tir.SeqStmt(
        [tir.BufferStore(A, T[0], [i]), tir.BufferStore(U, A[i], [0]), tir.BufferStore(A, U[0], [i + 8])]
    )
    start = tir.BufferStore(T, 1.0, [0])
    func = function([A], allocate(T, tir.SeqStmt([start, allocate(U, loop(i, 8, body))])))
    assert body_text(run(REWRITE, func)).count("T.allocate") == 2


def test_vector_loops_have_to_be_gone():
    A = buffer("A", (8,))
    func = function([A], loop(i, 8, tir.BufferStore(A, 1.0, [i]), tir.ForKind.VECTORIZED))
    try:
        run(REWRITE, func)
    except tvm.TVMError as error:
        assert "VectorizeLoop first" in str(error)
    else:
        raise AssertionError("not rejected")


def stages(extents, count=3):
    """Each stage adds one to each element of the stage before."""
    loops = [tir.Var(f"i{n}", "int32") for n in range(len(extents))]
    source, target = buffer("A", extents), buffer("C", extents)
    parts, memories = [], []
    for n in range(count + 1):
        stage = target if n == count else buffer(f"B{n}", extents)
        body = tir.BufferStore(stage, tir.BufferLoad(source, loops) + 1.0, loops)
        for var, extent in zip(reversed(loops), reversed(extents)):
            body = tir.For(var, 0, extent, tir.ForKind.SERIAL, body)
        parts.append(body)
        memories += [] if n == count else [stage]
        source = stage
    body = tir.SeqStmt(parts)
    for stage in memories:
        body = tir.Allocate(stage.data, "float32", extents, tir.const(True), body)
    return function([buffer("A", extents)], body)


def allocations(func):
    found = []
    tir.stmt_functor.post_order_visit(func.body, lambda s: isinstance(s, tir.Allocate) and found.append(s))
    return found


def test_a_chain_of_stages_needs_one_buffer_also_of_symbolic_and_of_two_extents():
    n = tir.SizeVar("n", "int32")
    for extents in ([tir.const(16)], [n], [tir.const(16), tir.const(8)], [n, tir.const(8)]):
        done = run(tir.transform.StorageRewrite(), stages(extents))
        assert len(allocations(done)) == 1, done.script()


def test_extents_that_are_products_of_constants_are_folded():
    func = stages([tir.Mul(tir.const(4), tir.const(8))])
    assert [int(e) for e in allocations(run(tir.transform.StorageRewrite(), func))[0].extents] == [32]
