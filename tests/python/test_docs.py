"""What the documents show is what the programs in them print."""

import pathlib
import re

import numpy as np
import tessera
from tessera import te

ROOT = pathlib.Path(__file__).parents[2]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)


def test_every_level_of_the_architecture_page_is_printed_as_shown():
    names: dict = {}
    exec(blocks("docs/architecture.md", "python")[0], names)
    arguments = [names["x"], names["w"], names["relu"]]
    as_blocks, lowered = blocks("docs/architecture.md", "text")
    assert as_blocks in te.create_prim_func(arguments).script()
    assert lowered in str(tessera.lower(names["s"], arguments))
    module = tessera.build(names["s"], arguments, "llvm")
    assert "phi <4 x float>" in module.get_source()
    x, w = np.random.rand(8, 16).astype("float32"), np.random.rand(4, 16).astype("float32") - 0.5
    out = tessera.nd.empty((8, 4))
    module(tessera.nd.array(x), tessera.nd.array(w), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(x @ w.T, 0), rtol=1e-5, atol=1e-6)


def test_the_readme_program_runs():
    names: dict = {}
    exec(blocks("README.md", "python")[0], names)
    np.testing.assert_allclose(names["c"].numpy(), names["a"] @ names["b"], rtol=1e-4)


def test_the_program_of_the_virtual_machine_page_is_compiled_as_shown():
    names: dict = {}
    exec(blocks("docs/virtual_machine.md", "python")[0], names)
    assert blocks("docs/virtual_machine.md", "text")[0].strip() == names["executable"].bytecode.strip()
    np.testing.assert_allclose(names["out"].numpy(), np.full((5, 3), 4.0, "float32"))
