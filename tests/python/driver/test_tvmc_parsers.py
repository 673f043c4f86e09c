"""The pieces of tvmc's command line in Python: targets, registries, pools, configurations, formats."""

import argparse
import json

import numpy as np
import pytest
import tessera
from tessera.driver import tvmc
from tessera.driver.tvmc import (
    TVMCException,
    arguments,
    composite_target,
    config_options,
    frontends,
    main,
    pass_config,
    pass_list,
    project,
    registry,
    runner,
    shape_parser,
    target,
    workspace_pools,
)
from tessera.driver.tvmc.exceptions import TVMCImportError
from tessera.relay.backend import Executor, Runtime


@pytest.mark.parametrize(
    "text, words",
    [
        ("foo", ["foo"]),
        ("foo -opt1=value1 --flag, bar -opt2=value2", ["foo", "-opt1=value1", "--flag", ",", "bar", "-opt2=value2"]),
        (
            "foo -opt1=+value1 --flag, bar -opt2=+value2",
            ["foo", "-opt1=+value1", "--flag", ",", "bar", "-opt2=+value2"],
        ),
        ("foo -opt1=v,a,l --flag", ["foo", "-opt1=v,a,l", "--flag"]),
        ("foo -opt1='v, a', bar", ["foo", "-opt1='v, a'", ",", "bar"]),
        ('foo -opt1="v, a", bar', ["foo", '-opt1="v, a"', ",", "bar"]),
        ("cmsis-nn,llvm", ["cmsis-nn", ",", "llvm"]),
    ],
)
def test_words_of_targets(text, words):
    assert target.tokenize_target(text) == words


def test_targets_and_their_options():
    first, second = target.parse_target("ethos-n -variant=n78 -tops=4, llvm -device=arm_cpu -mattr='+fp,+neon'")
    assert (first["name"], first["opts"], first["is_tvm_target"]) == ("ethos-n", {"variant": "n78", "tops": "4"}, False)
    assert (second["name"], second["is_tvm_target"]) == ("llvm", True)
    assert second["opts"] == {"device": "arm_cpu", "mattr": "+fp,+neon"}
    with pytest.raises(TVMCException, match="begins with -, which 'cpu' does not"):
        target.parse_target("llvm cpu")


def test_lists_of_targets_that_cannot_be():
    parse = target.parse_target
    target.validate_targets(parse("ethos-n, llvm"), {"llvm": {"mcpu": "x"}})
    for text, options, message in (
        ("llvm, ethos-n", None, "last target needs to be a TVM target"),
        ("llvm, c, cuda", None, "Only one of the following targets"),
        ("llvm, llvm", None, "Duplicate target definitions"),
        ("llvm", {"c": {"mcpu": "x"}}, 'did not specify "c" target'),
    ):
        with pytest.raises(TVMCException, match=message):
            target.validate_targets(parse(text), options)
    assert target.is_inline_json('{"kind": "llvm"}') and not target.is_inline_json("llvm")


def test_flags_of_target_options():
    parser = argparse.ArgumentParser()
    target.generate_target_args(parser)
    words = [
        "--target=llvm",
        "--target-llvm-mattr=+fp,+mve",
        "--target-llvm-mcpu=cortex-m3",
        "--target-llvm-opt-level=2",
    ]
    parsed, left = parser.parse_known_args([*words, "--target-nonesuch-mcpu=x"])
    assert parsed.target == "llvm" and left == ["--target-nonesuch-mcpu=x"]
    options = target.reconstruct_target_args(parsed)
    assert options == {"llvm": {"mattr": "+fp,+mve", "mcpu": "cortex-m3", "opt-level": 2}}
    found, extra = target.target_from_cli("llvm", {"llvm": {"mcpu": "cortex-m3"}})
    assert found.attrs["mcpu"] == "cortex-m3" and extra == []


def test_flags_of_executors_and_runtimes():
    parser = argparse.ArgumentParser()
    registry.generate_registry_args(parser, Executor, "graph")
    registry.generate_registry_args(parser, Runtime)
    assert registry.reconstruct_registry_entity(parser.parse_args([]), Executor) == Executor("graph")
    assert registry.reconstruct_registry_entity(parser.parse_args([]), Runtime) is None
    parsed = parser.parse_args(["--executor-graph-link-params=1"])
    assert registry.reconstruct_registry_entity(parsed, Executor)["link-params"] == 1
    parsed = parser.parse_args(["--executor=graph", "--executor-aot-unpacked-api=1"])
    with pytest.raises(TVMCException, match="Passed --executor-aot-unpacked-api but did not specify aot executor"):
        registry.reconstruct_registry_entity(parsed, Executor)


