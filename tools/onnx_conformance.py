#!/usr/bin/env python
"""Runs ONNX's own backend tests against Tessera and prints how many pass, by operator.

    tools/onnx_conformance.py [--only PATTERN] [--jobs N] [--write docs/onnx_operators.md] [--list failed|wrong]
                              [--target "llvm -mcpu=haswell"]

Every CPU case of the installed onnx package counts. A case passes, is rejected (a clear "not supported"), fails with
another error, or gives a wrong answer. Each worker is a process of its own: what crashes is counted as failed, and the
rest goes on.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import multiprocessing
import re
import sys
import unittest
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

OUTCOMES = ("passed", "rejected", "failed", "wrong")
#: Cases that compare with random numbers of a generator that the standard does not name.
OF_ONE_GENERATOR = re.compile(r"test_bernoulli\w*_expanded_cpu")


@functools.cache
def suite() -> dict[str, unittest.TestCase]:
    """Every CPU case of the package, by name."""
    warnings.simplefilter("ignore")
    import tessera.onnx_backend as backend
    from onnx.backend.test.runner import Runner

    found = {}
    runner: Any = Runner  # it takes a module as well as a class
    package_compare = runner.assert_similar_outputs
    runner.assert_similar_outputs = functools.partial(compare, package_compare)
    for kind in runner(backend, __name__).test_cases.values():
        for name in dir(kind):
            if name.startswith("test_") and name.endswith("_cpu"):
                found[name] = kind(name)
    return found


def compare(
    package: Any, ref_outputs: Any, outputs: Any, rtol: float, atol: float, model_dir: str | None = None
) -> None:
    """What the package compares with, put right where it takes a tensor of a sequence for a list of tensors.

    It cannot compare a sequence that holds a tensor without dimensions, and does not see that one is too short.
    """
    assert len(outputs) == len(ref_outputs), f"{len(outputs)} values, not {len(ref_outputs)}"
    for want, got in zip(ref_outputs, outputs):
        if isinstance(want, (list, tuple)):
            assert isinstance(got, (list, tuple)), "no sequence"
            compare(package, want, got, rtol, atol, model_dir)
        else:
            package([want], [got], rtol, atol, model_dir)


def run_case(name: str, target: str = "llvm") -> tuple[str, str, list[str]]:
    """(outcome, message, operators of the model)."""
    warnings.simplefilter("ignore")
    import tessera.onnx_backend as backend
    from tessera.error import OpError

    operators: list[str] = []
    prepare = backend.prepare
    if OF_ONE_GENERATOR.fullmatch(name):
        return "rejected", "random numbers of an unspecified generator are expected", ["(several)"]

    def noting(model: Any, *args: Any, **kwargs: Any) -> Any:
        operators.extend(sorted({node.op_type for node in model.graph.node}))
        return prepare(model, *args, **{"target": target, **kwargs})

    backend.prepare = noting
    try:
        getattr(suite()[name], name)()
    except AssertionError as error:
        return "wrong", (str(error).strip().splitlines() or ["differs"])[0][:300], operators
    except (OpError, NotImplementedError, unittest.SkipTest) as error:
        return "rejected", str(error).strip().splitlines()[0][:300], operators
    except BaseException as error:
        return "failed", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}", operators
    finally:
        backend.prepare = prepare
    return "passed", "", operators


def run_all(todo: list[str], jobs: int, target: str) -> dict[str, tuple[str, str, list[str]]]:
    """All outcomes. A pool that breaks is made anew, and the cases in flight are run one by one."""
    results: dict[str, tuple[str, str, list[str]]] = {}
    context = multiprocessing.get_context("spawn")
    suspects: list[str] = []
    left = list(todo)
    while left:
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            futures = {pool.submit(run_case, case, target): case for case in left}
            for future in as_completed(futures):
                with contextlib.suppress(BrokenProcessPool):
                    results[futures[future]] = future.result()
                if sys.stderr.isatty():
                    print(f"\r{len(results)} of {len(todo)}", end="", file=sys.stderr)
        missing = [case for case in left if case not in results]
        if len(missing) == len(left) or len(missing) <= 2 * jobs:
            suspects, left = missing, []
        else:
            left = missing
    for case in suspects:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            try:
                results[case] = pool.submit(run_case, case, target).result()
            except BrokenProcessPool:
                results[case] = ("failed", "the process crashed", [])
    return results


def table(results: dict[str, tuple[str, str, list[str]]]) -> str:
    """A Markdown table by operator."""
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for outcome, _, operators in results.values():
        rows[operators[0] if len(operators) == 1 else "(several)"][outcome] += 1
    lines = ["| operator | passed | rejected | failed | wrong |", "|---|---|---|---|---|"]
    for name in sorted(rows):
        lines.append(f"| {name} | " + " | ".join(str(rows[name][outcome]) for outcome in OUTCOMES) + " |")
    return "\n".join(lines)


def main() -> int:
    """The whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a pattern that the names of cases must match")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--write", help="a Markdown file for the table")
    parser.add_argument("--list", default="", help="outcomes whose cases are listed: failed,wrong,rejected")
    parser.add_argument("--target", default="llvm", help="what is compiled for, by default this CPU")
    args = parser.parse_args()
    results = run_all(sorted(name for name in suite() if re.search(args.only, name)), args.jobs, args.target)
    count = collections.Counter(outcome for outcome, _, _ in results.values())
    total = len(results)
    for case, (outcome, message, _) in sorted(results.items()):
        if outcome in args.list.split(","):
            print(f"{outcome:8} {case}: {message}")
    summary = ", ".join(f"{count[outcome]} {outcome}" for outcome in OUTCOMES)
    print(f"{total} cases: {summary}; {100 * count['passed'] / max(total, 1):.1f} % pass")
    if args.write:
        import onnx

        text = (
            "# ONNX operators\n\nWhat ONNX's own backend tests say, written by `make onnx-conformance` with onnx "
            f"{onnx.__version__}.\n\n{total} cases: {summary}.\n\n{table(results)}\n"
        )
        Path(args.write).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
