from helpers import buffer, check, function, loop, run
from tessera import te, tir

i = te.var("i")
SIMPLIFY = tir.transform.Simplify()


def test_ranges_of_loops_decide_conditions():
    A = buffer("A", (64,), "int32")
    branch = tir.IfThenElse(i < 32, tir.BufferStore(A, i, [i * 4 // 4]), tir.BufferStore(A, 0, [i]))
    check(run(SIMPLIFY, function([A], loop(i, 16, branch))), "for i in T.serial(16):\n    A[i] = i")


def test_a_condition_holds_inside_its_branch():
    A, n = buffer("A", (64,), "int32"), te.var("n")
    inner = tir.IfThenElse(n < 20, tir.BufferStore(A, 1, [0]), tir.BufferStore(A, 2, [0]))
    outer = tir.IfThenElse(n < 10, inner, None)
    check(run(SIMPLIFY, function([A], outer, [n])), "if n < 10:\n    A[0] = 1")


def test_integer_lets_are_put_in():
    A, x, n = buffer("A", (64,), "int32"), te.var("x"), te.var("n")
    body = tir.LetStmt(x, n + 1, tir.BufferStore(A, x - 1, [x - n]))
    check(run(SIMPLIFY, function([A], body, [n])), "A[1] = n")


def test_a_store_of_what_is_there_disappears():
    A = buffer("A", (64,), "int32")
    body = tir.SeqStmt([tir.BufferStore(A, A[i], [i + 0]), tir.BufferStore(A, 1, [i])])
    check(run(SIMPLIFY, function([A], loop(i, 8, body))), "for i in T.serial(8):\n    A[i] = 1")


def test_a_condition_on_memory_that_its_branch_writes_is_asked_again():
    A, n = buffer("A", (64,), "int32"), te.var("n")
    inner = tir.IfThenElse(A[0] < n, tir.BufferStore(A, A[0] + 1, [0]), None)
    outer = tir.IfThenElse(A[0] < n, loop(i, 4, inner), None)
    again = "if A[0] < n:\n    for i in T.serial(4):\n        if A[0] < n:\n            A[0] = A[0] + 1"
    check(run(SIMPLIFY, function([A], outer, [n])), again)


def test_a_condition_on_memory_that_its_branch_only_reads_holds_there():
    A, B, n = buffer("A", (64,), "int32"), buffer("B", (64,), "int32"), te.var("n")
    inner = tir.IfThenElse(A[0] < n, tir.BufferStore(B, A[0], [i]), None)
    outer = tir.IfThenElse(A[0] < n, loop(i, 4, inner), None)
    check(run(SIMPLIFY, function([A, B], outer, [n])), "if A[0] < n:\n    for i in T.serial(4):\n        B[i] = A[0]")
