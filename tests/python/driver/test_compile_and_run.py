"""`tessera compile` and `tessera run`: a model file in, an answer out, without Python."""

import io
import json
import os
import pty
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera.contrib import graph_executor
from test_program import on_terminal

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"

RELAY = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %n: Tensor[(2, 3), int64]) {
  add(%x, cast(%n, dtype="float32"))
}
"""


@pytest.fixture(scope="session")
def env(tmp_path_factory):
    return {**os.environ, "TESSERA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def tool(env):
    """Runs the program; the exit code must be the one given."""

    def run(*words, code=0, extra=None):
        done = subprocess.run(
            [PROGRAM, *map(str, words)], capture_output=True, text=True, env={**env, **(extra or {})}, check=False
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done.stderr if code else done.stdout

    return run


def linear(path, batch=1):
    """softmax(x @ w + b), as a file; returns what it computes."""
    rng = np.random.default_rng(1)
    w, b = rng.standard_normal((8, 5)).astype("float32"), rng.standard_normal(5).astype("float32")
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"]), helper.make_node("Softmax", ["y"], ["z"])]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [batch, 5])],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))

    def answer(x):
        e = np.exp(x @ w + b - (x @ w + b).max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    return answer


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "linear.onnx"
    return path, linear(path)


def test_a_model_is_compiled_to_the_tar_of_tvmc_and_run(tool, model, tmp_path):
    path, answer = model
    package, x = tmp_path / "m.tar", np.random.default_rng(0).random((1, 8), "float32")
    tool("compile", "--target", "llvm", "--output", package, path)
    with tarfile.open(package) as archive:
        assert archive.getnames() == ["mod.so", "mod.json", "mod.params"]
        assert "nodes" in json.load(archive.extractfile("mod.json"))
    np.savez(tmp_path / "in.npz", x=x)
    tool("run", package, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        assert list(out) == ["z"]
        np.testing.assert_allclose(out["z"], answer(x), rtol=1e-5)


def test_a_model_file_is_run_directly(tool, model, tmp_path):
    path, answer = model
    tool("run", path, "--fill-mode", "ones", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out["z"], answer(np.ones((1, 8), "float32")), rtol=1e-5)


def test_python_loads_what_the_program_wrote(tool, model, tmp_path):
    path, answer = model
    tool("compile", path, "-o", tmp_path / "m.tar")
    factory = tessera.get_global_func("runtime.LoadPackage")(str(tmp_path / "m.tar"))
    executor = graph_executor.GraphModule(factory["default"](tessera.cpu()))
    x = np.ones((1, 8), "float32")
    executor.run(x=x)
    np.testing.assert_allclose(executor.get_output(0).numpy(), answer(x), rtol=1e-5)


def test_large_constants_of_a_program_are_a_member_of_its_package(tool, tmp_path):
    table = np.random.default_rng(0).random((64, 32), "float32")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    info = helper.make_tensor_value_info
    ends = [info("x", TensorProto.FLOAT, ["n", 64])], [info("y", TensorProto.FLOAT, ["n", 32])]
    graph = helper.make_graph(nodes, "table", *ends, [numpy_helper.from_array(table, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(tmp_path / "table.onnx"))
    tool("compile", tmp_path / "table.onnx", "-o", tmp_path / "m.tar")
    with tarfile.open(tmp_path / "m.tar") as archive:
        assert archive.getnames() == ["lib.so", "lib.params"]
        archive.extract("lib.so", tmp_path, filter="data")
    x = np.random.default_rng(1).random((3, 64), "float32")
    np.testing.assert_allclose(tessera.Model(tmp_path / "m.tar").run({"x": x})[0], x @ table, rtol=1e-5)
    assert "in 1 tensors, 8.2 kB" in tool("inspect", tmp_path / "m.tar")
    with pytest.raises(ValueError, match="is bound late and was not loaded"):
        tessera.runtime.load_module(str(tmp_path / "lib.so"))["default"](tessera.cpu())


def test_the_library_of_a_package_loads_where_the_compiler_is_not(tool, model, tmp_path):
    path, _ = model
    tool("compile", path, "-o", tmp_path / "m.tar")
    with tarfile.open(tmp_path / "m.tar") as archive:
        archive.extract("mod.so", tmp_path, filter="data")
    needs = subprocess.run(["readelf", "-d", tmp_path / "mod.so"], capture_output=True, text=True, check=True).stdout
    assert "libtessera" not in needs


def test_open_shapes_take_the_virtual_machine(tool, tmp_path):
    answer = linear(tmp_path / "open.onnx", batch="n")
    tool("compile", tmp_path / "open.onnx", "-o", tmp_path / "m.tar")
    with tarfile.open(tmp_path / "m.tar") as archive:
        assert archive.getnames() == ["lib.so"]  # few constants are part of the library
    x = np.random.default_rng(0).random((3, 8), "float32")
    np.savez_compressed(tmp_path / "in.npz", x=x)
    tool("run", tmp_path / "m.tar", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out["z"], answer(x), rtol=1e-5)
    shown = tool("run", tmp_path / "m.tar", "--input-shapes", "x:[4,8]")
    assert "(4, 5)" in shown
    assert "lib.so" not in tool("compile", tmp_path / "open.onnx", "--executor", "graph", code=4)
    tool("compile", tmp_path / "open.onnx", "--input-shapes", "x:[2,8]", "-o", tmp_path / "fixed.tar")
    with tarfile.open(tmp_path / "fixed.tar") as archive:
        assert "mod.json" in archive.getnames()


def test_outputs_are_shown_as_a_table(tool, tmp_path):
    (tmp_path / "a.relay").write_text(RELAY)
    shown = tool("run", tmp_path / "a.relay", "--fill-mode", "ones").splitlines()
    assert shown[0].split() == ["output", "shape", "type", "min", "max", "mean", "first", "values"]
    assert shown[1].split() == ["output_0", "(2,", "3)", "float32", "2", "2", "2", *["2"] * 6]


def test_random_inputs_are_the_same_for_the_same_seed(tool, tmp_path):
    (tmp_path / "a.relay").write_text(RELAY)
    first = tool("run", tmp_path / "a.relay")
    assert first == tool("run", tmp_path / "a.relay") != tool("run", tmp_path / "a.relay", "--seed", 5)


def test_the_largest_values_and_times_are_printed_as_tvmc_does(tool, model):
    path, answer = model
    top = tool("run", path, "--fill-mode", "zeros", "--print-top", 2).replace("[", " ").replace("]", " ").split()
    order = np.argsort(answer(np.zeros((1, 8), "float32"))[0])[::-1]
    assert [int(index) for index in top[:2]] == list(order[:2]) and len(top) == 4
    times = tool("run", path, "--print-time", "--repeat", 3, "--number", 2).splitlines()
    assert times[0] == "Execution time summary:"
    assert times[1].split("(ms)")[:5] == [" mean ", "   median ", "    max ", "     min ", "     std "]
    assert len(times[2].split()) == 5 and all(float(value) >= 0 for value in times[2].split())
    assert "fused_nn_softmax" in tool("run", path, "--profile")
    tool("run", path, "--print-time", "--end-to-end")


def test_code_is_dumped_beside_the_package(tool, model, tmp_path):
    path, _ = model
    tool("compile", path, "-o", tmp_path / "m.tar", "--dump-code", "relay,ll,asm")
    assert "def @main" in (tmp_path / "m.tar.relay").read_text()
    assert "define" in (tmp_path / "m.tar.ll").read_text()
    assert (tmp_path / "m.tar.asm").stat().st_size > 100


def test_flags_reach_the_compiler(tool, model, tmp_path):
    path, _ = model
    package = tmp_path / "m.tar"
    tool(
        "compile",
        path,
        "-o",
        package,
        "-O",
        0,
        "--disabled-pass",
        "FoldConstant, SimplifyExpr",
        "--module-name",
        "mine",
    )
    tool(
        "compile",
        path,
        "-o",
        package,
        "--pass-config",
        "relay.FuseOps.max_depth=1",
        "--pass-config",
        "tir.disable_vectorize=true",
    )
    tool("compile", path, "-o", package, "--executor", "graph", "--executor-graph-link-params", 1)
    assert "\nz " in tool("run", package)
    tool("compile", path, "-o", package, "--executor", "vm")
    assert "\nz " in tool("run", package)
    tool("compile", path, "-o", package, "--dump-code", "asm", "--target-llvm-mcpu", "skylake-avx512")
    assert "for skylake-avx512" in (tmp_path / "m.tar.asm").read_text()


def test_a_run_is_told_to_programs(tool, model, tmp_path):
    path, answer = model
    x = np.random.default_rng(0).random((1, 8), "float32")
    np.savez(tmp_path / "x.npz", x=x)
    words = ("run", path, "-i", tmp_path / "x.npz", "--json", "--threads", 1)
    told = json.loads(tool(*words, "--print-top", 2, "--print-time", "--repeat", 3, "--profile"))
    (output,) = told["outputs"]
    assert output["shape"] == [1, 5] and output["dtype"] == "float32" and output["nan"] == 0
    assert output["max"] == pytest.approx(answer(x).max(), rel=1e-4)
    assert told["top"]["indices"] == [int(i) for i in np.argsort(-answer(x)[0])[:2]]
    assert told["threads"] == 1 and len(told["times"]["all_ms"]) == 3 and told["times"]["min_ms"] > 0
    assert told["executor"] == "graph" and told["memory_bytes"] >= x.nbytes + 5 * 4
    profile = told["profile"]
    assert profile["configuration"]["Runs"] == {"count": 3}
    assert profile["configuration"]["Number of threads"] == {"count": 1}
    assert len(profile["calls"]) >= 1 and set(json.loads(tool(*words))) == {
        *("model", "executor", "device", "threads", "memory_bytes", "outputs")
    }


@pytest.mark.parametrize("executor", ["graph", "vm"])
def test_a_profile_is_the_mean_of_runs_and_fits_the_terminal(tool, model, executor):
    path, _ = model
    words = ("run", path, "--executor", executor, "--profile")
    assert "Runs: 4\n" in tool(*words, "--repeat", 2, "--number", 2)
    wide, fitting = tool(*words), on_terminal(60, PROGRAM, *words)
    assert max(map(len, wide.splitlines())) > 60 >= max(map(len, fitting.splitlines()))
    assert "..." in fitting and "Duration (us)" in fitting and "Total" in fitting


def test_a_number_of_threads_is_a_number(tool, model):
    path, _ = model
    for wrong in ("0", "many", "-3"):
        tool("run", path, "--threads", wrong, code=2)


def test_convolutions_take_the_layout_that_is_asked_for(tool, tmp_path):
    (tmp_path / "c.relay").write_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {\n"
        "  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])\n}\n"
    )
    words = ("compile", tmp_path / "c.relay", "-o", tmp_path / "m.tar", "--dump-code", "relay")
    tool(*words, "--desired-layout", "NHWC")
    assert 'data_layout="NHWC"' in (tmp_path / "m.tar.relay").read_text()
    tool(*words, "--desired-layout", "NWHC", code=2)


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_the_built_in_linker_serves_other_machines(tool, model, tmp_path, triple):
    path, _ = model
    tool("compile", path, "-o", tmp_path / "m.tar", "--target", f"llvm -mtriple={triple}")
    with tarfile.open(tmp_path / "m.tar") as archive:
        library = archive.extractfile("mod.so").read()
    machine = int.from_bytes(library[18:20], "little")
    assert machine == {"aarch64-linux-gnu": 183, "riscv64-linux-gnu": 243}[triple]
    told = tool("run", tmp_path / "m.tar", code=4)
    assert "m.tar/mod.so" in told


def test_a_cross_compiler_links_when_it_is_named(tool, model, tmp_path):
    path, _ = model
    words = ("compile", path, "-o", tmp_path / "m.tar", "--target", "llvm")
    tool(*words, "--cross-compiler", "c++", "--cross-compiler-options", "-O1 -lm")
    assert "\nz " in tool("run", tmp_path / "m.tar")
    assert "no-such-compiler" in tool(*words, "--cross-compiler", "no-such-compiler", code=4)
    assert "-lnosuchlibrary" in tool(
        *words, "--cross-compiler", "c++", "--cross-compiler-options", "-lnosuchlibrary", code=4
    )


def test_a_configuration_gives_defaults_that_flags_override(tool, model, tmp_path):
    path, _ = model
    config = tmp_path / "mine.json"
    config.write_text(
        json.dumps(
            {
                "targets": [{"kind": "llvm", "mcpu": "skylake-avx512"}],
                "executor": {"kind": "graph", "link-params": 0},
                "output": str(tmp_path / "configured.tar"),
                "dump_code": "asm",
                "tuner": "xgb",
            }
        )
    )
    tool("--config", config, "compile", path)
    assert "for skylake-avx512" in (tmp_path / "configured.tar.asm").read_text()
    tool("--config", "mine", "compile", path, "-o", tmp_path / "own.tar", extra={"TVM_CONFIGS_JSON_DIR": str(tmp_path)})
    assert (tmp_path / "own.tar.asm").exists()
    tool("--config", config, "compile", path, "--target", "llvm -mcpu=x86-64", "-o", tmp_path / "plain.tar")
    assert "skylake" not in (tmp_path / "plain.tar.asm").read_text()
    assert "no configuration" in tool("--config", "nosuch", "compile", path, code=4)


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--executor", "aot"], 4, "aot"),
        (["--runtime", "crt"], 4, "crt"),
        (["--output-format", "mlf"], 4, "mlf"),
        (["--executor-aot-unpacked-api", "1"], 4, "the executor is graph"),
        (["--tuning-records", "log.json"], 4, "tuning"),
        (["--workspace-pools", "sram"], 4, "memory pools"),
        (["--target", "ethos-u, llvm"], 4, "ethos-u"),
        (["--target", "llvm", "--target-cuda-arch", "sm_80"], 4, "cuda"),
        (["--disabled-pass", "NoSuchPass"], 4, "NoSuchPass"),
        (["--pass-config", "no.such=1"], 4, "no.such"),
        (["--input-shapes", "y:[1]"], 4, 'no input "y"'),
        (["--input-shapes", "nonsense"], 2, "must be of the form"),
        (["--opt-level", "7"], 2, "7"),
        (["--executor", "jet"], 2, "jet"),
        (["--dump-code", "cobol"], 4, "cobol"),
    ],
)
def test_what_cannot_be_compiled_is_told(tool, model, tmp_path, words, code, part):
    assert part in tool("compile", model[0], "-o", tmp_path / "m.tar", *words, code=code)


def test_what_cannot_be_run_is_told(tool, model, tmp_path):
    path, _ = model
    np.savez(tmp_path / "in.npz", x=np.ones((1, 8), "float32"), y=np.ones(3))
    assert 'has "y", which is no input of the model; its inputs are x (1, 8) float32' in tool(
        "run", path, "-i", tmp_path / "in.npz", code=4
    )
    np.savez(tmp_path / "in.npz", x=np.ones((1, 8)))
    assert '.astype("float32")' in tool("run", path, "-i", tmp_path / "in.npz", code=4)
    np.savez(tmp_path / "in.npz", x=np.ones((2, 8), "float32"))
    assert "(2, 8)" in tool("run", path, "-i", tmp_path / "in.npz", code=4)
    assert "micro" in tool("run", path, "--device", "micro", code=4)
    tool("run", path, "--device", "tape", code=2)
    assert "cannot be given together" in tool("run", path, "--profile", "--end-to-end", code=4)
    assert "metal" in tool("run", path, "--device", "metal", code=4)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.pth", "PyTorch"),
    ],
)
def test_formats_that_cannot_be_read_exit_with_5(tool, tmp_path, name, part):
    (tmp_path / name).write_bytes(b"x")
    assert part in tool("compile", tmp_path / name, code=5)
    (tmp_path / "a.bin").write_bytes(b"x")
    assert "--model-format" in tool("compile", tmp_path / "a.bin", code=4)
    assert "No such file" in tool("compile", tmp_path / "missing.onnx", code=4)


def test_microcontrollers_are_rejected(tool):
    assert "microcontrollers" in tool("micro", "create-project", "x", "m.tar", "zephyr", code=4)


def hostile(path, name="mod.so", kind=tarfile.REGTYPE):
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, "/etc/passwd", 4 if kind == tarfile.REGTYPE else 0
        archive.addfile(member, io.BytesIO(b"evil"))


def test_hostile_packages_are_rejected_and_write_nothing(tool, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for name, kind, part in [
        ("../mod.so", tarfile.REGTYPE, "outside"),
        ("/tmp/mod.so", tarfile.REGTYPE, "outside"),
        ("mod.so", tarfile.SYMTYPE, "link"),
        ("mod.so", tarfile.LNKTYPE, "link"),
        ("mod.so", tarfile.REGTYPE, "mod.so"),
        ("other", tarfile.REGTYPE, "no package"),
    ]:
        hostile(work / "m.tar", name, kind)
        told = tool("run", work / "m.tar", code=4, extra={"TMPDIR": str(work)})
        assert part in told
        assert [file.name for file in work.iterdir()] == ["m.tar"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["work"]


def test_a_truncated_package_is_rejected(tool, model, tmp_path):
    tool("compile", model[0], "-o", tmp_path / "m.tar")
    whole = (tmp_path / "m.tar").read_bytes()
    for size in (600, len(whole) // 2, len(whole) - 1200):
        (tmp_path / "cut.tar").write_bytes(whole[:size])
        tool("run", tmp_path / "cut.tar", code=4)


def test_a_failed_compile_leaves_the_old_package(tool, model, tmp_path):
    package = tmp_path / "m.tar"
    package.write_bytes(b"old")
    tool("compile", model[0], "-o", package, "--cross-compiler", "false", code=4)
    assert package.read_bytes() == b"old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["linear.onnx", "m.tar"]
    assert "folder" in tool("compile", model[0], "-o", tmp_path, code=4)


def test_equal_inputs_give_equal_packages(tool, model, tmp_path):
    for name in ("a.tar", "b.tar"):
        tool("compile", model[0], "-o", tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def errors_on_terminal(words, env):
    """What a program writes to its terminal beside its output."""
    outer, inner = pty.openpty()
    words = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *words]  # one CPU: it must take long
    done = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=inner, env={**env, "TERM": "xterm"})
    os.close(inner)
    said = b""
    while True:
        try:
            part = os.read(outer, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(outer)
    assert done.wait() == 0
    return said.decode()


def chain(path, length):
    """A model of many different kernels, which takes seconds to compile."""
    lines = ["%0 = nn.dense(%x, %w0, units=None);"]
    for i in range(1, length):
        lines.append(f"%{2 * i - 1} = tanh(%{2 * i - 2});")
        lines.append(f"%{2 * i} = nn.dense(%{2 * i - 1}, %w{i}, units=None);")
    params = ", ".join(f"%w{i}: Tensor[({17 + i}, {16 + i}), float32]" for i in range(length))
    body = "\n".join(lines)[:-1].rsplit("\n", 1)
    last = body[1].split("= ", 1)[1]
    path.write_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 16), float32], {params}) {{\n{body[0]}\n{last}\n}}\n'
    )


def test_long_work_shows_its_stages_on_a_terminal_only(tool, env, tmp_path):
    chain(tmp_path / "long.relay", 80)
    words = [PROGRAM, "compile", tmp_path / "long.relay", "-o", tmp_path / "m.tar"]
    said = errors_on_terminal(list(map(str, words)), {**env, "TESSERA_CACHE": "0"})
    assert "generate code" in said and "kernels" in said and " s  " in said
    assert said.endswith("\r\x1b[K"), "the line is taken away at the end"
    quiet = subprocess.run(words, capture_output=True, text=True, env={**env, "TESSERA_CACHE": "0"}, check=True)
    assert quiet.stderr == ""


def test_a_package_of_objects_is_linked_when_it_is_run(tool, tmp_path):
    from tessera import relay

    x = relay.var("x", shape=(2, 3))
    lib = relay.build(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x))), target="llvm")
    lib.get_lib().export_library(str(tmp_path / "mod.tar"))
    (tmp_path / "mod.json").write_text(lib.get_graph_json())
    (tmp_path / "mod.params").write_bytes(relay.save_param_dict(lib.get_params()))
    with tarfile.open(tmp_path / "m.tar", "w") as archive:  # with pax headers, as tvmc of v0.10 wrote it
        for name in ("mod.tar", "mod.json", "mod.params"):
            archive.add(tmp_path / name, name)
    assert "2.7183" in tool("run", tmp_path / "m.tar", "--fill-mode", "ones")


def test_a_forged_file_of_inputs_asks_for_no_memory(tool, model, tmp_path):
    np.savez_compressed(tmp_path / "in.npz", x=np.zeros((1, 8), "float32"))
    whole = (tmp_path / "in.npz").read_bytes()
    header = whole.index(b"PK\x01\x02")  # of the directory: sizes stand 20 and 24 bytes behind
    forged = whole[: header + 24] + (0xFFFFFFF0).to_bytes(4, "little") + whole[header + 28 :]
    (tmp_path / "in.npz").write_bytes(forged)
    limited = [
        "bash",
        "-c",
        'ulimit -v 2000000; exec "$@"',
        "bash",
        PROGRAM,
        "run",
        model[0],
        "-i",
        tmp_path / "in.npz",
    ]
    told = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert told.returncode == 4 and "in.npz" in told.stderr and "4294967280 bytes" in told.stderr
