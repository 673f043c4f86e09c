#!/usr/bin/env python
"""Writes the API reference, one page a module, from signatures and docstrings: `make docs`.

    python tools/api_reference.py build/docs/api

The pages are made when they are asked for and never kept in the repository, so they cannot be out of date. A name is
described on the page of the module that comes first in MODULES; later ones link to it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path

# In the order in which a reader meets them.
MODULES = [
    "tessera",
    "tessera.nd",
    "tessera.te",
    "tessera.tir",
    "tessera.tir.transform",
    "tessera.tir.schedule",
    "tessera.script.tir",
    "tessera.ir",
    "tessera.ir.transform",
    "tessera.ir.instrument",
    "tessera.arith",
    "tessera.relay",
    "tessera.relay.nn",
    "tessera.relay.image",
    "tessera.relay.vision",
    "tessera.relay.qnn.op",
    "tessera.relay.frontend",
    "tessera.relay.transform",
    "tessera.relay.analysis",
    "tessera.relay.dataflow_pattern",
    "tessera.relay.vm",
    "tessera.topi",
    "tessera.topi.nn",
    "tessera.topi.image",
    "tessera.topi.vision",
    "tessera.target",
    "tessera.driver",
    "tessera.driver.tvmc",
    "tessera.runtime",
    "tessera.runtime.profiling",
    "tessera.contrib.graph_executor",
    "tessera.testing",
]


def find(name: str) -> types.ModuleType:
    """The module that users call so: some (`tessera.nd`) are attributes of their package and no files in it."""
    package, _, leaf = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return getattr(find(package), leaf)


def public_names(module: types.ModuleType) -> list[str]:
    """Classes and functions of ours that the module offers: all that a package gathers, and what `__all__` of a file lists."""
    names = set(getattr(module, "__all__", ()))
    if hasattr(module, "__path__") or not names:
        names |= {name for name in dir(module) if not name.startswith("_")}
    package = module.__name__.split(".")[0]

    def ours(name: str) -> bool:
        value = getattr(module, name, None)
        home = getattr(value, "__module__", None)
        return callable(value) and isinstance(home, str) and home.split(".")[0] == package

    return sorted(filter(ours, names), key=lambda name: (name.lower(), name))


class Annotation:
    """An annotation as it is written: modules keep theirs as text, which Python would print in quotes."""

    def __init__(self, value: object):
        self.value = value

    def __repr__(self) -> str:
        return self.value if isinstance(self.value, str) else inspect.formatannotation(self.value)


def signature(value: object) -> str:
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"

    def written(annotation: object) -> object:
        return annotation if annotation is inspect.Signature.empty else Annotation(annotation)

    parameters = [
        p.replace(annotation=written(p.annotation)) for p in found.parameters.values() if p.name not in ("self", "cls")
    ]
    text = str(found.replace(parameters=parameters, return_annotation=written(found.return_annotation)))
    return re.sub(r" at 0x[0-9a-f]+", "", text)  # a default value that prints its address


def docstring(value: object) -> str:
    return inspect.cleandoc(getattr(value, "__doc__", None) or "").strip()


def members(cls: type) -> Iterator[tuple[str, object, str]]:
    """What the class itself adds: (name, value, kind), without what it inherits."""
    for name, value in vars(cls).items():
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, property):
            yield name, value, "property"
        elif isinstance(value, (staticmethod, classmethod)):
            yield name, value.__func__, "static"
        elif inspect.isfunction(value):
            yield name, value, "method"


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "", heading.lower().replace(" ", "-"))


def page(title: str, module: types.ModuleType, elsewhere: dict[int, str]) -> str:
    """The page of a module. `elsewhere` has the links to what earlier pages describe, by identity, and is added to."""
    out = [f"# {title}", ""]
    if text := docstring(module):
        out += [text, ""]
    described: list[tuple[str, object]] = []
    repeated: list[tuple[str, object]] = []
    for name in public_names(module):
        value = getattr(module, name)
        (repeated if id(value) in elsewhere else described).append((name, value))
    for heading, is_wanted in (("Classes", inspect.isclass), ("Functions", lambda value: not inspect.isclass(value))):
        chosen = [(name, value) for name, value in described if is_wanted(value)]
        if chosen:
            out += [f"## {heading}", ""]
        for name, value in chosen:
            elsewhere[id(value)] = f"[`{title}.{name}`]({title}.md#{anchor(name)})"
            out += entry(name, value)
    if repeated:
        out += ["## Described elsewhere", ""]
        out += [f"- `{name}`: {elsewhere[id(value)]}" for name, value in repeated] + [""]
    return "\n".join(out)


def entry(name: str, value: object) -> list[str]:
    out = [f"### {name}", "", "```text", name + signature(value), "```", ""]
    if text := docstring(value):
        out += [text, ""]
    if inspect.isclass(value):
        for member, what, kind in members(value):
            title = member if kind == "property" else member + signature(what)
            text = docstring(what)
            out += [f"- `{title}`" + (": " + text.replace("\n", "\n  ") if text else "")]
        out += [""]
    return out


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere: dict[int, str] = {}
    index = [
        "# API reference",
        "",
        "Made by `make docs` from signatures and docstrings.",
        "",
        "| module | |",
        "| --- | --- |",
    ]
    written = []
    for title in MODULES:
        module = find(title)
        written.append(folder / f"{title}.md")
        written[-1].write_text(page(title, module, elsewhere))
        first = docstring(module).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        index.append(f"| [{title}]({title}.md) | {first} |")
    (folder / "README.md").write_text("\n".join(index) + "\n")
    return [folder / "README.md", *written]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    written = write(parser.parse_args().folder)
    print(f"{written[0]} and {len(written) - 1} pages")


if __name__ == "__main__":
    main()
