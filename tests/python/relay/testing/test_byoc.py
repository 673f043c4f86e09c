"""Regions for an example of an external code generator."""

import tessera
from tessera import relay
from tessera.relay.testing.byoc import CcompilerAnnotator


def test_trees_of_arithmetic_become_functions_of_the_compiler():
    x, y, z = (relay.var(name, shape=(4,)) for name in "xyz")
    body = relay.exp(relay.multiply(relay.subtract(relay.add(x, y), z), y))
    marked = CcompilerAnnotator().visit(relay.Function([x, y, z], body))
    mod = relay.transform.PartitionGraph()(relay.transform.InferType()(tessera.IRModule.from_expr(marked)))
    functions = [f for f in mod.functions.values() if f.attrs and "Compiler" in f.attrs]
    assert len(functions) == 1 and str(functions[0].attrs["Compiler"]) == "ccompiler"
    text = str(functions[0])
    assert all(name in text for name in ("add", "subtract", "multiply")) and "exp" not in text
    assert "exp" in str(mod["main"])
