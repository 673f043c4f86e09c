"""Who may include whom, and who may find whom by name. The rooms of src/ are in order; heavy headers stay in one folder."""

from __future__ import annotations

import fnmatch
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
    r"protozero/": ["src/frontend/common/wire.h", "src/frontend/onnx/quantize.cc"],
    r"flatbuffers/": ["src/frontend/tflite/"],
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


def test_files_of_tests_have_names_of_their_own():
    """pytest imports them by the last part of their names alone."""
    paths: dict[str, list[str]] = {}
    for path in sorted((TOP / "tests").rglob("test_*.py")):
        paths.setdefault(path.name, []).append(name_of(path))
    wrong = [" and ".join(same) for same in paths.values() if len(same) > 1]
    assert not wrong, "rename:\n" + "\n".join(wrong)


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


# ---- functions by name ----

# Where C++ finds functions in the registry, and why it must: users or other languages put them there, or name them.
BY_NAME = {
    "src/codegen/cuda/build.cc": "users' own compiler and their changes to the source",
    "src/codegen/opencl/build.cc": "users' changes to the source",
    "src/driver/build_module.cc": "code generators by the kind of a target; users add kinds",
    "src/driver/cli/targets.cc": "which kinds of targets have a code generator",
    "src/ir/pass/table.cc": "passes that a user names: in PassInfo, or on the command line",
    "src/ir/prim/math.cc": "the least number of a user's data type",
    "src/kernel/external.cc": "external code generators, most of which users write",
    "src/op/tensor/binary.cc": "rows of src/topi/broadcast.cc by name",
    "src/kernel/rules/searched.cc": "schedules that a search found: the records that a Python program applies",
    "src/op/tensor/unary.cc": "rows of src/topi/elementwise.cc by name",
    "src/ir/env_func.cc": "a global function that a program names",
    "src/relay/transform/layout/convert_layout.cc": "Python's LayoutConfig",
    "src/relay/transform/region/partition_graph.cc": "what users' code generators do with their functions first",
    "src/relay/type/rule.cc": "type relations that a user names",
    "src/runtime/c_api.cc": "the C border",
    "src/runtime/external/blas_runtime.cc": "functions of libraries, which users may replace",
    "src/runtime/function/testing.cc": "whether a code generator or runtime that this build has not was added",
    "src/runtime/module/blob.cc": "loaders of modules by their type; every room adds its own",
    "src/runtime/module/module.cc": "functions that compiled code calls, and loaders of files by their suffix",
    "src/runtime/profiling/profiling.cc": "the function that a user wants timed",
    "src/runtime/profiling/time_evaluator.cc": "the function that a user wants timed",
    "src/byoc/vendor_partitions.cc": "whether users have a generator of the name of a library",
    "src/tir/transform/function/lower_custom_datatypes.cc": "functions of a user's data type",
    "src/tir/transform/memory/memory_info.cc": "what users say of a memory of their device",
    "src/tir/usmp/algorithms.cc": "a user's algorithm for memory planning",
    "src/tune/meta_schedule/space/post_order_apply.cc": "the schedule rule that a block of a user's program names",
    "src/runtime/rpc/server_session.cc": "what clients ask for by name",
}
# Lookups of one function that only a later room has, through a prefix that users share with it.
LATER_ROOMS = {
    "relay.ext.": "byoc has external code generators, beside those of users",
    "runtime.module.loadfile_": "codegen reads LLVM IR (.ll, .bc) as a module",
    "runtime.module.loadbinary_": "codegen's modules are loaded by their type",
}

LOOKUP = re.compile(r"\b(?:get|find)_global\(")
LOOKUP_OF_LITERAL = re.compile(r'\b(?:get|find)_global\(\s*(?:std::string\(\s*)?"([^"]+)"')
REGISTERED = re.compile(r'\{\s*"([\w]+\.[\w.]+)",')
BY_STRING = [
    r'\bpass\(\s*"',  # a pass by its name
    r'\b(?:get|find)_global\([^;]*"(?:tir\.transform|tir\.analysis|tir\.usmp\.transform|relay\._transform)\.',
]
NAMED_BY_USERS = {"src/ir/pass/pass.cc", "src/ir/pass/table.h", "src/ir/pass/table.cc", "src/driver/option_text.cc"}


def sources() -> list[Path]:
    registry = {TOP / "src/runtime/registry.h", TOP / "src/runtime/registry.cc"}
    return [path for path in files("src") if path not in registry]


def room_of_file(path: Path) -> str:
    return path.relative_to(TOP / "src").parts[0]


