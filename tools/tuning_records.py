"""Makes the records that ship with the package: tunes models, and keeps what was confirmed, at most 2 MB.

    python tools/tuning_records.py model.onnx ... --minutes 10                 # for kernels that run on all cores
    python tools/tuning_records.py model.onnx ... --minutes 10 --threads 1 2 4 # for so many
    python tools/tuning_records.py --logs log.jsonl ...                        # what `tessera tune` found elsewhere
    python tools/tuning_records.py --check model.onnx ...                      # which records no kernel asks for any more

Records go to python/tessera/tuning_records/<CPU>.jsonl, where the compiler finds them by default. They hold for this CPU and for as many
threads as kernels were tuned with: the first number of threads has the minutes, the others begin with what it found and have a tenth
of them. Run it where nothing else runs.

A kernel is known by a hash of what it computes. A change of graph passes or of an operator's attributes makes others of it, for which
there are no records: nothing fails, and kernels run by their rules' plans. --check says so, on any machine: it fails where a record is of
no kernel of these models.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "tessera"
MAX_BYTES = 2_000_000
DIGITS = 4  # of seconds, which tell how it was


def tune(model: str, minutes: float, threads: Sequence[int], log: Path) -> None:
    """Tunes a model for each number of threads, or for all cores."""
    for i, count in enumerate(threads or [0]):
        words = [PACKAGE / "bin" / "tessera", "tune", model, "--output", log, "--resume"]
        words += ["--minutes", f"{minutes / (10 if i else 1):.3f}"]
        if count:
            words += ["--threads", count]
        if subprocess.run(list(map(str, words)), check=False).returncode:
            sys.exit(f"tuning of {model} failed")


def confirmed(log: Path) -> list[dict]:
    """The last confirmed record of each kernel."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return list({each["workload"]: each for each in records if each.get("state") == "confirmed"}.values())


def text_of(record: dict) -> str:
    """A line without digits that say nothing."""
    seconds = [float(f"{each:.{DIGITS}g}") for each in record["seconds"]]
    rounded = {**record, "seconds": seconds, "rule_seconds": float(f"{record['rule_seconds']:.{DIGITS}g}")}
    return json.dumps(rounded, separators=(",", ":")) + "\n"


def ship(records: list[dict], folder: Path) -> None:
    """Adds records to the files of their CPUs, in place of what these say about the same kernels."""
    for machine in sorted({record["machine"] for record in records}):
        cpu = machine.rsplit(" ", 1)[0]  # the last word is the number of threads
        file = folder / (re.sub(r"\W+", "_", cpu) + ".jsonl")
        known = confirmed(file) if file.exists() else []
        own = [record for record in records if record["machine"] == machine]
        merged = {record["workload"]: record for record in [*known, *own]}
        text = "".join(map(text_of, merged.values()))
        others = sum(path.stat().st_size for path in folder.glob("*.jsonl") if path != file)
        if others + len(text) > MAX_BYTES:
            sys.exit(f"the records would have more than {MAX_BYTES} bytes")
        file.write_text(text)
        print(f"{file}: {len(own)} kernels of {machine}, {len(merged)} in all, {len(text) / 1000:.0f} kB")


NO_MATRIX_TILES = ("", " -mattr=-amx-tile,-amx-int8,-amx-bf16")  # machines that do not offer what their CPU has


def workloads(model: str, machine: str) -> set[str]:
    """The kernels of a model on a machine, by the keys of records."""
    cpu, threads = machine.split()[0], machine.rsplit(" ", 1)[1]
    for without in NO_MATRIX_TILES:
        with tempfile.TemporaryDirectory() as folder:
            words = [PACKAGE / "bin" / "tessera", "tune", model, "--output", Path(folder) / "log", "--trials", "1"]
            words += ["--threads", threads, "--target", f"llvm -mcpu={cpu}{without}", "--json"]
            done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"the kernels of {model} for {machine} are not known")
        told = json.loads(done.stdout)
        if told["machine"].startswith(machine):
            return {each["workload"] for each in told["kernels"]}
    sys.exit(f"no target is the machine {machine}")


def check(models: Sequence[str], folder: Path) -> int:
    """Tells which records are of no kernel of the models; how many there are."""
    lost = 0
    for file in sorted(folder.glob("*.jsonl")):
        records = confirmed(file)
        for machine in sorted({record["machine"] for record in records}):
            own = {record["workload"]: record["kernel"] for record in records if record["machine"] == machine}
            asked = set().union(*(workloads(model, machine) for model in models))
            print(f"{machine}: {len(own.keys() & asked)} of {len(own)} records are of kernels of these models")
            for workload in sorted(own.keys() - asked):
                print(f"  no kernel asks for {own[workload]} {workload}")
            lost += len(own.keys() - asked)
    return lost


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="ONNX files, or models that TVMCModel.save wrote")
    parser.add_argument("--minutes", type=float, default=10, help="for each model")
    parser.add_argument("--threads", type=int, nargs="+", default=[], help="numbers of threads; all cores by default")
    parser.add_argument("--logs", type=Path, nargs="+", default=[], help="logs that `tessera tune` wrote")
    parser.add_argument("--folder", type=Path, default=PACKAGE / "tuning_records", help="where records go")
    parser.add_argument("--check", action="store_true", help="only say which records are of no kernel of the models")
    args = parser.parse_args()
    if args.check:
        sys.exit(1 if check(args.models, args.folder) else 0)
    args.folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for i, model in enumerate(args.models):
            log = Path(temporary) / f"{i}.jsonl"
            tune(model, args.minutes, args.threads, log)
            ship(confirmed(log), args.folder)
    for log in args.logs:
        ship(confirmed(log), args.folder)


if __name__ == "__main__":
    main()
