"""topi's schedule functions: TE schedules by name, for CPUs and GPUs."""

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir, topi


def element_wise():
    a = te.placeholder((6, 40), name="a")
    return [a], topi.exp(topi.add(a, 1.0)), lambda x: np.exp(x + 1)


def odd():
    a = te.placeholder((3, 7), name="a")
    return [a], topi.multiply(a, a), lambda x: x * x


def rows():
    a = te.placeholder((5, 33), name="a")
    return [a], topi.sum(topi.multiply(a, 2.0), axis=1), lambda x: (2 * x).sum(1)


def product():
    a, b = te.placeholder((8, 12), name="a"), te.placeholder((12, 16), name="b")
    k = te.reduce_axis((0, 12), name="k")
    c = te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    return [a, b], te.compute((8, 16), lambda i, j: te.max(c[i, j], 0.0)), lambda x, y: np.maximum(x @ y, 0)


def whole():
    a = te.placeholder((9, 4), name="a")
    return [a], topi.max(a), lambda x: x.max()


PROGRAMS = {program.__name__: program for program in (element_wise, odd, rows, product, whole)}


def check(schedule, program, target):
    inputs, out, reference = PROGRAMS[program]()
    with tvm.target.Target(target):
        s = schedule(out)
    mod = tvm.build(s, [*inputs, out], target)
    dev = tvm.device(target)
    rng = np.random.default_rng(1)
    values = [rng.standard_normal([int(n) for n in t.shape]).astype("float32") for t in inputs]
    result = tvm.nd.array(np.zeros([int(n) for n in out.shape], "float32"), dev)
    mod(*[tvm.nd.array(value, dev) for value in values], result)
    np.testing.assert_allclose(result.numpy(), reference(*values), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.parametrize("schedule", [topi.generic.schedule_injective, topi.x86.schedule_reduce])
def test_a_schedule_for_cpus_computes_any_program(schedule, program):
    check(schedule, program, "llvm")


@pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one")
@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.parametrize("schedule", [topi.generic.schedule_extern, topi.cuda.schedule_reduce])
def test_a_schedule_for_gpus_binds_all_stages(schedule, program):
    check(schedule, program, "opencl")


@pytest.mark.parametrize("shape, axis", [((3, 5, 7), 1), ((3, 5, 7), None), ((9,), 0)])
@pytest.mark.parametrize("exclusive", [False, True])
def test_a_scan_for_gpus_has_a_thread_for_each_line(shape, axis, exclusive):
    data = np.random.default_rng(0).integers(1, 4, shape).astype("int32")
    a = te.placeholder(shape, "int32", "a")
    with tvm.target.Target("opencl", "llvm") as target:
        out = topi.cuda.cumsum(a, axis, exclusive=exclusive)
        func = tvm.build(topi.cuda.schedule_scan([out]), [a, out], target)
    assert "__kernel" in func.imported_modules[0].get_source()
    if not tvm.opencl(0).exist:
        return
    result = tvm.nd.empty([int(extent) for extent in out.shape], "int32", tvm.opencl(0))
    func(tvm.nd.array(data, tvm.opencl(0)), result)
    sums = np.cumsum(data, axis)
    np.testing.assert_array_equal(result.numpy(), sums - data.reshape(sums.shape) if exclusive else sums)


def test_element_wise_stages_are_put_into_their_readers():
    inputs, out, _ = element_wise()
    text = str(tvm.lower(topi.x86.schedule_injective([out]), [*inputs, out], simple_mode=True))
    assert "allocate" not in text and "ramp(" in text
    plain = str(tvm.lower(topi.generic.default_schedule([out], False), [*inputs, out], simple_mode=True))
    assert "allocate" in plain and "ramp(" not in plain


def test_pools_take_a_layout_and_stages_may_be_scheduled_alone():
    inputs, out, _ = product()
    assert isinstance(topi.x86.schedule_pool(out, "NCHW"), te.Schedule)
    s = te.create_schedule(out.op)
    assert topi.generic.schedule_injective_from_existing(s, out).same_as(s)
    assert s[out].iter_var_attrs and not s[out.op.input_tensors[0]].iter_var_attrs


def test_statements_of_the_users_own_keep_their_loops_and_whole_inputs():
    a = te.placeholder((8,), name="a")
    twice = topi.multiply(a, 2.0)

    def copy(ins, outs):
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8) as i:
            target[i] = source[7 - i]
        return ib.get()

    out = te.extern((8,), [twice], copy, dtype="float32", name="reversed")
    mod = tvm.build(topi.generic.schedule_extern([out]), [a, out], "llvm")
    x, y = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.array(np.zeros(8, "float32"))
    mod(x, y)
    np.testing.assert_array_equal(y.numpy(), np.arange(8)[::-1] * 2)
