"""Models: their kernels become tasks, and schedules that were found are those of their kernels."""

import logging

import numpy as np
import tessera
from tessera import auto_scheduler, relay
from tessera.auto_scheduler import MeasureInput, MeasureResult, SketchPolicy
from tessera.contrib import graph_executor

OPTION = {"relay.backend.use_auto_scheduler": True}


def model():
    x = relay.var("x", shape=(1, 8, 14, 14))
    w = relay.var("w", shape=(8, 8, 3, 3))
    out = x
    for _ in range(2):  # twice the same layer
        out = relay.nn.relu(relay.nn.conv2d(out, w, padding=(1, 1), channels=8, kernel_size=(3, 3)))
    out = relay.nn.softmax(relay.nn.batch_flatten(out))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], out))
    rng = np.random.default_rng(0)
    return mod, {"w": rng.random((8, 8, 3, 3), dtype="float32") - 0.5}, rng.random((1, 8, 14, 14), dtype="float32")


def run(lib, x):
    module = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    module.set_input("x", x)
    module.run()
    return module.get_output(0).numpy()


def test_kernels_that_are_worth_it_are_tasks_with_their_number_of_calls():
    mod, params, _ = model()
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    assert sorted(weights) == [1, 2] and "conv2d" in tasks[weights.index(2)].desc
    more, counts = auto_scheduler.extract_tasks(mod["main"], params, "llvm", include_simple_tasks=True)
    assert len(more) > len(tasks) and sum(counts) > sum(weights)


def test_a_schedule_that_was_found_is_applied(tmp_path):
    mod, params, x = model()
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    tasks = [task for task, weight in zip(tasks, weights) if weight == 2]
    policy = SketchPolicy(tasks[0], auto_scheduler.RandomModel(), {"sample_init_min_population": 8}, seed=1, verbose=0)
    state = policy.sample_initial_population()[0]
    log = str(tmp_path / "log.json")
    auto_scheduler.save_records(log, [MeasureInput(tasks[0], state)], [MeasureResult([1e-3], 0, "", 1, 0)])
    with tessera.transform.PassContext(opt_level=3):
        wanted = run(relay.build(mod, "llvm", params=params), x)
    with (
        auto_scheduler.ApplyHistoryBest(log) as best,
        tessera.transform.PassContext(opt_level=3, config=OPTION),
    ):
        asked = []
        query = best.query
        best.query = lambda target, key, *rest: asked.append((key, query(target, key, *rest))) or asked[-1][1]
        lib = relay.build(mod, "llvm", params=params)
    np.testing.assert_allclose(run(lib, x), wanted, rtol=1e-4, atol=1e-6)
    found = [key for key, state in asked if state is not None]
    assert found == [str(tasks[0].workload_key)]


def test_without_the_option_no_record_is_asked_for():
    mod, params, _ = model()

    class Never(auto_scheduler.DispatchContext):
        def query(self, *_):
            raise AssertionError("asked")

    with Never(), tessera.transform.PassContext(opt_level=3):
        relay.build(mod, "llvm", params=params)


def test_a_missing_record_is_said_once(caplog):
    mod, params, x = model()
    context = auto_scheduler.dispatcher.FallbackContext()
    with context, caplog.at_level(logging.DEBUG, "auto_scheduler"):
        with tessera.transform.PassContext(opt_level=3, config=OPTION):
            run(relay.build(mod, "llvm", params=params), x)
    missing = [message for message in caplog.messages if "Cannot find tuned schedules" in message]
    assert len(missing) == len(set(missing)) == 2


def test_compatible_records_and_those_of_the_users_own():
    mod, params, _ = model()
    tasks, _ = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    target, key = tasks[0].target, str(tasks[0].workload_key)
    state = tasks[0].compute_dag.get_init_state()
    history = auto_scheduler.ApplyHistoryBest([])
    assert history._query_inside(target, key, "f") is None
    history.update(target, key, state)
    assert str(history.query(target, key, True, tasks[0].compute_dag, "f")) == str(state)


def test_samples_serve_where_there_are_no_records():
    mod, params, x = model()
    with tessera.transform.PassContext(opt_level=3):
        wanted = run(relay.build(mod, "llvm", params=params), x)
    context = auto_scheduler.ApplyHistoryBestOrSample(None, num_measure=-1)
    with context, tessera.transform.PassContext(opt_level=3, config=OPTION):
        lib = relay.build(mod, "llvm", params=params)
    np.testing.assert_allclose(run(lib, x), wanted, rtol=1e-4, atol=1e-6)
    assert context._best_user_defined
