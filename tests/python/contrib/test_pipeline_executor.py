"""Models as a pipeline: what feeds what, several inputs on their way at once, a pipeline in a folder."""

import json

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import cc, pipeline_executor, pipeline_executor_build

SHAPE = (3, 3)


def three_models():
    """relu and sum with a parameter; a scaled copy; a sum of two inputs."""
    data, weight = relay.var("data_0", shape=SHAPE), relay.var("weight", shape=SHAPE)
    hidden = relay.nn.relu(data + weight)
    first = tessera.IRModule.from_expr(
        relay.Function([data, weight], relay.Tuple([hidden, hidden * relay.const(2.0), hidden + relay.const(1.0)]))
    )
    data, more = relay.var("data_0", shape=SHAPE), relay.var("data_1", shape=SHAPE)
    second = tessera.IRModule.from_expr(relay.Function([data, more], data * relay.const(3.0) + more))
    data, more = relay.var("data_0", shape=SHAPE), relay.var("data_1", shape=SHAPE)
    third = tessera.IRModule.from_expr(relay.Function([data, more], data - more))
    return first, second, third


def by_hand(a, b, weight):
    hidden = np.maximum(a + weight, 0)
    return hidden * 2 - (hidden * 3 + b), hidden + 1


@pytest.fixture
def pipeline():
    first, second, third = three_models()
    config = pipeline_executor_build.PipelineConfig()
    config["input"]["data_a"].connect(config[first]["input"]["data_0"])
    config["input"]["data_b"].connect(config[second]["input"]["data_1"])
    config["param_group"]["param_0"].connect(config[first]["param"])
    config[first]["output"][0].connect(config[second]["input"]["data_0"])
    config[first]["output"][1].connect(config[third]["input"]["data_0"])
    config[first]["output"][2].connect(config["output"]["1"])
    config[second]["output"][0].connect(config[third]["input"]["data_1"])
    config[third]["output"][0].connect(config["output"]["0"])
    for model in (first, second, third):
        config[model].target = "llvm"
        config[model].dev = tessera.cpu(0)
    config[second].cpu_affinity = "0"
    config[third].fcompile = cc.create_shared
    return config, (first, second, third)


def test_connections_are_what_v0_10_calls_them(pipeline):
    config, (first, second, third) = pipeline
    modules = config.get_config()["module_connection"]
    assert modules[first]["pipeline"]["output"] == [
        {"output_idx": 0, "dependencies": [{"mod_idx": 1, "input_name": "data_0"}]},
        {"output_idx": 1, "dependencies": [{"mod_idx": 2, "input_name": "data_0"}]},
        {"output_idx": 2, "dependencies": [{"global_output_index": 1}]},
    ]
    assert modules[second]["pipeline"]["mod_idx"] == 1 and modules[second]["pipeline"]["cpu_affinity"] == "0"
    assert modules[third]["pipeline"]["output"][0]["dependencies"] == [{"global_output_index": 0}]
    assert "|data_a: mod0:data_0" in str(config) and "|mod1.output(0) -> mod2:data_1" in str(config)


def test_modules_are_numbered_along_the_data():
    first, second, _ = three_models()
    config = pipeline_executor_build.PipelineConfig()
    config[second]  # asked for first, fed by the other
    config[first]["output"][0].connect(config[second]["input"]["data_0"])
    config.dag_topology_sort()
    assert (config.get_mod_idx(first), config.get_mod_idx(second)) == (0, 1)


