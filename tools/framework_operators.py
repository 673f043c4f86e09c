#!/usr/bin/env python
"""Runs every operator of a framework's list against the framework, and writes the table of docs/operators_by_framework.md.

    .venv-NAME/bin/python tools/framework_operators.py --framework NAME [--only OPERATOR ...] [--write docs/operators_by_framework.md]

`make operators-by-framework FRAMEWORK=NAME` does that in the framework's virtual environment. The cases are in
`tools/framework_cases/NAME.py`; see its `__init__.py`. They run in a process of their own, which is started again where one
of them ends it. Only the section of this framework is written; the others stay as they are.

An operator is `ok` where all of its cases agree with the oracle, `wrong` where one answers something else or crashes, and
`rejected` where one is not supported or where there is no case.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools")]
HEAD = """# Operators by framework

Each operator of a framework's list, imported, compiled for this CPU and run against the framework itself.
`make operators-by-framework FRAMEWORK=name` writes a section; it needs the framework's virtual environment.
The error is the greatest difference relative to the largest output, over all cases of the operator.
"""
SECONDS = 300  # for one case


@dataclass
class Result:
    """What came of an operator."""

    operator: str
    state: str
    error: float | None = None
    note: str = ""

    def row(self) -> str:
        error = "" if self.error is None else f"{self.error:.1e}"
        return f"| {self.operator} | {self.state} | {error} | {self.note} |"


def run_case(case: Any) -> dict[str, Any]:
    """State, error and a note of one case."""
    from framework_cases import difference, within_steps

    try:
        pairs = list(case.run())
        apart = max((difference(got, want) for got, want in pairs), default=float("inf"))
        is_close = pairs and all(
            difference(got, want) <= case.tolerance or within_steps(got, want, case.steps) for got, want in pairs
        )
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        name = type(error).__name__
        state = "rejected" if "NotImplemented" in name or "UnImplemented" in name else "wrong"
        return {"state": state, "note": f"{case.name}: {name}: {lines[0][:120]}"}
    if is_close:
        return {"state": "ok", "error": apart}
    return {"state": "wrong", "error": apart, "note": f"{case.name}: error {apart:.1e}"}


def serve(module: Any) -> None:
    """Runs the cases whose numbers come in, one a line, and answers with a line of JSON each."""
    cases = list(module.cases())
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a framework prints is no answer
    for line in sys.stdin:
        print(json.dumps(run_case(cases[int(line)])), file=answers, flush=True)


class Worker:
    """A process that runs cases; a new one after each that ended it."""

    def __init__(self, framework: str) -> None:
        self.command = [sys.executable, __file__, "--framework", framework, "--serve"]
        self.process: subprocess.Popen[str] | None = None

    def run(self, index: int, name: str) -> dict[str, Any]:
        import threading

        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        process = self.process
        assert process.stdin and process.stdout
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{index}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if answer:
            return dict(json.loads(answer))
        code = process.wait()
        self.process = None
        return {"state": "wrong", "note": f"{name}: the process ended with {code}"}

    def close(self) -> None:
        if self.process and self.process.stdin:
            self.process.stdin.close()
            self.process.wait()


def merged(operator: str, outcomes: list[dict[str, Any]]) -> Result:
    """One row of all cases of an operator."""
    if not outcomes:
        return Result(operator, "rejected", None, "no case")
    worst = next((o for state in ("wrong", "rejected") for o in outcomes if o["state"] == state), None)
    errors = [o["error"] for o in outcomes if o.get("error") is not None]
    note = (worst or {}).get("note", "").replace("|", "/").replace("\n", " ")
    return Result(operator, worst["state"] if worst else "ok", max(errors, default=None), note)


def section(module: Any, results: list[Result]) -> str:
    """The section of a framework."""
    lines = [f"## {module.TITLE}", "", f"Oracle: {module.ORACLE}.", ""]
    lines += ["| operator | state | error | note |", "| --- | --- | --- | --- |"]
    return "\n".join(lines + [result.row() for result in results]) + "\n"


def summary(sections: dict[str, str]) -> str:
    """Shares of all frameworks."""
    lines = ["| framework | operators | ok | rejected | wrong | share |", "| --- | --- | --- | --- | --- | --- |"]
    for title, text in sorted(sections.items()):
        states = [line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| ")][2:]
        counts = [states.count(state) for state in ("ok", "rejected", "wrong")]
        share = 100 * counts[0] / max(len(states), 1)
        lines.append(f"| {title} | {len(states)} | {counts[0]} | {counts[1]} | {counts[2]} | {share:.1f} % |")
    return "\n".join(lines) + "\n"


def with_section(page: str, title: str, text: str) -> str:
    """The page with the section of one framework replaced or added, and the shares counted anew."""
    sections = {part.split("\n", 1)[0]: "## " + part.rstrip("\n") + "\n" for part in page.split("\n## ")[1:]}
    sections[title] = text
    return HEAD + "\n" + summary(sections) + "\n" + "\n".join(sections[name] for name in sorted(sections))


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the operators of a framework against it.")
    parser.add_argument("--framework", required=True, help="a module of tools/framework_cases")
    parser.add_argument("--only", nargs="+", default=[], help="operators; nothing is written then")
    parser.add_argument("--write", type=Path, help="the page whose section is written")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    module = importlib.import_module(f"framework_cases.{args.framework}")
    if args.serve:
        serve(module)
        return 0
    cases = list(module.cases())
    unknown = sorted({case.operator for case in cases} - set(module.OPERATORS))
    if unknown:
        raise SystemExit(f"cases of operators that are not in the list: {', '.join(unknown)}")
    worker = Worker(args.framework)
    outcomes: dict[str, list[dict[str, Any]]] = {name: [] for name in module.OPERATORS}
    start = time.perf_counter()
    for index, case in enumerate(cases):
        if args.only and case.operator not in args.only:
            continue
        outcome = worker.run(index, case.name)
        outcomes[case.operator].append(outcome)
        if outcome["state"] != "ok":
            print(f"{case.operator:30} {outcome['state']:9} {outcome.get('note', '')}", flush=True)
    worker.close()
    results = [merged(name, outcomes[name]) for name in module.OPERATORS if not args.only or name in args.only]
    count = sum(result.state == "ok" for result in results)
    print(f"{module.TITLE}: {count} of {len(results)} operators are ok, {time.perf_counter() - start:.0f} s")
    if args.write and not args.only:
        page = args.write.read_text() if args.write.exists() else ""
        args.write.write_text(with_section(page, module.TITLE, section(module, results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
