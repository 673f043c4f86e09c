"""Records that ship: a change of the compiler that makes other keys of kernels, so that they match nothing any more, is noticed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import tessera as tvm
from tessera import relay
from tessera.driver import tvmc

TOOL = Path(__file__).resolve().parents[3] / "tools" / "tuning_records.py"
SHIPPED = Path(tvm.__file__).parent / "tuning_records"
TARGET = "llvm -mcpu=skylake-avx512 -num-cores=4"


def model():
    x = relay.var("x", shape=(1, 16, 14, 14))
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(np.ones((32, 16, 3, 3), "float32")), padding=(1, 1)))
    y = relay.nn.conv2d(y, relay.const(np.ones((32, 1, 3, 3), "float32")), groups=32, channels=32, kernel_size=(3, 3))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(y, relay.const(np.ones((64, 32), "float32")))))


def keys_of(mod, target):
    """[key on this machine, key on every machine, machine] by the names of kernels."""
    target = tvm.target.Target(target)
    kernels, keys = (tvm.get_global_func(name) for name in ("tune.ModelKernels", "tune.KernelKeys"))
    with tvm.transform.PassContext(opt_level=3):
        return {str(each[1]): [str(key) for key in keys(each[2], target)] for each in kernels(mod, {}, target)}


#: Where these change, records that ship may be of no kernel any more. `tools/tuning_records.py --check` with the models of
#: bench/models.py says whether they are; if so they have to be made again. Then the keys here are to be changed.
KEYS = {
    "fused_layout_transform": "587956d433064fde203261edfb780e51",
    "fused_nn_contrib_conv2d_NCHWc_nn_relu": "bc6af3b81d316ed37a8cb1f80e6e6f23",
    "fused_nn_contrib_depthwise_conv2d_NCHWc": "774d62b742ee8705bbd3adb47cb0e608",
    "fused_nn_global_avg_pool2d": "a3578567fc7c7c881b3070d9ef119f5a",
    "fused_reshape": "0563fce0280a76fd607b6f67ef4d03a5",
    "fused_nn_dense": "2e5d7392abe3f0c452e926cd5ca5df7b",
}


def test_kernels_have_the_keys_that_shipped_records_know_them_by():
    found = keys_of(model(), TARGET)
    assert {name: key for name, (_, key, _) in found.items()} == KEYS
    assert {machine for _, _, machine in found.values()} == {"skylake-avx512 avx512 4"}
    others = keys_of(model(), TARGET.replace("4", "2"))
    assert {key for key, _, _ in found.values()}.isdisjoint(key for key, _, _ in others.values())


def test_the_tool_tells_which_records_no_kernel_asks_for(tmp_path):
    tvmc.TVMCModel(model(), {}).save(tmp_path / "model.tar")
    (line, *_) = next(SHIPPED.glob("*.jsonl")).read_text().splitlines()
    spec = importlib.util.spec_from_file_location("tuning_records", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    machine = "skylake-avx512 avx512 4"
    known = sorted(tool.workloads(str(tmp_path / "model.tar"), machine))
    records = [
        {**json.loads(line), "workload": key, "machine": machine, "kernel": name}
        for key, name in ((known[0], "there"), ("0" * 32, "gone"))
    ]
    folder = tmp_path / "records"
    folder.mkdir()

    def told(wanted):
        (folder / "cpu.jsonl").write_text("".join(json.dumps(each) + "\n" for each in wanted))
        words = [sys.executable, TOOL, "--check", tmp_path / "model.tar", "--folder", folder]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    code, text = told(records)
    assert code == 1 and "1 of 2 records" in text and f"no kernel asks for gone {'0' * 32}" in text
    code, text = told(records[:1])
    assert code == 0 and "1 of 1 records" in text


def test_shipped_records_are_confirmed_and_small():
    files = list(SHIPPED.glob("*.jsonl"))
    assert files and sum(file.stat().st_size for file in files) < 2_000_000
    for file in files:
        for line in file.read_text().splitlines():
            record = json.loads(line)
            assert record["state"] == "confirmed" and record["tessera_record"] == 1 and record["plans"]
