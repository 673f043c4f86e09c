#!/usr/bin/env python
"""Makes 8-bit models of exported ones with ONNX Runtime's own quantiser.

    python tests/frameworks/quantize.py --out FOLDER [--activations uint8|int8] NAME...

FOLDER/NAME.onnx, which export.py writes (and writes here where it is missing), becomes FOLDER/NAME_int8.onnx, with inputs to
go with it: QuantizeLinear and DequantizeLinear around each operator. Weights are int8 with a scale for each channel and all
eight bits in use; activations have one scale and zero point each, found from random inputs like the model's own. A name
that ends in _dynamic asks for what quantize_dynamic makes by its defaults: ranges are found at run time
(DynamicQuantizeLinear, MatMulInteger, ConvInteger). A file that exists is left as it is.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_dynamic,
    quantize_static,
)

SUFFIX, DYNAMIC = "_int8", "_dynamic"
SEED = 11


class RandomInputs(CalibrationDataReader):
    """Inputs like the example's: normally distributed floats, other elements of the example in another order."""

    def __init__(self, example: dict[str, np.ndarray], count: int) -> None:
        self.random = np.random.default_rng(SEED)
        self.example = example
        self.left = count

    def get_next(self) -> dict[str, np.ndarray] | None:
        if self.left == 0:
            return None
        self.left -= 1
        return {name: self.like(value) for name, value in self.example.items()}

    def like(self, value: np.ndarray) -> np.ndarray:
        if np.issubdtype(value.dtype, np.floating):
            return self.random.standard_normal(value.shape).astype(value.dtype)
        return self.random.permutation(value.reshape(-1)).reshape(value.shape)


def quantize(name: str, folder: Path, activations: str, samples: int) -> Path:
    source, target = folder / f"{name}.onnx", folder / f"{name}{SUFFIX}.onnx"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        prepared, made = Path(scratch) / "prepared.onnx", Path(scratch) / "made.onnx"
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        quantize_static(
            prepared,
            made,
            RandomInputs(dict(np.load(source.with_suffix(".npz"))), samples),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=False,
            weight_type=QuantType.QInt8,
            activation_type=QuantType.QInt8 if activations == "int8" else QuantType.QUInt8,
        )
        shutil.copyfile(source.with_suffix(".npz"), target.with_suffix(".npz"))
        made.rename(target)
    return target


def quantize_by_run_time(name: str, folder: Path) -> Path:
    source, target = folder / f"{name}.onnx", folder / f"{name}{DYNAMIC}.onnx"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            prepared, made = Path(scratch) / "prepared.onnx", Path(scratch) / "made.onnx"
            quant_pre_process(source, prepared, skip_symbolic_shape=True)
            quantize_dynamic(prepared, made)
            shutil.copyfile(source.with_suffix(".npz"), target.with_suffix(".npz"))
            made.rename(target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description="8-bit models by ONNX Runtime's quantiser.")
    parser.add_argument("names", nargs="+", help="models of export.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--activations", choices=["uint8", "int8"], default="uint8")
    parser.add_argument("--samples", type=int, default=4, help="inputs that ranges are found from")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    names = [name.removesuffix(SUFFIX).removesuffix(DYNAMIC) for name in args.names]
    if missing := [name for name in names if not (args.out / f"{name}.onnx").exists()]:
        command = [sys.executable, Path(__file__).with_name("export.py"), "--out", args.out, *missing]
        if status := subprocess.run(command, check=False).returncode:
            return status
    for given, name in zip(args.names, names):
        if given.endswith(DYNAMIC):
            print(quantize_by_run_time(name, args.out))
        else:
            print(quantize(name, args.out, args.activations, args.samples))
    return 0


if __name__ == "__main__":
    sys.exit(main())
