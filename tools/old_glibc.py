#!/usr/bin/env python
"""Writes a folder of link-time stand-ins for an old glibc, so that what is linked against it loads on old systems.

    python tools/old_glibc.py 2.17 build/glibc

The linker takes the newest version of each symbol that the C library at hand has, and so a program linked on Debian 12
asks for glibc 2.36 wherever it goes. Zig (PyPI's `ziglang`) knows which symbols each glibc had; it writes stub libraries
for the version that is asked for, and compiles the few objects that are linked into every program (Scrt1.o,
libc_nonshared.a). `g++ -BFOLDER -LFOLDER` then links against those instead of the system's.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Zig's file => ours. The linker asks for libm.so where the program asks for libm.so.6.
FILES = {
    "Scrt1.o": "Scrt1.o",
    "libc_nonshared.a": "libc_nonshared.a",
    "libc.so.6": "libc.so.6",
    "libld.so.2": "ld-linux-x86-64.so.2",
    "libm.so.6": "libm.so",
    "libpthread.so.0": "libpthread.so",
    "libdl.so.2": "libdl.so",
    "librt.so.1": "librt.so",
}

# Threads and dlopen became part of libc.so.6 in glibc 2.34: who compiles for that names no other library.
LIBC_SO = "GROUP({0}/libc.so.6 {0}/libc_nonshared.a AS_NEEDED({0}/ld-linux-x86-64.so.2 {0}/libpthread.so {0}/libdl.so {0}/librt.so))\n"


def write(version: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="old-glibc-") as scratch:
        program = Path(scratch) / "program.c"
        program.write_text("int main(void) { return 0; }\n")
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"x86_64-linux-gnu.{version}"]
        done = subprocess.run(
            [*zig, "-v", "-O2", "-fno-sanitize=all", "-pie", str(program), "-o", str(program.with_suffix(""))],
            env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"old_glibc: zig could not link for glibc {version}:\n{done.stderr}")
        # The last command that `-v` shows is the linker's, with the paths of all that zig made.
        found = {Path(word).name: Path(word) for word in re.split(r"\s+", done.stderr) if word.startswith(scratch)}
        folder.mkdir(parents=True, exist_ok=True)
        for theirs, ours in FILES.items():
            if theirs not in found:
                raise SystemExit(f"old_glibc: zig made no {theirs}; its linker was called as\n{done.stderr}")
            shutil.copyfile(found[theirs], folder / ours)
    (folder / "libc.so").write_text(LIBC_SO.format(folder.resolve()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="2.17, 2.28, ...")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    write(options.version, options.folder)


if __name__ == "__main__":
    main()
