"""Searches: strategies, measuring, callbacks, pieces in Python, and what comes of them against NumPy."""

import gc
import logging
import os
import weakref

import numpy as np
import pytest
import tessera as tvm
from tessera import meta_schedule as ms
from tessera import te
from tessera.meta_schedule.testing import te_workload
from tessera.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner, DummyRunnerFuture
from tessera.script import tir as T
from tessera.target import Target
from tessera.tir import Schedule

CPU = Target("llvm -num-cores=2")
QUICK = ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


def matmul(n=32):
    return ms.default_config.mod(te.create_prim_func(te_workload.matmul(n, n, n)))


def context(mod, strategy, **pieces):
    pieces.setdefault("postprocs", "default")
    return ms.TuneContext(
        mod=mod,
        target=CPU,
        space_generator=ms.space_generator.PostOrderApply(),
        search_strategy=strategy,
        sch_rules="default",
        num_threads=2,
        rand_state=7,
        **pieces,
    )


def config(**changes):
    settings = {"strategy": "replay_trace", "num_trials_per_iter": 4, "max_trials_global": 8}
    return ms.TuneConfig(**{**settings, **changes})


def random(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def run(sch, *inputs, shape):
    function = tvm.build(sch.mod, target=CPU)
    out = tvm.nd.empty(shape)
    function(*(tvm.nd.array(each) for each in inputs), out)
    return out.numpy()


def test_a_matmul_is_tuned_and_right(tmp_path):
    runner = ms.runner.LocalRunner(evaluator_config=QUICK)
    sch = ms.tune_tir(matmul(64), CPU, config(), str(tmp_path), runner=runner)
    a, b = random(64, 64), random(64, 64)
    np.testing.assert_allclose(run(sch, a, b, shape=(64, 64)), a @ b, rtol=1e-5)
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert len(database) == 8
    assert all(0 < float(record.run_secs[0]) < 1 for record in database.get_all_tuning_records())


def test_a_convolution_is_tuned_by_evolution_and_right(tmp_path):
    settings = {"population_size": 16, "init_min_unmeasured": 8, "genetic_num_iters": 2}
    tensors = te_workload.conv2d_nhwc(1, 8, 8, 4, 8, 3, 1, 1)
    sch = ms.tune_te(
        tensors,
        CPU,
        config(strategy="evolutionary", search_strategy_config=settings),
        str(tmp_path),
        runner=ms.runner.LocalRunner(evaluator_config=QUICK),
    )
    x, w = random(1, 8, 8, 4), random(3, 3, 4, 8)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(padded[:, i : i + 8, j : j + 8, :] @ w[i, j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(run(sch, x, w, shape=(1, 8, 8, 8)), expected, rtol=1e-4)


def test_a_softmax_is_tuned_and_right(tmp_path):
    mod = te.create_prim_func(te_workload.softmax_mn(16, 32))
    sch = ms.tune_tir(mod, CPU, config(), str(tmp_path), runner=ms.runner.LocalRunner(evaluator_config=QUICK))
    x = random(16, 32)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(sch, x, shape=(16, 32)), powers / powers.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("name", ["GMM", "SFM", "T2D"])
def test_every_sampled_program_computes_the_same(name):
    sizes = {
        "GMM": te_workload.batch_matmul_nkkm(2, 8, 12, 10),
        "SFM": te_workload.softmax_mn(6, 24),
        "T2D": te_workload.conv2d_transpose_nhwc(1, 4, 4, 6, 8, 4, 2, 1),
    }
    mod = ms.default_config.mod(te.create_prim_func(sizes[name]))
    shapes = [tuple(int(e) for e in info.shape) for info in ms.arg_info.ArgInfo.from_entry_func(mod)]
    inputs = [random(*shape) for shape in shapes[:-1]]
    expected = run(Schedule(mod), *inputs, shape=shapes[-1])
    task = context(mod, ms.search_strategy.ReplayTrace(num_trials_per_iter=6, max_trials_per_task=6))
    task.pre_tuning()
    candidates = task.generate_measure_candidates()
    assert len(candidates) == 6
    for candidate in candidates:
        np.testing.assert_allclose(run(candidate.sch, *inputs, shape=shapes[-1]), expected, rtol=1e-4)


def test_replay_trace_gives_all_its_trials_and_then_none():
    task = context(matmul(), ms.search_strategy.ReplayTrace(num_trials_per_iter=3, max_trials_per_task=5))
    task.pre_tuning()
    counts = []
    while (candidates := task.generate_measure_candidates()) is not None:
        counts.append(len(candidates))
        task.notify_runner_results(candidates, [ms.runner.RunnerResult([0.1], None) for _ in candidates])
    task.post_tuning()
    assert counts == [3, 2]


def test_replay_func_calls_the_space_for_each_candidate():
    calls = []

    def halves(sch):
        calls.append(1)
        sch.split(sch.get_loops(sch.get_block("C"))[0], [2, None])

    task = ms.TuneContext(
        mod=matmul(),
        target=CPU,
        space_generator=ms.space_generator.ScheduleFn(halves),
        search_strategy=ms.search_strategy.ReplayFunc(num_trials_per_iter=2, max_trials_per_task=3),
        sch_rules=[],
        postprocs=[],
    )
    task.pre_tuning()
    assert [len(task.generate_measure_candidates() or []) for _ in range(3)] == [2, 1, 0]
    assert len(calls) == 1 + 3


def test_evolution_measures_nothing_twice():
    strategy = ms.search_strategy.EvolutionarySearch(
        num_trials_per_iter=6, max_trials_per_task=18, population_size=16, init_min_unmeasured=8, genetic_num_iters=2
    )
    task = context(matmul(), strategy, mutator_probs="default")
    task.pre_tuning()
    programs = []
    while (candidates := task.generate_measure_candidates()) is not None:
        programs += [candidate.sch.mod for candidate in candidates]
    hashes = [tvm.ir.structural_hash(each) for each in programs]
    assert len(hashes) == 18
    assert len(set(hashes)) == len(hashes)


@pytest.mark.parametrize(("knows", "bred"), [(False, 8), (True, 32)])
def test_a_blind_model_gets_few_candidates_to_tell_apart(knows, bred):
    sizes = []

    @ms.derived_object
    class Model(ms.cost_model.PyCostModel):
        def predict(self, context, candidates):
            sizes.append(len(candidates))
            return np.arange(len(candidates), dtype="float64")

        def is_blind(self):
            return not knows

    strategy = ms.search_strategy.EvolutionarySearch(
        num_trials_per_iter=2, max_trials_per_task=2, population_size=32, init_min_unmeasured=1, genetic_num_iters=1
    )
    task = context(matmul(), strategy, mutator_probs="default")
    task.pre_tuning(None, None, Model())
    assert len(task.generate_measure_candidates()) == 2
    assert len(sizes) == 2
    assert max(sizes) <= bred
    assert min(sizes) > bred / 2  # postprocessors reject some


def test_a_strategy_wants_pre_tuning_first():
    task = context(matmul(), ms.search_strategy.ReplayTrace(num_trials_per_iter=3, max_trials_per_task=5))
    with pytest.raises(ValueError, match="call pre_tuning before"):
        task.generate_measure_candidates()


MUTATORS = [
    ms.mutator.MutateTileSize(),
    ms.mutator.MutateUnroll(),
    ms.mutator.MutateParallel(max_jobs_per_core=16),
    ms.mutator.MutateComputeLocation(),
]


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda each: type(each).__name__)
def test_a_mutated_trace_differs_and_computes_the_same(mutator):
    mod = ms.default_config.mod(te.create_prim_func(te_workload.conv2d_nhwc(1, 8, 8, 4, 8, 3, 1, 1)))
    task = context(mod, ms.search_strategy.ReplayTrace(num_trials_per_iter=1, max_trials_per_task=1))
    mutator._initialize_with_tune_context(task)
    inputs = random(1, 8, 8, 4), random(3, 3, 4, 8)
    expected = run(Schedule(mod), *inputs, shape=(1, 8, 8, 8))
    seen = 0
    for sketch in task.generate_design_space():
        mutated = mutator.apply(sketch.trace)
        if mutated is None:
            continue
        seen += 1
        assert mutated.as_json() != sketch.trace.as_json()
        sch = Schedule(mod)
        mutated.apply_to_schedule(sch, remove_postproc=True)
        np.testing.assert_allclose(run(sch, *inputs, shape=(1, 8, 8, 8)), expected, rtol=1e-4)
    assert seen


def test_tiles_keep_their_extent_and_their_limit_when_mutated():
    task = context(matmul(128), ms.search_strategy.ReplayTrace(num_trials_per_iter=1, max_trials_per_task=1))
    trace = task.generate_design_space()[0].trace
    mutator = ms.mutator.MutateTileSize()
    for _ in range(30):
        trace = mutator.apply(trace)
        for inst in trace.insts:
            if str(inst.kind.name) == "SamplePerfectTile":
                factors = [int(each) for each in trace.decisions[inst]]
                assert np.prod(factors) == 128
                assert factors[-1] <= 64


def test_threads_are_mutated():
    mod = ms.default_config.mod(te_workload.create_te_workload("NRM", 0))
    gpu = Target("cuda -max_threads_per_block=1024 -thread_warp_size=32")
    task = ms.TuneContext(
        mod=mod, target=gpu, space_generator=ms.space_generator.PostOrderApply(), sch_rules="default", rand_state=3
    )
    mutator = ms.mutator.MutateThreadBinding()
    changed = [mutator.apply(sketch.trace) for sketch in task.generate_design_space()]
    assert any(trace is not None for trace in changed)


def test_a_dynamic_loop_is_rejected():
    @T.prim_func
    def dynamic(a: T.handle, n: T.int32) -> None:
        A = T.match_buffer(a, (n,), "float32")
        for i in T.serial(n):
            with T.block("B"):
                v = T.axis.spatial(n, i)
                A[v] = A[v] + T.float32(1)

    postproc = ms.postproc.DisallowDynamicLoop()
    assert not postproc.apply(Schedule(ms.default_config.mod(dynamic)))
    assert postproc.apply(Schedule(matmul()))


def test_a_reduction_gets_its_init_outside():
    sch = Schedule(matmul())
    assert ms.postproc.RewriteReductionBlock().apply(sch)
    assert sch.get(sch.get_block("C_init")).init is None
    assert sch.get(sch.get_block("C_update")).init is None


def test_a_layout_that_is_free_becomes_that_of_the_reads():
    function = te.create_prim_func(te_workload.matmul(16, 16, 16))
    mod = ms.default_config.mod(function.with_attr("layout_free_buffers", [1]))
    sch = Schedule(mod)
    i, j, k = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(j, [None, 4])
    sch.reorder(outer, k, i, inner)
    assert ms.postproc.RewriteLayout().apply(sch)
    assert "B_global" in sch.mod.script()
    a, b = random(16, 16), random(16, 16)
    np.testing.assert_allclose(run(sch, a, b, shape=(16, 16)), a @ b, rtol=1e-5)


def test_a_candidate_that_fails_is_a_record_and_the_search_goes_on(tmp_path):
    @ms.derived_object
    class HalfBuilder(ms.builder.PyBuilder):
        def build(self, build_inputs):
            return [
                ms.builder.BuilderResult("nowhere", None) if i % 2 else ms.builder.BuilderResult(None, "too hard")
                for i in range(len(build_inputs))
            ]

    database = ms.database.MemoryDatabase()
    sch = ms.tune_tir(
        matmul(), CPU, config(), str(tmp_path), builder=HalfBuilder(), runner=DummyRunner(), database=database
    )
    seconds = sorted(float(record.run_secs[0]) for record in database.get_all_tuning_records())
    assert sch is not None
    assert seconds[4:] == [1e9] * 4
    assert max(seconds[:4]) < 31


def test_a_library_that_is_not_there_is_an_error_of_its_candidate():
    runner = ms.runner.LocalRunner(evaluator_config=QUICK)
    (future,) = runner.run([ms.runner.RunnerInput("/nowhere/at_all.so", "llvm", [])])
    assert "nowhere" in str(future.result().error_msg)


def test_candidates_run_on_a_server_of_a_tracker():
    from tessera.meta_schedule.testing.local_rpc import LocalRPC

    (built,) = ms.builder.LocalBuilder().build([ms.builder.BuilderInput(matmul(), CPU)])
    infos = ms.arg_info.ArgInfo.from_entry_func(matmul())
    with LocalRPC(tracker_key="ms", silent=True) as there:
        config = ms.runner.RPCConfig(there.tracker_host, there.tracker_port, there.tracker_key, 1, 20)
        assert config.count_num_servers() == 1
        runner = ms.runner.RPCRunner(config, evaluator_config=QUICK)
        (future,) = runner.run([ms.runner.RunnerInput(built.artifact_path, "llvm", infos)])
        result = future.result()
    assert result.error_msg is None
    assert 0 < float(result.run_secs[0]) < 1


def test_functions_of_ones_own_build_and_run():
    called = []

    def build(mod, target, params):
        called.append("build")
        if not mod.get_global_vars():
            raise ValueError("there is nothing to build")
        return tvm.build(mod, target=target)

    def evaluate(module, device, config, arguments):
        called.append("run")
        module(*arguments[0])
        return [0.5]

    builder = ms.builder.LocalBuilder(f_build=build)
    built, failed = builder.build(
        [ms.builder.BuilderInput(matmul(), CPU), ms.builder.BuilderInput(tvm.IRModule({}), CPU)]
    )
    assert built.error_msg is None
    assert "there is nothing to build" in str(failed.error_msg)
    runner = ms.runner.LocalRunner(f_run_evaluator=evaluate)
    infos = ms.arg_info.ArgInfo.from_entry_func(matmul())
    (future,) = runner.run([ms.runner.RunnerInput(built.artifact_path, "llvm", infos)])
    assert future.done()
    assert [float(each) for each in future.result().run_secs] == [0.5]
    assert called == ["build", "build", "run"]
    with pytest.raises(ValueError, match="no_such_function"):
        ms.builder.LocalBuilder(f_build="no_such_function")


def test_only_folders_of_candidates_are_removed(tmp_path):
    mine = tmp_path / "mine.so"
    mine.write_text("a library")
    (tmp_path / "other").write_text("something else")
    ms.utils.remove_build_dir(str(mine))
    assert [each.name for each in tmp_path.iterdir()] == ["other"]
    (built,) = ms.builder.LocalBuilder().build([ms.builder.BuilderInput(matmul(), CPU)])
    assert os.path.exists(built.artifact_path)
    ms.utils.remove_build_dir(built.artifact_path)
    assert not os.path.exists(os.path.dirname(built.artifact_path))


def test_a_clone_has_pieces_of_its_own():
    task = context(matmul(), ms.search_strategy.ReplayTrace(num_trials_per_iter=2, max_trials_per_task=2))
    other = task.clone()
    task.pre_tuning()
    other.pre_tuning()
    assert len(task.generate_measure_candidates()) == len(other.generate_measure_candidates()) == 2
    assert not task.search_strategy.same_as(other.search_strategy)


def test_a_killed_run_goes_on_from_its_folder(tmp_path):
    pieces = {"builder": DummyBuilder(), "runner": DummyRunner()}
    settings = {"population_size": 16, "init_min_unmeasured": 8, "genetic_num_iters": 1}
    evolution = config(strategy="evolutionary", search_strategy_config=settings)
    ms.tune_tir(matmul(), CPU, evolution, str(tmp_path), **pieces)
    records = os.path.join(tmp_path, "database_tuning_record.json")
    with open(records) as lines:
        written = lines.read()
    with open(records, "w") as out:
        out.write(written + '[0, [[["GetBlo')  # where a process was killed
    ms.tune_tir(matmul(), CPU, evolution, str(tmp_path), **pieces)
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert len(database) == 16
    texts = [str(record.trace) for record in database.get_all_tuning_records()]
    assert len(set(texts)) == 16


def test_a_search_with_pieces_in_python(tmp_path, caplog):
    seen = {"built": 0, "ran": 0, "scored": 0, "rounds": 0, "checked": 0}

    @ms.derived_object
    class Builder(ms.builder.PyBuilder):
        def build(self, build_inputs):
            seen["built"] += len(build_inputs)
            return [ms.builder.BuilderResult("here", None) for _ in build_inputs]

    @ms.derived_object
    class Runner(ms.runner.PyRunner):
        def run(self, runner_inputs):
            assert all(str(each.artifact_path) == "here" for each in runner_inputs)
            seen["ran"] += len(runner_inputs)
            return [DummyRunnerFuture() for _ in runner_inputs]

    @ms.derived_object
    class Model(ms.cost_model.PyCostModel):
        def load(self, path):
            pass

        def save(self, path):
            pass

        def update(self, context, candidates, results):
            assert len(candidates) == len(results)

        def predict(self, context, candidates):
            seen["scored"] += len(candidates)
            return np.arange(len(candidates), dtype="float64")

    @ms.derived_object
    class Callback(ms.measure_callback.PyMeasureCallback):
        def apply(self, task_scheduler, task_id, measure_candidates, builder_results, runner_results):
            assert task_id == 0
            seen["rounds"] += 1

    @ms.derived_object
    class Postproc(ms.postproc.PyPostproc):
        def _initialize_with_tune_context(self, context):
            pass

        def apply(self, sch):
            seen["checked"] += 1
            return True

        def clone(self):
            return Postproc()

    callbacks = [*ms.default_config.callbacks(None), Callback()]
    settings = {"population_size": 8, "init_min_unmeasured": 4, "genetic_num_iters": 1}
    sch = ms.tune_tir(
        matmul(),
        CPU,
        config(strategy="evolutionary", search_strategy_config=settings),
        str(tmp_path),
        builder=Builder(),
        runner=Runner(),
        cost_model=Model(),
        measure_callbacks=callbacks,
        postprocs=lambda: [Postproc()],
    )
    assert sch is not None
    assert seen["built"] == seen["ran"] == 8
    assert seen["rounds"] == 2
    assert seen["scored"] >= 16
    assert seen["checked"] >= 16


def test_a_strategy_in_python():
    @ms.derived_object
    class First(ms.search_strategy.PySearchStrategy):
        def _initialize_with_tune_context(self, context):
            self.mod = context.mod

        def pre_tuning(self, design_spaces, database=None, cost_model=None):
            self.spaces = list(design_spaces)

        def post_tuning(self):
            self.spaces = []

        def generate_measure_candidates(self):
            if not self.spaces:
                return None
            infos = ms.arg_info.ArgInfo.from_entry_func(self.mod)
            return [ms.MeasureCandidate(self.spaces.pop(), infos)]

        def notify_runner_results(self, measure_candidates, results):
            pass

        def clone(self):
            return First()

    task = context(matmul(), First())
    task.pre_tuning()
    assert len(task.generate_measure_candidates()) == 1
    task.post_tuning()
    assert task.generate_measure_candidates() is None


def test_a_scheduler_in_python_and_what_gets_most_turns():
    def tasks(count):
        return [
            context(matmul(), ms.search_strategy.ReplayTrace(num_trials_per_iter=2, max_trials_per_task=6))
            for _ in range(count)
        ]

    @ms.derived_object
    class LastFirst(ms.task_scheduler.PyTaskScheduler):
        def next_task_id(self):
            outer = self._outer()
            for task_id in reversed(range(len(self.tasks))):
                if task_id in outer._running:
                    outer.join_running_task(task_id)
                if not outer.is_terminated[task_id]:
                    self.turns = [*getattr(self, "turns", []), task_id]
                    return task_id
            return -1

    scheduler = LastFirst(tasks(2), DummyBuilder(), DummyRunner(), max_trials=100)
    scheduler.tune()
    assert scheduler.num_trials_already == 12
    assert scheduler.turns[:3] == [1, 1, 1]
    fair = ms.task_scheduler.RoundRobin(tasks(3), None, DummyBuilder(), DummyRunner(), max_trials=100)
    fair.tune()
    assert [len(each) for each in fair.latency_history] == [3, 3, 3]
    graded = ms.task_scheduler.GradientBased(
        tasks(2), [1.0, 1000.0], DummyBuilder(), DummyRunner(), max_trials=8, seed=1
    )
    graded.tune()
    assert [len(each) for each in graded.latency_history] == [1, 3]


def test_a_method_that_is_not_there_says_so():
    @ms.derived_object
    class Nothing(ms.builder.PyBuilder):
        pass

    with pytest.raises(NotImplementedError, match="build"):
        Nothing().build([])
    with pytest.raises(TypeError, match="begin with Py"):
        ms.derived_object(type("Mine", (), {}))


def test_a_derived_object_keeps_its_attributes():
    @ms.derived_object
    class Counting(ms.builder.PyBuilder):
        """Counts."""

        def __init__(self, start):
            self.count = start

        @staticmethod
        def unit():
            return "builds"

        def build(self, build_inputs):
            self.count += len(build_inputs)
            return []

    builder = Counting(start=3)
    builder.build([None])
    assert builder.count == 4
    builder.count = 10
    assert builder._inst.count == 10
    assert Counting.unit() == "builds"
    assert Counting.__doc__ == "Counts."
    with pytest.raises(AttributeError, match="nothing"):
        builder.nothing


def test_profiler_counts_by_name():
    with ms.Profiler() as profiler:
        with ms.Profiler.timeit("Work"):
            pass
        assert ms.Profiler.current() is profiler
    assert set(profiler.get()) == {"Total", "Work"}
    assert "Work" in profiler.table()
    assert ms.Profiler.current() is None


def test_arguments_have_a_json_form():
    infos = ms.arg_info.ArgInfo.from_prim_func(te.create_prim_func(te_workload.matmul(4, 5, 6)))
    assert [info.as_json() for info in infos] == [
        ["TENSOR", "float32", [4, 6]],
        ["TENSOR", "float32", [6, 5]],
        ["TENSOR", "float32", [4, 5]],
    ]
    again = ms.arg_info.TensorInfo.from_json(infos[0].as_json())
    assert again.as_json() == infos[0].as_json()
    assert list(again.shape) == [4, 6]
    for wrong in (["TENSOR", "float32", [-1]], ["SCALAR", "float32", [1]], ["TENSOR", "what", [1]], 3):
        with pytest.raises((ValueError, TypeError, tvm.TVMError)):
            ms.arg_info.ArgInfo.from_json(wrong)


def test_random_models_go_on_where_they_were(tmp_path):
    model = ms.cost_model.RandomModel(seed=3)
    path = str(tmp_path / "model.npy")
    model.predict(None, [None] * 3)
    model.save(path)
    first = model._inst.predict(None, [None] * 5)
    other = ms.cost_model.RandomModel(path=path)
    np.testing.assert_array_equal(other._inst.predict(None, [None] * 5), first)


class LinearTrees:
    """What XGBModel asks of the package xgboost, by gradient descent on a linear model."""

    class DMatrix:
        def __init__(self, rows):
            self.rows = np.asarray(rows, dtype="float64")

    class Booster:
        def __init__(self, weights):
            self.weights = weights

        def predict(self, data):
            return data.rows @ self.weights

        def save_model(self, path):
            with open(path, "w") as out:
                out.write(str(self.weights))

    def train(self, params, data, num_boost_round, obj):
        weights = np.zeros(data.rows.shape[1])
        for _ in range(num_boost_round):
            gradient, hessian = obj(data.rows @ weights, data)
            weights -= 0.1 * (data.rows.T @ gradient) / hessian.sum()
        return self.Booster(weights)


def test_a_model_learns_what_sums_of_stores_cost(monkeypatch, tmp_path):
    from tessera.meta_schedule.cost_model import xgb_model

    monkeypatch.setattr(xgb_model, "find_xgboost", lambda: LinearTrees())

    @ms.derived_object
    class Given(ms.feature_extractor.PyFeatureExtractor):
        def extract_from(self, context, candidates):
            return [tvm.nd.array(np.asarray(each, dtype="float64")) for each in candidates]

    task = context(matmul(), ms.search_strategy.ReplayTrace(num_trials_per_iter=1, max_trials_per_task=1))
    generator = np.random.default_rng(0)
    candidates = [generator.random((generator.integers(1, 4), 3)) for _ in range(60)]
    speeds = [each[:, 0].sum() + 0.5 * each[:, 1].sum() for each in candidates]
    results = [ms.runner.RunnerResult([1 / speed], None) for speed in speeds]
    results[0] = ms.runner.RunnerResult(None, "it failed")
    model = ms.cost_model.XGBModel(extractor=Given(), num_warmup_samples=10)._inst
    assert model.is_blind()
    model.update(task, candidates, results)
    assert not model.is_blind()
    scores = model.predict(task, candidates[1:])
    order = np.argsort(scores)
    assert np.corrcoef(np.argsort(order), np.argsort(np.argsort(speeds[1:])))[0, 1] > 0.9
    model.save(str(tmp_path / "cost_model.xgb"))
    other = ms.cost_model.XGBModel(extractor=Given(), num_warmup_samples=10)._inst
    other.load(str(tmp_path))
    assert other.data_size == 60
    np.testing.assert_allclose(other.predict(task, candidates), model.predict(task, candidates))


def tiled_blocks(mod):
    """A matmul as TE's schedule below has it."""
    sch = Schedule(mod)
    y, x, k = sch.get_loops(sch.get_block("C"))
    yo, yi = sch.split(y, [None, 8])
    xo, xi = sch.split(x, [None, 16])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(yo, xo, ko, yi, ki, xi)
    sch.parallel(yo)
    sch.unroll(ki)
    sch.vectorize(xi)
    sch.decompose_reduction(sch.get_block("C"), ko)
    return sch


def tiled_stages(n):
    a, b, c = te_workload.matmul(n, n, n)
    sch = te.create_schedule(c.op)
    (y, x), (k,) = c.op.axis, c.op.reduce_axis
    yo, yi = sch[c].split(y, 8)
    xo, xi = sch[c].split(x, 16)
    ko, ki = sch[c].split(k, 4)
    sch[c].reorder(yo, xo, ko, yi, ki, xi)
    sch[c].parallel(yo)
    sch[c].unroll(ki)
    sch[c].vectorize(xi)
    return tvm.tir.transform.Simplify()(
        tvm.IRModule({"main": tvm.driver.build_module.schedule_to_module(sch, [a, b, c])["main"]})
    )["main"]


def test_features_are_those_of_the_auto_scheduler():
    extractor = ms.feature_extractor.PerStoreFeature()
    sch = tiled_blocks(matmul())
    candidate = ms.MeasureCandidate(sch, ms.arg_info.ArgInfo.from_entry_func(matmul()))
    (rows,) = extractor.extract_from(None, [candidate])
    wanted = tvm.auto_scheduler.feature.features_from_primfunc(tiled_stages(32), log_scale=True)
    np.testing.assert_array_equal(rows.numpy(), wanted)
    names = tvm.auto_scheduler.feature.get_per_store_feature_names()
    assert [rows.numpy()[0][names.index(kind)] for kind in ("vec_len", "unroll_len", "parallel_len")] == pytest.approx(
        [np.log2(17), np.log2(5), np.log2(5)]
    )
    random_features = ms.feature_extractor.RandomFeatureExtractor(feature_size=5).extract_from(None, [1, 2])
    assert [each.shape[1] for each in random_features] == [5, 5]


def test_features_of_many_candidates_are_those_of_each_and_of_broken_ones_zeros():
    @T.prim_func
    def broken(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (8,))
        C = T.match_buffer(c, (8,))
        for i in T.thread_binding(2, thread="threadIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("C"):
                    x = T.axis.spatial(8, i * 4 + j)
                    C[x] = A[x]

    extract = tvm.auto_scheduler.feature.features_from_modules
    modules = [tiled_blocks(matmul()).mod, matmul(64), tvm.IRModule({"main": broken})]
    together = extract(modules)
    for alone, rows in zip([extract([each])[0] for each in modules], together):
        np.testing.assert_array_equal(alone, rows)
    assert together[0].any() and together[1].any() and not together[2].any() and together[2].shape == (1, 164)


def test_a_buffer_inside_a_block_has_the_size_it_needs_there():
    @T.prim_func
    def two_steps(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (64, 16))
        C = T.match_buffer(c, (64, 16))
        B = T.alloc_buffer((64, 16))
        for i in T.serial(64):
            for j in T.serial(16):
                with T.block("B"):
                    y, x = T.axis.remap("SS", [i, j])
                    B[y, x] = A[y, x] + 1.0
            for j in T.serial(16):
                with T.block("C"):
                    y, x = T.axis.remap("SS", [i, j])
                    C[y, x] = B[y, x] * 2.0

    names = tvm.auto_scheduler.feature.get_per_store_feature_names()
    (rows,) = tvm.auto_scheduler.feature.features_from_modules([tvm.IRModule({"main": two_steps})])
    # C first, which is a parameter; then B, of which one row is there at a time
    assert rows[:, names.index("alloc_size")].tolist() == [64 * 16 * 4, 16 * 4]
    assert rows[:, names.index("alloc_outer_prod")].tolist() == [1, 64]


def test_equal_candidates_are_scored_once_a_round():
    asked = []

    @ms.utils.derived_object
    class Model(ms.cost_model.PyCostModel):
        def load(self, path):
            pass

        def save(self, path):
            pass

        def update(self, ctx, candidates, results):
            pass

        def predict(self, ctx, candidates):
            asked.extend(tvm.ir.structural_hash(each.sch.mod) for each in candidates)
            return np.arange(len(candidates), dtype="float64")

    strategy = ms.search_strategy.EvolutionarySearch(
        num_trials_per_iter=4, max_trials_per_task=8, population_size=32, init_min_unmeasured=8, genetic_num_iters=3
    )
    task = context(matmul(4), strategy, mutator_probs="default")
    task.pre_tuning(cost_model=Model())
    assert task.generate_measure_candidates()
    assert len(asked) == len(set(asked)) > 8


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="MLPModel is not there"):
        ms.cost_model.MLPModel()
    with pytest.raises(NotImplementedError, match="use_software_pipeline is not there"):
        ms.schedule_rule.MultiLevelTilingTensorCore([], structure="SSSRRSRS", use_software_pipeline=True)
    with pytest.raises(ValueError, match="Unknown SearchStrategy: guess"):
        ms.search_strategy.create("guess", num_trials_per_iter=1, max_trials_per_task=1)


def test_a_log_of_each_task_is_written(tmp_path):
    ms.tune_tir(
        matmul(),
        CPU,
        config(strategy="evolutionary", search_strategy_config={"population_size": 8, "init_min_unmeasured": 4}),
        str(tmp_path),
        builder=DummyBuilder(),
        runner=DummyRunner(),
        task_name="small",
    )
    (name,) = os.listdir(tmp_path / "logs")
    assert "small" in name
    assert "sampled" in (tmp_path / "logs" / name).read_text()
    logging.getLogger(name[: -len(".log")]).handlers.clear()


@pytest.mark.parametrize("kind", ["ReplayTrace", "ReplayFunc", "EvolutionarySearch"])
def test_a_context_and_what_it_holds_are_freed(kind):
    strategy = getattr(ms.search_strategy, kind)(num_trials_per_iter=4, max_trials_per_task=4)
    logger = logging.Logger("of this context")
    alive = weakref.ref(logger)
    owner = context(matmul(8), strategy, logger=logger)
    owner._initialize()
    owner.pre_tuning()
    owner.post_tuning()
    del owner, logger, strategy
    gc.collect()
    assert alive() is None
