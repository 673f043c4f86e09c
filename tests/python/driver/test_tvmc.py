"""The driver's four steps from Python: load, tune, compile, run."""

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.driver import tvmc
from tessera.driver.tvmc import (
    TVMCException,
    autotuner,
    compiler,
    frontends,
    pass_config,
    pass_list,
    result_utils,
    shape_parser,
    tracker,
    transform,
)
from tessera.driver.tvmc.model import TVMCModel, TVMCPackage, TVMCResult
from tessera.driver.tvmc.target import target_from_cli
from tessera.relay.backend import Executor, Runtime

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
W = np.arange(12, dtype="float32").reshape(3, 4) / 10


def dense_model():
    """relu(x w'), with the weights as a parameter."""
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    return TVMCModel(mod, {"w": tessera.nd.array(W)})


def conv_model():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1))))
    return relay.transform.InferType()(mod)


@pytest.fixture
def package(tmp_path):
    return tvmc.compile(dense_model(), target="llvm", package_path=str(tmp_path / "dense.tar"))


@pytest.fixture
def onnx_file(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        "g",
        [helper.make_tensor_value_info("x", real, ["n", 4])],
        [helper.make_tensor_value_info("z", real, ["n", 3])],
        [onnx.numpy_helper.from_array(W.T.copy(), "w")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
Y = np.maximum(X @ W.T, 0)


# ---- the way of a model ----------------------------------------------------------------------------------------------


def test_a_model_file_is_loaded_compiled_and_run(onnx_file, tmp_path):
    model = tvmc.load(str(onnx_file), shape_dict={"x": [2, 4]})
    package = tvmc.compile(model, target="llvm")
    assert package.type == "classic" and package.package_path == model.default_package_path()
    result = tvmc.run(package, device="cpu", inputs={"x": X})
    np.testing.assert_allclose(result.get_output("output_0"), Y, rtol=1e-5)
    assert "Output Names:\n ['output_0']" in str(result) and "mean (ms)" in str(result)
    result.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as saved:
        np.testing.assert_array_equal(saved["output_0"], result.outputs["output_0"])


def test_open_shapes_take_the_virtual_machine(onnx_file):
    package = tvmc.compile(tvmc.load(onnx_file), target="llvm")
    assert package.type == "vm" and package.lib_name == "lib.so" and package.graph is None
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5)
    assert tvmc.run(package, device="cpu").outputs["output_0"].shape == (1, 3)  # what is dynamic is 1


def test_use_vm_asks_for_the_virtual_machine():
    package = tvmc.compile(dense_model(), target="llvm", use_vm=True)
    assert package.type == "vm"
    result = tvmc.run(package, "cpu", inputs={"x": X}, benchmark=True, repeat=3, number=2)
    np.testing.assert_allclose(result.outputs["output_0"], Y, rtol=1e-5)
    assert len(result.times.results) == 3


def test_a_package_holds_library_graph_and_parameters(package):
    with tarfile.open(package.package_path) as archive:
        assert sorted(archive.getnames()) == ["mod.json", "mod.params", "mod.so"]
    assert package.lib_name == "mod.so" and Path(package.lib_path).stat().st_size > 1000
    assert '"nodes"' in package.graph and list(relay.load_param_dict(package.params))
    library = tessera.runtime.load_module(package.lib_path)
    assert library.type_key == "library"


def test_a_library_can_be_an_archive_of_objects(tmp_path):
    package = tvmc.compile(dense_model(), target="llvm", package_path=str(tmp_path / "m.tar"), output_format="tar")
    assert package.lib_name == "mod.tar"
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5)


def test_parameters_can_live_in_the_library():
    package = tvmc.compile(dense_model(), target="llvm", executor=Executor("graph", {"link-params": True}))
    assert not relay.load_param_dict(package.params)
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5)


def test_a_compiler_can_link_the_library(tmp_path):
    from tessera.contrib import cc

    package = tvmc.compile(dense_model(), target="llvm", cross=cc.get_cc(), cross_options="-O1 -g0")
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5)
    with pytest.raises(TVMCException, match="no-such-compiler"):
        tvmc.compile(dense_model(), target="llvm", cross="no-such-compiler")


# ---- both sides of a package -----------------------------------------------------------------------------------------


def test_the_program_runs_a_package_of_python(package, tmp_path):
    np.savez(tmp_path / "in.npz", x=X)
    words = ["run", "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz", package.package_path]
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out["output_0"], Y, rtol=1e-5)


