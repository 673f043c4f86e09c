"""Runs clang-tidy on the sources that changed, within a budget of time.

    python tools/clang_tidy.py --build build [--all] [FILE...]

Changed means: different from the last commit that is on the main branch, or not yet committed; when that
is nothing, the files of the last commit. The compile commands are those of the build, less the precompiled
headers, which are GCC's.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIDY = str(Path(sys.executable).parent / "clang-tidy")
TOP = Path(__file__).resolve().parent.parent
OUR_HEADERS = f"^{re.escape(str(TOP))}/(src|include|python/ffi)/"
# GCC decides what compiles here; what only clang rejects is not reported.
NOT_OURS = "clang-diagnostic-error"
GCC_ONLY = {"-fpch-preprocess", "-Winvalid-pch", "-fno-semantic-interposition"}


def git(*args: str) -> list[str]:
    done = subprocess.run(["git", *args], capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def changed_sources() -> list[str]:
    base = (git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"])[0]
    pattern = ["--", "src/*.cc", "python/ffi/*.cc"]
    names = git("diff", "--name-only", "--diff-filter=d", base, *pattern)
    names += git("ls-files", "--others", "--exclude-standard", *pattern)
    return names or git("diff", "--name-only", "--diff-filter=d", "HEAD~1", "HEAD", *pattern)


def without_pch(entry: dict[str, str]) -> dict[str, str]:
    words = shlex.split(entry["command"])
    while words and not re.search(r"(g\+\+|gcc|clang|c\+\+|cc)(-\d+)?$", words[0]):
        words.pop(0)  # the launcher: cmake -E env ... ccache
    kept: list[str] = []
    for word in words:
        if word in GCC_ONLY:
            continue
        if word.endswith("cmake_pch.hxx") and kept and kept[-1] == "-include":
            kept.pop()
            continue
        kept.append(word)
    return {**entry, "command": shlex.join(kept)}


def check(file: str, database: str) -> tuple[str, bool, str]:
    """(file, clean, what clang-tidy said)."""
    command = [TIDY, "-p", database, "--quiet", f"--header-filter={OUR_HEADERS}", file]
    done = subprocess.run(command, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if re.search(r"(warning|error): .*\[", line)]
    ours = [line for line in found if NOT_OURS not in line]
    return file, not ours, done.stdout if ours else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy on changed sources")
    parser.add_argument("files", nargs="*", help="these files instead of the changed ones")
    parser.add_argument("--build", type=Path, default=Path("build"), help="the build folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=150.0, help="seconds after which no file is begun")
    parser.add_argument("--all", action="store_true", help="every source, without a budget")
    args = parser.parse_args()

    commands = json.loads((args.build / "compile_commands.json").read_text())
    known = {str(Path(entry["file"]).resolve()): entry for entry in commands}
    wanted = args.files or (git("ls-files", "src/*.cc", "python/ffi/*.cc") if args.all else changed_sources())
    files = [name for name in dict.fromkeys(wanted) if str(Path(name).resolve()) in known]
    if not files:
        print("  nothing to check")
        return 0

    budget = float("inf") if args.all or args.files else args.budget
    end = time.monotonic() + budget
    clean, checked = True, 0
    with tempfile.TemporaryDirectory() as folder:
        entries = [without_pch(known[str(Path(name).resolve())]) for name in files]
        (Path(folder) / "compile_commands.json").write_text(json.dumps(entries))
        with ThreadPoolExecutor(args.jobs) as pool:
            runs = pool.map(lambda name: check(name, folder) if time.monotonic() < end else None, files)
            for run in runs:
                if run is None:
                    continue
                checked += 1
                clean = clean and run[1]
                if run[2]:
                    print(run[2])
    rest = len(files) - checked
    print(f"  {checked} files checked" + (f"; {rest} left for want of time" if rest else ""))
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
