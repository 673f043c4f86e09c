"""The interpreter lock: released during calls, taken by callbacks, on any thread."""

import threading
import time

import numpy as np
import pytest
import tessera
from tessera import nd, tir
from tessera._ffi import register_func, remove_global_func


@pytest.fixture
def callback():
    """Registers a callback under a name that is free again after the test."""
    names = []

    def register(function):
        name = f"tests.threads.callback{len(names)}"
        register_func(name, function, override=True)
        names.append(name)
        return name

    yield register
    for name in names:
        remove_global_func(name)


def parallel_calls(name, count):
    """A compiled function that calls `name` from a parallel loop."""
    builder = tir.ir_builder.create()
    with builder.for_range(0, count, name="i", kind="parallel") as i:
        builder.emit(tir.call_packed(name, i))
    function = tir.PrimFunc([], builder.get()).with_attr("global_symbol", "main")
    return tessera.build(tessera.IRModule({"main": function}), target="llvm")["main"]


def test_compiled_code_calls_back_from_its_own_threads(callback):
    seen = []
    parallel_calls(callback(seen.append), 64)()
    assert sorted(seen) == list(range(64))


def test_an_exception_on_a_worker_thread_comes_out_as_itself(callback):
    raised = KeyError("on a worker")

    def boom(i):
        raise raised

    with pytest.raises(KeyError) as caught:
        parallel_calls(callback(boom), 8)()
    assert caught.value is raised


def test_other_python_threads_run_during_a_call(callback):
    """A call that waits for another Python thread would never end if it kept the lock."""
    event = threading.Event()
    waiting = tessera.get_global_func("testing.test_wrap_callback")(lambda: event.wait(20))
    timer = threading.Timer(0.05, event.set)
    timer.start()
    assert waiting() == 1


def test_many_threads_use_one_function():
    echo = tessera.get_global_func("testing.echo")
    tensors = [nd.array(np.full(4, t, "float32")) for t in range(4)]
    wrong = []

    def work(t):
        for _ in range(2000):
            if not echo(tensors[t]).same_as(tensors[t]):
                wrong.append(t)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_callback_dropped_by_another_thread_is_freed_safely():
    dropped = []

    class Callback:
        def __call__(self):
            return 1

        def __del__(self):
            dropped.append(threading.current_thread().name)

    held = [tessera.runtime.convert(Callback())]
    thread = threading.Thread(target=held.clear, name="dropper")
    thread.start()
    thread.join()
    deadline = time.time() + 5
    while not dropped and time.time() < deadline:
        time.sleep(0.01)
    assert dropped == ["dropper"]
