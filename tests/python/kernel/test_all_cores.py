"""Kernels are scheduled and lowered on all cores, and how many there are is not to be seen in what comes out."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

THREADS = "TESSERA_COMPILE_THREADS"


def graph():
    """Kernels of many rules; equal ones are one kernel, and names that would be equal are numbered."""
    x = relay.var("x", shape=(1, 16, 28, 28))
    weight = relay.const(np.full((16, 16, 3, 3), 0.01, "float32"))
    out = x
    for i in range(4):
        y = relay.nn.conv2d(out, weight, padding=(1, 1), channels=16, kernel_size=(3, 3))
        y = relay.nn.relu(relay.add(y, relay.const(np.float32(i))))
        y = (
            relay.nn.avg_pool2d(y, (3, 3), (1, 1), padding=(1, 1, 1, 1))
            if i % 2
            else relay.concatenate([y, out], axis=1)
        )
        out = relay.strided_slice(y, [0, 0, 0, 0], [1, 16, 28, 28])
    rows = relay.reshape(out, (16, 784))
    out = relay.nn.softmax(relay.nn.batch_matmul(relay.expand_dims(rows, 0), relay.expand_dims(rows, 0)))
    return tvm.IRModule.from_expr(relay.Function([x], out))


def dynamic():
    x = relay.var("x", shape=(relay.Any(), 64))
    weight = relay.const(np.full((32, 64), 0.01, "float32"))
    out = relay.nn.softmax(relay.nn.dense(x, weight))
    for i in range(3):
        out = relay.sqrt(relay.nn.softmax(relay.add(out, relay.const(np.float32(i)))))
    return tvm.IRModule.from_expr(relay.Function([x], relay.concatenate([out, out], axis=0)))


def texts():
    """All that is made from the models, as text; nothing of users takes part in this process."""
    with tvm.transform.PassContext(opt_level=3):
        built = relay.build(graph(), "llvm")
        program = relay.vm.compile(dynamic(), "llvm")
    kernels = [
        f"{name}\n{f.script()}" for name, info in built.function_metadata.items() for f in info.tir_primfuncs.values()
    ]
    return "\n".join([built.get_graph_json(), *kernels, built.get_lib().get_source("ll"), program.lib.get_source("ll")])


def digest(threads):
    program = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_all_cores as t
print(t.hashlib.sha256(t.texts().encode()).hexdigest())
"""
    env = {**os.environ, THREADS: str(threads), "TESSERA_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", program], check=True, env=env, capture_output=True, text=True)
    return done.stdout


def test_the_number_of_threads_is_not_to_be_seen():
    one = digest(1)
    assert len(one.strip()) == hashlib.sha256().digest_size * 2
    assert [digest(threads) for threads in (2, 8)] == [one, one]


def test_functions_of_users_are_called_by_the_thread_that_compiles(monkeypatch):
    monkeypatch.setenv(THREADS, "8")
    import threading

    seen = set()

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def watch(function, mod, context):
        seen.add(threading.get_ident())
        return function

    with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": [(1, watch)]}):
        relay.build(graph(), "llvm")
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_error_is_the_one_that_is_seen(threads, monkeypatch):
    monkeypatch.setenv(THREADS, str(threads))
    x = relay.var("x", shape=(4, 4))
    op = relay.op.get("nn.relu")
    before = op.get_attr("FTVMStrategy")
    try:
        op.reset_attr("FTVMStrategy")
        op.set_attr("FTVMStrategy", lambda *args: relay.op.op.OpStrategy())
        with pytest.raises(tvm.TVMError, match=r"nn\.relu: its strategy offers no implementation"):
            relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.relu(x)))), "llvm")
    finally:
        op.reset_attr("FTVMStrategy")
        op.set_attr("FTVMStrategy", before)