@pytest.mark.parametrize("shapes, kind", [("x:[2,4]", "classic"), (None, "vm")])
def test_python_runs_a_package_of_the_program(onnx_file, tmp_path, shapes, kind):
    words = ["compile", "--target", "llvm", "-o", tmp_path / "m.tar", onnx_file]
    words += ["--input-shapes", shapes] if shapes else []
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    package = TVMCPackage(tmp_path / "m.tar")
    assert package.type == kind
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5)


def test_python_starts_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "tessera.as_tvm", "-m", "tvm.driver.tvmc", "--version"], capture_output=True, text=True
    )
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == told.stdout


def test_the_program_runs_from_python(onnx_file, tmp_path, capfd):
    from tessera.driver.tvmc.main import _main

    assert _main(["compile", "--target", "llvm", "-o", tmp_path / "m.tar", onnx_file]) == 0
    assert _main(["run", tmp_path / "m.tar", "--print-top", "2"]) == 0
    assert "[[" in capfd.readouterr().out
    assert _main(["run", tmp_path / "nothing.tar"]) == 4
    assert "Error: " in capfd.readouterr().err


def test_the_program_compiles_a_saved_model(tmp_path):
    dense_model().save(tmp_path / "model.tar")
    words = ["compile", "-o", tmp_path / "m.tar", tmp_path / "model.tar"]
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        tvmc.run(TVMCPackage(tmp_path / "m.tar"), "cpu", inputs={"x": X}).outputs["output_0"], Y, rtol=1e-5
    )


# ---- models ----------------------------------------------------------------------------------------------------------


def test_a_saved_model_is_read_back_with_records_and_package(tmp_path):
    model = dense_model()
    Path(model.default_tuning_records_path()).write_text("{}\n")
    Path(model.default_package_path()).write_bytes(b"x")
    model.save(tmp_path / "model.tar")
    with tarfile.open(tmp_path / "model.tar") as archive:
        assert sorted(archive.getnames()) == ["model.json", "model.params", "model_package.tar", "tuning_records"]
    again = TVMCModel(model_path=tmp_path / "model.tar")
    assert tessera.ir.structural_equal(again.mod, model.mod)
    np.testing.assert_array_equal(again.params["w"].numpy(), W)
    assert Path(again.default_tuning_records_path()).read_text() == "{}\n"
    assert Path(again.default_package_path()).read_bytes() == b"x"
    loaded = tvmc.load(tmp_path / "model.tar")
    assert tessera.ir.structural_equal(loaded.mod, relay.transform.InferType()(model.mod)) and list(loaded.params) == [
        "w"
    ]


def test_a_model_is_made_of_something(package, tmp_path):
    with pytest.raises(OSError, match="a module and its parameters, or of the path of a saved one"):
        TVMCModel()
    with pytest.raises(TVMCException, match=r"no saved model.*It holds mod\.json, mod\.params, mod\.so"):
        TVMCModel(model_path=package.package_path)
    with pytest.raises(TVMCException, match="compiled model already"):
        tvmc.load(package.package_path)
    with pytest.raises(FileNotFoundError, match="nothing.tar"):
        TVMCModel(model_path=tmp_path / "nothing.tar")


def test_a_saved_model_that_holds_something_else_is_rejected(tmp_path):
    write = tessera.get_global_func("runtime.WriteTar")
    params = relay.save_param_dict({})
    for text, message in [
        (tessera.ir.save_json(tessera.tir.IntImm("int32", 3)), "no module"),
        ("{", "model.json|JSON"),
    ]:
        write(str(tmp_path / "m.tar"), {"model.json": bytearray(text.encode()), "model.params": params})
        with pytest.raises((TVMCException, tessera.TVMError), match=message):
            TVMCModel(model_path=tmp_path / "m.tar")


def test_a_summary_is_the_text_of_the_model(capsys):
    dense_model().summary()
    assert "nn.dense" in capsys.readouterr().out


def test_files_that_are_no_packages_are_rejected(tmp_path):
    dense_model().save(tmp_path / "model.tar")
    with pytest.raises(TVMCException, match="not compiled"):
        TVMCPackage(tmp_path / "model.tar")
    (tmp_path / "text.tar").write_text("hello")
    with pytest.raises(TVMCException, match=r"text\.tar"):
        TVMCPackage(tmp_path / "text.tar")
    with pytest.raises(TVMCException, match="microTVM"):
        TVMCPackage(tmp_path / "text.tar", project_dir=tmp_path)


# ---- formats ---------------------------------------------------------------------------------------------------------


def test_formats_are_those_of_tvmc():
    names = frontends.get_frontend_names()
    assert {"keras", "onnx", "pb", "tflite", "pytorch", "paddle", "relay"} <= set(names)
    assert frontends.get_frontend_by_name("onnx").suffixes() == ["onnx"]
    with pytest.raises(TVMCException, match=r"no model format 'flax'; the formats are keras, onnx"):
        frontends.get_frontend_by_name("flax")