def pools(*words, targets=("llvm",)):
    parser = argparse.ArgumentParser()
    workspace_pools.generate_workspace_pools_args(parser)
    made = [tessera.target.Target(name) for name in targets]
    return workspace_pools.workspace_pools_recombobulate(parser.parse_args(words), made, [])


def test_flags_of_workspace_pools():
    assert pools() is None
    sram, flash = pools(
        "--workspace-pools=sram,flash",
        "--workspace-pools-targets=sram:llvm",
        "--workspace-pools-targets=flash:c",
        "--workspace-pools-size-hint-bytes=sram:400",
        "--workspace-pools-size-hint-bytes=sram:500,flash:20",
        "--workspace-pools-read-latency-cycles=flash:7",
        targets=("llvm", "c"),
    ).pools
    assert [t.kind.name for t in sram.targets] == ["llvm"] and [t.kind.name for t in flash.targets] == ["c"]
    assert (sram.pool_name, sram.size_hint_bytes, flash.size_hint_bytes) == ("sram", 500, 20)
    assert (sram.read_latency_cycles, flash.read_latency_cycles) == (0, 7)
    with pytest.raises(TVMCException, match='"cuda" is not one of llvm'):
        pools("--workspace-pools=sram", "--workspace-pools-targets=sram:cuda")


def test_configurations_are_read_by_path_and_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(config_options, "CONFIGS_JSON_DIR", None)
    monkeypatch.delenv("TVM_CONFIGS_JSON_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    read = config_options.read_and_convert_json_into_dict
    assert read(argparse.Namespace(config="default")) == {"targets": [{"kind": "llvm"}]}
    with pytest.raises(TVMCException, match="there is no configuration 'mine'"):
        read(argparse.Namespace(config="mine"))
    folder = tmp_path / "configs" / "host"
    folder.mkdir(parents=True)
    (folder / "mine.json").write_text(json.dumps({"opt_level": 2}))
    assert read(argparse.Namespace(config="mine")) == {"opt_level": 2}
    assert read(argparse.Namespace(config=str(folder / "mine.json"))) == {"opt_level": 2}


def test_configurations_become_flags():
    found = config_options.convert_config_json_to_cli(
        {
            "targets": [{"kind": "cmsis-nn"}, {"kind": "llvm", "mcpu": "x", "opt-level": "1"}],
            "executor": {"kind": "aot", "unpacked-api": "0"},
            "opt-level": "3",
        }
    )
    assert found == {
        "target": "cmsis-nn, llvm",
        "target_llvm_mcpu": "x",
        "target_llvm_opt_level": "1",
        "executor": "aot",
        "executor_aot_unpacked_api": "0",
        "opt_level": "3",
    }


def test_formats_have_classes():
    assert isinstance(frontends.get_frontend_by_name("onnx"), frontends.OnnxFrontend)
    assert isinstance(frontends.guess_frontend("model.pth"), frontends.PyTorchFrontend)
    assert isinstance(frontends.guess_frontend("model.tflite"), frontends.TFLiteFrontend)
    assert frontends.KerasFrontend.name() == "keras" and "h5" in frontends.KerasFrontend().suffixes()
    assert {type(frontend).__name__ for frontend in frontends.ALL_FRONTENDS} >= {"RelayFrontend", "PaddleFrontend"}


def test_data_of_inputs():
    assert runner.generate_tensor_data((2,), "int32", "ones").tolist() == [1, 1]
    assert runner.generate_tensor_data((2,), "float32", "zeros").tolist() == [0, 0]
    small = runner.generate_tensor_data((100,), "int8", "random")
    assert small.dtype == "int8" and small.min() >= 0 and len(np.unique(small)) > 2
    assert abs(runner.generate_tensor_data((100,), "float32", "random")).max() <= 1
    with pytest.raises(TVMCException, match="unknown fill-mode: odd"):
        runner.generate_tensor_data((2,), "float32", "odd")


def test_inputs_of_a_graph():
    from tessera import relay

    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    params = {"w": np.ones((4, 3), "float32")}
    library = relay.build(
        tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), "llvm", params=params
    )
    saved = tessera.runtime.save_param_dict(library.get_params())
    shapes, types = runner.get_input_info(library.get_graph_json(), saved)
    assert shapes["x"] == [2, 3] and types["x"] == "float32"
    made = runner.make_inputs_dict({"x": [2, 3]}, {"x": "float32"}, fill_mode="ones")
    assert made["x"].sum() == 6
    with pytest.raises(TVMCException, match="the input tensor\\(s\\) y not in the graph; its inputs are x"):
        runner.make_inputs_dict({"x": [2, 3]}, {"x": "float32"}, {"y": 1})
    assert tvmc.runner is runner


