"""AutoTVM for models: tasks of v0.10's templates, and records that decide about kernels."""

import json

import numpy as np
import pytest
import tessera as tvm
from tessera import autotvm, relay, te
from tessera.autotvm.measure import MeasureInput, MeasureResult
from tessera.driver import tvmc
from test_tune_models import plans_in, random, small_model

LLVM = tvm.target.Target("llvm")


def tasks_of(mod, **options):
    return {task.name: task for task in autotvm.task.extract_from_program(mod, {}, "llvm", **options)}


def wide_model():
    """Every template once; a kernel of 1x1 and a dynamic one besides."""
    x = relay.var("x", shape=(2, 16, 8, 8))
    y = relay.nn.conv2d(x, relay.const(random(32, 16, 1, 1)))
    y = relay.nn.conv2d(y, relay.const(random(32, 1, 3, 3)), groups=32, channels=32, padding=(1, 1))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    y = relay.nn.dense(y, relay.const(random(10, 32)))
    z = relay.nn.batch_matmul(relay.reshape(y, (2, 2, 5)), relay.const(random(2, 3, 5)))
    return tvm.IRModule.from_expr(relay.Function([x], z))


def test_a_model_has_a_task_for_each_call_that_a_template_computes():
    tasks = tasks_of(wide_model())
    names = ["batch_matmul", "conv2d_NCHWc", "dense_nopack", "dense_pack", "depthwise_conv2d_NCHWc"]
    assert sorted(tasks) == [f"{name}.x86" for name in names]
    assert tasks["batch_matmul.x86"].workload == (
        "batch_matmul.x86", ("TENSOR", (2, 2, 5), "float32"), ("TENSOR", (2, 3, 5), "float32"),
        (2, 2, 3), "float32", False, True,
    )  # fmt: skip
    assert list(tasks["conv2d_NCHWc.x86"].config_space.space_map) == ["tile_ic", "tile_oc", "tile_ow", "tile_oh"]
    assert tasks["dense_pack.x86"].flop == 2 * 2 * 10 * 32
    wanted = tasks_of(wide_model(), ops=(relay.op.get("nn.dense"),))
    assert sorted(wanted) == ["dense_nopack.x86", "dense_pack.x86"]
    twice = autotvm.task.extract_from_multiple_program([wide_model()] * 2, [{}] * 2, "llvm")
    assert len(twice) == 5


def test_calls_that_no_template_computes_give_no_task():
    x = relay.var("x", shape=(relay.Any(), 16))
    dynamic = relay.nn.dense(x, relay.const(random(8, 16)))
    assert tasks_of(tvm.IRModule.from_expr(relay.Function([x], dynamic))) == {}
    y = relay.var("y", shape=(1, 8, 8, 4))
    nhwc = relay.nn.conv2d(
        y, relay.const(random(3, 3, 4, 8)), data_layout="NHWC", kernel_layout="HWIO", channels=8, kernel_size=3
    )
    assert tasks_of(tvm.IRModule.from_expr(relay.Function([y], nhwc))) == {}
    assert autotvm.task.extract_from_program(small_model(), {}, "c") == []


def reference(task):
    """A function of NumPy arrays that computes what the task does, in its layout."""

    def conv(x, w):
        (n, _, h, _), (o, _, kh, kw) = x.shape, w.shape
        padded = np.pad(x, [(0, 0), (0, 0), (task.args[3][0],) * 2, (task.args[3][1],) * 2])
        out = np.zeros((n, o, h + 2 * task.args[3][0] - kh + 1, padded.shape[3] - kw + 1), "float32")
        for y in range(out.shape[2]):
            for c in range(out.shape[3]):
                window = padded[:, :, y : y + kh, c : c + kw]
                if task.name.startswith("depthwise"):
                    out[:, :, y, c] = (window * w[:, 0]).sum((2, 3))
                else:
                    out[:, :, y, c] = np.einsum("nihw,oihw->no", window, w)
        return out

    return {
        "conv2d_NCHWc.x86": conv,
        "depthwise_conv2d_NCHWc.x86": conv,
        "dense_nopack.x86": lambda x, w: x @ w.T,
        "dense_pack.x86": lambda x, w: x @ w.T,
        "batch_matmul.x86": lambda a, b: a @ b.transpose(0, 2, 1),
    }[task.name]


