from helpers import body_text, buffer, check, function, loop, run
from tessera import te, tir

io, ii = te.var("io"), te.var("ii")
PARTITION = tir.transform.LoopPartition()
CONSTANT = {"tir.LoopPartition": {"partition_const_loop": True}}


def guarded(extent, shape, scalars=()):
    A = buffer("A", (shape,))
    store = tir.BufferStore(A, 1.0, [io * 16 + ii])
    body = tir.IfThenElse(tir.likely(io * 16 + ii < shape), store, None)
    return function([A], loop(io, extent, loop(ii, 16, body)), scalars)


def test_a_symbolic_loop_is_cut_where_its_guard_ends_to_hold():
    n = te.var("n")
    func = guarded((n + 15) // 16, n, [n])
    text = body_text(run([PARTITION, tir.transform.Simplify()], func))
    main, tail = text.replace("A_1", "A").split("\nfor ")
    assert main == "for io, ii in T.grid(n // 16, 16):\n    A[io * 16 + ii] = T.float32(1)"
    assert "if " in tail and "likely" not in tail


def test_a_constant_loop_is_left_whole_but_loses_likely():
    check(
        run(PARTITION, guarded(5, 70)),
        """
        for io, ii in T.grid(5, 16):
            if io * 16 + ii < 70:
                A[io * 16 + ii] = T.float32(1)
        """,
    )


def test_a_constant_loop_is_cut_when_asked_for():
    check(
        run([PARTITION, tir.transform.Simplify(), tir.transform.RemoveNoOp()], guarded(5, 70), CONSTANT),
        """
        for io, ii in T.grid(4, 16):
            A[io * 16 + ii] = T.float32(1)
        for ii in T.serial(6):
            A[ii + 64] = T.float32(1)
        """,
    )


def test_a_deep_nest_of_guards_does_not_explode():
    axes = [te.var(f"i{k}") for k in range(8)]
    A = buffer("A", (8,))
    inner = tir.all(*(tir.likely(tir.all(axis >= 2, axis < 30)) for axis in axes))
    body = tir.IfThenElse(inner, tir.BufferStore(A, 1.0, [0]), None)
    for axis in axes:
        body = loop(axis, 32, body)
    before = function([A], body)
    assert len(body_text(run(PARTITION, before, CONSTANT))) < 200_000


def test_a_hint_of_how_many_steps_there_are_gives_each_rest_code_without_guards():
    n = te.var("n")
    A = buffer("A", (n,))
    store = tir.BufferStore(A, 1.0, [io * 3 + ii])
    body = loop(ii, 3, tir.IfThenElse(tir.likely(io * 3 + ii < n), store, None))
    outer = tir.For(io, 0, (n + 2) // 3, tir.ForKind.SERIAL, body, None, {"pragma_loop_partition_hint": 3})
    passes = [PARTITION, tir.transform.UnrollLoop(), tir.transform.Simplify(), tir.transform.RemoveNoOp()]
    unrolled = {"tir.UnrollLoop": {"auto_max_step": 16, "explicit_unroll": True}}
    text = body_text(run(passes, function([A], outer, [n]), unrolled))
    assert text.count("T.float32(1)") == 3 + 1 + 2, text
    assert "likely" not in text
    rest = "n - n // 3 * 3 - io * 3"
    conditions = [line.strip() for line in text.splitlines() if "if " in line]
    assert conditions == [f"if {rest} == 1:", f"if {rest} == 2:"], text


def by_plain_if(condition, annotations=None):
    A = buffer("A", (64,))
    store = tir.BufferStore(A, 1.0, [io])
    body = tir.IfThenElse(condition, store, tir.BufferStore(A, 2.0, [io]))
    return function([A], tir.For(io, 0, 16, tir.ForKind.SERIAL, body, annotations=annotations or {}))


def hinted(func):
    return func.with_body(
        tir.AttrStmt(tir.IterVar(None, io, 0), "pragma_loop_partition_hint", tir.const(1, "int32"), func.body)
    )


def test_a_hinted_loop_is_cut_at_any_if():
    cut = [PARTITION, tir.transform.Simplify()]
    assert "if " in body_text(run(cut, by_plain_if(io < 5)))
    for func in (
        hinted(by_plain_if(io < 5)),
        by_plain_if(io < 5, {"pragma_loop_partition_hint": tir.const(1, "int32")}),
    ):
        check(
            run(cut, func),
            """
            for io in T.serial(5):
                A[io] = T.float32(1)
            for io in T.serial(11):
                A[io + 5] = T.float32(2)
            """,
        )


def test_an_equation_is_met_in_one_iteration():
    check(
        run([PARTITION, tir.transform.Simplify()], by_plain_if(tir.likely(tir.EQ(io, 5))), CONSTANT),
        """
        for io in T.serial(5):
            A[io] = T.float32(2)
        A[5] = T.float32(1)
        for io in T.serial(10):
            A[io + 6] = T.float32(2)
        """,
    )


def test_a_hinted_loop_that_cannot_be_cut_is_unrolled_on_request():
    func = hinted(by_plain_if(tir.floormod(io, 3) < 2))
    config = {"tir.LoopPartition": {"unroll_loop_with_partition_hint_no_interval": True}}
    assert "T.unroll" not in body_text(run(PARTITION, func))
    assert "T.unroll" in body_text(run(PARTITION, func, config))