def test_shapes_come_in_their_order_with_spaces_or_commas():
    parse = shape_parser.parse_shape_string
    assert list(parse("b:[1,2] a:[3]").items()) == [("b", [1, 2]), ("a", [3])]
    assert list(parse("z:[1,2],a/c:0:[3], m:[4]").items()) == [("z", [1, 2]), ("a/c:0", [3]), ("m", [4])]
    for wrong in ("x", "x:[1,a]", "x:[1],", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="input_name:"):
            parse(wrong)


def my_pass(function, mod, context):
    """A lowering pass of this file's own."""
    return function


def test_passes_to_add_may_be_functions_and_add_up():
    parse = pass_config.parse_configs
    name = f"{__name__}.my_pass"
    read = parse([f"tir.add_lower_pass=1,{name}", "tir.add_lower_pass=2,tir.transform.Simplify"])["tir.add_lower_pass"]
    assert read[0] == (1, my_pass) and read[1][0] == 2 and len(read) == 2
    assert pass_config.get_pass_config_value("tir.disable_vectorize", "true", "IntImm") == 1
    for wrong in (
        "tir.add_lower_pass=1",
        "tir.add_lower_pass=x,tir.transform.Simplify",
        "tir.add_lower_pass=1,no.such",
    ):
        with pytest.raises(TVMCException):
            parse([wrong])


def test_a_missing_framework_is_told_before_the_file_is_looked_for():
    with pytest.raises((TVMCImportError, FileNotFoundError)):
        tvmc.load("no_such_file.pdmodel", model_format="paddle")
    with pytest.raises(FileNotFoundError):
        tvmc.load("no_such_file.onnx")
    assert pass_list.parse_pass_list_str("") == [""]


def test_external_code_generators_by_name():
    assert {"ethos-n", "ethos-u", "cmsis-nn", "compute-library", "bnns", "vitis-ai"} <= set(
        composite_target.get_codegen_names()
    )
    entry = composite_target.get_codegen_by_target("cmsis-nn")
    assert entry["config_key"] == "relay.ext.cmsisnn.options" and callable(entry["pass_pipeline"])
    with pytest.raises(TVMCException, match="Composite target nonesuch is not defined"):
        composite_target.get_codegen_by_target("nonesuch")


def test_options_of_projects():
    info = {
        "project_options": [
            {"name": "board", "choices": ["a", "b"], "required": ["build"], "help": "the board", "default": None},
            {"name": "speed", "optional": ["build"], "help": "how fast", "default": "9"},
        ]
    }
    options = project.get_project_options(info)
    assert "board={a, b}" in options[0]["help_text"] and "Defaults to '9'." in options[1]["help_text"]
    assert project.get_and_check_options(["board=a", "speed=3"], options) == {"board": "a", "speed": "3"}
    for wrong, message in (
        (["speed=3"], "'board' is required"),
        (["board=c"], "Choice 'c'"),
        (["board"], "OPTION=VALUE"),
    ):
        with pytest.raises(TVMCException, match=message):
            project.get_and_check_options(wrong, options)


def test_a_program_may_add_a_subcommand():
    seen = []

    @main.register_parser
    def add(subparsers, main_parser, json_params):
        parser = subparsers.add_parser("mine")
        parser.add_argument("--number", type=int)
        parser.set_defaults(func=lambda args: seen.append(args.number))

    try:
        assert main._main(["mine", "--number", "3"]) == 0 and seen == [3]
    finally:
        main.REGISTERED_PARSER.remove(add)


def test_compile_and_run_by_parsed_arguments(tmp_path):
    text = tmp_path / "model.relay"
    text.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }\n')
    package, outputs = tmp_path / "model.tar", tmp_path / "out.npz"
    compiled = argparse.Namespace(FILE=str(text), target="llvm", output=str(package))
    assert tvmc.compiler.drive_compile(compiled) == 0 and package.exists()
    ran = argparse.Namespace(PATH=str(package), device="cpu", fill_mode="ones", outputs=str(outputs))
    assert runner.drive_run(ran) == 0
    np.testing.assert_array_equal(np.load(outputs)["output_0"], np.ones((2, 3), "float32"))


def test_a_parser_for_a_first_look():
    parent = argparse.ArgumentParser()
    parent.add_argument("--a", type=int)
    args, left = arguments.TVMCSuppressedArgumentParser(parent).parse_known_args(["--a", "1", "--b"])
    assert args.a == 1 and left == ["--b"]
