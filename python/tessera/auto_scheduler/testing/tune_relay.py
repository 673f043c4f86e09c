"""Tunes a model of `meta_schedule.testing.relay_workload` ("resnet_18")."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...meta_schedule.testing.relay_workload import get_network
from ._search import parser, tune_model

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """The program."""
    words = parser(__doc__ or "")
    words.add_argument("--workload", required=True, help="a name that get_network takes")
    words.add_argument("--input-shape", type=json.loads, required=True, help="as JSON: [1, 3, 224, 224]")
    words.add_argument("--layout", default=None)
    words.add_argument("--cache-dir", default=None)
    args = words.parse_args(argv)
    mod, params, (name, shape, dtype) = get_network(
        args.workload, args.input_shape, layout=args.layout, cache_dir=args.cache_dir
    )
    args.work_dir.mkdir(parents=True, exist_ok=True)
    inputs = [{"name": name, "shape": list(shape), "dtype": dtype}]
    tune_model(mod, params, inputs, args, args.work_dir / f"{args.workload}.json")


if __name__ == "__main__":
    main()