@pytest.mark.parametrize(
    "name, suffix",
    [
        ("keras", "h5"),
        ("pb", "pb"),
        ("tflite", "tflite"),
        ("pytorch", "pth"),
        ("pytorch", "zip"),
        ("paddle", "pdmodel"),
    ],
)
def test_a_file_of_something_else_has_the_format_of_its_suffix(tmp_path, name, suffix):
    path = tmp_path / f"model.{suffix}"
    path.write_bytes(b"...")
    assert frontends.guess_frontend(path).name() == name
    with pytest.raises((TVMCException, ValueError)):
        tvmc.load(path)


def test_the_format_is_guessed_or_given(tmp_path, onnx_file):
    (tmp_path / "model.bin").write_bytes(b"something")
    with pytest.raises(TVMCException, match="cannot tell the format of the model"):
        tvmc.load(tmp_path / "model.bin")
    other = tmp_path / "weights.bin"
    other.write_bytes(onnx_file.read_bytes())
    assert "main" in [v.name_hint for v in tvmc.load(other, model_format="onnx").mod.get_global_vars()]
    with pytest.raises(FileNotFoundError, match=r"no-such\.onnx"):
        tvmc.load(tmp_path / "no-such.onnx")


def test_options_go_to_the_importer(onnx_file):
    model = tvmc.load(onnx_file, shape_dict={"x": [2, 4]}, freeze_params=False)
    assert list(model.params) == ["w"]
    path = onnx_file.with_suffix(".relay")
    path.write_text(dense_model().mod.astext())
    with pytest.raises(TVMCException, match="relay models has no option opset"):
        tvmc.load(path, opset=3)


def test_relay_text_is_a_model(tmp_path):
    path = tmp_path / "model.relay"
    path.write_text(dense_model().mod.astext())
    free = tvmc.run(tvmc.compile(tvmc.load(path), "llvm"), "cpu", inputs={"x": X, "w": W})
    np.testing.assert_allclose(free.outputs["output_0"], Y, rtol=1e-5)
    with_weights = tvmc.load(path, shape_dict={"x": [5, 4]})
    assert list(with_weights.params) == ["w"]
    assert tvmc.run(tvmc.compile(with_weights, "llvm"), "cpu").outputs["output_0"].shape == (5, 3)


# ---- options of compile ----------------------------------------------------------------------------------------------


def test_code_is_dumped_beside_the_package(tmp_path):
    path = tmp_path / "m.tar"
    tvmc.compile(dense_model(), "llvm", package_path=str(path), dump_code="relay,ll,asm")
    assert "nn.dense" in (tmp_path / "m.tar.relay").read_text()
    assert "define" in (tmp_path / "m.tar.ll").read_text()
    assert (tmp_path / "m.tar.asm").stat().st_size > 100


def test_dumps_are_written_by_name(tmp_path):
    compiler.save_dumps("m", {"relay": "text", "ll": "code"}, dump_root=tmp_path)
    assert (tmp_path / "m.relay").read_text() == "text" and (tmp_path / "m.ll").read_text() == "code"


def test_layouts_are_converted():
    text = transform.convert_graph_layout(conv_model(), "NHWC").astext()
    assert 'data_layout="NHWC"' in text and text.count("layout_transform") == 3
    with pytest.raises(TVMCException, match="NCHW or NHWC"):
        transform.convert_graph_layout(conv_model(), "CHWN")
    model = TVMCModel(conv_model(), {})
    plain = tvmc.compile(model, "llvm", desired_layout=None)
    inputs = {"x": np.random.rand(1, 3, 8, 8).astype("float32"), "w": np.random.rand(4, 3, 3, 3).astype("float32")}
    expected = tvmc.run(plain, "cpu", inputs=inputs).outputs["output_0"]
    changed = tvmc.compile(model, "llvm", desired_layout="NHWC")
    assert "layout_transform" in changed.graph
    np.testing.assert_allclose(tvmc.run(changed, "cpu", inputs=inputs).outputs["output_0"], expected, rtol=1e-4)


