"""The reference that `make docs` writes: every public name, its signature and what its docstring says."""

import re
import sys
from pathlib import Path

import pytest
import tessera

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import api_reference


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return {path.stem: path.read_text() for path in api_reference.write(tmp_path_factory.mktemp("api"))}


@pytest.mark.parametrize("module", api_reference.MODULES)
def test_every_public_name_says_what_it_is(module):
    found = api_reference.find(module)
    assert api_reference.docstring(found), f"{module} has no docstring"
    silent = [n for n in api_reference.public_names(found) if not api_reference.docstring(getattr(found, n))]
    assert not silent, f"no docstring: {silent}"


def test_the_names_that_users_start_with_are_described(pages):
    for name in ("Model", "compile", "build", "lower", "IRModule", "device"):
        assert f"\n### {name}\n" in pages["tessera"]
    assert "\n### array\n" in pages["tessera.nd"]
    assert "\n### create_schedule\n" in pages["tessera.te"]
    assert "\n### conv2d\n" in pages["tessera.relay.nn"]
    assert "\n### build\n" in pages["tessera.relay"]
    assert "\n### from_onnx\n" in pages["tessera.relay.frontend"]


def test_an_entry_has_the_signature_as_written_and_the_docstring(pages):
    assert "create_schedule(ops: " in pages["tessera.te"] and "'Any'" not in pages["tessera.te"]
    (model,) = re.findall(r"^### Model$(.*?)^### ", pages["tessera"], re.M | re.S)
    assert tessera.Model.__doc__.splitlines()[0] in model
    assert re.search(r"^- `run\(.*\) -> .*`: Runs the model", model, re.M), model
    assert "self" not in model


def test_a_name_is_described_once_and_linked_from_elsewhere(pages):
    assert "### IRModule" not in pages["tessera.ir"]
    assert "- `IRModule`: [`tessera.IRModule`](tessera.md#irmodule)" in pages["tessera.ir"]


def test_links_lead_to_headings(pages):
    links = [(page, link) for page, text in pages.items() for link in re.findall(r"\]\(([\w.]+)\.md(#[\w-]+)?\)", text)]
    assert len(links) > len(pages)
    for page, (target, heading) in links:
        assert target in pages, f"{page} leads to {target}"
        headings = {"#" + api_reference.anchor(h) for h in re.findall(r"^#+ (.*)$", pages[target], re.M)}
        assert not heading or heading in headings, f"{page} leads to {target}{heading}"


def test_the_index_lists_every_page(pages):
    assert (
        set(re.findall(r"\(([\w.]+)\.md\)", pages["README"])) == set(pages) - {"README"} == set(api_reference.MODULES)
    )
