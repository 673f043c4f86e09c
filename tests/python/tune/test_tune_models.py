"""Tuning models: `tessera tune`, its records, and how they decide about kernels."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.driver import tvmc

PROGRAM = Path(tvm.__file__).parent / "bin" / "tessera"
FAST = ["--number", "1", "--repeat", "1", "--min-repeat-ms", "0", "--compare-seconds", "0"]


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32") / 8


def small_model(channels=32):
    """A convolution and a matmul, with what is fused into them."""
    x = relay.var("x", shape=(1, 16, 14, 14))
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(random(channels, 16, 3, 3)), padding=(1, 1)))
    flat = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))
    out = relay.nn.dense(flat, relay.const(random(24, channels)))
    return tvm.IRModule.from_expr(relay.Function([x], out))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.relay"
    path.write_text(small_model().astext(show_meta_data=True))
    return path


def run(*words, code=0, **options):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def plans_in(mod, records=None, **config):
    """The texts of plans on the kernels of a model."""
    config = {"kernel.shipped_records": False, **config, **({"kernel.records": records} if records is not None else {})}
    with tvm.transform.PassContext(opt_level=3, config=config):
        lib = relay.build(mod, "llvm")
        found = [
            str(text)
            for info in lib.function_metadata.values()
            for program in info.tir_primfuncs.values()
            for text in dict(program.attrs.items()).get("tessera.schedule_plans", [])
        ]
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", random(1, 16, 14, 14))
    module.run()
    return found, module.get_output(0).numpy()


def kernels(mod):
    """Workload, name and the plans of the rules, of each kernel that has any."""
    with tvm.transform.PassContext(opt_level=3):
        found = tvm.get_global_func("tune.ModelKernels")(mod, {}, tvm.target.Target("llvm"))
    for workload, name, _, decisions, _ in found:
        if len(decisions):
            plans = [[str(d[0][0]), {str(k): int(v) for k, v in d[0][1].items()}] for d in decisions]
            yield str(workload), str(name), plans


def convolution(mod):
    return next(each for each in kernels(mod) if "conv2d" in each[1])


def line(workload, plans, **changes):
    fields = {
        "tessera_record": 1,
        "state": "confirmed",
        "kernel": "k",
        "workload": workload,
        "target": "llvm",
        "machine": "m",
        "plans": plans,
        "seconds": [0.001],
        "rule_seconds": 0.002,
        "error": 0,
        "message": "",
    }
    return json.dumps({**fields, **changes}) + "\n"


def moved(plans, **values):
    return [[rule, {**knobs, **{k: v for k, v in values.items() if k in knobs}}] for rule, knobs in plans]


# ---- records decide about kernels ------------------------------------------------------------------------------------


def test_a_record_decides_about_its_kernel_and_no_other():
    mod = small_model()
    by_rules, wanted = plans_in(mod)
    workload, _, plans = convolution(mod)
    recorded, result = plans_in(mod, {workload: moved(plans, columns=2, vectors=1)})
    changed = set(recorded) - set(by_rules)
    assert len(changed) == 1 and re.match(r"contraction\(.*columns=2, vectors=1", changed.pop())
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_records_of_a_file_decide_and_kernels_of_the_cache_do_not_hide_them(tmp_path):
    mod = small_model()
    by_rules, _ = plans_in(mod)
    workload, _, plans = convolution(mod)
    path = tmp_path / "records.jsonl"
    path.write_text(line(workload, moved(plans, columns=1)) + line(workload, moved(plans, columns=2)))
    assert any("columns=2," in text for text in plans_in(mod, str(path))[0])  # the later line counts
    assert plans_in(mod)[0] == by_rules
    path.write_text(line(workload, moved(plans, columns=2), state="trial"))
    assert plans_in(mod, str(path))[0] == by_rules  # what was only tried decides nothing


def test_a_cached_kernel_is_not_taken_for_one_with_a_record():
    mod = small_model(48)
    workload, _, plans = convolution(mod)
    compile_model = tvm.get_global_func("driver.compile_model")

    def code(records):
        config = {"kernel.shipped_records": False, "kernel.records": records}
        options = {"target": tvm.target.Target("llvm"), "pass_config": config}
        text = compile_model(mod, {}, options)["library"].get_source("asm")
        return Counter(re.findall(r"^\t([a-z]\w+)", text, re.M))  # kernels of the cache come in another order

    before = code({})
    assert code({workload: moved(plans, columns=1, vectors=1)}) != before
    assert code({}) == before


def test_a_record_that_does_not_fit_is_told_and_the_rules_plan(capfd):
    mod = small_model()
    workload, _, plans = convolution(mod)
    by_rules, wanted = plans_in(mod)
    for records, why in [
        (moved(plans, vectors=7), "vectors are a divisor"),
        ([["dot", {"rows": 1}]], "does not fit"),
        ([*plans, *plans], "nothing is decided by the rule"),
    ]:
        found, result = plans_in(mod, {workload: records})
        assert found == by_rules
        np.testing.assert_array_equal(result, wanted)
        told = capfd.readouterr().err
        assert "a tuning record does not fit the kernel" in told and why in told


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        ([["no_such_rule", {}]], 'no schedule rule with knobs is called "no_such_rule"'),
        ([["elements", {}]], 'no schedule rule with knobs is called "elements"'),
        ([["contraction", {"rowz": 1}]], 'has no knob "rowz"; it has rows'),
        ([["contraction", {"rows": 0}]], "a whole number from 1"),
        ([["contraction", {"rows": 1 << 40}]], "a whole number from 1"),
        ([["contraction", {"unrolls_window": 2}]], "from 0 to 1"),
        ([["contraction", {"rows": "4"}]], "a whole number"),
        ([["contraction"]], "a plan is"),
        (["contraction"], "a plan is"),
    ],
)
def test_plans_of_records_are_checked(plans, message):
    with (
        pytest.raises(ValueError, match=re.escape(message)),
        tvm.transform.PassContext(config={"kernel.records": {"w": plans}}),
    ):
        pass


def test_broken_and_newer_lines_are_skipped_by_number(tmp_path, model):
    mod = small_model()
    workload, _, plans = convolution(mod)
    path = tmp_path / "records.jsonl"
    good = line(workload, moved(plans, columns=2))
    v0_10 = '{"input": ["llvm", "dense_pack.x86", [], {}], "config": {}, "result": [[1], 0, 1, 1], "version": 0.2}\n'
    bad = [
        "{",
        "[]",
        "nonsense",
        '"text"',
        line("w", [], tessera_record=7).strip(),
        line("w", [["contraction", {"x": 1}]]).strip(),
    ]
    bad += [
        line("w", [], seconds=[-1]).strip(),
        line("w", [], seconds="x").strip(),
        line("w", [], state="maybe").strip(),
        line("w", [], computation=5).strip(),
    ]
    bad += ["[" * 100000, '{"a": ' * 3000, "\x00\xff", line("w", [], message=5).strip(), "x" * 300000]
    path.write_bytes(("\n".join(bad) + "\n" + good + v0_10).encode("latin-1") + good[:40].encode())
    count, found, skipped = tvm.get_global_func("driver.look_at_records")(str(path))
    assert int(count) == 1 and list(found) == [workload]
    numbers = [int(re.match(r"line (\d+): ", str(text)).group(1)) for text in skipped]
    assert numbers == [*range(1, len(bad) + 1), len(bad) + 2, len(bad) + 3]
    assert "its version is 7, and this reads 1" in str(skipped[4])
    assert "a record of AutoTVM" in str(skipped[-2])
    done = run("compile", model, "-o", tmp_path / "m.tar", "--tuning-records", path)
    assert "skipped line 1: " in done.stderr and "more lines" in done.stderr
    assert "none.jsonl" in run("compile", model, "--tuning-records", "none.jsonl", code=4).stderr


SHIPPED = """
import sys
sys.path.insert(0, {folder!r})
from test_tune_models import plans_in, small_model
for use in (True, False):
    print(any("columns=2," in text for text in plans_in(small_model(40), **{{"kernel.shipped_records": use}})[0]))