def test_passes_are_left_out_and_configured():
    fused = tvmc.compile(dense_model(), "llvm")
    apart = tvmc.compile(dense_model(), "llvm", pass_context_configs=["relay.FuseOps.max_depth=1"])
    assert fused.graph.count('"tvm_op"') < apart.graph.count('"tvm_op"')
    tvmc.compile(dense_model(), "llvm", opt_level=0, disabled_pass=["FoldConstant"])
    with pytest.raises(TVMCException, match="no_such_key"):
        tvmc.compile(dense_model(), "llvm", pass_context_configs=["no_such_key=1"])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"output_format": "zip"}, '"so", "tar" or "mlf", not "zip"'),
        ({"output_format": "mlf"}, "microTVM"),
        ({"executor": Executor("aot")}, "aot"),
        ({"runtime": Runtime("crt")}, "crt"),
        ({"opt_level": 9}, "opt_level"),
        ({"tuning_records": "no-such-file"}, "no tuning records at no-such-file"),
        ({"desired_layout": "CHWN"}, "NCHW or NHWC"),
        ({"disabled_pass": ["NoSuchPass"]}, "NoSuchPass"),
        ({"cross_options": "-O2"}, "none is named"),
        ({"workspace_pools": object()}, "memory pools"),
        ({"target": "no-such-target"}, "no-such-target"),
    ],
)
def test_what_cannot_be_compiled_is_told(options, message):
    options = {"target": "llvm", **options}
    with pytest.raises(TVMCException, match=message):
        tvmc.compile(dense_model(), **options)


# ---- options of run --------------------------------------------------------------------------------------------------


def test_missing_inputs_are_filled(package):
    np.testing.assert_array_equal(tvmc.run(package, "cpu", fill_mode="zeros").outputs["output_0"], np.zeros((2, 3)))
    ones = tvmc.run(package, "cpu", fill_mode="ones").outputs["output_0"]
    np.testing.assert_allclose(ones, np.broadcast_to(W.sum(axis=1), (2, 3)), rtol=1e-5)
    assert (tvmc.run(package, "cpu").outputs["output_0"] > 0).any()


def test_inputs_come_from_a_file(package, tmp_path):
    np.savez(tmp_path / "in.npz", x=X)
    np.testing.assert_allclose(tvmc.run(package, "cpu", inputs=tmp_path / "in.npz").outputs["output_0"], Y, rtol=1e-5)
    (tmp_path / "bad.npz").write_text("no archive")
    with pytest.raises(TVMCException, match=r"bad\.npz is no \.npz file"):
        tvmc.run(package, "cpu", inputs=tmp_path / "bad.npz")


def test_a_run_is_timed_and_profiled(package, capsys):
    result = tvmc.run(package, "cpu", benchmark=True, repeat=4, number=3)
    assert len(result.times.results) == 4 and "mean (ms)" in result.format_times()
    assert len(tvmc.run(package, "cpu", benchmark=True, end_to_end=True, repeat=2).times.results) == 2
    tvmc.run(package, "cpu", profile=True)
    assert "nn_dense" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, message",
    [
        ({"device": "tpu"}, 'no device "tpu"; devices are cpu, cuda, cl'),
        ({"device": "micro"}, "microTVM"),
        ({"rpc_key": "board"}, "name the tracker too"),
        ({"fill_mode": "twos"}, 'zeros, ones, random, not "twos"'),
        ({"repeat": 0}, "repeat is a number from 1 on, not 0"),
        ({"inputs": {"y": X}}, 'has "y", which is no input of the model; its inputs are x'),
        ({"inputs": {"x": X[:1]}}, "x"),
        ({"profile": True, "end_to_end": True}, "choose one"),
    ],
)
def test_what_cannot_be_run_is_told(package, options, message):
    with pytest.raises(TVMCException, match=message):
        tvmc.run(package, **{"device": "cpu", **options})


def test_a_package_for_another_device_says_for_which(tmp_path):
    package = tvmc.compile(dense_model(), "opencl", package_path=tmp_path / "m.tar")
    with pytest.raises(TVMCException, match="compiled for a device of kind opencl"):
        tvmc.run(package, "cpu")


# ---- tuning ----------------------------------------------------------------------------------------------------------


def test_tuning_gives_the_path_of_its_records():
    model = dense_model()
    path = tvmc.tune(model, target="llvm", trials=2, repeat=1, number=1, parallel=1)
    assert path == model.default_tuning_records_path() and "tessera_record" in Path(path).read_text()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tuner": "magic"}, 'no tuner "magic"; the tuners are ga, gridsearch'),
        ({"trials": 0}, "trials is a whole number from 1 on"),
        ({"timeout": 1.5}, "timeout is a whole number"),
        ({"min_repeat_ms": -1}, "min_repeat_ms is a whole number from 0 on"),
        ({"desired_layout": "CHWN"}, "NCHW"),
        ({"prior_records": "nowhere.json"}, "no prior tuning records at nowhere.json"),
        ({"rpc_key": "board"}, "name the tracker"),
        ({"target": "no-such-target"}, "no-such-target"),
    ],
)
def test_what_tuning_is_given_is_checked(options, message):
    with pytest.raises(TVMCException, match=message):
        tvmc.tune(dense_model(), **{"target": "llvm", **options})
    assert "xgb-rank" in autotuner.TUNERS


