"""Passes for devices with threads; checked by text, no device needed."""

import pytest
import tessera as tvm
from helpers import body_text
from tessera import te, tir

X = tir.transform
CUDA = "cuda -arch=sm_70"


def for_cuda(mod, *passes):
    mod = X.BindTarget(tvm.target.Target(CUDA, "llvm"))(mod)
    for one in passes:
        mod = one(mod)
    return mod


def shared_copy():
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, 63 - j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(B.op.axis[1], tx)
    s[AA].compute_at(s[B], B.op.axis[0])
    s[AA].bind(s[AA].op.axis[1], tx)
    return tvm.lower(s, [A, B])


def row_sums(threads):
    A = te.placeholder((16, threads), name="A")
    k = te.reduce_axis((0, threads), "k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return tvm.lower(s, [A, B])


def test_a_barrier_stands_between_writing_and_reading_shared_memory():
    text = body_text(for_cuda(shared_copy(), X.ThreadSync("shared"))["main"])
    write, barrier = text.index("A_shared_1["), text.index("tvm_storage_sync")
    read = text.index("B[", barrier)
    assert write < barrier < read
    assert text.count("tvm_storage_sync") == 1


def test_a_warp_reduces_by_shuffles():
    text = body_text(for_cuda(row_sums(32), X.LowerThreadAllreduce())["main"])
    assert text.count("tvm_warp_shuffle_down") == 5
    assert "shared" not in text


def test_more_than_a_warp_reduces_in_shared_memory():
    text = body_text(for_cuda(row_sums(48), X.LowerThreadAllreduce())["main"])
    assert 'T.allocate([48], "float32", "shared")' in text
    assert "tvm_warp_shuffle" not in text and text.count("tvm_storage_sync") == 8


def test_a_kernel_takes_what_its_body_uses():
    mod = for_cuda(shared_copy(), X.ThreadSync("shared"), X.MakePackedAPI(), X.SplitHostDevice())
    kernel = mod["main_kernel0"]
    assert sorted(p.name for p in kernel.params) == ["A", "B"]
    assert 'tvm_call_packed("main_kernel0"' in mod["main"].script()
    assert int(kernel.attrs["calling_conv"]) == 2


def test_device_memory_touched_by_the_host_is_rejected():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    mod = tvm.lower(te.create_schedule(B.op), [A, B])
    with pytest.raises(tvm.TVMError, match="did you forget to bind"):
        for_cuda(mod, X.VerifyMemory())
