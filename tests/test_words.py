"""Code speaks the field's words: those on the left of CONTRIBUTING's table, not ours that they replaced.

A word is looked for in every part of an identifier (`place_of`, `ExtentPlaces`) and in comments and texts of `src/`,
`include/` and `python/`. Words that also mean something else have lines that may hold them; each says why.
"""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent

#: what is said instead: the words that are gone
GONE = {
    "index, offset, position, cursor": {"place", "places"},
    "concatenate, merge, union, fuse": {"join", "joined", "joins", "joining"},
    "kernel size, window element": {"tap", "taps"},
    "reject, unsupported": {"refuse", "refused", "refuses", "refusing", "refusal", "refusals"},
    "CPU, core": {"processor", "processors"},
    "broadcast": {"stretch", "stretched", "stretches", "stretching"},
    "finalize, infer": {"settle", "settled", "settles", "settling"},
    "fix": {"mend", "mended", "mends"},
    "image": {"picture", "pictures"},
    "interleave": {"zips"},
    "minimum, maximum": {"fewest"},
}
INSTEAD = {word: said for said, words in GONE.items() for word in words}

#: groups of words that are gone, as they stand in comments
PHRASES = {
    r"open (extents?|shapes?|rows?|dimensions?)": "dynamic extent, dynamic shape",
    r"(small|narrow) floats?": "fp16, bf16, fp8, minifloat",
    r"floats of (16|sixteen|8|eight) bits": "fp16, bf16, fp8",
    r"(first|second)-level": "L1, L2",
    r"brought near": "prefetched",
    r"sums that wait": "partial sums",
    r"channels of zeros": "channel padding",
    r"turned over": "transposed",
    r"least work": "cost",
    r"kept kernels?": "cached kernel",
    r"dot products? of bytes": "dot product of int8",
    r"kmost\w*": "kMax...",
}

#: whose filters have taps
FILTERS = (
    "src/frontend/onnx/nn/resize",
    "src/op/evaluate/winograd",
    "src/op/gradient/sampling",
    "src/relay/transform/fuse/fuse_resample",
    "src/topi/cpu/resample",
    "src/topi/image/",
    "src/topi/nn/winograd",
    "src/topi/vision/roi",
)
#: (files, what the line holds, why)
ALLOWED = [
    ("", r"(\b|_)[iI]n[_ -]place(?![ds])|InPlace", "a result that overwrites its argument"),
    ("", r"\b(one|same|first|last) place\b|takes? place\b", "English: 'in one place', 'a unit in the last place'"),
    ("", r"\bplaces? (it|stages|elements)\b|or place elements", "the verb"),
    ("src/driver/cli/diff", r'"place"', "a key of the JSON that `tessera diff` prints"),
    (("python/tessera/topi/vision", "src/topi/cpu/rows.cc"), r'"places?"', "names of tensors in printed IR"),
    ("", r"\.join\(|::join\(|def join\(|JoinedStr", "texts, paths and threads"),
    ("src/driver/export_library.cc", r"\bjoined\(", "words of a command line"),
    ("src/driver/option_text.cc", r"\bjoined\(", "names in a message"),
    ("src/relay/print_text.cc", r"\bjoined\(", "pieces of printed text"),
    ("src/frontend/onnx/ml/text.cc", r"Strings: joined", "strings"),
    ("src/", r"\bjoin\(|with_join_point", "VirtualDevice::Join is v0.10's; a join point of control flow"),
    (
        "python/tessera/meta_schedule/task_scheduler",
        r"join_running_task|JoinRunnerFutures",
        "v0.10's name of the method, and of what its profiler counts",
    ),
    ("src/relay", r"JoinReducedAxes|SplitOpenJoins", "names of registered passes"),
    (FILTERS, r"[tT]aps?\b|[tT]aps_", "taps of a filter of signals: interpolation (Tap, linear_taps), Winograd"),
    ("", r"[mM]ulti_?[pP]rocessor|getAllProcessor|Core Processor", "names of CUDA, LLVM and CPUs"),
    ("src/frontend/onnx/nn/resize", r'"stretch"', "ONNX's name of a policy"),
]

PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def files() -> list[Path]:
    found = [p for room in ("src", "include", "python") for p in sorted((TOP / room).rglob("*"))]
    return [p for p in found if p.suffix in (".cc", ".h", ".c", ".py")]


def is_allowed(name: str, line: str) -> bool:
    return any(name.startswith(where) and re.search(what, line) for where, what, _ in ALLOWED)


def words_of(line: str) -> set[str]:
    return {part.lower() for part in PART.findall(line)}


def wrong_lines(name: str, text: str) -> list[str]:
    out = []
    for number, line in enumerate(text.splitlines(), 1):
        said = {INSTEAD[word] for word in words_of(line) & INSTEAD.keys()}
        said |= {better for phrase, better in PHRASES.items() if re.search(rf"(?i)\b{phrase}\b", line)}
        if said and not is_allowed(name, line):
            out.append(f"{name}:{number}: say {'; '.join(sorted(said))}: {line.strip()[:100]}")
    return out


def test_words_that_are_gone_stay_gone():
    wrong = [line for path in files() for line in wrong_lines(str(path.relative_to(TOP)), path.read_text())]
    assert not wrong, "words of our own; CONTRIBUTING's table has the field's:\n" + "\n".join(wrong)


def test_files_are_named_by_the_same_words():
    wrong = [str(p.relative_to(TOP)) for p in files() if words_of(p.stem) & (INSTEAD.keys() - {"place"})]
    assert not wrong


@pytest.mark.parametrize(
    "line",
    [
        "int place_of(Node node);",
        "/// The refusals, one a line.",
        "struct ExtentPlaces {",
        "// a small float",
        "auto joined = both;",
    ],
)
def test_each_form_of_a_word_is_seen(line):
    assert wrong_lines("src/relay/x.cc", line)


@pytest.mark.parametrize(
    "line",
    [
        "bool in_place = true;",
        'return ", ".join(names)',
        "worker.join();",
        "// replaces a placeholder",
        "out.emplace_back(x);",
    ],
)
def test_other_meanings_are_left_alone(line):
    assert not wrong_lines("python/tessera/x.py", line)
