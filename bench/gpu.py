#!/usr/bin/env python
"""Kernels on a GPU beside PyTorch's, by turns: rows, transposes, matmuls, convolutions, attention, top-k, chosen boxes.

    python bench/gpu.py                                    # PyTorch and Tessera in this interpreter
    python3 bench/gpu.py --ours 'gpu-bundle/python3'       # Tessera in another one, as tools/gpu_bundle.py packs it
    python3 bench/gpu.py softmax gemm --rounds 5 --out gpu.json
    python3 bench/gpu.py gemm_f16_4096 --knobs '{"gemm": {"stages": 3}}'

Each side runs in a process of its own: this one has PyTorch, the other one Tessera, and both have the same inputs. A round times
one and then the other, after both are warm, each for some milliseconds without a pause; the median of the rounds counts.
Results of Tessera are compared with PyTorch's at some thousand elements. Bandwidth is that of what has to be read and
written once; a copy on the device is the ceiling, timed in each round too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "int32": 4}
SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}
SAMPLES = 4096
IOU = 0.5  # of boxes that exclude each other
ROUND_SECONDS = 0.03  # each side of a round runs about this long


def case(
    name: str, op: str, shapes: list[list[int]], dtype: str = "float32", flops: float = 0, **attrs: Any
) -> dict[str, Any]:
    return {"name": name, "op": op, "shapes": shapes, "dtype": dtype, "flops": flops, **attrs}


def gemm(n: int, dtype: str, out: str | None = None, m: int = 0) -> dict[str, Any]:
    m = m or n
    return case(
        f"gemm_{SHORT[dtype]}_{m}x{n}" if m != n else f"gemm_{SHORT[dtype]}_{n}",
        "dense",
        [[m, n], [n, n]],
        dtype,
        2.0 * m * n * n,
        out=out,
    )


def conv(
    name: str, n: int, c: int, size: int, out: int, kernel: int, dtype: str, layout: str, groups: int = 1
) -> dict[str, Any]:
    data = [n, size, size, c] if layout == "NHWC" else [n, c, size, size]
    each = c // groups
    weight = [kernel, kernel, each, out] if layout == "NHWC" else [out, each, kernel, kernel]
    if layout == "NHWC" and groups == c > 1:  # HWOI
        weight = [kernel, kernel, out, each]
    flops = 2.0 * n * out * size * size * each * kernel * kernel
    return case(name, "conv2d", [data, weight], dtype, flops, layout=layout, kernel=kernel, channels=out, groups=groups)


CASES = [
    case("softmax_1024", "softmax", [[131072, 1024]]),
    case("softmax_4096", "softmax", [[32768, 4096]]),
    case("softmax_32768", "softmax", [[4096, 32768]]),
    case("softmax_50257", "softmax", [[4096, 50257]]),
    case("softmax_f16_4096", "softmax", [[65536, 4096]], "float16"),
    case("layer_norm_1024", "layer_norm", [[131072, 1024], [1024], [1024]]),
    case("layer_norm_8192", "layer_norm", [[16384, 8192], [8192], [8192]]),
    case("sum_rows_4096", "sum", [[32768, 4096]], axis=1),
    case("sum_rows_128", "sum", [[1048576, 128]], axis=1),
    case("sum_columns", "sum", [[16384, 8192]], axis=0),
    case("sum_all", "sum", [[16384, 8192]], axis=None),
    case("transpose", "transpose", [[16384, 8192]], axes=[1, 0]),
    case("transpose_f16", "transpose", [[16384, 16384]], "float16", axes=[1, 0]),
    case("nchw_to_nhwc", "transpose", [[64, 64, 181, 181]], axes=[0, 2, 3, 1]),
    case("relu_add", "relu_add", [[16384, 8192], [16384, 8192]]),
    *[gemm(n, "float32") for n in (2048, 4096, 8192)],
    *[{**gemm(n, "float32"), "name": f"gemm_tf32_{n}", "tf32": True} for n in (2048, 4096, 8192)],
    *[gemm(n, dtype) for dtype in ("float16", "bfloat16") for n in (2048, 4096, 8192)],
    gemm(4096, "int8", "int32"),
    gemm(4096, "float16", m=16),
    case("bmm_f16_96x512x512x64", "batch_matmul", [[96, 512, 64], [96, 512, 64]], "float16", 2.0 * 96 * 512 * 512 * 64),
    conv("conv3x3_f16_nhwc", 32, 64, 56, 64, 3, "float16", "NHWC"),
    conv("conv3x3_256_f16_nhwc", 32, 256, 28, 256, 3, "float16", "NHWC"),
    conv("conv3x3_f32_nchw", 32, 64, 56, 64, 3, "float32", "NCHW"),
    {**conv("conv3x3_tf32_nchw", 32, 64, 56, 64, 3, "float32", "NCHW"), "tf32": True},
    conv("conv1x1_f16_nhwc", 32, 256, 56, 64, 1, "float16", "NHWC"),
    conv("depthwise3x3_f16_nhwc", 32, 144, 56, 144, 3, "float16", "NHWC", groups=144),
    conv("depthwise3x3_f32_nchw", 32, 144, 56, 144, 3, "float32", "NCHW", groups=144),
    case("attention_bf16", "attention", [[128, 4096, 128]] * 3, "bfloat16", 4.0 * 128 * 4096 * 4096 * 128),
    case("topk_10_64x50257", "topk", [[64, 50257]], k=10),
    case("topk_100_64x50257", "topk", [[64, 50257]], k=100),
    case("sort_64x50257", "topk", [[64, 50257]], k=50257),
    case("cumsum_64x50257", "cumsum", [[64, 50257]]),
    case("nms_1000", "nms", [[1, 1000, 4], [1, 1, 1000]]),
    case("nms_5000", "nms", [[1, 5000, 4], [1, 1, 5000]]),
]


def moved_bytes(c: dict[str, Any]) -> int:
    """What has to be read and written once."""
    inputs = sum(math.prod(shape) for shape in c["shapes"]) * BYTES[c["dtype"]]
    first = math.prod(c["shapes"][0])
    outputs = {"softmax": first, "layer_norm": first, "transpose": first, "relu_add": first, "cumsum": first}.get(
        c["op"], 0
    )
    if c["op"] == "sum" and c["axis"] is not None:
        outputs = first // c["shapes"][0][c["axis"]]
    return inputs + outputs * BYTES[c["dtype"]]


# ---- Tessera, in its process -----------------------------------------------------------------------------------------


def relay_of(c: dict[str, Any]) -> Any:
    from tessera import relay

    x = [relay.var(f"x{i}", relay.TensorType(shape, c["dtype"])) for i, shape in enumerate(c["shapes"])]
    op = c["op"]
    if op == "softmax":
        body = relay.nn.softmax(x[0])
    elif op == "layer_norm":
        body = relay.nn.layer_norm(x[0], x[1], x[2])
    elif op == "sum":
        body = relay.sum(x[0], axis=c["axis"])
    elif op == "transpose":
        body = relay.transpose(x[0], c["axes"])
    elif op == "relu_add":
        body = relay.nn.relu(x[0] + x[1])
    elif op == "dense":
        body = relay.nn.dense(x[0], x[1], out_dtype=c.get("out") or "")
    elif op == "batch_matmul":
        body = relay.nn.batch_matmul(x[0], x[1])
    elif op == "attention":
        scores = relay.nn.batch_matmul(x[0], x[1]) * relay.cast(relay.const(c["shapes"][0][-1] ** -0.5), c["dtype"])
        body = relay.nn.batch_matmul(relay.nn.softmax(scores), x[2], transpose_b=False)
    elif op == "topk":
        body = relay.topk(x[0], c["k"], axis=-1, dtype="int64").astuple()
    elif op == "cumsum":
        body = relay.cumsum(x[0], axis=-1)
    elif op == "nms":
        chosen = relay.vision.all_class_non_max_suppression(
            x[0], x[1], relay.const(-1, "int64"), relay.const(IOU), relay.const(float("-inf"))
        )
        body = relay.Tuple([relay.take(chosen[0], relay.const(2, "int64"), axis=1), chosen[1]])
    else:
        body = relay.nn.conv2d(
            x[0],
            x[1],
            padding=c["kernel"] // 2,
            channels=c["channels"],
            kernel_size=c["kernel"],
            groups=c["groups"],
            data_layout=c["layout"],
            kernel_layout="OIHW" if c["layout"] == "NCHW" else "HWIO" if c["groups"] == 1 else "HWOI",
        )
    return relay.Function(x, body)


def inputs_of(c: dict[str, Any]) -> list[Any]:
    import numpy as np

    rng = np.random.default_rng(len(c["name"]))
    if c["op"] == "nms":  # boxes of an image of 1000 x 1000, most of them overlap some others
        first, size = rng.uniform(0, 1000, (c["shapes"][0][1], 2)), rng.uniform(10, 200, (c["shapes"][0][1], 2))
        boxes = np.concatenate([first, first + size], 1).astype("float32").reshape(c["shapes"][0])
        return [boxes, rng.permutation(c["shapes"][1][2]).astype("float32").reshape(c["shapes"][1])]
    out = []
    for shape in c["shapes"]:
        block = rng.random(min(math.prod(shape), 1 << 22), dtype="float32") - np.float32(0.5)
        if c["dtype"] == "int8":
            block = (block * 16).astype("int8")
        elif c["dtype"] == "bfloat16":  # the upper halves of floats
            block = (block.view("uint32") >> 16).astype("uint16")
        else:
            block = block.astype(c["dtype"], copy=False)
        out.append(np.resize(block, shape))
    return out


def serve() -> None:
    """Answers commands, a line of JSON each: build a case, time what was built."""
    import numpy as np
    import tessera
    from tessera import relay
    from tessera.contrib import graph_executor

    device = tessera.cuda(0)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is no answer
    module: Any = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "case" in command:
                c, folder = command["case"], Path(command["folder"])
                start = time.perf_counter()
                config = {"kernel.knobs": c.get("knobs", {}), "cuda.allow_tf32": c.get("tf32", False)}
                with tessera.transform.PassContext(opt_level=3, config=config):
                    lib = relay.build(
                        tessera.IRModule.from_expr(relay_of(c)), tessera.target.Target("cuda", host="llvm")
                    )
                module = None
                module = graph_executor.GraphModule(lib["default"](device))
                values = inputs_of(c)
                for i, value in enumerate(values):
                    value.tofile(folder / f"x{i}")
                    if c["dtype"] == "bfloat16":
                        value = tessera.nd.empty(value.shape, "bfloat16", device).copyfrom(value)
                    module.set_input(i, value)
                module.run()
                device.sync()
                seconds = time.perf_counter() - start
                out = module.get_output(0).numpy().reshape(-1)
                if c["dtype"] == "bfloat16" and out.dtype == np.uint16:
                    out = (out.astype("uint32") << 16).view("float32")
                at = np.random.default_rng(0).integers(0, out.size, SAMPLES)
                programs = [p for info in lib.function_metadata.values() for p in info.tir_primfuncs.values()]
                plans = [str(t) for p in programs for t in dict(p.attrs.items()).get("tessera.schedule_plans", [])]
                rules = [str(p.attrs["tessera.schedule_rule"]) for p in programs]
                answer = {
                    "at": at.tolist(),
                    "values": out[at].astype("float64").tolist(),
                    "rules": rules,
                    "plans": plans,
                    "compile": seconds,
                }
            else:
                run, count = module.run, command["count"]
                for _ in range(2):
                    run()
                device.sync()
                start = time.perf_counter()
                for _ in range(count):
                    run()
                device.sync()
                answer = {"seconds": (time.perf_counter() - start) / count}
        except Exception as error:  # the other cases go on
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


class Ours:
    """The process with Tessera."""

    def __init__(self, command: list[str], script: Path = Path(__file__)) -> None:
        self.process = subprocess.Popen(
            [*command, str(script.resolve()), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the process with Tessera ended")
        return json.loads(line)


# ---- PyTorch, in this process ----------------------------------------------------------------------------------------


def torch_function(torch: Any, c: dict[str, Any], x: list[Any]) -> Any:
    op, f = c["op"], torch.nn.functional
    if op == "softmax":
        return lambda: torch.softmax(x[0], -1)
    if op == "layer_norm":
        return lambda: f.layer_norm(x[0], x[1].shape, x[1], x[2])
    if op == "sum":
        return (lambda: x[0].sum()) if c["axis"] is None else (lambda: x[0].sum(c["axis"]))
    if op == "transpose":
        return lambda: x[0].permute(c["axes"]).contiguous()
    if op == "relu_add":
        return lambda: torch.relu_(x[0] + x[1])
    if op == "dense":
        if c["dtype"] == "int8":
            return lambda: torch._int_mm(x[0], x[1].t())
        return lambda: f.linear(x[0], x[1])
    if op == "batch_matmul":
        return lambda: torch.bmm(x[0], x[1].transpose(1, 2))
    if op == "attention":
        q, k, v = (each.unsqueeze(0) for each in x)
        return lambda: f.scaled_dot_product_attention(q, k, v)
    if op == "topk":
        if c["k"] == c["shapes"][0][1]:
            return lambda: torch.sort(x[0], -1, descending=True)[0]
        return lambda: torch.topk(x[0], c["k"])[0]
    if op == "cumsum":
        return lambda: torch.cumsum(x[0], -1)
    if op == "nms":
        import torchvision

        return lambda: torchvision.ops.nms(x[0][0], x[1][0, 0], IOU)
    data, weight = x
    if c["layout"] == "NHWC":
        out_in = (3, 2, 0, 1) if c["groups"] == 1 else (2, 3, 0, 1)
        data, weight = (
            data.permute(0, 3, 1, 2),
            weight.permute(out_in).contiguous(memory_format=torch.channels_last),
        )
    return lambda: f.conv2d(data, weight, padding=c["kernel"] // 2, groups=c["groups"])


def torch_seconds(torch: Any, run: Any, count: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    start.record()
    for _ in range(count):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / count


def torch_inputs(torch: Any, c: dict[str, Any], folder: Path) -> list[Any]:
    out = []
    for i, shape in enumerate(c["shapes"]):
        dtype = getattr(torch, c["dtype"])
        host = torch.from_file(str(folder / f"x{i}"), shared=False, size=math.prod(shape), dtype=dtype)
        out.append(host.reshape(shape).cuda())
    return out


def measure(torch: Any, ours: Ours, c: dict[str, Any], rounds: int, copies: list[float]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        built = ours.ask(case=c, folder=folder)
        if "error" in built:
            return {"name": c["name"], "error": built["error"]}
        x = torch_inputs(torch, c, Path(folder))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = c.get("tf32", False)
    theirs = torch_function(torch, c, x)
    out = theirs()
    if c["op"] == "conv2d" and c["layout"] == "NHWC":
        out = out.permute(0, 2, 3, 1)
    if c["op"] == "nms":  # ours has a place for each box
        out = torch.nn.functional.pad(out, (0, c["shapes"][1][2] - out.numel()))
    wanted = out.reshape(-1)[torch.tensor(built["at"], device="cuda") % out.numel()].double().cpu().tolist()
    worst = max(abs(a - b) for a, b in zip(built["values"], wanted)) / max(1e-9, max(map(abs, wanted)))
    if c["knobs"] and not built["plans"]:
        return {"name": c["name"], "error": f"the knobs {c['knobs']} do not fit"}
    repeats = lambda once: max(3, min(200, int(ROUND_SECONDS / once)))  # noqa: E731
    count, our_count = repeats(torch_seconds(torch, theirs, 2)), repeats(ours.ask(count=1)["seconds"])
    seconds: dict[str, list[float]] = {"ours": [], "torch": []}
    source = torch.empty(1 << 28, device="cuda").normal_()
    target = torch.empty_like(source)
    for _ in range(rounds):
        seconds["ours"].append(ours.ask(count=our_count)["seconds"])
        seconds["torch"].append(torch_seconds(torch, theirs, count))
        copies.append(2 * source.numel() * 4 / torch_seconds(torch, lambda: target.copy_(source), 5))
    result = {key: statistics.median(values) for key, values in seconds.items()}
    return {
        "name": c["name"],
        **result,
        "error_of_greatest": worst,
        "bytes": moved_bytes(c),
        "flops": c["flops"],
        "rules": built["rules"],
        "plans": built["plans"],
        "compile": built["compile"],
    }


def line_of(r: dict[str, Any]) -> str:
    if "error" in r:
        return f"{r['name']:24} {r['error'].splitlines()[0][:150]}"
    if r["flops"]:
        work = f"{r['flops'] / r['ours'] / 1e12:8.1f} {r['flops'] / r['torch'] / 1e12:8.1f} TFLOP/s"
    else:
        work = f"{r['bytes'] / r['ours'] / 1e12:8.2f} {r['bytes'] / r['torch'] / 1e12:8.2f} TB/s   "
    return f"{r['name']:24} {r['ours'] * 1e3:9.4f} {r['torch'] * 1e3:9.4f} ms {work} ratio {r['torch'] / r['ours']:5.2f} error {r['error_of_greatest']:.1e} {' '.join(r['plans'])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="cases whose names contain one of these; all by default")
    parser.add_argument("--ours", default=sys.executable, help="the interpreter that has Tessera, with its arguments")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--knobs", type=json.loads, default={}, help="knobs of rules, as kernel.knobs takes them")
    parser.add_argument("--variants", help="a file of JSON: a list of [case, knobs], instead of the cases")
    parser.add_argument("--out", type=Path, help="a file for all numbers, as JSON")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    import torch

    if not torch.cuda.is_available():
        sys.exit("bench/gpu.py needs a CUDA device and a PyTorch that sees it")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    chosen = [
        {**c, "knobs": options.knobs}
        for c in CASES
        if not options.cases or any(word in c["name"] for word in options.cases)
    ]
    if options.variants:
        by_name = {c["name"]: c for c in CASES}
        chosen = [{**by_name[name], "knobs": knobs} for name, knobs in json.loads(Path(options.variants).read_text())]
    random.seed(0)
    ours, copies, results = Ours(shlex.split(options.ours)), [], []
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}: ours, PyTorch, ratio of times (above 1: we are faster)"
    )
    for c in chosen:
        results.append(measure(torch, ours, c, options.rounds, copies))
        print(line_of(results[-1]), flush=True)
        torch.cuda.empty_cache()
        if options.out:
            options.out.write_text(
                json.dumps(
                    {
                        "device": torch.cuda.get_device_name(),
                        "results": results,
                        "copy": statistics.median(copies or [0]),
                    }
                )
            )
    if copies:
        print(f"a copy on the device: {statistics.median(copies) / 1e12:.2f} TB/s")


if __name__ == "__main__":
    main()
