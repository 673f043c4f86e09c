#!/usr/bin/env python
"""Runs what a page of documentation shows, from top to bottom, and compares what it prints with what the page says.

    python tools/run_page.py docs/quick_start.md [--update] [--keep FOLDER]

Everything happens in one folder, empty but for a link to examples/, and all Python of a page in one namespace, as if a
reader typed it. A fenced block means, by the first word after the fence:

    python          run; a second word is the name of a file that it is saved to instead of being run
    c, cpp, ...     saved, where a second word names a file
    sh              run by `bash -e`; `python`, `tessera` and `tvmc` are those of this tree
    output          exactly what the block before it printed. `...` in a line stands for any text there, and a line of `...`
                    alone for any lines
    text            shown, not checked

A block whose fence has the word `error` must fail: Python by an exception, whose type and text are printed; a shell by an exit
status other than 0. `--update` writes what was printed into the page wherever it differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Block:
    """One fenced block: `line` is that of its first line of text, counted from 1."""

    language: str
    words: list[str]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        return next((word for word in self.words if "." in word), None)


def blocks_of(text: str) -> list[Block]:
    out = []
    for match in re.finditer(r"^```(\S+)([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        line = text.count("\n", 0, match.start(3)) + 1
        out.append(Block(match[1], match[2].split(), match[3], line))
    return out


def agrees(printed: str, expected: str) -> bool:
    """True where `expected`, with `...` for any text, is what was printed; spaces at ends of lines do not count."""

    def tidy(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))

    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in tidy(expected).split("\n")
    )
    return re.fullmatch(pattern, tidy(printed) + "\n") is not None


class Mismatch(Exception):
    """A page that does not tell what happens."""


class Page:
    """A page at work in the folder `folder`."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.blocks = blocks_of(path.read_text())
        # The page as a module with the lines of the page, so that scripts and tracebacks find their text.
        self.module = types.ModuleType("page_" + path.stem)
        self.module.__file__ = str(folder / f"{self.module.__name__}.py")

    def run(self) -> list[tuple[Block, str]]:
        """Runs everything; returns the `output` blocks that say something else, with what was printed."""
        wrong: list[tuple[Block, str]] = []
        printed: str | None = None
        here = Path.cwd()
        os.chdir(self.folder)
        self.write_python()
        if not Path("examples").exists():
            Path("examples").symlink_to(ROOT / "examples")
        try:
            for block in self.blocks:
                if block.language == "output":
                    if printed is None:
                        raise Mismatch(f"{self.position(block)}: nothing before this output prints anything")
                    if not agrees(printed, block.text):
                        wrong.append((block, printed))
                    printed = None
                elif block.file:
                    Path(block.file).write_text(block.text)
                elif block.language == "python":
                    printed = self.python(block)
                elif block.language == "sh":
                    printed = self.shell(block)
        finally:
            os.chdir(here)
        return wrong

    def write_python(self) -> None:
        lines = [""] * (self.path.read_text().count("\n") + 1)
        for block in self.blocks:
            if block.language == "python" and not block.file:
                text = block.text.split("\n")
                lines[block.line - 1 : block.line - 1 + len(text)] = text
        Path(str(self.module.__file__)).write_text("\n".join(lines))
        sys.modules[self.module.__name__] = self.module

    def position(self, block: Block) -> str:
        return f"{self.path.name}:{block.line}"

    def python(self, block: Block) -> str:
        out = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.text, str(self.module.__file__), "exec")
        with contextlib.redirect_stdout(out):
            try:
                exec(code, vars(self.module))
            except Exception as error:
                if "error" not in block.words:
                    raise
                name = f"{type(error).__name__}: "
                print(name + str(error).removeprefix(name), file=out)
            else:
                if "error" in block.words:
                    raise Mismatch(f"{self.position(block)}: this was to fail, and did not")
        return out.getvalue()

    def shell(self, block: Block) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", block.text],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        if (done.returncode != 0) != ("error" in block.words):
            raise Mismatch(f"{self.position(block)}: exit status {done.returncode}\n{block.text}\n{done.stdout}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        """The reader's: the commands and the package of this tree, and TESSERA for its folder."""
        commands = self.folder / ".commands"
        if not commands.exists():
            commands.mkdir()
            (commands / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (commands / "python").chmod(0o755)
            for name in ("tessera", "tvmc"):
                (commands / name).symlink_to(ROOT / "python" / "tessera" / "bin" / "tessera")
        path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
        packages = os.pathsep.join(p for p in (str(ROOT / "python"), os.environ.get("PYTHONPATH")) if p)
        return {**os.environ, "PATH": path, "PYTHONPATH": packages, "TESSERA": str(ROOT)}


def update(path: Path, wrong: list[tuple[Block, str]]) -> None:
    lines = path.read_text().split("\n")
    for block, printed in reversed(wrong):
        first = block.line - 1
        lines[first : first + block.text.count("\n")] = printed.strip("\n").split("\n")
    path.write_text("\n".join(lines))


def run_in_process(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The page in a process of its own, as its tests run it; the status is 0 where it does what it says."""
    return subprocess.run(
        [sys.executable, __file__, str(path), "--keep", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=900,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--update", action="store_true", help="write what was printed into the page")
    parser.add_argument("--keep", type=Path, help="work in this folder, which stays")
    options = parser.parse_args()
    path = options.page.resolve()
    with tempfile.TemporaryDirectory(prefix="page-") as scratch:
        folder = options.keep.resolve() if options.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        sys.path.insert(0, str(folder))
        try:
            wrong = Page(path, folder).run()
        except Mismatch as error:
            print(error, file=sys.stderr)
            return 1
    if options.update:
        update(path, wrong)
        return 0
    for block, printed in wrong:
        print(
            f"{path.name}:{block.line}: the page says\n{block.text}\nbut this was printed\n{printed}", file=sys.stderr
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
