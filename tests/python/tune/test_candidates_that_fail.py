"""Candidates that take too long, crash or ask for too much memory, while they are built and while they run; and killed processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import auto_scheduler, autotvm, te
from tessera import meta_schedule as ms
from tessera.autotvm.measure import MeasureErrorNo, MeasureInput
from tessera.autotvm.measure.build import Form, TookTooLong, build_candidates, call_within
from tessera.rpc.tracker import Tracker
from tessera.script import tir as T

TARGET = tvm.target.Target("llvm")


def scale(n=16, factor=2.0):
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * factor, name="y")
    return [te.create_schedule(y.op), [x, y], "default_function"]


def slow_to_build(n=256):
    """A sum whose loops are unrolled: some 60,000 statements, other ones each time, so that none are in the kernel cache."""
    x = te.placeholder((n, n), name="x")
    term = time.time() % 1000
    y = te.compute((n, n), lambda i, j: x[j, i] * 2.0 + term, name="y")
    schedule = te.create_schedule(y.op)
    for axis in y.op.axis:
        schedule[y].unroll(axis)
    return [schedule, [x, y], "default_function"]


def build(candidates, folder, timeout=60.0, threads=2):
    paths = [str(folder / f"{i}.so") for i in range(len(candidates))]
    return build_candidates(Form.SCHEDULE, candidates, paths, TARGET, threads, timeout), paths


def children(*words):
    """Processes that this one has started, whose command line has the words."""
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            line = (stat.parent / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if parent == os.getpid() and "tessera-rpc-server" in line[0] and all(word in line for word in words):
            out.append(int(stat.parent.name))
    return out


def builders():
    return children("--load-library")


def cpu_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])


def runners():
    return sorted(set(children()) - set(builders()))


# ---- building --------------------------------------------------------------------------------------------------------


def test_a_build_that_takes_too_long_is_an_error_and_the_others_are_built(tmp_path):
    results, paths = build([scale(), slow_to_build(), scale(32)], tmp_path, timeout=2.0, threads=1)
    assert [each.error for each in results] == [0, MeasureErrorNo.BUILD_TIMEOUT, 0]
    assert results[1].message == "building it takes longer than 2 s" and 1.9 < results[1].seconds < 30
    assert [os.path.exists(path) for path in paths] == [True, False, True]


def test_a_killed_build_is_an_error_and_another_process_builds_the_next(tmp_path):
    tvm.ir.register_op_attr("tests.operator_of_a_user", "tests.attribute", 1)  # what fails is built here, but not this
    build([scale()], tmp_path)
    idle = {pid: cpu_ticks(pid) for pid in builders()}
    outcome = []
    thread = threading.Thread(target=lambda: outcome.extend(build([slow_to_build()], tmp_path, threads=1)[0]))
    thread.start()
    while thread.is_alive() and not any(cpu_ticks(pid) - idle.get(pid, 0) > 20 for pid in builders()):
        time.sleep(0.05)  # until it is at work
    for pid in builders():
        os.kill(pid, signal.SIGKILL)
    thread.join(60)
    assert outcome[0].error == MeasureErrorNo.COMPILE_HOST
    assert outcome[0].message == "the process that built it ended with signal 9 (Killed)"
    results, _ = build([scale(), scale(8)], tmp_path)
    assert [each.error for each in results] == [0, 0]


def test_what_is_wrong_with_a_candidate_is_said_as_if_it_were_built_here(tmp_path):
    bad = scale()
    bad[0][bad[1][1]].bind(bad[1][1].op.axis[0], te.thread_axis("threadIdx.x"))
    (result,), _ = build([bad], tmp_path)
    assert result.error == MeasureErrorNo.COMPILE_HOST and "Error caught from RPC" not in result.message
    assert "thread" in result.message


def test_what_was_built_is_what_would_be_built_here(tmp_path):
    program = tvm.lower(*scale(64)[:2], name="f")
    (result,) = build_candidates(Form.LOWERED, [program], [str(tmp_path / "f.so")], TARGET, 1, 60)
    assert not result.error
    x, y = tvm.nd.array(np.arange(64, dtype="float32")), tvm.nd.empty((64,))
    tvm.runtime.load_module(str(tmp_path / "f.so"))["f"](x, y)
    np.testing.assert_array_equal(y.numpy(), 2 * x.numpy())


def test_options_of_passes_are_those_of_the_caller(tmp_path):
    count = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def counted(function, mod, context):
        count.append(1)
        return function

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(3, counted)]}):
        (result,), _ = build([scale()], tmp_path)
    assert not result.error and count == [1]
    with tvm.transform.PassContext(config={"tir.noalias": False}):
        (result,), _ = build([scale()], tmp_path)
    assert not result.error


def test_processes_of_builds_end_with_the_one_that_started_them(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import os, signal, pathlib, test_candidates_that_fail as t\n"
        f"t.build([t.scale()], pathlib.Path({str(tmp_path)!r}))\n"
        "print(*t.builders(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    pids = [int(word) for word in done.stdout.split()]
    assert pids, done.stderr
    until = time.monotonic() + 20
    while any(_runs(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_call_is_given_up_and_ends():
    ended = threading.Event()

    def endless():
        try:
            while True:
                time.sleep(0.001)
        finally:
            ended.set()

    with pytest.raises(TookTooLong, match=r"longer than 0\.1 s"):
        call_within(0.1, endless)
    assert ended.wait(10)
    with TARGET, tvm.transform.PassContext(opt_level=1):
        seen = call_within(5, lambda: (str(tvm.target.Target.current()), tvm.transform.PassContext.current().opt_level))
    assert seen == (str(TARGET), 1)
    with pytest.raises(KeyError):
        call_within(5, lambda: {}["x"])


# ---- the three tuners ------------------------------------------------------------------------------------------------


HANGS = []  # something in it: the template hangs


@autotvm.template("tests/candidates_that_fail")
def template(n):
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    schedule = te.create_schedule(y.op)
    cfg = autotvm.get_config()
    cfg.define_knob("what", ["good", "endless", "large"])
    cfg.add_flop(n)
    if cfg["what"].val == "endless":
        while HANGS:
            time.sleep(0.001)
    if cfg["what"].val == "large":
        return slow_to_build()[:2]
    return schedule, [x, y]


def autotvm_inputs():
    task = autotvm.task.create("tests/candidates_that_fail", args=(16,), target="llvm")
    return task, [MeasureInput(task.target, task, task.config_space.get(i)) for i in range(3)]


def test_autotvm_records_builds_that_take_too_long(monkeypatch):
    task, inputs = autotvm_inputs()
    monkeypatch.setattr(sys.modules[__name__], "HANGS", [True])
    option = autotvm.measure_option(
        autotvm.LocalBuilder(timeout=2.0, n_parallel=1), autotvm.LocalRunner(number=1, repeat=1)
    )
    good, endless, large = autotvm.measure.create_measure_batch(task, option)(inputs)
    assert good.error_no == MeasureErrorNo.NO_ERROR
    assert endless.error_no == MeasureErrorNo.BUILD_TIMEOUT and "the template" in str(endless.costs[0])
    assert large.error_no == MeasureErrorNo.BUILD_TIMEOUT


def test_autotvm_gives_up_a_linker_of_ones_own():
    _, inputs = autotvm_inputs()

    def linker(output, objects, **_):
        while True:
            time.sleep(0.001)

    linker.output_format = "so"
    builder = autotvm.LocalBuilder(timeout=0.5, build_func=linker)
    (result,) = builder.build(inputs[:1])
    assert result.error_no == MeasureErrorNo.BUILD_TIMEOUT


@auto_scheduler.register_workload
def slow_workload(n):
    x = te.placeholder((n, n), name="x")
    return [x, te.compute((n, n), lambda i, j: x[j, i] * 2.0 + 1.0, name="y")]


def test_auto_scheduler_records_builds_that_take_too_long():
    task = auto_scheduler.SearchTask(func=slow_workload, args=(256,), target="llvm")
    slow, good = task.compute_dag.get_init_state(), task.compute_dag.get_init_state()
    for axis in list(slow[slow.stages[1].op].iters):
        slow.unroll(slow.stages[1].op, axis)
    inputs = [auto_scheduler.MeasureInput(task, state) for state in (good, slow)]
    builder = auto_scheduler.LocalBuilder(timeout=2.0, n_parallel=1)
    built = builder.build(inputs, verbose=0)
    assert [each.error_no for each in built] == [0, auto_scheduler.measure.MeasureErrorNo.BUILD_TIMEOUT]
    results = auto_scheduler.LocalRunner(number=1, min_repeat_ms=0).run(inputs, built, verbose=0)
    assert [each.error_no for each in results] == [0, auto_scheduler.measure.MeasureErrorNo.BUILD_TIMEOUT]


@T.prim_func
def unrolled(x: T.Buffer((256, 256), "float32"), y: T.Buffer((256, 256), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in T.unroll(256):
        for j in T.unroll(256):
            with T.block("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vj, vi] * T.float32(2) + T.float32(1)


def test_meta_schedule_records_builds_that_take_too_long():
    mod = tvm.IRModule.from_expr(unrolled)
    inputs = [ms.builder.BuilderInput(mod, TARGET)]
    (late,) = ms.builder.LocalBuilder(max_workers=1, timeout_sec=0.5).build(inputs)
    assert late.artifact_path is None and "takes longer than 0.5 s" in late.error_msg
    (late,) = ms.builder.LocalBuilder(timeout_sec=0.25, f_build=lambda *_: time.sleep(60)).build(inputs)
    assert late.error_msg == "LocalBuilder: Timeout, killed after 0.25 seconds"


def test_meta_schedule_gives_up_an_evaluator_of_ones_own(tmp_path):
    runner = ms.runner.LocalRunner(timeout_sec=0.25, f_run_evaluator=lambda *_: time.sleep(60))
    argument = ms.arg_info.TensorInfo("float32", [1])
    candidate = ms.runner.RunnerInput(library(tmp_path, quick, "quick.so"), "llvm", [argument])
    (future,) = runner.run([candidate])
    assert future.result().error_msg == "LocalRunner: Timeout, killed after 0.25 seconds"


# ---- running ---------------------------------------------------------------------------------------------------------


def library(folder, function, name):
    path = str(folder / name)
    with TARGET:
        tvm.build(tvm.IRModule.from_expr(function), target=TARGET).export_library(path)
    return path


@T.prim_func
def endless(x: T.Buffer((1,), "int32")):
    T.func_attr({"global_symbol": "default_function"})
    while x[0] >= T.min(x[0], 0):
        x[0] = T.max(x[0], 0)


@T.prim_func
def greedy(x: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "default_function"})
    memory = T.alloc_buffer((4398046511104,), "float32")
    for i in range(4398046511104):
        with T.block("fill"):
            vi = T.axis.spatial(4398046511104, i)
            memory[vi] = T.cast(vi, "float32")
    with T.block("read"):
        x[0] = memory[T.cast(x[0], "int64")]


@T.prim_func
def quick(x: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "default_function"})
    x[0] = x[0] + T.float32(1)


def test_a_run_that_hangs_is_killed_or_has_no_memory_is_an_error_and_the_next_is_measured(tmp_path):
    good = library(tmp_path, quick, "quick.so")
    runner = autotvm.LocalRunner(timeout=1, number=1, repeat=1)
    info = (((1,), "float32"),)
    assert runner.measure(TARGET, good, info)[0] == 0
    error, message, _ = runner.measure(TARGET, library(tmp_path, endless, "endless.so"), (((1,), "int32"),))
    assert (error, message) == (MeasureErrorNo.RUN_TIMEOUT, "it ran longer than 1 s")
    assert runner.measure(TARGET, good, info)[0] == 0
    error, message, _ = runner.measure(TARGET, library(tmp_path, greedy, "greedy.so"), info)
    assert error == MeasureErrorNo.RUNTIME_DEVICE, message
    assert runner.measure(TARGET, good, info)[0] == 0
    for pid in runners():
        os.kill(pid, signal.SIGKILL)
    error, message, _ = runner.measure(TARGET, good, info)
    assert (error, message) == (MeasureErrorNo.RUNTIME_DEVICE, "its process ended with signal 9 (Killed)")
    assert runner.measure(TARGET, good, info)[0] == 0


@T.prim_func
def mark(x: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "default_function"})
    x[0] = T.float32(1000)


@T.prim_func
def want_mark(x: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "default_function"})
    assert x[0] == T.float32(1000), "these are other arguments"
    x[0] = x[0] + T.float32(0)


def test_candidates_share_random_arguments_until_their_process_ends(tmp_path):
    marks, wants = library(tmp_path, mark, "mark.so"), library(tmp_path, want_mark, "want_mark.so")
    runner = autotvm.LocalRunner(timeout=5, number=1, repeat=1)
    info = (((1,), "float32"),)
    error, message, _ = runner.measure(TARGET, wants, info)
    assert error == MeasureErrorNo.RUNTIME_DEVICE
    assert "these are other arguments" in message
    assert runner.measure(TARGET, marks, info)[0] == 0
    assert runner.measure(TARGET, wants, info)[0] == 0
    given = (tvm.nd.array(np.zeros(1, dtype="float32")),)
    assert runner.measure(TARGET, wants, given)[0] == MeasureErrorNo.RUNTIME_DEVICE  # it has values of its own
    assert runner.measure(TARGET, marks, given)[0] == 0
    os.kill(runners()[-1], signal.SIGKILL)
    assert runner.measure(TARGET, wants, info)[0] == MeasureErrorNo.RUNTIME_DEVICE  # it was killed
    assert "these are other arguments" in runner.measure(TARGET, wants, info)[1]


@pytest.mark.parametrize(
    ("counted_seconds", "number", "repeat", "calls"),
    [(0.0, 2, 3, 7), (1e9, 2, 3, 7), (1e-12, 2, 3, 6), (1e-12, 1, 1, 1), (0.0, 1, 1, 2)],
)
def test_a_first_call_that_takes_long_is_counted(counted_seconds, number, repeat, calls):
    seen = []
    tvm.register_func("test.candidate_that_counts", lambda x: seen.append(x), override=True)
    evaluator = tvm.get_global_func("runtime.CandidateTimeEvaluator")(
        None, "test.candidate_that_counts", 1, number, repeat, 0, counted_seconds
    )
    times = np.frombuffer(bytes(evaluator(7)), dtype="float64")
    assert seen == [7] * calls
    assert len(times) == repeat
    assert (times > 0).all()


def test_processes_that_run_candidates_are_the_first_that_the_system_ends(tmp_path):
    runner = autotvm.LocalRunner(timeout=5, number=1, repeat=1)
    assert runner.measure(TARGET, library(tmp_path, quick, "quick.so"), (((1,), "float32"),))[0] == 0
    pid = runners()[-1]
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    assert (
        "unlimited" not in Path(f"/proc/{pid}/limits").read_text().split("Max data size")[1].split("\n")[0].split()[0]
    )


def test_a_killed_server_loses_no_candidate(tmp_path):
    tracker = Tracker(host="127.0.0.1", port=9390, port_end=9990, silent=True)
    program = Path(tvm.__file__).parent / "bin" / "tessera-rpc-server"
    words = [program, "--port", "9190", "--port-end", "9989", "--tracker", f"127.0.0.1:{tracker.port}", "--key", "k", "--silent"]  # fmt: skip
    servers = [subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) for _ in range(2)]
    try:
        runner = autotvm.RPCRunner("k", "127.0.0.1", tracker.port, number=1, repeat=1, timeout=20)
        path, info = library(tmp_path, quick, "quick.so"), (((1,), "float32"),)
        assert runner.measure(TARGET, path, info)[0] == 0
        # whichever of them has the session
        used = next(each for each in servers if _tree(each.pid) != [each.pid])
        for pid in reversed(_tree(used.pid)):
            os.kill(pid, signal.SIGKILL)
        used.wait(20)
        assert runner.measure(TARGET, path, info)[0] == 0
    finally:
        for each in servers:
            each.kill()
            each.wait(20)
        tracker.terminate()


def _tree(pid):
    own = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            own += _tree(int(stat.parent.name))
    return own