@pytest.mark.parametrize(
    "name", ["batch_matmul", "conv2d_NCHWc", "dense_nopack", "dense_pack", "depthwise_conv2d_NCHWc"]
)
def test_every_configuration_computes_the_same(name):
    for mod in [wide_model()] + ([small_model()] if name.startswith("conv2d") else []):
        task = tasks_of(mod)[f"{name}.x86"]
        size = len(task.config_space)
        rng = np.random.default_rng(5)
        for index in {0, size - 1, *rng.integers(size, size=3).tolist()}:
            with LLVM:
                schedule, args = task.instantiate(task.config_space.get(index))
                function = tvm.build(schedule, args)
            inputs = [random(*(int(extent) for extent in arg.shape)) for arg in args[:2]]
            result = tvm.nd.empty([int(extent) for extent in args[2].shape])
            function(*map(tvm.nd.array, inputs), result)
            got = result.numpy()
            if got.ndim == 5:  # blocks of channels
                got = got.transpose(0, 1, 4, 2, 3).reshape(got.shape[0], -1, *got.shape[2:4])
            np.testing.assert_allclose(got, reference(task)(*inputs), rtol=1e-4, atol=1e-5)


def test_a_template_works_without_a_record():
    data, weight = te.placeholder((2, 32), name="x"), te.placeholder((10, 32), name="w")
    from tessera.autotvm.templates import matmul

    with LLVM:
        out = matmul.dense_pack(data, weight)
        assert tvm.build(matmul.schedule_dense_pack([out]), [data, weight, out]) is not None


def test_calls_of_templates_are_traced():
    from tessera.autotvm.templates import matmul

    env = autotvm.task.TaskExtractEnv.get()
    env.reset()
    data, weight = te.placeholder((2, 32), name="x"), te.placeholder((10, 32), name="w")
    with env, LLVM:
        matmul.dense_nopack(data, weight, None, "float32")
        matmul.dense_nopack(data, weight, None, "float32")
    assert [name for name, _ in env.get_tasks()] == ["dense_nopack.x86"]


def log_of(mod, path, **entities):
    """A log of AutoTVM with one record, of the convolution: the configuration with those sizes."""
    task = tasks_of(mod)["conv2d_NCHWc.x86"]
    space = task.config_space
    wanted = {"tile_ow": 2, "tile_oc": 16, **entities}
    index = next(
        i for i in range(len(space)) if all(space.get(i)[name].size[-1] == size for name, size in wanted.items())
    )
    record = (MeasureInput(LLVM, task, space.get(index)), MeasureResult((0.001,), 0, 1.0, 1.0))
    path.write_text(autotvm.record.encode(*record) + "\n")
    return str(path)


def test_records_of_autotvm_decide_about_kernels_of_relay_build(tmp_path):
    mod = small_model()
    by_rules, wanted = plans_in(mod)
    assert not any("columns=2," in text for text in by_rules)
    with autotvm.apply_history_best(log_of(mod, tmp_path / "log.json")):
        recorded, result = plans_in(mod)
    assert any(text.startswith("contraction(") and "columns=2," in text for text in recorded)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
    with autotvm.apply_history_best(None):
        assert plans_in(mod)[0] == by_rules


