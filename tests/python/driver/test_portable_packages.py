"""One package for several CPUs: `--cpu x86-64-v2,x86-64-v3,x86-64-v4`; the best that a CPU runs is chosen when it is loaded."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
read_package = tessera.get_global_func("runtime.ReadPackage")

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the CPUs here are x86-64")


def tool(*words, code=0, before=()):
    done = subprocess.run([*before, PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


def best_level():
    has = tessera.get_global_func("runtime.cpu_has")
    return "x86-64-v4" if has("avx512vl") else "x86-64-v3" if has("avx2") else "x86-64-v2"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An embedding, which no CPU lays out anew, and a matmul, which each lays out as it likes."""
    rng = np.random.default_rng(0)
    table, w = rng.standard_normal((500, 64)).astype("float32"), rng.standard_normal((64, 48)).astype("float32")

    def save(name, batch):
        graph = helper.make_graph(
            [helper.make_node("Gather", ["table", "i"], ["e"]), helper.make_node("MatMul", ["e", "w"], ["y"])],
            "net",
            [helper.make_tensor_value_info("i", TensorProto.INT64, [batch])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 48])],
            [numpy_helper.from_array(table, "table"), numpy_helper.from_array(w, "w")],
        )
        path = tmp_path_factory.mktemp("models") / name
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def answer(i):
        return table[i] @ w

    return {"graph": save("fixed.onnx", 4), "vm": save("open.onnx", "n"), "answer": answer, "bytes": table.nbytes}


@pytest.fixture(scope="module", params=["graph", "vm"])
def portable(request, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("packages") / f"{request.param}.tar"
    told = tool("compile", model[request.param], "--cpu", ",".join(LEVELS), "-o", path)
    assert f"for llvm, CPUs {', '.join(LEVELS)}, run by the" in told
    return path


INDICES = np.array([3, 499, 0, 77])


def test_a_portable_package_gives_the_answers_of_the_model(portable, model):
    (y,) = tessera.Model(portable).run(i=INDICES)
    np.testing.assert_allclose(y.numpy(), model["answer"](INDICES), rtol=1e-4, atol=1e-4)


def test_the_best_code_that_this_cpu_runs_is_chosen(portable):
    held = read_package(str(portable))
    assert [str(cpu) for cpu in held["cpus"]] == LEVELS[::-1]
    assert str(held["lib_name"]).startswith(best_level() + "/")


def test_weights_that_are_equal_are_written_once(portable, model):
    with tarfile.open(portable) as archive:
        sizes = {member.name: member.size for member in archive.getmembers()}
        cpus = json.load(archive.extractfile("portable.json"))["cpus"]
    shared = [name for name in sizes if name.startswith("weights/")]
    assert any(model["bytes"] <= sizes[name] < model["bytes"] + 200 for name in shared)
    assert all(set(cpu["weights"].values()) <= set(shared) for cpu in cpus)
    others = [size for name, size in sizes.items() if name not in shared]
    assert max(others) < model["bytes"]  # neither a library nor parameters of one CPU hold the table again


@pytest.mark.parametrize(("emulated", "level"), [("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")])
def test_a_lesser_cpu_takes_what_it_can_run(portable, model, tmp_path, emulated, level):
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("needs qemu-x86_64")
    np.savez(tmp_path / "i.npz", i=INDICES)
    emulator = ["qemu-x86_64", "-cpu", emulated]
    tool("run", portable, "-i", tmp_path / "i.npz", "-o", tmp_path / "y.npz", before=emulator)
    with np.load(tmp_path / "y.npz") as outputs:
        np.testing.assert_allclose(outputs[outputs.files[0]], model["answer"](INDICES), rtol=1e-4, atol=1e-4)
    told = tool("inspect", portable, "--json", before=emulator)
    assert json.loads(told)["chosen_cpu"] == level


def test_where_no_code_fits_the_error_says_what_the_least_of_it_needs(model, tmp_path):
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("needs qemu-x86_64")
    package = tmp_path / "new.tar"
    tool("compile", model["graph"], "--cpu", "x86-64-v3,x86-64-v4", "-o", package)
    told = tool("run", package, code=4, before=["qemu-x86_64", "-cpu", "Nehalem"])
    assert "new.tar/x86-64-v3/mod.so was compiled for x86-64-v3 and needs instructions" in told and "avx2" in told


def test_code_of_each_cpu_is_dumped_under_its_name(model, tmp_path):
    package = tmp_path / "m.tar"
    tool("compile", model["graph"], "--cpu", "x86-64-v2,x86-64-v3", "-o", package, "--dump-code", "asm")
    assert "ymm" in (tmp_path / "m.tar.x86-64-v3.asm").read_text()
    assert "ymm" not in (tmp_path / "m.tar.x86-64-v2.asm").read_text()


def test_compile_says_which_cpu_it_compiled_for(model, tmp_path):
    host = str(tessera.get_global_func("target.llvm_host_cpu")())
    words = ("compile", model["graph"], "-o", tmp_path / "m.tar")
    for more, cpu in (([], host), (["--cpu", "native"], host), (["--cpu", "haswell"], "haswell")):
        assert f" for llvm, CPU {cpu}, run by the graph executor" in tool(*words, *more)
    assert json.loads(tool("inspect", tmp_path / "m.tar", "--json"))["needs"][0]["cpu"] == "haswell"
    assert "CPU cortex-a72" in tool(*words, "--target", "llvm -mtriple=aarch64-linux-gnu", "--cpu", "cortex-a72")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["compile", "--cpu", "x86-64-v9"], '"x86-64-v9" is not a CPU'),
        (["compile", "--cpu", "haswell,haswell"], "--cpu names haswell twice"),
        (["run", "--cpu", "x86-64-v2,x86-64-v3"], "several make a portable package, which `tessera compile` writes"),
        (["compile", "--cpu", "haswell", "--target", "c"], "nothing in the target .* is compiled for one"),
    ],
)
def test_cpus_that_make_no_sense_are_told(model, tmp_path, monkeypatch, words, part):
    monkeypatch.chdir(tmp_path)
    told = tool(*words, model["graph"], code=4)
    assert re.search(part, told)


def test_python_compiles_for_several_cpus(model, tmp_path):
    built = tessera.compile(model["graph"], cpu=LEVELS)
    np.testing.assert_allclose(built.run(INDICES)[0].numpy(), model["answer"](INDICES), rtol=1e-4, atol=1e-4)
    built.save(tmp_path / "m.tar")
    assert [str(cpu) for cpu in read_package(str(tmp_path / "m.tar"))["cpus"]] == LEVELS[::-1]
    (y,) = tessera.Model(tmp_path / "m.tar").run(INDICES)
    np.testing.assert_array_equal(y.numpy(), built.run(INDICES)[0].numpy())
    with pytest.raises(ValueError, match=r"a model for several CPUs is written as a package \(.tar\)"):
        built.save(tmp_path / "m.so")
    tessera.compile(model["graph"], cpu="x86-64-v2").save(tmp_path / "old.so")
    assert str(tessera.get_global_func("runtime.cpu_needs")(str(tmp_path / "old.so"))[0]).endswith(" for x86-64-v2")


def test_tvmc_runs_a_portable_package(portable, model):
    from tessera.driver import tvmc
    from tessera.driver.tvmc.model import TVMCPackage

    result = tvmc.run(TVMCPackage(portable), "cpu", inputs={"i": INDICES})
    np.testing.assert_allclose(next(iter(result.outputs.values())), model["answer"](INDICES), rtol=1e-4, atol=1e-4)