@pytest.mark.parametrize("loaded", [False, True])
def test_runs_overlap_and_results_keep_their_order(pipeline, loaded, tmp_path):
    config, _ = pipeline
    factory = pipeline_executor_build.build(config)
    if loaded:
        module = pipeline_executor.PipelineModule.load_library(factory.export_library(str(tmp_path)))
    else:
        module = pipeline_executor.PipelineModule(factory)
    assert module.num_outputs == 2 and module.num_inputs == 2
    assert module.get_input_pipeline_map("data_b") == ["1", "data_1"]
    assert module.get_params_group_pipeline_map("param_0") == 0
    rng = np.random.default_rng(0)
    weight = rng.random(SHAPE).astype("float32")
    module.set_params("param_0", {"weight": weight})
    pairs = [rng.standard_normal((2, *SHAPE)).astype("float32") for _ in range(20)]
    for a, b in pairs:
        module.set_input("data_a", tessera.nd.array(a))
        module.set_input("data_b", b)
        np.testing.assert_array_equal(module.get_input("data_a").numpy(), a)
        module.run()
    assert module.num_executing_pipeline == len(pairs)
    for a, b in pairs:
        for output, expected in zip(module.get_output(), by_hand(a, b, weight), strict=True):
            np.testing.assert_allclose(output.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert module.get_output(synchronize=False) == []


def test_what_cannot_be_connected_says_so():
    first, second, _ = three_models()
    config = pipeline_executor_build.PipelineConfig()
    with pytest.raises(RuntimeError, match=r"no output 9; there are 0, 1, 2"):
        config[first]["output"][9]
    with pytest.raises(RuntimeError, match=r"no input 'data_9'; there are data_0, weight"):
        config[first]["input"]["data_9"]
    with pytest.raises(RuntimeError, match="feed each other in a circle"):
        config[first]["output"][0].connect(config[second]["input"]["data_0"])
        config[second]["output"][0].connect(config[first]["input"]["data_0"])
    with pytest.raises(RuntimeError, match="does not feed itself"):
        config[first]["output"][0].connect(config[first]["input"]["data_0"])
    for source, target in [
        (config[first]["input"]["data_0"], config[second]["input"]["data_1"]),
        (config[first]["output"][0], config["input"]["data_0"]),
        (config["input"]["data_0"], config[first]["output"][0]),
        (config["output"]["0"], config[first]["output"][0]),
        (config["param_group"]["p"], config[first]["input"]["weight"]),
    ]:
        with pytest.raises(RuntimeError, match="cannot feed"):
            source.connect(target)
    with pytest.raises(RuntimeError, match="is fed by mod0.output\\(0\\) already"):
        config["input"]["a"].connect(config[second]["input"]["data_0"])


def test_errors_of_use_and_of_modules_are_raised_to_the_caller(pipeline):
    config, _ = pipeline
    module = pipeline_executor.PipelineModule(pipeline_executor_build.build(config))
    with pytest.raises(RuntimeError, match="not set: data_a, data_b"):
        module.run()
    with pytest.raises(RuntimeError, match="call run\\(\\) first"):
        module.get_output()
    with pytest.raises(RuntimeError, match="given no parameters"):
        module.set_params("param_0", None)
    with pytest.raises(RuntimeError, match="no group of parameters 'param_1'; there are param_0"):
        module.set_params("param_1", {"weight": np.zeros(SHAPE, "float32")})
    module.set_input("data_a", np.zeros((2, 2), "float32"))
    module.set_input("data_b", np.zeros(SHAPE, "float32"))
    module.run()
    with pytest.raises(RuntimeError, match="a module of the pipeline failed"):
        module.get_output()
    module.set_input("data_a", np.zeros(SHAPE, "float32"))  # the pipeline goes on
    module.run()
    assert len(module.get_output()) == 2


def test_a_broken_description_is_an_error(pipeline, tmp_path):
    config, _ = pipeline
    path = pipeline_executor_build.export_library(pipeline_executor_build.build(config), str(tmp_path))
    good = json.loads((tmp_path / "config.json").read_text())

    def broken(change):
        description = json.loads(json.dumps(good))
        change(description)
        (tmp_path / "config.json").write_text(json.dumps(description))
        with pytest.raises(RuntimeError, match="the description of (the|a) pipeline"):
            pipeline_executor.PipelineModule.load_library(path)

    broken(lambda d: d["modules"][0].update(library="../lib0.so"))
    broken(lambda d: d["modules"].pop())
    broken(lambda d: d["modules"][0].pop("device"))
    broken(lambda d: d["connections"]["inputs"][0].update(mod_idx=7))
    broken(lambda d: d["connections"]["modules"][1]["output"][0]["dependencies"][0].update(mod_idx=0))
    broken(lambda d: d["connections"]["modules"][0]["output"][0].update(output_idx=5))
    (tmp_path / "config.json").write_text("[")
    with pytest.raises(RuntimeError, match="is not the description of a pipeline"):
        pipeline_executor.PipelineModule.load_library(path)
