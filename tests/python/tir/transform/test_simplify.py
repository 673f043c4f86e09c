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
