#!/usr/bin/env python
"""Writes the version script with which a library exports what another one exports too, the named symbols, and nothing else.

    python tools/export_map.py libtessera_runtime.so exports.map _ZN7tessera3cli3runEiPPc

libtessera and libtessera_runtime both hold the inline variables of the headers they share, and the loader makes each of them
one where both export it: those must stay visible. Nothing outside uses the rest of libtessera's symbols.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    library, out, *entries = sys.argv[1:]
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shared = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
    names = "".join(f"    {name};\n" for name in sorted(shared.union(entries)))
    Path(out).write_text(f"{{\n  global:\n{names}  local: *;\n}};\n")


if __name__ == "__main__":
    main()
