"""Who may include whom. The rooms of src/ are in order, and heavy headers stay in their one folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent

# A room includes itself and the rooms before it.
ROOMS = [
    "base",
    "runtime",
    "ir",
    "arith",
    "tir",
    "schedule",
    "te",
    "codegen",
    "topi",
    "relay",
    "byoc",
    "op",
    "kernel",
    "frontend",
    "tune",
    "driver",
]

# Headers that are slow to compile or that must not leak: pattern of the include, and where it may stand.
ONLY_IN = {
    r"(llvm|llvm-c|lld)/": ["src/codegen/llvm/"],
    r"nanobind/": ["python/ffi/"],
    r"nlohmann/": ["src/base/json.cc", "src/base/json/", "src/runtime/graph_executor/graph.cc"],
    r"xxhash": ["src/runtime/package/file_seal.cc", "src/codegen/kernel_cache.cc"],
    r"zstd": ["src/codegen/kernel_cache.cc"],
    r"protozero/": ["src/frontend/onnx/model.cc"],
    r"CLI/": ["src/driver/"],
    r"spdlog/": ["src/base/log.cc", "src/base/log/"],
}

# Standard headers that cost every includer: for sources only.
NEVER_IN_HEADERS = {"regex", "filesystem", "ranges", "iostream"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def files(*folders: str) -> list[Path]:
    found = (path for folder in folders for path in (TOP / folder).rglob("*") if path.suffix in {".h", ".cc", ".c"})
    return sorted(found)


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


def name_of(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


def room_of(include: str) -> str | None:
    room, slash, _ = include.partition("/")
    return room if slash and room in ROOMS else None


def test_every_folder_of_src_is_a_room():
    folders = {path.name for path in (TOP / "src").glob("*") if path.is_dir()}
    assert folders <= set(ROOMS), f"src/ has folders that are no rooms: {sorted(folders - set(ROOMS))}"


MOST_FILES = 40  # what a person can scan


@pytest.mark.parametrize("top", ["src", "python/tessera", "tests/python"])
def test_a_folder_can_be_scanned(top):
    folders = [path for path in (TOP / top).rglob("*") if path.is_dir() and path.name != "__pycache__"]
    wrong = [
        f"{name_of(folder)} has {count} files"
        for folder in folders
        if (count := sum(path.is_file() for path in folder.iterdir())) > MOST_FILES
    ]
    assert not wrong, f"at most {MOST_FILES} files a folder; sort them by subject:\n" + "\n".join(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_includes_only_itself_and_rooms_before_it(room):
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    wrong = [
        f'{name_of(path)}: "{include}" ({room} comes before {room_of(include)})'
        for path in files(f"src/{room}")
        for include in includes(path)
        if room_of(include) not in allowed | {None}
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_public_headers_include_no_room():
    wrong = [f"{name_of(path)}: {inc}" for path in files("include") for inc in includes(path) if room_of(inc)]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("pattern", ONLY_IN)
def test_a_heavy_header_stays_in_its_folder(pattern):
    wrong = [
        f"{name_of(path)}: {include}; it may stand only in {', '.join(ONLY_IN[pattern])}"
        for path in files("src", "include", "python", "tests")
        for include in includes(path)
        if re.match(pattern, include) and not name_of(path).startswith(tuple(ONLY_IN[pattern]))
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_slow_standard_headers_stay_out_of_headers():
    wrong = [
        f"{name_of(path)}: <{include}>"
        for path in files("src", "include", "python/ffi")
        if path.suffix == ".h"
        for include in includes(path)
        if include in NEVER_IN_HEADERS
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_an_include_is_written_from_the_room_not_from_the_file():
    wrong = [
        f'{name_of(path)}: "{include}"'
        for path in files("src")
        for include in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', path.read_text(), re.MULTILINE)
        if room_of(include) is None and not include.startswith("tessera/")
    ]
    assert not wrong, 'write the room first, as in "tir/stmt.h":\n' + "\n".join(wrong)


def texts() -> list[str]:
    folders = [TOP, *(TOP / name for name in ("docs", "examples", "python", "src", "tests"))]
    found = (path for top in folders for path in (top.glob("*.md") if top == TOP else top.rglob("*.md")))
    return sorted(name_of(path) for path in found)


def test_a_text_begins_with_a_heading():
    wrong = [name for name in texts() if not re.match(r"# \S", (TOP / name).read_text())]
    assert not wrong, f"no Markdown heading on the first line of {', '.join(wrong)}"


def test_clang_format_leaves_texts_alone():
    program = shutil.which("clang-format", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("clang-format is not installed beside this Python")
    done = subprocess.run([program, "--dry-run", *texts()], cwd=TOP, capture_output=True, text=True, check=True)
    assert not done.stderr, f".clang-format-ignore lacks a pattern:\n{done.stderr[:500]}"
