"""Makes the records that ship with the package: tunes models, and keeps what was confirmed, at most 2 MB.

    python tools/tuning_records.py model.onnx ... --minutes 10

Records go to python/tessera/tuning_records/<CPU>.jsonl, where the compiler finds them by default. They hold for this CPU and for as many
threads as kernels were tuned with. Run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "tessera"
MAX_BYTES = 2_000_000


def tuned(model: str, minutes: float, folder: Path) -> list[dict]:
    """The confirmed records of a model."""
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    words = [PACKAGE / "bin" / "tessera", "tune", model, "--output", log, "--minutes", str(minutes)]
    done = subprocess.run(list(map(str, words)), check=False)
    if done.returncode != 0:
        sys.exit(f"tuning of {model} failed")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return [record for record in records if record["state"] == "confirmed"]


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="ONNX files, or models that TVMCModel.save wrote")
    parser.add_argument("--minutes", type=float, default=10, help="for each model")
    args = parser.parse_args()
    folder = PACKAGE / "tuning_records"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for model in args.models:
            for record in tuned(model, args.minutes, Path(temporary)):
                file = folder / (re.sub(r"\W+", "_", record["machine"]) + ".jsonl")
                known = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
                kept = [each for each in known if each["workload"] != record["workload"]] + [record]
                text = "".join(json.dumps(each) + "\n" for each in kept)
                others = sum(path.stat().st_size for path in folder.glob("*.jsonl") if path != file)
                if others + len(text) > MAX_BYTES:
                    sys.exit(f"the records would have more than {MAX_BYTES} bytes")
                file.write_text(text)


if __name__ == "__main__":
    main()
