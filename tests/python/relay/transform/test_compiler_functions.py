"""Functions for external code generators: made global, given away, taken back."""

import tessera
from tessera.relay.transform import (
    InlineCompilerFunctionsBoundTo,
    MarkCompilerFunctionsAsExtern,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)

HEADER = '#[version = "0.0.5"]\n'
INLINE = """
def @main(%x: Tensor[(4), float32]) {
  %0 = fn (%y: Tensor[(4), float32], Primitive=1, Compiler="mine", global_symbol="mine_exp") { exp(%y) };
  %1 = fn (%y: Tensor[(4), float32], Primitive=1, Compiler="other", global_symbol="other_log") { log(%y) };
  %2 = %0(%x);
  %1(%2)
}
"""


def names(mod):
    return {var.name_hint for var in mod.get_global_vars()}


def test_functions_with_a_symbol_become_global_by_that_symbol():
    before = tessera.parser.parse(HEADER + INLINE)
    both = OutlineCompilerFunctionsWithExistingGlobalSymbols()(before)
    assert names(both) == {"main", "mine_exp", "other_log"} and names(before) == {"main"}
    one = OutlineCompilerFunctionsWithExistingGlobalSymbols("mine")(before)
    assert names(one) == {"main", "mine_exp"} and "@mine_exp(%x)" in str(one["main"])
    assert str(one["mine_exp"].attrs["Compiler"]) == "mine"


def test_what_was_compiled_elsewhere_keeps_only_extern():
    mod = OutlineCompilerFunctionsWithExistingGlobalSymbols()(tessera.parser.parse(HEADER + INLINE))
    marked = MarkCompilerFunctionsAsExtern("mine")(mod)
    assert {str(key): int(value) for key, value in marked["mine_exp"].attrs.items()} == {"Extern": 1}
    assert str(marked["other_log"].attrs["Compiler"]) == "other"


def test_functions_are_taken_back():
    mod = OutlineCompilerFunctionsWithExistingGlobalSymbols("mine")(tessera.parser.parse(HEADER + INLINE))
    back = InlineCompilerFunctionsBoundTo([mod.get_global_var("mine_exp")])(mod)
    assert names(back) == {"main"} and "exp(%x)" in str(back["main"]) and 'Compiler="other"' in str(back["main"])
    assert names(InlineCompilerFunctionsBoundTo([])(mod)) == names(mod)
