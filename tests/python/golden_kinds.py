"""The differences from v0.10 that are on purpose, by kind: what lines of a text may differ, and in which cases.

Each kind stands in docs/compatibility.md under the words of its name. A difference in another case, or in a line that
no kind of its case allows, is a new one.
"""

from __future__ import annotations

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Kind:
    """`lines` are patterns of whole lines of either text, `cases` the cases that may have them, by program."""

    lines: tuple[str, ...]
    cases: dict[str, tuple[str, ...]]


_PACKED = tuple(
    f"{name}.{case}"
    for name in ("MakePackedAPI", "LowerTVMBuiltin", "CombineContextCall")
    for case in ("symbolic", "packed", "parallel")
)

KINDS = {
    "Buffers of `double_buffer` and virtual threads are declared with the size they have": Kind(
        (
            r"C.local_1: Buffer\(C.local, float32, \[\d+\].*",
            r"C_local_1 = T.buffer_decl\(\[\d+\], .*",
            r"A.shared_1: Buffer\(A.shared, float32, \[\d+\].*",
            r"A_shared_1 = T.buffer_decl\(\[\d+\], .*",
        ),
        {
            "lower_text": (
                "gpu_matmul_shared_vthread.text",
                "gpu_matmul_shared_vthread.script",
                "double_buffer_shared.text",
                "double_buffer_shared.script",
            )
        },
    ),
    "`prefetch` asks for the rows that the schedule names": Kind(
        (r"@tir.prefetch\(.*", r"T.evaluate\(T.prefetch\(.*"),
        {"lower_text": ("prefetch_rows.text", "prefetch_rows.script")},
    ),
    "The host wrapper checks all type codes and for `None` before it reads any shape": Kind(
        (r"assert .*Expect arg\[\d\] to be.*", r"assert .*\.(ndim|dtype) is expected to.*"),
        {"tir_passes": _PACKED},
    ),
    "Arguments need only be aligned to their element": Kind(
        (r'T.attr\([AB], "storage_alignment", 64\)',),
        {"tir_passes": (*_PACKED, "MakeUnpackedAPI.packed", "MakeUnpackedAPI.parallel", "SkipAssert.symbolic")},
    ),
    "The arrays of arguments on the stack have sizes of type int32": Kind(
        (
            r"stack_tcode_1 = T.buffer_decl\(\[.*",
            r"stack_shape_\d = T.buffer_decl\(\[.*",
            r"stack_shape_\d\[1\] = .*",
            r"T.evaluate\(T.tvm_struct_set\(stack_array, \d, 2, T.address_of\(stack_shape_\d.*",
        ),
        {"tir_passes": ("LowerTVMBuiltin.packed", "CombineContextCall.packed")},
    ),
    "a parameter that is a bare pointer as `A: T.Ptr[T.float32]`": Kind(
        (
            r"def main\(.*\) -> T.int32:",
            r"[AB]_1 = T.match_buffer\(.*",
            r"T.evaluate\(T.tvm_call_packed\(\"golden.fn\".*",
            r"B(_1)?\[cse_var_1:cse_var_1 \+ 8\] = T.exp\(.*",
        ),
        {"tir_passes": ("MakeUnpackedAPI.packed", "MakeUnpackedAPI.parallel")},
    ),
    "a declaration is printed once": Kind(
        (r"\w+ = T.buffer_decl\(.*",),
        {"tir_passes": ("SkipAssert.symbolic",)},
    ),
    "Loop partition folds constants as it copies, and leaves a guard that never holds to Simplify": Kind(
        (r"A\[.*\] = T.cast\(.*", r"if (False|4 \* 16 \+ \(ii \+ 6\) < 70):"),
        {"tir_passes": ("LoopPartition.guarded",)},
    ),
    "A launch passes each thread extent once": Kind(
        (r'T.evaluate\(T.tvm_call_packed\("main_kernel0".*', r'T.func_attr\(\{"target".*'),
        {"tir_passes": ("SplitHostDevice.gpu_shared",)},
    ),
    "`exp`, `tanh`, `log` and their like on vectors are polynomials of ours": Kind(
        (r"r(_\d)? = T.var\(\"\w+x8\"\)", r"B\[cse_var_1:cse_var_1 \+ 8\] = T.(let|call_llvm_pure_intrin)\(.*"),
        {"tir_passes": ("LowerIntrin.parallel_llvm",)},
    ),
    "statements that do nothing are left out": Kind(
        (r"T.evaluate\(0\)",),
        {"tir_passes": ("Simplify.simp",)},
    ),
    "The regions of a root block are printed": Kind(
        (
            r'# with T.block\("root"\)',
            r'with T.block\("rev"\):',
            r"T.(reads|writes)\((A|rev)\[0 : 16\]\)",
            r"for i in T.parallel\(16\):",
            r"rev\[i\] = A\[15 - i\]",
        ),
        {"prim_func_script": ("create.extern_ib",)},
    ),
    "A declaration that nothing uses is left out": Kind(
        (r"B_2 = T.decl_buffer\(.*",),
        {"prim_func_script": ("lowered.storage_align",)},
    ),
    "An argument of the wrong type is a `TypeError`": Kind(
        (r"!! (TVMError|TypeError)",),
        {"prim_func_script": ("create.scalar_arg",)},
    ),
}

PROGRAMS = sorted({program for kind in KINDS.values() for program in kind.cases})


def unexpected(program: str, shown: str) -> list[str]:
    """What `run.py --show` printed that no kind allows, and the cases of kinds that agree by now."""
    problems, differing, case = [], set(), ""
    for line in shown.splitlines():
        head = re.match(rf"{program}: (?:DIFFERS|yardstick differs) (.*)", line)
        if head:
            case = head.group(1)
            differing.add(case)
            if not patterns(program, case):
                problems.append(f"{case} differs, and no kind lists it")
        elif re.match(r"    [-+](?!--|\+\+)", line):
            text = line[5:].strip()
            if text and not any(re.fullmatch(pattern, text) for pattern in patterns(program, case)):
                problems.append(f"{case}: no kind of its allows {line[4:]}")
    listed = {name for kind in KINDS.values() for name in kind.cases.get(program, ())}
    problems += [f"{name} agrees now: strike it from its kinds" for name in sorted(listed - differing)]
    return problems


def patterns(program: str, case: str) -> list[str]:
    """The lines in which the case may differ."""
    return [line for kind in KINDS.values() if case in kind.cases.get(program, ()) for line in kind.lines]
