"""Makes the records that ship with the package: tunes models, and keeps what was confirmed, at most 2 MB.

    python tools/tuning_records.py model.onnx ... --minutes 10                 # for kernels that run on all cores
    python tools/tuning_records.py model.onnx ... --minutes 10 --threads 1 2 4 # for so many
    python tools/tuning_records.py --logs log.jsonl ...                        # what `tessera tune` found elsewhere

Records go to python/tessera/tuning_records/<CPU>.jsonl, where the compiler finds them by default. They hold for this CPU and for as many
threads as kernels were tuned with: the first number of threads has the minutes, the others begin with what it found and have a tenth
of them. Run it where nothing else runs.
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


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="ONNX files, or models that TVMCModel.save wrote")
    parser.add_argument("--minutes", type=float, default=10, help="for each model")
    parser.add_argument("--threads", type=int, nargs="+", default=[], help="numbers of threads; all cores by default")
    parser.add_argument("--logs", type=Path, nargs="+", default=[], help="logs that `tessera tune` wrote")
    parser.add_argument("--folder", type=Path, default=PACKAGE / "tuning_records", help="where records go")
    args = parser.parse_args()
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
