"""Lists the slowest steps of the last build, from ninja's log.

    python tools/build_times.py build [--count 25] [--limit 10]

Steps over the limit are marked. A step served by ccache took no time here: for true numbers build once with
`make clean && CCACHE_RECACHE=1 make build`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def read_log(path: Path) -> dict[str, float]:
    """Seconds of the latest run of each output, by ninja's log (start, end, mtime, output, hash)."""
    seconds: dict[str, float] = {}
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def short(output: str) -> str:
    """src/base/object.cc from CMakeFiles/tessera_room_base.dir/src/base/object.cc.o"""
    return output.split(".dir/", 1)[-1].removesuffix(".o")


def main() -> int:
    parser = argparse.ArgumentParser(description="the slowest steps of the last build")
    parser.add_argument("build", type=Path, help="the build folder")
    parser.add_argument("--count", type=int, default=25, help="how many to list")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that no object should pass")
    args = parser.parse_args()

    log = args.build / ".ninja_log"
    if not log.exists():
        print(f"{log} does not exist; run `make build` first", file=sys.stderr)
        return 1
    steps = sorted(read_log(log).items(), key=lambda step: -step[1])
    objects = [step for step in steps if step[0].endswith((".o", ".gch"))]
    for output, seconds in steps[: args.count]:
        slow = output.endswith(".o") and seconds > args.limit
        print(f"{seconds:7.1f} s  {'over limit' if slow else '          '}  {short(output)}")
    over = sum(1 for output, seconds in objects if output.endswith(".o") and seconds > args.limit)
    total = sum(seconds for _, seconds in objects)
    print(f"{len(objects)} objects, {total:.0f} s of compiling; {over} over {args.limit:g} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