def test_tvmc_takes_a_log_of_autotvm_and_says_what_it_skipped(tmp_path):
    mod = small_model()
    path = tmp_path / "log.json"
    log_of(mod, path)
    path.write_text(path.read_text() + "broken\n" + json.dumps({"v": 0.1}) + "\n")
    with pytest.warns(UserWarning) as told:
        package = tvmc.compile(tvmc.TVMCModel(mod, {}), "llvm", tuning_records=path, package_path=tmp_path / "m.tar")
    texts = " ".join(str(each.message) for each in told)
    assert "of the 1 workloads that AutoTVM measured, 1 decide about kernels" in texts and "skipped line 2" in texts
    outputs = tvmc.run(package, "cpu", inputs={"x": random(1, 16, 14, 14)}).outputs
    np.testing.assert_allclose(outputs["output_0"], plans_in(mod)[1], rtol=1e-4, atol=1e-5)


def test_tasks_are_tuned_one_after_the_other(tmp_path):
    from tessera.driver.tvmc import autotuner
    from tessera.testing.autotvm import DummyRunner, get_sample_records

    tasks = autotuner.autotvm_get_tuning_tasks(small_model(), {}, "llvm")
    assert [task.name for task in tasks] == ["conv2d_NCHWc.x86", "dense_nopack.x86", "dense_pack.x86"]
    log = tmp_path / "log.json"
    option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=1), DummyRunner())
    autotuner.tune_tasks(tasks[1:], log, option, "random", trials=2)
    autotuner.tune_tasks(tasks[1:2], log, option, "xgb_knob", trials=2, tuning_records=log)
    assert len(log.read_text().splitlines()) == 6
    with autotvm.apply_history_best(str(log)) as best:
        assert not best.query(LLVM, tasks[1].workload).is_fallback
    assert [result.costs for _, result in get_sample_records(2)] == [(1,), (2,)]


def test_tasks_of_the_auto_scheduler_are_searched_together(tmp_path, monkeypatch):
    from tessera import auto_scheduler
    from tessera.driver.tvmc import autotuner

    monkeypatch.chdir(tmp_path)
    tasks, weights = autotuner.autoscheduler_get_tuning_tasks(small_model(), {}, "llvm")
    assert len(tasks) == len(weights) >= 2
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2 * len(tasks),
        num_measures_per_round=2,
        verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile("log.json")],
    )
    autotuner.schedule_tasks(tasks, weights, options, log_estimated_latency=True)
    assert (tmp_path / "log.json").read_text().count("\n") >= len(tasks)
    assert "Trials" in (tmp_path / "total_latency.tsv").read_text()


def test_the_command_that_python_parsed_is_run(tmp_path):
    import argparse

    from tessera.driver.tvmc import autotuner

    path = tmp_path / "model.relay"
    path.write_text(small_model().astext(show_meta_data=True))
    args = argparse.Namespace(FILE=str(path), target="llvm", output=str(tmp_path / "log"), trials=1, number=1, repeat=1)
    autotuner.drive_tune(args)
    assert (tmp_path / "log").read_text().count("tessera_record") >= 3


@autotvm.template("test_autotvm_models/wrong")
def sometimes_wrong(n):
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    config = autotvm.get_config()
    config.define_knob("wrong", [False, True])
    config.add_flop(n)
    if config["wrong"].val:  # half of the results are never written
        s[b].pragma(s[b].op.axis[0], "debug_skip_region")
    return s, [a, b]


def test_wrong_results_are_an_error_where_that_is_asked_for():
    task = autotvm.task.create("test_autotvm_models/wrong", (64,), "llvm")
    inputs = [MeasureInput(LLVM, task, task.config_space.get(i)) for i in (0, 1)]
    numbers = []
    for check in (False, True):
        runner = autotvm.LocalRunner(number=1, repeat=1, check_correctness=check)
        option = autotvm.measure_option(autotvm.LocalBuilder(), runner)
        numbers.append([int(each.error_no) for each in autotvm.measure.create_measure_batch(task, option)(inputs)])
    assert numbers == [[0, 0], [0, int(autotvm.MeasureErrorNo.WRONG_ANSWER)]]
