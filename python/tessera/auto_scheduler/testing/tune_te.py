"""Tunes a workload of `meta_schedule.testing.te_workload` by its name ("GMM") or one of its sizes ("GMM-0")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import auto_scheduler
from ...meta_schedule.testing.te_workload import CONFIGS
from ..workload_registry import register_workload
from ._search import options, parser

__all__ = ["main"]


@register_workload
def te_workload(name: str, index: int) -> list[Any]:
    """The tensors of a workload of a name, with its sizes of an index."""
    make, sizes = CONFIGS[name]
    return list(make(*sizes[index]))


def main(argv: Sequence[str] | None = None) -> None:
    """The program."""
    words = parser(__doc__ or "")
    words.add_argument("--workload", required=True, help=", ".join(CONFIGS))
    args = words.parse_args(argv)
    name, _, index = args.workload.partition("-")
    if name not in CONFIGS or not (index or "0").isdigit() or int(index or 0) >= len(CONFIGS[name][1]):
        words.error(f"no workload {args.workload}; there are {', '.join(CONFIGS)}, and -0, -1, ... for their sizes")
    args.work_dir.mkdir(parents=True, exist_ok=True)
    log = args.work_dir / f"{args.workload}.json"
    task = auto_scheduler.SearchTask(func="te_workload", args=(name, int(index or 0)), target=args.target)
    print(f"Computational DAG:\n{task.compute_dag}")
    task.tune(options(args, log), adaptive_training=args.adaptive_training)
    print(task.print_best(str(log)))


if __name__ == "__main__":
    main()
