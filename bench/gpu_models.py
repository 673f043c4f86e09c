#!/usr/bin/env python
"""Whole models on a GPU beside `torch.compile(mode="reduce-overhead")`, by turns, each launched as one CUDA graph.

    python bench/gpu_models.py                                  # PyTorch and Tessera in this interpreter
    python3 bench/gpu_models.py --ours 'gpu-bundle/python3'     # Tessera in another one, as tools/gpu_bundle.py packs it
    python3 bench/gpu_models.py resnet50 bert --precisions float16 --libs "" cublas,cudnn --out models.json
    python3 bench/gpu_models.py resnet50_1_ --exports models --prepare    # beside others, for caches of compilers

Models are those of torchvision and transformers with random weights of a seed, exported to ONNX there. `--libs` names columns: vendor
kernels that the target may use, "" for none but our own, "measured:cublas,cudnn" where measurements choose them. Each round times
PyTorch and all columns, warm, between events or waits of the device; the
median of the rounds counts. Outputs are compared where both have computed them; geometric means of the ratios are printed last.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gpu import Ours, torch_seconds

MODELS = ["resnet50", "mobilenet_v2", "vit_b_16", "bert"]
IMAGES, SENTENCES = [[1], [64]], [[1, 128], [16, 512]]
ROUND_SECONDS = 0.1
OPSET = 17


def cases(words: list[str], precisions: list[str]) -> list[dict[str, Any]]:
    """Those that the first word names come first."""
    out = []
    for model in MODELS:
        for size in SENTENCES if model == "bert" else IMAGES:
            for precision in precisions:
                name = f"{model}_{'x'.join(map(str, size))}_{precision}"
                rank = next((i for i, word in enumerate(words or [""]) if word in name), None)
                if rank is not None:
                    out.append({"name": name, "model": model, "size": size, "precision": precision, "rank": rank})
    return sorted(out, key=lambda case: case["rank"])


# ---- Tessera, in its process -----------------------------------------------------------------------------------------


def build(command: dict[str, Any]) -> Any:
    import tessera
    from tessera import relay
    from tessera.contrib.cuda_graph import cuda_graph_executor

    mod, params = relay.frontend.from_onnx(command["onnx"])
    passes = []
    if command["precision"] != "float32":
        passes += [relay.transform.InferType(), relay.transform.ToMixedPrecision(command["precision"])]
    how, _, names = command["libs"].rpartition(":")
    config = {"relay.ToMixedPrecision.keep_orig_output_dtype": True, "cuda.measure_kernels": how == "measured"}
    config["cuda.allow_tf32"] = command["tf32"]
    with tessera.transform.PassContext(opt_level=3, config=config):
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
        mod = tessera.transform.Sequential(passes)(mod)
        libs = f" -libs={names}" if names else ""
        lib = relay.build(mod, tessera.target.Target("cuda" + libs, host="llvm"))
    device = tessera.cuda(0)
    return cuda_graph_executor.GraphModuleCudaGraph(lib["cuda_graph_create"](device)), lib


def serve() -> None:
    """Answers commands, a line of JSON each: build a model, time what was built."""
    import numpy as np
    import tessera

    device = tessera.cuda(0)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is no answer
    module: Any = None
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any]
        try:
            if "onnx" in command:
                module = None
                start = time.perf_counter()
                module, lib = build(command)
                inputs = np.load(command["inputs"])
                module.run(**{name: inputs[name] for name in inputs.files})
                device.sync()
                rules: dict[str, int] = {}
                for info in lib.function_metadata.values():
                    for program in info.tir_primfuncs.values():
                        rule = str(dict(program.attrs.items()).get("tessera.schedule_rule", ""))
                        rules[rule] = rules.get(rule, 0) + 1
                np.save(command["output"], module.get_output(0).numpy().astype("float32"))
                answer = {"compile": time.perf_counter() - start, "rules": rules}
            else:
                for _ in range(2):
                    module.run_cuda_graph()
                device.sync()
                start = time.perf_counter()
                for _ in range(command["count"]):
                    module.run_cuda_graph()
                device.sync()
                answer = {"seconds": (time.perf_counter() - start) / command["count"]}
        except Exception as error:  # the other models go on
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


# ---- PyTorch, in this process ----------------------------------------------------------------------------------------


def torch_model(torch: Any, case: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model, in evaluation mode, and its inputs by name."""
    torch.manual_seed(0)
    if case["model"] == "bert":
        import transformers

        config = transformers.BertConfig(return_dict=False, attn_implementation="sdpa")
        model = transformers.BertModel(config, add_pooling_layer=False)

        class Encoder(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, ids: Any) -> Any:
                return self.model(ids)[0]

        return Encoder().eval(), {"ids": torch.randint(0, config.vocab_size, case["size"])}
    import torchvision

    model = getattr(torchvision.models, case["model"])(weights=None)
    if case["model"] == "vit_b_16":  # it begins with zeros, and any answer would be right
        torch.nn.init.normal_(model.heads.head.weight, std=0.05)
    for part in model.modules():  # statistics of nothing would let activations grow
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_var.uniform_(0.5, 1.5)
            part.running_mean.uniform_(-0.1, 0.1)
    return model.eval(), {"x": torch.randn(*case["size"], 3, 224, 224)}


def export(torch: Any, case: dict[str, Any], folder: Path) -> None:
    import numpy as np

    model, inputs = torch_model(torch, case)
    names = list(inputs)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that ONNX does not know
    with torch.no_grad():
        torch.onnx.export(
            model,
            tuple(inputs.values()),
            str(folder / "model.onnx"),
            input_names=names,
            opset_version=OPSET,
            dynamo=False,
        )
    torch.backends.mha.set_fastpath_enabled(True)
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in inputs.items()})