"""


def test_records_that_come_with_the_package_are_found_and_can_be_left_out():
    workload, _, plans = convolution(small_model(40))
    folder = Path(tvm.__file__).parent / "tuning_records"
    folder.mkdir(exist_ok=True)
    file = folder / f"test_{os.getpid()}.jsonl"
    try:
        file.write_text(line(workload, moved(plans, columns=2)))
        code = SHIPPED.format(folder=str(Path(__file__).parent))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    finally:
        file.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_the_records_of_the_package_are_whole_and_small():
    files = sorted((Path(tvm.__file__).parent / "tuning_records").glob("[!t]*.jsonl"))
    assert files and sum(file.stat().st_size for file in files) <= 2_000_000
    for file in files:
        count, plans, skipped = tvm.get_global_func("driver.look_at_records")(str(file))
        assert int(count) == len(plans) == len(lines_of(file)) and not len(skipped)
        assert all(re.sub(r"\W+", "_", each["machine"].rsplit(" ", 1)[0]) == file.stem for each in lines_of(file))


# ---- the command -----------------------------------------------------------------------------------------------------


def test_a_model_is_tuned_and_its_records_are_used(tmp_path, model):
    log, page = tmp_path / "log.jsonl", tmp_path / "page.html"
    told = json.loads(run("tune", model, "-o", log, "--trials", 6, *FAST, "--report", page, "--json").stdout)
    assert told["trials"] == 6 and len(told["kernels"]) >= 2
    records = lines_of(log)
    trials = [each for each in records if each["state"] == "trial"]
    assert len(trials) == 6 + len(told["kernels"])  # each kernel as it is, and the candidates
    assert all(each["seconds"] or each["error"] for each in trials)
    assert len([each for each in records if each["state"] == "confirmed"]) == told["confirmed"]
    html = page.read_text()
    assert html.startswith("<!DOCTYPE html>") and "<svg" in html and "http" not in html and "<script" not in html
    run("compile", model, "-o", tmp_path / "tuned.tar", "--tuning-records", log)
    run("run", tmp_path / "tuned.tar", "--fill-mode", "ones", "-o", tmp_path / "tuned.npz")
    run("compile", model, "-o", tmp_path / "plain.tar")
    run("run", tmp_path / "plain.tar", "--fill-mode", "ones", "-o", tmp_path / "plain.npz")
    tuned, plain = np.load(tmp_path / "tuned.npz"), np.load(tmp_path / "plain.npz")
    for name in plain:
        np.testing.assert_allclose(tuned[name], plain[name], rtol=1e-4, atol=1e-5)


def test_an_earlier_run_is_resumed(tmp_path, model):
    log = tmp_path / "log.jsonl"
    first = json.loads(run("tune", model, "-o", log, "--trials", 4, *FAST, "--json").stdout)
    count = len(lines_of(log))
    with log.open("a") as file:
        file.write('{"tessera_record": 1, "sta')  # what a killed writer of another kind would leave
    again = json.loads(run("tune", model, "-o", log, "--trials", 3, *FAST, "--json", "--resume").stdout)
    assert again["resumed"] == 4 + len(first["kernels"]) and again["trials"] == 3
    measured = [json.dumps(json.loads(text)["plans"]) + json.loads(text)["workload"] for text in log.read_text().splitlines()
                if text.endswith("}") and json.loads(text)["state"] == "trial"]  # fmt: skip
    assert len(measured) == len(set(measured)) == count - first["confirmed"] + 3  # nothing is measured twice


def test_a_killed_run_leaves_whole_lines_and_an_interrupted_one_ends_well(tmp_path, model):
    log = tmp_path / "log.jsonl"
    words = [PROGRAM, "tune", model, "-o", log, "--trials", "100000", *FAST]

    def started(count):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + 120
        while time.monotonic() < until and not (log.exists() and log.read_text().count("\n") >= count):
            time.sleep(0.02)
        return process

    process = started(4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(lines_of(log))
    assert before >= 4
    words.append("--resume")
    process = started(before + 2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "use it" in out
    assert len(lines_of(log)) > before


def test_what_the_command_is_given_is_checked(tmp_path, model):
    log = tmp_path / "log"
    assert "--output" in run("tune", model, code=2).stderr
    run("tune", model, "-o", log, "--tuner", "fork", code=2)
    for trials in ("-1", "0"):
        assert "--trials" in run("tune", model, "-o", log, "--trials", trials, code=2).stderr
    assert "no folder" in run("tune", model, "-o", tmp_path / "none" / "log", code=4).stderr
    assert "--rpc-key" in run("tune", model, "-o", log, "--runner", "rpc", code=4).stderr
    assert "kernels for CPUs" in run("tune", model, "-o", log, "--target", "opencl", code=4).stderr
    assert not log.exists()


# ---- tvmc ------------------------------------------------------------------------------------------------------------


def test_tvmc_tunes_and_compiles_with_what_it_found(tmp_path):
    model = tvmc.TVMCModel(small_model(), {})
    log = tmp_path / "log.jsonl"
    assert tvmc.tune(model, "llvm", tuning_records=log, trials=2, repeat=1, number=1, parallel=1) == str(log)
    count = len(lines_of(log))
    assert count >= 4
    tvmc.tune(model, "llvm", tuning_records=tmp_path / "more", prior_records=log, trials=1, repeat=1, number=1)
    assert len(lines_of(tmp_path / "more")) < count  # kernels as they are were known
    package = tvmc.compile(model, "llvm", tuning_records=log, package_path=tmp_path / "m.tar")
    outputs = tvmc.run(package, "cpu", inputs={"x": random(1, 16, 14, 14)}).outputs
    np.testing.assert_allclose(outputs["output_0"], plans_in(small_model())[1], rtol=1e-4, atol=1e-5)


def test_plans_that_won_elsewhere_are_tried_after_the_rules_own(tmp_path, model):
    log, elsewhere = tmp_path / "log.jsonl", tmp_path / "elsewhere.jsonl"
    run("tune", model, "-o", log, "--trials", 1, *FAST)
    known = next(each for each in lines_of(log) if "conv2d" in each["kernel"])
    won = moved(known["plans"], columns=2, vectors=1)
    elsewhere.write_text(line("w", won, computation=known["computation"], machine="another 64") + line("x", won))
    again = tmp_path / "again.jsonl"
    run("tune", model, "-o", again, "--trials", 8, "--tuning-records", elsewhere, *FAST)
    tried = [each["plans"] for each in lines_of(again) if each["workload"] == known["workload"]]
    assert tried[:2] == [known["plans"], won]


def test_all_rules_that_fit_a_kernel_are_tried(tmp_path):
    x = relay.var("x", shape=(1, 96))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(random(80, 96)))))
    path, log = tmp_path / "model.relay", tmp_path / "log.jsonl"
    path.write_text(mod.astext(show_meta_data=True))
    with tvm.transform.PassContext(opt_level=3):
        found = tvm.get_global_func("tune.ModelKernels")(mod, {}, tvm.target.Target("llvm"))
    fitting = {str(rule) for _, _, _, decisions, _ in found for decision in decisions for rule, _ in decision}
    run("tune", path, "-o", log, "--trials", 8, *FAST)
    assert len(fitting) > 1
    assert {rule for each in lines_of(log) for rule, _ in each["plans"]} == fitting
