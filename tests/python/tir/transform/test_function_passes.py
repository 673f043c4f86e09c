"""Passes that choose, change or check whole functions, for hosts and devices."""

# ruff: noqa: B007 - names inside scripts

import pytest
import tessera as tvm
from helpers import CUDA, body_text, check, global_pass, named, ones, run
from tessera import tir
from tessera.script import tir as T
from tessera.tir import transform as X


def test_filter_keeps_the_functions_that_it_is_told_to():
    mod = tvm.IRModule({"f": ones.with_attr("keep", 1), "g": ones.with_attr("keep", 0)})
    kept = X.Filter(lambda func: int(func.attrs["keep"]) == 1)(mod)
    assert [var.name_hint for var in kept.get_global_vars()] == ["f"]


def test_the_only_function_becomes_the_entry():
    mod = tvm.IRModule({"f": ones})
    assert X.AnnotateEntryFunc()(mod)["f"].attrs["tir.is_entry_func"]
    with pytest.raises(ValueError, match="expected one function, the module has 2"):
        X.AnnotateEntryFunc()(tvm.IRModule({"f": ones, "g": ones}))


def test_a_pass_of_the_users_sees_each_function_and_its_module():
    seen = []

    @X.prim_func_pass(opt_level=0, name="look")
    def look(func, mod, ctx):
        seen.append((len(mod.functions), ctx.opt_level))
        return func.with_attr("seen", 1)

    assert look.info.name == "look"
    done = look(tvm.IRModule({"f": ones, "g": ones}))
    assert seen == [(2, 2), (2, 2)]
    assert [int(func.attrs["seen"]) for func in done.functions.values()] == [1, 1]


def test_assertions_are_skipped():
    check(
        run(X.SkipAssert(), named(ones)),
        """
        for i in T.parallel(8):
            A[i] = T.float32(1)
        """,
    )


def test_a_whole_function_becomes_code_of_a_device():
    assert body_text(run(X.DecorateDeviceScope(), named(ones))).startswith('T.attr(0, "device_scope", 0)')


def test_an_unpacked_function_takes_pointers_and_numbers():
    func = named(ones).with_attr("target", tvm.target.Target("llvm", host="llvm"))
    done = run(X.MakeUnpackedAPI(), func)
    assert [str(param.dtype) for param in done.params] == ["handle", "int32"]
    assert "A_1[i] = T.float32(1)" in body_text(done)


def test_divisions_that_round_down_become_what_machines_have():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"], n: T.int32):
        A[n // 3] = A[n % 4]

    check(
        run(X.LowerIntrin(), named(before).with_attr("target", CUDA)),
        """
        A[T.Select(T.truncmod(n, 3) >= 0, n / 3, n / 3 - 1)] = A[T.bitwise_and(n, 3, dtype="int32")]
        """,
    )


def test_handles_of_a_context_are_asked_for_once():
    @T.prim_func
    def before():
        for i in range(8):
            T.evaluate(T.call_extern("f", T.tvm_thread_context(T.call_extern("context", dtype="handle"), dtype="handle"),
                                     dtype="int32"))  # fmt: skip
            T.evaluate(T.call_extern("g", T.tvm_thread_context(T.call_extern("context", dtype="handle"), dtype="handle"),
                                     dtype="int32"))  # fmt: skip

    text = body_text(run([X.LiftAttrScope("coproc_scope"), X.CombineContextCall()], named(before)))
    assert text.count("T.tvm_thread_context(") == 1
    assert text.index("T.tvm_thread_context(") < text.index("for i")


def test_variables_that_are_defined_twice_are_rejected():
    i = tir.Var("i", "int32")
    A = tir.decl_buffer((8,), "float32", name="A")
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(A, tir.const(1.0), [i]))
    param = tir.Var("a", "handle")
    twice = tir.PrimFunc([param], tir.SeqStmt([loop, loop]), buffer_map={param: A})
    once = tir.PrimFunc([param], loop, buffer_map={param: A})
    assert tir.analysis.verify_ssa(once)
    assert not tir.analysis.verify_ssa(twice)
    global_pass("VerifySSA")(tvm.IRModule({"main": once}))
    with pytest.raises(ValueError, match="VerifySSA: a variable is defined in more than one place"):
        global_pass("VerifySSA")(tvm.IRModule({"main": twice}))


def test_kernels_that_ask_for_too_much_are_rejected():
    @T.prim_func
    def kernel(A: T.Buffer[2048, "float32"]):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 2048)
        A[tx] = 1.0

    mod = tvm.IRModule({"main": named(kernel)})
    global_pass("VerifyGPUCode", {"max_threads_per_block": 2048})(mod)
    with pytest.raises(RuntimeError, match="2048"):
        global_pass("VerifyGPUCode", {"max_threads_per_block": 1024})(mod)


def test_device_memory_touched_from_the_host_is_found():
    host = named(ones).with_attr("target", CUDA)
    assert not tir.analysis.verify_memory(host)
    assert tir.analysis.verify_memory(named(ones).with_attr("target", tvm.target.Target("llvm")))


def test_expressions_are_compared_by_structure():
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert tir.analysis.expr_deep_equal(x + 1, x + 1)
    assert not tir.analysis.expr_deep_equal(x + 1, y + 1)
    assert not tir.analysis.expr_deep_equal(x + 1, 1 + x)


def test_programs_that_use_loops_outside_of_them_are_not_well_formed():
    i = tir.Var("i", "int32")
    A = tir.decl_buffer((8,), "float32", name="A")
    param = tir.Var("a", "handle")
    body = tir.BufferStore(A, tir.const(1.0), [i])
    bad = tir.PrimFunc([param], body, buffer_map={param: A})
    good = tir.PrimFunc([param], tir.For(i, 0, 8, tir.ForKind.SERIAL, body), buffer_map={param: A})
    assert tir.analysis.verify_well_formed(good)
    assert not tir.analysis.verify_well_formed(bad, assert_mode=False)
    with pytest.raises((ValueError, RuntimeError), match="i"):
        tir.analysis.verify_well_formed(bad)
