"""Processes that call functions for others."""

import os
import time

import pytest
import tessera.testing as testing
from tessera.contrib.popen_pool import PopenPoolExecutor, PopenWorker, StatusKind


def test_a_worker_calls_functions_also_nested_ones():
    worker = PopenWorker()
    factor = 3

    def scaled(x, y=1):
        return helper(x) * factor + y

    def helper(x):
        return x + os.getpid() * 0

    worker.send(scaled, [4], {"y": 2})
    assert worker.recv() == 14
    worker.send(lambda: os.getpid())
    assert worker.recv() != os.getpid() and worker.is_alive()
    worker.kill()
    assert not worker.is_alive()


def test_errors_come_back():
    worker = PopenWorker()
    worker.send(int, ["no number"])
    with pytest.raises(ValueError, match="no number"):
        worker.recv()
    worker.send(int, ["5"])
    assert worker.recv() == 5


def test_a_process_that_ends_is_told_and_replaced():
    worker = PopenWorker()
    worker.send(testing.terminate_self)
    with pytest.raises(ChildProcessError):
        worker.recv()
    worker.send(testing.identity_after, [1, 0])
    assert worker.recv() == 1


def test_a_call_that_takes_too_long_is_ended():
    worker = PopenWorker()
    worker.send(testing.identity_after, [1, 0])  # the process has started
    worker.recv()
    begin = time.monotonic()
    worker.send(testing.timeout_job, [60], timeout=0.2)
    with pytest.raises(TimeoutError):
        worker.recv()
    assert time.monotonic() - begin < 20


def test_the_process_is_prepared_and_replaced_after_its_uses():
    worker = PopenWorker(testing.initializer, (1, 2, 3), maximum_uses=2)
    pids = []
    for _ in range(4):
        worker.send(os.getpid)
        pids.append(worker.recv())
    assert pids[0] == pids[1] != pids[2] == pids[3]
    worker.send(testing.after_initializer)
    assert worker.recv() == (1, 2, 3)


def test_a_pool_gives_results_in_order_and_errors_as_values():
    pool = PopenPoolExecutor(max_workers=2, timeout=30)
    futures = [pool.submit(testing.fast_summation, n) for n in (3, 10, 100)]
    assert [future.result() for future in futures] == [6, 55, 5050]
    kinds = [result.status for result in pool.map_with_error_catching(int, ["1", "x"])]
    assert kinds == [StatusKind.COMPLETE, StatusKind.EXCEPTION]


def test_functions_of_the_registry_are_called_in_the_worker():
    worker = PopenWorker()
    worker.send(testing.register_ffi)
    worker.recv()
    for call in (testing.call_py_ffi, testing.call_cpp_ffi, testing.call_cpp_py_ffi):
        worker.send(call, [7])
        assert worker.recv() == 7
