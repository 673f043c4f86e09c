"""What the documents show is what the programs in them print, and what they name is there.

tools/run_page.py says how a page is written.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import te

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from run_page import Page, agrees, blocks_of, run_in_process  # noqa: E402

DOCUMENTS = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
RUN_ELSEWHERE = {
    "docs/cross_compilation.md": "tests/python/codegen/test_cross.py",  # it knows its emulators
    "docs/rpc.md": "tests/python/runtime/test_rpc.py",  # it starts and ends the servers
    **{  # they need the framework
        f"docs/tutorials/{name}.md": f"tests/frameworks/{name}/test_{name}_tutorial.py"
        for name in ("coreml", "keras", "mxnet", "paddle", "pytorch", "tensorflow", "tflite")
    },
}


def text_of(document):
    return (ROOT / document).read_text()


def blocks(document, language):
    return [block.text for block in blocks_of(text_of(document)) if block.language == language]


def is_program(document):
    return any(block.language in ("python", "sh") for block in blocks_of(text_of(document)))


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if is_program(d) and d not in RUN_ELSEWHERE])
def test_a_page_does_what_it_says(document, tmp_path):
    done = run_in_process(ROOT / document, tmp_path)
    assert done.returncode == 0, done.stderr


def test_pages_that_are_run_elsewhere_are_named_there():
    for document, test in RUN_ELSEWHERE.items():
        assert Path(document).name in text_of(test)


# ---- what pages name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text_of(document), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if not target.startswith(("http://", "https://")):
            assert ((ROOT / document).parent / target).exists(), f"{document} leads to {target}"


def commands_of(document):
    """Lines of shell blocks and of indented blocks, and what stands in backticks, without comments."""
    text = text_of(document)
    lines = re.findall(r"^    (\S.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    lines += [line for block in blocks_of(text) if block.language == "sh" for line in block.text.splitlines()]
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines]


def make_targets():
    return set(re.findall(r"^([a-z][a-z-]*):", text_of("Makefile"), re.M))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_of_a_page_exist(document):
    subcommands = set(re.findall(r"^  ([a-z-]+)\s", run("tessera", "--help"), re.M))
    assert {"cache", "doctor", "targets"} <= subcommands
    for command in commands_of(document):
        if words := re.fullmatch(r"make((?: [a-z][a-z-]*| [A-Z_]+=\S+)+)", command):
            for word in words[1].split():
                assert "=" in word or word in make_targets(), f"{document}: {command}"
        elif words := re.match(r"(?:tessera|tvmc) ([a-z-]+)", command):
            assert words[1] in subcommands, f"{document}: {command}"
        elif words := re.match(r"(?:\.venv/bin/)?python ([a-z_/]+/[a-z_]+\.py)", command):
            assert (ROOT / words[1]).exists(), f"{document}: {command}"


def run(*command, **more):
    program = ROOT / "python" / "tessera" / "bin" / "tessera"
    command = [str(program) if command[0] in ("tessera", "tvmc") else command[0], *command[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_command_of_the_readme_works(tmp_path):
    """Quick ones are run; what takes minutes must at least be a target of the Makefile."""
    (tmp_path / "script.py").write_text("import tvm\nprint(tvm.te.var('n'))\n")
    python_path = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    quick = {
        "make help": lambda: run("make", "-C", str(ROOT), "help"),
        "tessera cache": lambda: run("tessera", "cache"),
        "tessera doctor": lambda: run("tessera", "doctor"),
        "tessera run model.onnx": lambda: run(
            "tessera", "run", ROOT / "examples/digits/digits.onnx", "--print-top", "1"
        ),
        "python -m tessera.as_tvm script.py": lambda: run(
            sys.executable, "-m", "tessera.as_tvm", "script.py", cwd=tmp_path, env=python_path
        ),
    }
    found = [c for c in commands_of("README.md") if re.match(r"(make|tessera|tvmc|python|pip|cmake|ninja) ", c)]
    assert found
    run_with_the_page = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    for command in found:
        if command in run_with_the_page:
            continue
        if command in quick:
            assert quick[command]().strip()
        elif command.startswith("pip install dist/tessera-"):
            assert "test-wheel" in make_targets()  # which installs each wheel into an empty environment
        elif command.startswith("pip install torch"):
            assert "README.md" in text_of("tests/frameworks/test_readme.py")
        else:
            target = re.fullmatch(r"make ([a-z-]+)", command)
            assert target and target[1] in make_targets(), f"no test runs the README's command: {command}"


# ---- the way pages are run -------------------------------------------------------------------------------------------


def test_dots_stand_for_what_varies():
    assert agrees("a\nb\nc\n", "a\n...\nc\n")
    assert agrees("a\nc\n", "a\n...\nc\n")
    assert agrees("took 12 ms\n", "took ... ms\n")
    assert not agrees("took 12 s\n", "took ... ms\n")
    assert not agrees("a\nb\nc\n", "a\nc\n")
    assert not agrees("a.b\n", "axb\n")


@pytest.mark.parametrize(
    "text, what",
    [
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", "1\n"),
        ("```sh\necho hello\n```\n\n```output\ngoodbye\n```\n", "hello\n"),
        ("```python error\nint('x')\n```\n\n```output\nnothing\n```\n", "ValueError: invalid literal"),
    ],
)
def test_a_page_that_says_something_else_is_found(tmp_path, text, what):
    (tmp_path / "page.md").write_text(text)
    ((block, printed),) = Page(tmp_path / "page.md", tmp_path).run()
    assert block.line == 6 and printed.startswith(what)


@pytest.mark.parametrize("text", ["```python error\n1 + 1\n```\n", "```sh\nfalse\n```\n", "```output\n```\n"])
def test_a_page_that_goes_wrong_is_an_error(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(Exception, match="page.md:2"):
        Page(tmp_path / "page.md", tmp_path).run()


# ---- pages whose pictures are parts of what is printed ---------------------------------------------------------------


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