# ---- words of the command line ---------------------------------------------------------------------------------------


def test_shapes_are_read():
    shapes = shape_parser.parse_shape_string("data:[1,3,-1,224] a/b:0:[ 2 , 2 ]")
    assert sorted(shapes) == ["a/b:0", "data"] and shapes["a/b:0"] == [2, 2]
    assert shapes["data"][1] == 3 and isinstance(shapes["data"][2], relay.Any)
    for wrong in ("", "data", "data:1,2", "data:[1,x]", "data:[1"):
        with pytest.raises(Exception, match="--input-shapes"):
            shape_parser.parse_shape_string(wrong)


def test_pass_names_are_read():
    assert pass_list.parse_pass_list_str("FoldConstant, AlterOpLayout") == ["FoldConstant", "AlterOpLayout"]
    assert pass_list.parse_pass_list_str("") == [""]
    with pytest.raises(Exception, match="MyPass"):
        pass_list.parse_pass_list_str("FoldConstant,MyPass")


def test_passes_are_named_by_constructor_or_by_pass_info():
    for name, title in (
        ("Inline", "InlineGlobals"),
        ("PartialEvaluate", "PartialEval"),
        ("CombineParallelConv2D", "CombineParallelConv2d"),
        ("AnnotateTarget", "AnnotateTargetFunc"),
        ("FoldExplicitPadding", " FoldExplicitPadding"),
    ):
        assert pass_list.parse_pass_list_str(f"{name},{title}") == [name, title.strip()]


def test_configurations_are_read_by_their_type():
    read = pass_config.parse_configs(["tir.disable_vectorize=true", "relay.FuseOps.max_depth=10"])
    assert bool(read["tir.disable_vectorize"]) and int(read["relay.FuseOps.max_depth"]) == 10
    passes = pass_config.parse_configs(["tir.add_lower_pass=1,UnrollLoop"])["tir.add_lower_pass"]
    assert len(passes) == 1 and int(passes[0][0]) == 1
    assert pass_config.parse_configs(None) == {}
    for wrong in ("tir.disable_vectorize", "tir.disable_vectorize=maybe", "tir.add_lower_pass=1", "x.y=1"):
        with pytest.raises(TVMCException, match=wrong.split("=")[0]):
            pass_config.parse_configs([wrong])


def test_targets_are_read(tmp_path):
    target, extra = target_from_cli("llvm -mcpu=skylake -mattr=+avx2,+fma")
    assert target.kind.name == "llvm" and target.mcpu == "skylake" and list(target.mattr) == ["+avx2", "+fma"]
    assert extra == []
    assert target_from_cli('{"kind": "llvm", "mcpu": "znver3"}')[0].mcpu == "znver3"
    (tmp_path / "target.json").write_text('{"kind": "c"}')
    assert target_from_cli(str(tmp_path / "target.json"))[0].kind.name == "c"
    both, _ = target_from_cli("cuda -arch=sm_80, llvm -mcpu=skylake")
    assert both.kind.name == "cuda" and both.host.mcpu == "skylake"
    assert target_from_cli("llvm", {"llvm": {"mcpu": "znver3"}})[0].mcpu == "znver3"
    for wrong, message in [
        ("llvm, c, cuda", "two"),
        ("llvm, llvm", "twice|uplicate"),
        ("ethos-u, c", "ethos-u"),
        ("llvm -no-such=1", "no-such"),
    ]:
        with pytest.raises(TVMCException, match=message):
            target_from_cli(wrong)
    with pytest.raises(TVMCException, match="cuda"):
        target_from_cli("llvm", {"cuda": {"arch": "sm_80"}})


def test_trackers_are_read():
    assert tracker.tracker_host_port_from_cli("board:9191") == ("board", 9191)
    assert tracker.tracker_host_port_from_cli("board") == ("board", 9090)
    assert tracker.tracker_host_port_from_cli(None) == (None, None)
    with pytest.raises(TVMCException, match="board:x"):
        tracker.tracker_host_port_from_cli("board:x")


def test_the_greatest_results_come_first():
    result = TVMCResult({"output_0": np.array([[1.0, 9.0, 5.0, 7.0]])}, [])
    np.testing.assert_array_equal(result_utils.get_top_results(result, 3), [[1, 3, 2], [9, 7, 5]])
    assert result_utils.get_top_results(result, 99).shape == (2, 4)
