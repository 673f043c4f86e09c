#!/usr/bin/env python
"""Models that nobody chose: ten drawn from torchvision's and transformers' lists, beside ONNX Runtime and OpenVINO.

    .venv-torch/bin/python bench/draw.py --list                    # what is drawn, and from how many
    .venv-torch/bin/python bench/draw.py --threads 1 --clock processor
    .venv-torch/bin/python bench/draw.py --seed rehearsal          # another draw, to try it

Both lists are sorted and merged, and every name that the tree mentions is taken out: the tree of the last commit that changed
code (`CODE`), so that what is written about a draw does not change it. The seed is the hash of that commit: names come in the order of
SHA-256 of "seed name", and the first ten are drawn. tests/frameworks/export_any.py exports them; bench/models.py measures
them. A model that could not be exported, compiled or run counts as 0 and says why.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import models
from common.contenders import geomean

REPOSITORY = models.REPOSITORY
CODE = ("src", "include", "python", "cmake", "CMakeLists.txt")
COUNT = 10
SECONDS = 900  # of an export


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, check=True).stdout


def last_code_commit() -> str:
    return git("log", "-1", "--format=%H", "--", *CODE).decode().strip()


def listed() -> list[str]:
    """All names, KIND/NAME, sorted."""
    from torchvision.models import list_models
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return sorted(
        [f"torchvision/{name}" for name in list_models()] + [f"transformers/{name}" for name in CONFIG_MAPPING_NAMES]
    )


def texts_of(commit: str) -> Iterator[str]:
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as files:
        for member in files:
            if member.isfile():
                yield files.extractfile(member).read().decode(errors="replace")


def mentioned(names: Iterable[str], texts: Iterable[str]) -> set[str]:
    """Those that a text has as a word, whatever the case."""
    words = {name: name.split("/", 1)[1].lower() for name in names}
    plain = {word for word in words.values() if re.fullmatch(r"\w+", word)}
    patterns = {word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in set(words.values()) - plain}
    found: set[str] = set()
    for text in texts:
        lower = text.lower()
        found |= plain & set(re.findall(r"\w+", lower))
        found |= {word for word, pattern in patterns.items() if word in lower and pattern.search(lower)}
    return {name for name, word in words.items() if word in found}


def drawn(names: list[str], seed: str, count: int) -> list[str]:
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())[:count]


def reason(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error" in line]
    return (errors or lines or ["no reason given"])[-1].strip()[:200]


def measured(name: str, threads: int, args: argparse.Namespace, cpus: list[int]) -> dict[str, Any]:
    """What bench/models.py measured, or why there is nothing."""
    file = name.replace("/", ".")
    path = args.models / f"{file}.onnx"
    if not path.exists():
        script = REPOSITORY / "tests" / "frameworks" / "export_any.py"
        try:
            run = subprocess.run(
                [sys.executable, script, "--out", args.models, name],
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return {"model": name, "why": f"no ONNX file: the export took more than {SECONDS} s"}
        if run.returncode != 0:
            return {"model": name, "why": f"no ONNX file: {reason(run.stderr)}"}
    result = models.run_child(file, threads, args, cpus)
    if not result:
        return {"model": name, "why": "it was not compiled, or not run"}
    if not any(peer in result["seconds"] for peer in args.peers.split(",")):
        return {"model": name, "why": "no peer takes its file"}
    return {**result, "model": name}


def print_results(results: list[dict[str, Any]], threads: int, peers: list[str]) -> None:
    print(f"\n{threads} thread{'s' * (threads > 1)}; a ratio is the other's time over ours, 0 where there is none")
    best_of_all = []
    for row in results:
        if "why" in row:
            print(f"{row['model']:44}{'0':>9}   {row['why']}")
            continue
        ours, others = row["seconds"]["tessera"], {p: row["seconds"][p] for p in peers if p in row["seconds"]}
        best_of_all.append(min(others.values()) / ours)
        ratios = "".join(f"  {p} {t / ours:.2f}" for p, t in others.items())
        print(f"{row['model']:44}{ours * 1e3:>9.2f} ms{ratios}  apart {row['difference']['tessera']:.0e}")
    if best_of_all:
        print(
            f"of the better one: geomean {geomean(best_of_all):.2f} of {len(best_of_all)}, least {min(best_of_all):.2f}; ",
            end="",
        )
    print(f"{len(results) - len(best_of_all)} of {len(results)} are 0")


def main() -> int:
    parser = argparse.ArgumentParser(description="Ten models drawn by the hash of the last commit that changed code.")
    parser.add_argument("--list", action="store_true", help="only print what is drawn")
    parser.add_argument("--commit", help="draw as of this commit; the last one that changed code unless given")
    parser.add_argument("--seed", help="another seed than the hash of that commit")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--threads", default="1", help="such as 1,2")
    parser.add_argument("--peers", default="ort,openvino")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--models", type=Path, default=REPOSITORY / "build" / "drawn", help="folder of exported models")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "bench", help="folder for draw.json")
    args = parser.parse_args()
    args.switches = ""
    commit = args.commit or last_code_commit()
    names = listed()
    left = sorted(set(names) - mentioned(names, texts_of(commit)))
    chosen = drawn(left, args.seed or commit, args.count)
    print(f"commit {commit}, seed {args.seed or commit}: {len(chosen)} of {len(left)} names ({len(names)} listed)")
    print("\n".join(f"  {name}" for name in chosen), flush=True)
    if args.list:
        return 0
    cpus, everything = sorted(os.sched_getaffinity(0)), []
    for threads in map(int, args.threads.split(",")):
        results = []
        for name in chosen:
            results.append(measured(name, threads, args, cpus))
            print(f"{name}: {results[-1].get('why') or results[-1]['seconds']}", flush=True)
        print_results(results, threads, args.peers.split(","))
        everything += [{"threads": threads, **result} for result in results]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "draw.json").write_text(
        json.dumps({"commit": commit, "drawn": chosen, "results": everything}, indent=1)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
