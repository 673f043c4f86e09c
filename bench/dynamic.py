#!/usr/bin/env python
"""One program for all extents beside programs for the extents at hand, all ours, one thread.

    python bench/dynamic.py                  # all operators
    python bench/dynamic.py Softmax Resize   # those whose name has one of these in it
    .venv-torch/bin/python bench/dynamic.py --models             # whole models (common/open_models.py)
    .venv-torch/bin/python bench/dynamic.py --models resnet18 lstm

A case is a model of one operator or a short chain (op_cases/dynamic.py), or a whole model that PyTorch exports
(tests/frameworks/export_open.py, with --models), at three shapes. The program of dynamic extents is one for all of them; each shape also
has a program of its own. All run in turns, and the smallest CPU time counts. A ratio is the time of the fixed form over the dynamic
one's: 1 is the aim, 0.75 the least. Answers are compared.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from common.contenders import Run, difference, geomean, shortest
from common.open_models import OPEN_MODELS

ROUND_SECONDS = 0.02  # each form runs about this long in a round
FURTHEST = 3e-4  # of one answer from the other, relative to the greatest magnitude
LEAST = 0.75  # of a ratio
WARM_UP = 4
REPOSITORY = Path(__file__).resolve().parent.parent


def machine_of(mod: Any, params: Any) -> Any:
    """The virtual machine in both forms: what calling costs is the same then."""
    import tessera
    from tessera import relay

    with tessera.transform.PassContext(opt_level=3):
        built = relay.vm.compile(mod, "llvm", params=params)
    return tessera.runtime.vm.VirtualMachine(built, tessera.cpu())


def runner(machine: Any, inputs: dict[str, np.ndarray]) -> Run:
    import tessera

    tensors = {name: tessera.nd.array(value) for name, value in inputs.items()}

    def run() -> list[np.ndarray]:
        machine.set_input("main", **tensors)
        machine.invoke_stateful("main")
        return [np.from_dlpack(out) for out in machine.get_outputs()]

    return run


class Case:
    """A program for all shapes, those for one each, which are compiled when they are measured, and inputs."""

    def __init__(self, name: str, dynamic: Any, fixed: Iterable[Any], inputs: list[dict[str, np.ndarray]]) -> None:
        self.name, self.inputs = name, inputs
        self.dynamic, self.fixed = machine_of(*dynamic), fixed

    def shapes(self) -> list[str]:
        return [" ".join("x".join(map(str, x.shape)) for x in list(each.values())[:2]) for each in self.inputs]

    def measure(self, rounds: int, seconds: float) -> list[dict[str, float]]:
        out = []
        for inputs, fixed, shape in zip(self.inputs, self.fixed, self.shapes()):
            runs = {"fixed": runner(machine_of(*fixed), inputs), "dynamic": runner(self.dynamic, inputs)}
            for run in [*runs.values()] * WARM_UP:  # memory is planned for a shape when it comes again
                run()
            apart = difference(runs["dynamic"](), runs["fixed"]())
            if not apart <= FURTHEST:
                raise SystemExit(f"{self.name} {shape}: the answers are {apart:.1e} apart")
            out.append(shortest(runs, time.process_time, rounds, seconds, most=1000))
        return out


def operator_cases(only: list[str]) -> Iterable[Case]:
    import onnx
    from op_cases.dynamic import cases
    from tessera import relay

    load = lambda model: relay.frontend.from_onnx(onnx.load_from_string(model))  # noqa: E731
    for case in cases():
        if not only or any(part in case.name for part in only):
            yield Case(case.name, load(case.dynamic), map(load, case.fixed), case.inputs)


def model_cases(only: list[str], folder: Path) -> Iterable[Case]:
    import onnx
    from tessera import relay

    sys.path.insert(0, str(REPOSITORY / "tests" / "frameworks"))
    import export
    import export_open  # noqa: F401

    for name, shapes in OPEN_MODELS.items():
        if only and not any(part in name for part in only):
            continue
        path = export.export(name, folder)
        given = dict(np.load(path.with_suffix(".npz")))
        graph_inputs = onnx.load(path, load_external_data=False).graph.input
        inputs = []
        for extents in shapes:
            each = {}
            for info in graph_inputs:
                dims = info.type.tensor_type.shape.dim
                shape = [extents[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
                each[info.name] = np.resize(given[info.name], shape)  # repeats what is there
            inputs.append(each)
        load = lambda shape, path=path: relay.frontend.from_onnx(os.fspath(path), shape=shape)  # noqa: E731
        fixed = (load({key: x.shape for key, x in each.items()}) for each in inputs)
        yield Case(name, load(None), fixed, inputs)


def main() -> int:
    parser = argparse.ArgumentParser(description="Dynamic extents beside fixed ones.")
    parser.add_argument("only", nargs="*", help="parts of names of cases; all unless given")
    parser.add_argument("--models", action="store_true", help="whole models instead of operators")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "models", help="of exported models")
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    os.environ.setdefault("TESSERA_NUM_THREADS", "1")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    print(f"{'':56}{'fixed, ms':>30}{'dynamic, ms':>30}{'ratio':>20}")
    ratios = []
    cases = model_cases(args.only, args.folder) if args.models else operator_cases(args.only)
    for case in cases:
        best = case.measure(args.rounds, 0.3 if args.models else ROUND_SECONDS)
        each = [row["fixed"] / row["dynamic"] for row in best]
        ratios += each
        times = "".join(f"{row[form] * 1e3:>10.4f}" for form in ("fixed", "dynamic") for row in best)
        mark = "  below" if min(each) < LEAST else ""
        print(f"{case.name:56}{times}  {''.join(f'{ratio:>6.2f}' for ratio in each)}{mark}", flush=True)
    print(f"{'geomean':118}{geomean(ratios):>6.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
