"""Who is measured: each function gives one that runs a model of ONNX once. And how: in turns, the smallest time counts."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np

PEERS = {"ort": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch", "compile": "torch.compile"}
# Seconds in which the threads of the contender before stop waiting for more work: OpenBLAS's and libgomp's spin for 20 to
# 35 ms, and take CPUs from the next one meanwhile.
PAUSE = 0.06

Inputs = Mapping[str, np.ndarray]
Run = Callable[[], Any]  # gives the outputs as arrays
Model = Path | bytes  # a file, or what is in it


def tessera_runner(model: Model, inputs: Inputs, facts: dict[str, Any], bound: bool = False, **context: Any) -> Run:
    """Adds to `facts`: operations of the products and sums of the model, and seconds of compiling it. `bound`: inputs and
    outputs lie in the memory of an executor, so that nothing is copied but by the model. `context`: more of the PassContext."""
    import tessera
    from tessera import relay
    from tessera.contrib import graph_executor

    start = time.perf_counter()
    if isinstance(model, bytes):
        import onnx

        mod, params = relay.frontend.from_onnx(onnx.load_from_string(model))
    else:
        mod, params = relay.frontend.from_onnx(os.fspath(model))
    try:
        facts["operations"] = 2 * relay.analysis.get_total_mac_number(mod["main"])
        compiler = relay.build
    except ValueError:  # extents are known when it runs
        facts["operations"] = math.nan
        compiler = relay.vm.compile
    with tessera.transform.PassContext(opt_level=3, **context):
        built = compiler(mod, "llvm", params=params)
    facts["compile_s"] = time.perf_counter() - start
    if bound:
        executor = graph_executor.GraphModule(built["default"](tessera.cpu()))
        executor.set_input(**inputs)

        def run() -> list[np.ndarray]:
            executor.run()
            return [np.from_dlpack(executor.get_output(i)) for i in range(executor.get_num_outputs())]

        return run
    compiled = tessera.Model(built)
    tensors = {name: tessera.nd.array(value) for name, value in inputs.items()}
    return lambda: [np.from_dlpack(out) for out in compiled.run(tensors)]


def ort_runner(model: Model, inputs: Inputs, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    source = model if isinstance(model, bytes) else os.fspath(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(inputs))


def openvino_runner(model: Model, inputs: Inputs, threads: int) -> Run:
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
    }
    core = openvino.Core()
    source = core.read_model(model) if isinstance(model, bytes) else os.fspath(model)
    request = core.compile_model(source, "CPU", options).create_infer_request()

    def run() -> list[np.ndarray]:
        request.infer(inputs, share_inputs=True, share_outputs=True)
        return [tensor.data for tensor in request.output_tensors]

    return run


def installed(makers: Mapping[str, Callable[[], Run]], peers: Sequence[str]) -> dict[str, Run]:
    """The peers that are there and take the model; what is not, or does not, is said."""
    out = {}
    for peer in peers:
        try:
            out[peer] = makers[peer]()
        except Exception as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            print(f"  {PEERS.get(peer, peer)} is left out: {why[-1]}", file=sys.stderr)
    return out


def difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    """The greatest difference over the greatest magnitude, of the worst output."""
    return max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in zip(got, want))


def shortest(
    runs: Mapping[str, Run], clock: Callable[[], float], rounds: int, seconds: float, most: int = 200
) -> dict[str, float]:
    """The smallest time of each; all run in turns, each for about `seconds` a round and at most `most` times."""
    counts = {}
    for who, run in runs.items():
        once = math.inf
        for _ in range(3):  # the first may wait for memory or a CPU
            start = time.perf_counter()
            run()
            once = min(once, time.perf_counter() - start)
        counts[who] = max(1, min(most, int(seconds / max(once, 1e-6))))
    best = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for who, run in runs.items():
            time.sleep(PAUSE)
            for _ in range(counts[who]):
                start = clock()
                run()
                best[who] = min(best[who], clock() - start)
    return best


def geomean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def child_environment(threads: int) -> dict[str, str]:
    """Thread pools read their size once, from the environment."""
    names = [f"{prefix}_NUM_THREADS" for prefix in ("TVM", "OPENBLAS", "OMP", "MKL")]
    return dict(os.environ) | dict.fromkeys(names, str(threads))