def measure(
    torch: Any, ours: dict[str, Ours], case: dict[str, Any], rounds: int, exports: Path | None
) -> dict[str, Any]:
    import numpy as np

    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = exports / f"{case['model']}_{'x'.join(map(str, case['size']))}" if exports else Path(name)
        if not (folder / "inputs.npz").exists():  # written last
            folder.mkdir(parents=True, exist_ok=True)
            export(torch, case, folder)
        model, inputs = torch_model(torch, case)
        dtype = getattr(torch, case["precision"])
        model = model.cuda().to(dtype)
        if case["model"] != "bert" and case["precision"] != "float32":
            model = model.to(memory_format=torch.channels_last)
        inputs = {k: v.cuda().to(dtype) if v.is_floating_point() else v.cuda() for k, v in inputs.items()}
        compiled = torch.compile(model, mode="reduce-overhead")
        args = tuple(inputs.values())

        def theirs() -> Any:
            torch.compiler.cudagraph_mark_step_begin()
            return compiled(*args)

        def built(libs: str) -> dict[str, Any]:
            return ours[libs].ask(
                onnx=str(folder / "model.onnx"),
                inputs=str(folder / "inputs.npz"),
                output=str(output(libs)),
                precision=case["precision"],
                tf32=torch.backends.cuda.matmul.allow_tf32,
                libs=libs,
            )

        def output(libs: str) -> Path:
            return Path(name) / f"{list(ours).index(libs)}.npy"

        with torch.no_grad(), ThreadPoolExecutor(len(ours)) as threads:  # all compile at once
            waiting = {libs: threads.submit(built, libs) for libs in ours}
            out = theirs()
            columns = {libs: each.result() for libs, each in waiting.items()}
            good = [libs for libs, column in columns.items() if "error" not in column and rounds]
            for _ in range(50 if rounds else 2):
                out = theirs()
            wanted = out.float().cpu().numpy()
            times: dict[str, Any] = {"torch": lambda count: torch_seconds(torch, theirs, count)}
            times.update({libs: lambda count, libs=libs: ours[libs].ask(count=count)["seconds"] for libs in good})
            counts = {key: max(3, min(200, int(ROUND_SECONDS / time(3)))) for key, time in times.items()}
            seconds: dict[str, list[float]] = {key: [] for key in times}
            for _ in range(rounds):
                for key, time in times.items():
                    seconds[key].append(time(counts[key]))
            for libs in good:
                error = np.abs(np.load(output(libs)) - wanted).max() / max(1e-9, np.abs(wanted).max())
                columns[libs] |= {
                    "ours": statistics.median(seconds[libs]),
                    "torch": statistics.median(seconds["torch"]),
                    "error_of_greatest": float(error),
                }
    torch.compiler.reset()
    torch.cuda.empty_cache()
    return {"name": case["name"], "columns": columns}


def line_of(name: str, libs: str, column: dict[str, Any]) -> str:
    label = f"{name:28} {libs or 'own':21}"
    if "error" in column:
        return f"{label} {column['error'].splitlines()[0][:150]}"
    if "ours" not in column:
        return f"{label} compile {column['compile']:.0f} s"
    ratio = column["torch"] / column["ours"]
    return (
        f"{label} {column['ours'] * 1e3:9.3f} {column['torch'] * 1e3:9.3f} ms ratio {ratio:5.2f} "
        f"error {column['error_of_greatest']:.1e} compile {column['compile']:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="cases whose names contain one of these; all by default")
    parser.add_argument("--ours", default=sys.executable, help="the interpreter that has Tessera, with its arguments")
    parser.add_argument("--precisions", nargs="+", default=["float32", "float16"])
    parser.add_argument(
        "--libs", nargs="+", default=["", "cublas,cudnn"], help='vendor kernels of each column, "" for none'
    )
    parser.add_argument("--tf32", action="store_true", help="both sides may multiply float32 as TF32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--exports", type=Path, help="a folder that keeps the models, for other runs")
    parser.add_argument("--prepare", action="store_true", help="export and compile, and time nothing")
    parser.add_argument("--out", type=Path, help="a file for all numbers, as JSON")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    import torch

    if not torch.cuda.is_available():
        sys.exit("bench/gpu_models.py needs a CUDA device and a PyTorch that sees it")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.tf32
    torch.backends.cudnn.benchmark = True
    rounds = 0 if options.prepare else options.rounds
    ours = {libs: Ours(shlex.split(options.ours), Path(__file__)) for libs in options.libs}
    results = []
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}: ours, PyTorch, ratio of times (above 1: we are faster)"
    )
    for case in cases(options.cases, options.precisions):
        try:
            results.append(measure(torch, ours, case, rounds, options.exports))
        except Exception as error:  # an export that fails
            results.append({"name": case["name"], "columns": {"": {"error": f"{type(error).__name__}: {error}"}}})
        for libs, column in results[-1]["columns"].items():
            print(line_of(case["name"], libs, column), flush=True)
        if options.out:
            options.out.write_text(json.dumps({"device": torch.cuda.get_device_name(), "results": results}))
    for libs in options.libs:
        columns = [result["columns"].get(libs, {}) for result in results]
        ratios = [column["torch"] / column["ours"] for column in columns if "ours" in column]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"geometric mean of {len(ratios)} ratios, {libs or 'own kernels'}: {mean:.2f}")


if __name__ == "__main__":
    main()
