"""Other runtimes as worker processes of `tessera bench --compare` and `tessera diff MODEL ort`.

The program starts `python bench_peers.py` and speaks with it in lines of JSON, a request and an answer each:

    {"do": "load", "peer": "ort", "model": "m.onnx", "inputs": "x.npz", "threads": 2, "layers": []}
        -> {"name": "onnxruntime", "version": "1.20", "outputs": ["y"], "seconds": 0.3}
    {"do": "run", "count": 10, "number": 1}  -> {"seconds": [0.01, ...]}      means of `number` runs each
    {"do": "save", "file": "y.npz"}          -> {"outputs": 1}                 the results of the last run, by index
    {"do": "quit"}

What goes wrong is answered as {"error": "..."}; a runtime that is not installed as {"error": "...", "missing": true}.
`layers` names values inside the model that are wanted as further outputs, which needs the package onnx.

Nothing of Tessera is imported: the file is run by its path, with whatever Python has the other runtimes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

Inputs = dict[str, Any]


class Missing(Exception):
    """A package is not installed."""


def _need(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise Missing(f"the Python package {package} is not installed for {sys.executable} ({error})") from error


def _with_layers(path: str, layers: list[str]) -> Any:
    """The model file as bytes, with further outputs; just the path where none are wanted."""
    if not layers:
        return path
    onnx = _need("onnx")
    model = onnx.load(path)
    present = {output.name for output in model.graph.output}
    for name in layers:
        if name not in present:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    return model.SerializeToString()


class Ort:
    """ONNX Runtime on the CPU."""

    name = "onnxruntime"

    def __init__(self, model: str, threads: int, layers: list[str]):
        ort = _need("onnxruntime")
        self.version = ort.__version__
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = ort.InferenceSession(_with_layers(model, layers), options, providers=["CPUExecutionProvider"])
        self.outputs = [output.name for output in self.session.get_outputs()]

    def prepare(self, inputs: Inputs) -> Callable[[], list[Any]]:
        known = {i.name for i in self.session.get_inputs()}
        feeds = {name: value for name, value in inputs.items() if name in known}
        return lambda: self.session.run(None, feeds)


class OpenVino:
    """OpenVINO on the CPU."""

    name = "openvino"

    def __init__(self, model: str, threads: int, layers: list[str]):
        openvino = _need("openvino")
        self.version = openvino.__version__
        if layers:
            raise ValueError("layers of a model can be asked of ort only")
        core = openvino.Core()
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.compiled = core.compile_model(core.read_model(model), "CPU", settings)
        self.outputs = [output.get_any_name() for output in self.compiled.outputs]

    def prepare(self, inputs: Inputs) -> Callable[[], list[Any]]:
        request = self.compiled.create_infer_request()
        outputs = self.compiled.outputs

        def run() -> list[Any]:
            results = request.infer(inputs)
            return [results[output] for output in outputs]

        return run


PEERS: dict[str, Any] = {"ort": Ort, "openvino": OpenVino}


class Worker:
    """Answers requests about one runtime at a time."""

    def __init__(self) -> None:
        self.run: Callable[[], list[Any]] | None = None
        self.results: list[Any] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        what = request["do"]
        if what == "load":
            return self.load(request)
        if self.run is None:
            raise ValueError(f"{what}: no model is loaded")
        if what == "run":
            return {"seconds": self.measure(self.run, request["count"], request["number"])}
        if what == "save":
            return self.save(request["file"])
        raise ValueError(f"unknown request {what}")

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        numpy = _need("numpy")
        if request["peer"] not in PEERS:
            raise ValueError(f"there is no peer {request['peer']!r}; there are {', '.join(PEERS)}")
        begin = time.perf_counter()
        peer = PEERS[request["peer"]](request["model"], request["threads"], request.get("layers") or [])
        with numpy.load(request["inputs"]) as file:
            inputs = {name: file[name] for name in file.files}
        self.run = peer.prepare(inputs)
        self.results = self.run()
        seconds = time.perf_counter() - begin
        return {"name": peer.name, "version": peer.version, "outputs": peer.outputs, "seconds": seconds}

    def measure(self, run: Callable[[], list[Any]], count: int, number: int) -> list[float]:
        out = []
        for _ in range(count):
            begin = time.perf_counter()
            for _ in range(number):
                self.results = run()
            out.append((time.perf_counter() - begin) / number)
        return out

    def save(self, file: str) -> dict[str, Any]:
        numpy = _need("numpy")
        numpy.savez(file, **{f"output_{i}": numpy.asarray(value) for i, value in enumerate(self.results)})
        return {"outputs": len(self.results)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        try:
            answer = worker.answer(request)
        except Missing as error:
            answer = {"error": str(error), "missing": True}
        except Exception as error:  # whatever a runtime throws is told to the program that asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
