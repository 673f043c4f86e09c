"""Models: their tasks, and libraries that use what was found."""

from __future__ import annotations

import numpy as np
import pytest
import tessera as tvm
from tessera import meta_schedule as ms
from tessera import relay
from tessera.contrib.graph_executor import GraphModule
from tessera.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tessera.meta_schedule.testing.relay_workload import get_network
from tessera.target import Target

CPU = Target("llvm -num-cores=2")
USE = {"relay.backend.use_meta_schedule": True}


def small_model():
    x = relay.var("x", shape=(8, 16), dtype="float32")
    w = relay.var("w", shape=(12, 16), dtype="float32")
    v = relay.var("v", shape=(4, 12), dtype="float32")
    y = relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))
    rng = np.random.default_rng(1)
    params = {"w": rng.random((12, 16), dtype="float32"), "v": rng.random((4, 12), dtype="float32")}
    return tvm.IRModule.from_expr(relay.Function([x, w, v], y)), params


def answer(x, params):
    return np.maximum(np.maximum(x @ params["w"].T, 0) @ params["v"].T, 0)


def run(lib, x):
    module = GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", x)
    module.run()
    return module.get_output(0).numpy()


def test_tasks_of_a_model_are_its_kernels():
    mod, params = small_model()
    tasks = ms.extract_task_from_relay(mod, CPU, params)
    names = [task.task_name for task in tasks]
    assert sum("dense" in name or "matmul" in name for name in names) == 2
    for task in tasks:
        assert task.weight == 1
        (program,) = task.dispatched
        assert [var.name_hint for var in program.get_global_vars()] == ["main"]
        assert str(task.target.kind.name) == "llvm"


def test_equal_kernels_are_one_task_with_their_number():
    x = relay.var("x", shape=(8, 8), dtype="float32")
    w = relay.var("w", shape=(8, 8), dtype="float32")
    y = x
    for _ in range(3):
        y = relay.nn.relu(relay.nn.dense(y, w))
    tasks = ms.extract_task_from_relay(tvm.IRModule.from_expr(relay.Function([x, w], y)), CPU)
    assert max(task.weight for task in tasks) == 3


def test_a_tuned_model_is_right_and_says_what_scheduled_it(tmp_path):
    mod, params = small_model()
    config = ms.TuneConfig(strategy="replay_trace", num_trials_per_iter=2, max_trials_global=6, max_trials_per_task=2)
    quick = ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(1, 1, 0))
    lib = ms.tune_relay(mod, CPU, config, str(tmp_path), params=params, runner=quick)
    x = np.random.default_rng(2).random((8, 16), dtype="float32")
    np.testing.assert_allclose(run(lib, x), answer(x, params), rtol=1e-5)


def test_relay_build_asks_the_database_that_was_entered():
    mod, params = small_model()
    asked = []

    def schedule(sch):
        asked.append(sch.mod)
        for child in sch.get_child_blocks(sch.get_block("root")):
            loops = sch.get_loops(child)
            if loops:
                sch.split(loops[0], [None, 2])
        return True

    x = np.random.default_rng(3).random((8, 16), dtype="float32")
    with ms.database.ScheduleFnDatabase(schedule), tvm.transform.PassContext(opt_level=3, config=USE):
        lib = relay.build(mod, target=CPU, params=params)
    assert len(asked) >= 2
    np.testing.assert_allclose(run(lib, x), answer(x, params), rtol=1e-5)
    asked.clear()
    with ms.database.ScheduleFnDatabase(schedule), tvm.transform.PassContext(opt_level=3):
        relay.build(mod, target=CPU, params=params)
    assert not asked  # not without the option


def test_what_the_database_does_not_know_is_scheduled_by_rules():
    mod, params = small_model()
    with ms.database.MemoryDatabase(), tvm.transform.PassContext(opt_level=3, config=USE):
        lib = relay.build(mod, target=CPU, params=params)
    x = np.random.default_rng(4).random((8, 16), dtype="float32")
    np.testing.assert_allclose(run(lib, x), answer(x, params), rtol=1e-5)


def test_what_a_database_in_python_raises_arrives():
    mod, params = small_model()

    def broken(sch):
        raise KeyError("no such record")

    with (
        pytest.raises(KeyError, match="no such record"),
        ms.database.ScheduleFnDatabase(broken),
        tvm.transform.PassContext(opt_level=3, config=USE),
    ):
        relay.build(mod, target=CPU, params=params)


def test_the_virtual_machine_uses_records_too(tmp_path):
    mod, params = small_model()
    config = ms.TuneConfig(strategy="replay_trace", num_trials_per_iter=2, max_trials_global=4, max_trials_per_task=2)
    executable = ms.tune_relay(
        mod, CPU, config, str(tmp_path), backend="vm", params=params, builder=DummyBuilder(), runner=DummyRunner()
    )
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    x = np.random.default_rng(5).random((8, 16), dtype="float32")
    np.testing.assert_allclose(machine.invoke("main", x).numpy(), answer(x, params), rtol=1e-5)


def test_networks_come_without_a_download():
    mod, params, (name, shape, dtype) = get_network("resnet_18", [1, 3, 32, 32])
    assert (name, shape, dtype) == ("data", [1, 3, 32, 32], "float32")
    assert params
    assert "nn.conv2d" in mod.astext(show_meta_data=False)
    with pytest.raises(ValueError, match="export it to ONNX"):
        get_network("bert_base", [1, 64])
