"""Tunes a model of an ONNX file."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from ...relay.frontend import from_onnx
from ._search import parser, shapes_of, tune_model

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """The program."""
    words = parser(__doc__ or "")
    words.add_argument("--model-name", required=True, help="what the log is called")
    words.add_argument("--onnx-path", required=True)
    words.add_argument(
        "--input-shape", type=shapes_of, required=True, help='[{"name": .., "dtype": .., "shape": [..]}]'
    )
    args = words.parse_args(argv)
    model = importlib.import_module("onnx").load(args.onnx_path)
    shapes = {each["name"]: each["shape"] for each in args.input_shape}
    mod, params = from_onnx(model, shapes, freeze_params=True)
    args.work_dir.mkdir(parents=True, exist_ok=True)
    tune_model(mod, params, args.input_shape, args, args.work_dir / f"{args.model_name}.json")


if __name__ == "__main__":
    main()
