#!/usr/bin/env python
"""What Python adds to compiling a large model: a transformer of bert_base's size (416 MiB of seeded weights,
common/seeded_models.py) through `relay.frontend.from_onnx` and `relay.build`, beside `tessera compile` of the same file.

    python bench/python_costs.py [--layers 12] [--rounds 3]

Every row is a process of its own, the least wall time of all rounds; memory is the peak of the process. The kernel cache is
filled before the first round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from common.seeded_models import Bert

_BEGIN = """
import sys, time, resource
path = sys.argv[1]
def told(start):
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_IMPORT = """
start = time.perf_counter()
import tessera
from tessera import relay
"""
_LOAD = {
    "a path": "model = path",
    "a ModelProto": "import onnx; model = onnx.load(path)",
    "bytes": "model = open(path, 'rb').read()",
}
_FROM_ONNX = "mod, params = relay.frontend.from_onnx(model)"
_BUILD = """
with tessera.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params)
"""


def programs() -> dict[str, str]:
    """What is measured, by name: from `start` to `told`."""
    rows = {
        "import numpy": "start = time.perf_counter()\nimport numpy\ntold(start)",
        "import tessera": "start = time.perf_counter()\nimport tessera\ntold(start)",
        "import tessera, relay": _IMPORT + "told(start)",
        "import tessera.as_tvm; import tvm": "start = time.perf_counter()\nimport tessera.as_tvm\nimport tvm\ntold(start)",
    }
    for name, load in _LOAD.items():
        rows[f"from_onnx of {name}"] = "\n".join(
            [_IMPORT, load, "start = time.perf_counter()", _FROM_ONNX, "told(start)"]
        )
        rows[f"from_onnx and build of {name}"] = "\n".join(
            [_IMPORT, load, "start = time.perf_counter()", _FROM_ONNX, _BUILD, "told(start)"]
        )
    rows["build alone"] = "\n".join(
        [_IMPORT, _LOAD["a path"], _FROM_ONNX, "start = time.perf_counter()", _BUILD, "told(start)"]
    )
    return rows


def python_cost(code: str, path: Path) -> tuple[float, int]:
    """Seconds and MiB."""
    said = subprocess.run([sys.executable, "-c", _BEGIN + code, path], capture_output=True, check=True).stdout.split()
    return float(said[-2]), int(said[-1]) >> 10


def program_cost(*words: Any) -> tuple[float, int]:
    import tessera

    program = Path(tessera.__file__).parent / "bin" / "tessera"
    start = time.perf_counter()
    child = subprocess.Popen([program, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"tessera {words[0]} failed")
    return time.perf_counter() - start, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description="What Python adds to compiling a large model.")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # in a process of its own: peaks are inherited
    args = parser.parse_args()
    if args.write:
        return Bert(args.layers).save(args.write)
    with tempfile.TemporaryDirectory() as folder:
        path, package = Path(folder) / "bert.onnx", Path(folder) / "bert.tar"
        os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
        subprocess.run([sys.executable, __file__, "--layers", str(args.layers), "--write", path], check=True)
        print(f"the file has {path.stat().st_size >> 20} MiB")
        rows = {name: partial(python_cost, code, path) for name, code in programs().items()}
        rows["tessera compile"] = partial(program_cost, "compile", path, "-o", package)
        rows["tessera compile"]()
        best: dict[str, tuple[float, int]] = {}
        for _ in range(args.rounds):
            for name, cost in rows.items():
                best[name] = min(best.get(name, (float("inf"), 0)), cost())
    for name, (seconds, peak) in best.items():
        print(f"{name:44}{seconds:8.2f} s{peak:8} MiB")


if __name__ == "__main__":
    main()
