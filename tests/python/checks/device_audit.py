"""Every operator record on a device: calls of its cases, compiled for a target, and compared where a device runs them.

    python tests/python/checks/device_audit.py opencl --out build/audit.json              # all records; goes on where it stopped
    python tests/python/checks/device_audit.py cuda --shard 2/8 --out build/audit-2.json   # a part of them
    python tests/python/checks/device_audit.py "rocm -mcpu=gfx90a" --compile --out ...      # no device: kernels are made and linked

A row of the table is a record and the seed of a call; what went wrong is its text. test_device_records.py runs the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tessera
from random_graphs import CASES, compare, flat, single
from tessera import relay

ARCHITECTURES = {"cuda": "sm_90a", "nvptx": "sm_90", "rocm": "gfx90a"}  # where a target names none


def target_of(text: str) -> Any:
    kind = text.split()[0]
    option = {"cuda": "-arch", "nvptx": "-mcpu", "rocm": "-mcpu"}.get(kind)
    if option and option not in text and not (kind == "cuda" and tessera.cuda(0).exist):
        text += f" {option}={ARCHITECTURES[kind]}"
    return tessera.target.Target(text, host="llvm")


def device_modules(module: Any) -> Iterator[Any]:
    for imported in module.imported_modules:
        yield imported
        yield from device_modules(imported)


def build(name: str, seed: int, target: Any) -> tuple[Any, Any, Any, Any]:
    """The call of a record, its compiled form, by which executor, and its inputs."""
    graph = single(name, seed)
    results = graph.results()
    function, inputs = graph.function(results)
    mod = tessera.IRModule.from_expr(function)
    needs_vm = any(graph.nodes[i].needs_vm for i in results)
    with tessera.transform.PassContext(opt_level=3):
        compiled = relay.vm.compile(mod, target=target) if needs_vm else relay.build(mod, target=target)
    return graph, compiled, needs_vm, [inputs[p.name_hint] for p in function.params]


def run(name: str, seed: int, target: Any, devices: list[Any]) -> None:
    """Raises what goes wrong, a wrong result too."""
    graph, compiled, needs_vm, inputs = build(name, seed, target)
    if needs_vm:
        machine = tessera.runtime.vm.VirtualMachine(compiled, devices)
        machine.set_input("main", *inputs)
        out = flat(machine.run())
    else:
        executor = tessera.contrib.graph_executor.GraphModule(compiled["default"](*devices))
        for i, value in enumerate(inputs):
            executor.set_input(i, value)
        executor.run()
        out = [executor.get_output(i) for i in range(executor.get_num_outputs())]
    for i, got in zip(graph.results(), out):
        compare(got.numpy(), graph.nodes[i].value, graph.nodes[i].slack)


def finish(module: Any, kind: str) -> None:
    """What compilers and linkers of a device say of its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "cuda":
            arch = ARCHITECTURES[kind]
            tessera.get_global_func("runtime.cuda_compile")(module.get_source(), arch, "cubin")
        elif kind == "nvptx":
            path = Path(folder) / "kernels.ptx"
            path.write_text(module.get_source("ptx"))
            succeed(tool("ptxas"), f"-arch={ARCHITECTURES[kind]}", path, "-o", "/dev/null")
        elif kind == "rocm":
            path = Path(folder) / "kernels.hsaco"
            module.save(str(path))
            assert path.read_bytes()[:4] == b"\x7fELF"


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(f"/usr/local/cuda/bin/{name}")
    if not found:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def succeed(*command: Any) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr[:2000]}")


def compile_only(name: str, seed: int, target: Any) -> None:
    _, compiled, needs_vm, _ = build(name, seed, target)
    library = compiled.lib if needs_vm else compiled.get_lib()
    for module in device_modules(library) if library is not None else ():
        if module.type_key in ("cuda", "hip"):
            finish(module, target.kind.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("records", nargs="*", help="names; all by default")
    parser.add_argument("--shard", default="1/1", help="part i of n of the records")
    parser.add_argument("--seeds", type=int, default=1, help="calls of each record")
    parser.add_argument("--compile", action="store_true", help="only make and link the kernels")
    parser.add_argument("--out", type=Path, help="the table, as JSON; what it has already is not done again")
    parser.add_argument("--again", action="store_true", help="what failed in the table is done again")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no record after so many")
    options = parser.parse_args()
    target = target_of(options.target)
    devices = [tessera.device(options.target.split()[0], 0), tessera.cpu()]
    part, parts = map(int, options.shard.split("/"))
    table: dict[str, str] = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    begun = time.monotonic()
    for name in sorted(options.records or CASES)[part - 1 :: parts]:
        for seed in range(options.seeds):
            key = f"{name} {seed}"
            if key in table and not (options.again and table[key]):
                continue
            if time.monotonic() - begun > options.seconds:
                break
            try:
                if options.compile:
                    compile_only(name, seed, target)
                else:
                    run(name, seed, target, devices)
                table[key] = ""
            except Exception as error:  # the other records go on
                table[key] = f"{type(error).__name__}: {error}"
                print(f"{key}: {table[key].splitlines()[0][:300]}", flush=True)
            if options.out:
                options.out.write_text(json.dumps(table, indent=1))
    failed = [key for key, text in table.items() if text]
    print(f"{options.target}: {len(table)} calls, {len(failed)} fail")


if __name__ == "__main__":
    main()
