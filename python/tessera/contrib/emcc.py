"""WebAssembly by Emscripten."""

from __future__ import annotations

import subprocess
from typing import Any

__all__ = ["create_tvmjs_wasm"]


def create_tvmjs_wasm(output: str, objects: Any, options: Any = None, cc: str = "emcc") -> None:
    """Links objects into a module for the web."""
    command = [cc, "-O3", "-std=c++17", "-s", "ERROR_ON_UNDEFINED_SYMBOLS=0", "-s", "STANDALONE_WASM=1"]
    command += ["--no-entry", "-s", "ALLOW_MEMORY_GROWTH=1", "-o", output]
    command += [objects] if isinstance(objects, str) else list(objects)
    command += list(options or [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"linking failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
