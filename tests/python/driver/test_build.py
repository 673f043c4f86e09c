"""From schedules, functions and modules to code that runs."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir


def vector_add(n, dtype="float32"):
    A, B = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    return A, B, C


def call(f, *arrays):
    args = [tvm.nd.array(a) for a in arrays]
    f(*args)
    return args[-1].numpy()


def random(*shape):
    return np.random.default_rng(1).uniform(size=shape).astype("float32")


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000])
def test_a_symbolic_length_is_taken_from_the_tensors(size):
    A, B, C = vector_add(te.var("n"))
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], 8)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    f = tvm.build(s, [A, B, C], "llvm")
    x = random(size)
    np.testing.assert_array_equal(call(f, x, x, np.zeros_like(x)), x + x)


@pytest.mark.parametrize("size", [5, 16, 30])
def test_a_guarded_vector_tail_writes_nothing_outside(size):
    A, B, C = vector_add(size)
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[0], 16)
    s[C].vectorize(inner)
    f = tvm.build(s, [A, B, C], "llvm")
    x, memory = random(size), np.full(64 + 16, 7, "float32")
    begin = -memory.ctypes.data % 64 // 4  # tensors begin at a multiple of 64 bytes
    room = memory[begin : begin + 64]
    out = tvm.nd.from_dlpack(room[:size])
    f(tvm.nd.array(x), tvm.nd.array(x), out)
    np.testing.assert_array_equal(room[:size], 2 * x)
    assert (room[size:] == 7).all()


def matmul(n=30, m=20, k=17):
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), "k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return A, B, C


def default(s, C):
    pass


def tiled(s, C):
    i, j, ii, ji = s[C].tile(*C.op.axis, 8, 16)
    (k,) = s[C].op.reduce_axis
    ko, ki = s[C].split(k, 4)
    s[C].reorder(i, j, ko, ii, ki, ji)
    s[C].vectorize(ji)
    s[C].parallel(i)


def cached(s, C):
    CC = s.cache_write(C, "global")
    i, j, ii, ji = s[C].tile(*C.op.axis, 8, 16)
    s[CC].compute_at(s[C], j)
    yi, xi = s[CC].op.axis
    (k,) = s[CC].op.reduce_axis
    s[CC].reorder(k, yi, xi)
    s[CC].vectorize(xi)
    s[CC].unroll(yi)
    s[C].vectorize(ji)


def fused(s, C):
    f = s[C].fuse(*C.op.axis)
    outer, inner = s[C].split(f, 7)
    s[C].parallel(outer)
    s[C].unroll(inner)


@pytest.mark.parametrize("schedule", [default, tiled, cached, fused])
def test_every_schedule_of_a_product_gives_the_product(schedule):
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    schedule(s, C)
    f = tvm.build(s, [A, B, C], "llvm")
    a, b = random(30, 17), random(17, 20)
    np.testing.assert_allclose(call(f, a, b, np.zeros((30, 20), "float32")), a @ b, rtol=1e-5)


def test_stages_share_memory_and_still_give_the_answer():
    A = te.placeholder((64, 64), name="A")
    stages = [A]
    for step in range(5):
        last = stages[-1]
        stages.append(te.compute((64, 64), (lambda t: lambda i, j: t[j, i] * 2.0 + 1.0)(last), name=f"S{step}"))
    s = te.create_schedule(stages[-1].op)
    f = tvm.build(s, [A, stages[-1]], "llvm")
    x = random(64, 64)
    want = x
    for _ in range(5):
        want = want.T * 2 + 1
    np.testing.assert_allclose(call(f, x, np.zeros_like(x)), want, rtol=1e-6)


def test_a_temporary_larger_than_the_stack_comes_from_the_workspace():
    n = 1 << 20
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 2.0, name="C")
    f = tvm.build(te.create_schedule(C.op), [A, C], "llvm")
    x = random(n)
    np.testing.assert_allclose(call(f, x, np.zeros_like(x)), (x[::-1] + 1) * 2, rtol=1e-6)


def test_bool_tensors_take_a_byte_an_element():
    A = te.placeholder((10,), "int32", name="A")
    B = te.compute((10,), lambda i: A[i] > 3, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    x = np.arange(10, dtype="int32")
    np.testing.assert_array_equal(call(f, x, np.zeros(10, "bool")), x > 3)


@pytest.mark.parametrize("a, b", [(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (-6, 3)])
def test_floor_division_rounds_down_whatever_the_signs(a, b):
    x, y = te.var("x"), te.var("y")
    C = te.compute((4,), lambda i: te.if_then_else(i < 2, x // y, x % y), name="C")
    f = tvm.build(te.create_schedule(C.op), [x, y, C], "llvm")
    out = tvm.nd.array(np.zeros(4, "int32"))
    f(a, b, out)
    np.testing.assert_array_equal(out.numpy(), [a // b, a // b, a % b, a % b])


def test_an_extern_stage_calls_a_python_function_with_tensors():
    seen = []

    @tvm.register_func("test_build.double", override=True)
    def double(a, b, factor):
        seen.append((a.shape, factor))
        b.copyfrom(a.numpy() * factor)

    A = te.placeholder((4, 5), name="A")
    B = te.extern(
        (4, 5), [A], lambda i, o: tir.call_packed("test_build.double", i[0], o[0], 3), name="B", dtype="float32"
    )
    C = te.compute((4, 5), lambda i, j: B[i, j] + 1.0, name="C")
    f = tvm.build(te.create_schedule(C.op), [A, C], "llvm")
    x = random(4, 5)
    np.testing.assert_allclose(call(f, x, np.zeros_like(x)), x * 3 + 1, rtol=1e-6)
    assert seen == [((4, 5), 3)]


def test_an_error_in_a_called_function_comes_back_as_itself():
    @tvm.register_func("test_build.fail", override=True)
    def fail(a, b):
        raise KeyError("not here")

    A = te.placeholder((4,), name="A")
    B = te.extern((4,), [A], lambda i, o: tir.call_packed("test_build.fail", i[0], o[0]), name="B", dtype="float32")
    f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    with pytest.raises(KeyError, match="not here"):
        call(f, random(4), random(4))


class TestWrongArguments:
    """Each is an error that names the argument, what was expected and what came; the function works on."""

    def setup_method(self):
        n = te.var("n")
        A = te.placeholder((n, 8), name="A")
        B = te.compute((n, 8), lambda i, j: A[i, j] + 1.0, name="B")
        self.f = tvm.build(te.create_schedule(B.op), [A, B], "llvm", name="plus_one")
        self.good = tvm.nd.array(random(4, 8))

    def check(self, args, *words):
        with pytest.raises((tvm.TVMError, TypeError, ValueError)) as caught:
            self.f(*args)
        for word in words:
            assert word in str(caught.value), (word, str(caught.value))
        self.f(self.good, tvm.nd.array(np.zeros((4, 8), "float32")))

    def test_count(self):
        self.check([self.good], "plus_one", "num_args should be 2", "called with 1 argument")

    def test_kind(self):
        self.check([self.good, 3], "arg[1]", "int")

    def test_none(self):
        self.check([None, self.good], "arg[0]", "A")

    def test_dtype(self):
        wrong = tvm.nd.array(np.zeros((4, 8), "float64"))
        self.check([self.good, wrong], "arg.B.dtype", "float32", "float64(4, 8)")

    def test_number_of_dimensions(self):
        self.check([tvm.nd.array(random(4)), self.good], "arg.A.ndim", "equal 2", "float32(4)")

    def test_constant_dimension(self):
        self.check([tvm.nd.array(random(4, 9)), self.good], "arg.A.shape[1]", "8", "float32(4, 9)")

    def test_symbolic_dimension(self):
        self.check([self.good, tvm.nd.array(random(5, 8))], "arg.B.shape[0]", "n", "float32(5, 8)")


def test_build_takes_functions_modules_lists_and_dictionaries():
    def lowered(name):
        A, B, C = vector_add(16)
        return tvm.lower(te.create_schedule(C.op), [A, B, C], name=name)

    x = random(16)
    one = lowered("one")
    for built, name in [
        (tvm.build(one, target="llvm"), "one"),
        (tvm.build(one["one"], target="llvm", name="renamed"), "renamed"),
        (tvm.build([one, lowered("two")], target="llvm"), "two"),
        (tvm.build({"llvm": one}), "one"),
    ]:
        np.testing.assert_array_equal(call(built[name], x, x, np.zeros_like(x)), x + x)
    with pytest.raises(ValueError, match="Inputs must be"):
        tvm.build(3)
    with pytest.raises(ValueError, match="args must be given"):
        A, B, C = vector_add(4)
        tvm.build(te.create_schedule(C.op))


def test_a_target_without_code_generator_is_named():
    A, B, C = vector_add(4)
    with pytest.raises(ValueError, match="no code generator for target kind"):
        tvm.build(te.create_schedule(C.op), [A, B, C], "stackvm")


def test_user_passes_run_at_the_end_of_their_phase():
    seen = []

    def spy(phase):
        @tir.transform.prim_func_pass(opt_level=0, name=f"spy{phase}")
        def look(func, mod, ctx):
            seen.append((phase, len(list(func.buffer_map.items())[0][1].shape)))
            return func

        return look

    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    passes = [(phase, spy(phase)) for phase in (3, 0, 1, 2)]
    with tvm.transform.PassContext(config={"tir.add_lower_pass": passes}):
        tvm.lower(te.create_schedule(B.op), [A, B])
    assert seen == [(0, 2), (1, 1), (2, 1), (3, 1)]
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, "no pass")]}):
        with pytest.raises(ValueError, match="pairs of a phase"):
            tvm.lower(te.create_schedule(B.op), [A, B])


def test_lowering_a_lowered_module_again_changes_nothing():
    A, B, C = matmul(8, 8, 8)
    once = tvm.lower(te.create_schedule(C.op), [A, B, C])
    assert str(tvm.lower(once)) == str(once)