def test_a_function_is_found_by_name_only_where_a_call_would_not_do():
    found = {name_of(path) for path in sources() if LOOKUP.search(path.read_text())}
    assert not found - set(BY_NAME), f"call the function, or say why not: {sorted(found - set(BY_NAME))}"
    assert not set(BY_NAME) - found, f"nothing is found by name any more in {sorted(set(BY_NAME) - found)}"


def test_no_room_reaches_a_later_one_by_name():
    rooms: dict[str, set[str]] = {}
    for path in sources():
        for name in REGISTERED.findall(path.read_text()):
            rooms.setdefault(name, set()).add(room_of_file(path))
    assert rooms["target.build.llvm"] == {"codegen"} and rooms["relay.evaluate_constants"] == {"driver"}
    wrong = []
    for path in sources():
        for literal in LOOKUP_OF_LITERAL.findall(path.read_text()):
            own = ROOMS.index(room_of_file(path))
            names = [n for n in rooms if n == literal or (literal[-1] in "._" and n.startswith(literal))]
            later = {room for name in names for room in rooms[name] if ROOMS.index(room) > own}
            if later and literal not in LATER_ROOMS:
                wrong.append(f'{name_of(path)}: "{literal}" is registered in {", ".join(sorted(later))}')
    assert not wrong, "declare a hook in the earlier room and set it in the later one:\n" + "\n".join(wrong)


@pytest.mark.parametrize("pattern", BY_STRING)
def test_no_pass_is_made_by_its_name(pattern):
    wrong = [name_of(path) for path in sources() if re.search(pattern, path.read_text())]
    assert not wrong, f"passes are functions: pass(simplify), not a name; see src/ir/pass/table.h: {wrong}"


def test_passes_are_found_by_name_where_users_name_them_and_nowhere_else():
    found = {name_of(path) for path in sources() if "find_pass_constructor(" in path.read_text()}
    assert found == NAMED_BY_USERS


# Where settings of the thread are read before the driver: at the border with Python, or what is there for it.
SETTINGS_OF_THE_THREAD = {
    "src/byoc/c_source.cc": "options of a code generator, which those in Python find there too",
    "src/ir/pass/pass.cc": "Python asks for the current context",
    "src/ir/pass/pass.h": "a pass that is called without a context",
    "src/ir/target/generic_func.cc": "Python calls a function that differs by target",
    "src/ir/target/virtual_device.cc": "a configuration that Python makes",
    "src/relay/graph_environment.cc": "rules of operators that Python calls",
    "src/relay/transform/pass.h": "passes that Python makes",
    "src/tir/lower.h": "Python lowers without a context",
}


def test_what_programs_are_compiled_for_is_handed_on():
    reads = re.compile(r"\b(?:Target|PassContext)::current\b")
    own = {"src/ir/target/target.cc", "src/ir/pass/context.cc"}  # they define it
    found = {
        name_of(path)
        for path in sources()
        if room_of_file(path) != "driver" and name_of(path) not in own
        for line in path.read_text().splitlines()
        if reads.search(line.split("//")[0])
    }
    assert found == set(SETTINGS_OF_THE_THREAD), "take a GraphEnvironment or CompileEnvironment as an argument"


def test_a_pass_has_its_name_in_the_table_alone():
    """A constructor of a pass is registered by its table, not by the file of the pass."""
    wrong = [
        f"{name_of(path)}: {kind}"
        for path in files("src/tir", "src/relay")
        for kind in re.findall(r'\b((?:module|function|prim_func|body)_pass\(\s*"\w[\w.]*")', path.read_text())
    ]
    assert not wrong, "\n" + "\n".join(wrong)


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


# Passes ask slots of the operator table, not names. What may stand here nonetheless: the files, the words that happen to be
# names of operators (none: all of them), and why.
NAMES_MAY_STAND_IN = [
    ("src/relay/op_names.h", None, "the one place for operators that passes write or match themselves"),
    ("src/kernel/rules/cpu_rules.cc", {"concatenate"}, "the name of a schedule rule"),
    ("src/relay/attrs/*", {"clip", "mean", "round", "sign", "zeros"}, "names and values of attributes"),
    ("src/driver/cli/*", {"all", "max", "mean", "min", "ones", "zeros"}, "words of the command line"),
    ("src/driver/relay_build.cc", {"mod"}, "a key of the record of a compilation"),
    ("src/driver/tvmc_*.cc", {"repeat"}, "an option of tvmc"),
    ("src/topi/broadcast.cc", None, "names of the functions topi.*"),
    ("src/topi/elementwise.cc", None, "names of the functions topi.*"),
    ("src/topi/image/*", {"ceil", "floor", "round", "zeros"}, "modes of rounding and of borders"),
    ("src/topi/cpu/recurrent_activation.cc", {"sigmoid", "tanh"}, "names of activations"),
    ("src/topi/scatter.cc", {"add", "max", "min"}, "how updates are combined"),
    ("src/topi/cpu/*", {"copy", "log", "power", "sum", "tile"}, "names of stages and loops in generated code"),
    ("src/topi/gpu/*", {"cumprod", "cumsum", "sum", "tile"}, "names of stages, loops and memory in generated code"),
    ("src/kernel/rules/kernel_rules.cc", {"cumprod"}, "which of the two scans a kernel is"),
    (
        "src/topi/*",
        {"argmax", "argmin", "argwhere", "einsum", "invert_permutation", "ndarray_size", "searchsorted"}
        | {"sparse_fill_empty_rows", "sparse_to_dense", "trilu"},
        "names of stages in generated code",
    ),
]

LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)


def operators() -> set[str]:
    """The names that the records of src/op give, read from their text; test_operators.py compares them with the table."""
    word, names = r'"([\w.]+)"', set()
    for path in sorted((TOP / "src/op").rglob("*.cc")):
        text = path.read_text()
        names.update(re.findall(rf"\b\w*[Rr]ecord(?:<[^;{{}}]*?>)?\(\s*{word}\s*[,)]", text))
        for list_of_names in re.findall(r"for \(const char\* name :\s*\{([^}]*)\}\)\s*\{?\s*OpRecord\(name\)", text):
            names.update(re.findall(word, list_of_names))
        if "OpRecord record(row.name)" in text:
            names.update(re.findall(rf"^\s*\{{{word},", text, re.MULTILINE))
        sizes = re.findall(rf"\bpool_family<[^;{{}}]*>\({word}", text)
        names.update(name + size for name in re.findall(rf"\({word} \+ dims\)", text) for size in sizes)
        if '"qnn." + std::string(name)' in text:
            names.update("qnn." + name for name in re.findall(rf'\{{{word}, "[^"]*\."\}}', text))
    return names


def test_files_that_are_compiled_together_mean_the_same_by_a_name():
    """`using relay::Call` in one file would change what Call is in those behind it (TESSERA_UNITY)."""
    alone = re.search(r'tessera_not_united "((?:[^"\\]|\\\n)*)"', (TOP / "cmake/rooms.cmake").read_text()).group(1)
    alone = re.compile(alone.replace("\\\n", ""))
    wrong = []
    for name in ("Call", "Let"):
        taken = re.compile(rf"using (?:relay::{name}|{name} = relay::{name});|namespace tessera::relay")
        folders: dict[Path, list[Path]] = {}
        for path in (TOP / "src").rglob("*.cc"):
            if not alone.search(name_of(path)):
                folders.setdefault(path.parent, []).append(path)
        for paths in folders.values():
            texts = {path: re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", path.read_text()) for path in paths}
            if any(taken.search(text) for text in texts.values()):
                used = re.compile(rf"(?<![\w:]){name}(?=[ *>&])")
                wrong += [f"{name_of(p)}: {name}" for p, t in texts.items() if not taken.search(t) and used.search(t)]
    assert not wrong, "say whose name it is, as the other files of the folder do:\n" + "\n".join(wrong)


def test_no_pass_decides_by_the_name_of_an_operator():
    names = operators()
    assert len(names) > 250 and len(NAMES_MAY_STAND_IN) <= 20
    wrong = []
    for path in files("src/relay", "src/driver", "src/topi", "src/kernel"):
        text = path.read_text()
        may = [words for where, words, _ in NAMES_MAY_STAND_IN if fnmatch.fnmatch(name_of(path), where)]
        for found in LITERAL.finditer(text):
            word = found.group(1)
            if word in names and not any(words is None or word in words for words in may):
                wrong.append(f'{name_of(path)}:{text.count(chr(10), 0, found.start()) + 1}: "{word}"')
    assert not wrong, "ask a slot (src/relay/slots.h), or use src/relay/op_names.h:\n" + "\n".join(wrong)


def test_the_list_of_files_with_names_of_operators_has_no_idle_line():
    names = operators()
    for where, words, _ in NAMES_MAY_STAND_IN:
        found = [path for path in files("src") if fnmatch.fnmatch(name_of(path), where)]
        literals = {match.group(1) for path in found for match in LITERAL.finditer(path.read_text())} & names
        assert literals, f"{where} has no name of an operator"
        assert words is None or words <= literals, f"{where} does not need {sorted(words - literals)}"
