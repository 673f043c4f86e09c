#!/usr/bin/env python
"""Looks for ONNX models that break the importer, by changing well-formed ones field by field.

    python tests/fuzz/mutate_onnx.py [FOLDER OF MODELS] [--seconds 60] [--seed 0] [--only PATTERN] [--keep FOLDER]

Where a fuzzer of bytes mostly makes files that are no protobuf, this one keeps the wire format and changes what it says: other
numbers in shapes and attributes, tensors cut short, names that lead elsewhere, fields repeated or left out. Without a folder the
models are those of ONNX's own operator tests. An importer may succeed or reject; what counts is a crash, a failed check of our own,
an error of a kind that no user can understand, more than 4 GiB, or more than 20 seconds. Such models are kept.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor

INTEGERS = [0, 1, 2, 3, 5, 8, -1, -2, -7, 64, 1000, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -1.0, 0.5, 2.0, 1e30, -1e30, float("nan"), float("inf"), -float("inf")]
USER_ERRORS = (
    "ValueError",
    "TypeError",
    "NotImplementedError",
    "TVMError",
    "DiagnosticError",
    "OpError",
    "OpNotImplemented",
)


def fields(message: Any, out: list[tuple[Any, FieldDescriptor]]) -> list[tuple[Any, FieldDescriptor]]:
    """Every field that is set, in the message and in all inside it."""
    for field, value in message.ListFields():
        out.append((message, field))
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                fields(inner, out)
    return out


def other(field: FieldDescriptor, value: Any, texts: list[str], rng: random.Random) -> Any:
    """Another value of a scalar field."""
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        data = bytearray(value)
        if rng.random() < 0.3:
            return bytes(data[: rng.randrange(len(data) + 1)])
        if len(data) >= 8 and rng.random() < 0.6:
            at = rng.randrange(len(data) // 8) * 8
            data[at : at + 8] = (rng.choice(INTEGERS) % 2**64).to_bytes(8, "little")
        else:
            data[:] = bytes(rng.randrange(256) for _ in data)
        return bytes(data)
    if field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice([*texts, ""])
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    number = rng.choice([*INTEGERS, value + 1, value - 1, -value])
    bits = 32 if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32) else 64
    return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def change(model: Any, rng: random.Random) -> None:
    """One change somewhere in the model."""
    found = [field for field in fields(model, []) if field[1].name not in ("doc_string", "producer_name")]
    message, field = rng.choice(found)
    texts = sorted({t for m, f in found if f.type == FieldDescriptor.TYPE_STRING for t in as_list(m, f)})
    if not field.is_repeated:
        if field.type == FieldDescriptor.TYPE_MESSAGE or rng.random() < 0.1:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, other(field, getattr(message, field.name), texts, rng))
        return
    items = getattr(message, field.name)
    at, action = rng.randrange(len(items)), rng.random()
    if action < 0.2:
        del items[at]
    elif action < 0.35:
        items.append(items[at])
    elif action < 0.4:
        del items[:]
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        items[at].CopyFrom(items[rng.randrange(len(items))])
    else:
        items[at] = other(field, items[at], texts, rng)


def as_list(message: Any, field: FieldDescriptor) -> list[str]:
    value = getattr(message, field.name)
    return list(value) if field.is_repeated else [value]


def work(models: list[Path], seed: int, until: float, note: Path, found: Any) -> None:
    """Changes and imports until the time is over. `note` holds the model that is being imported."""
    from tessera.relay.frontend import from_onnx

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    rng = random.Random(seed)
    while time.time() < until:
        model = onnx.load(str(rng.choice(models)))
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            change(model, rng)
        data = model.SerializeToString()
        note.write_bytes(data)
        signal.alarm(20)  # nothing handles it: the process ends
        kind = "taken"
        try:
            from_onnx(data)
        except Exception as error:
            kind = type(error).__name__
            is_ours = any(base.__name__ in USER_ERRORS for base in type(error).__mro__)
            if kind == "InternalError" or not is_ours:
                found.put((kind, str(error)[:2000], data))
        signal.alarm(0)
        found.put(("count", kind, b""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a pattern that names of models must match")
    parser.add_argument("--keep", type=Path, default=Path("build-fuzz"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="mutate-"))
    folder = options.models or scratch
    if not options.models:
        from onnx.backend.test.case.node import collect_testcases

        for case in collect_testcases(None):
            if case.model.ByteSize() < 20000:
                (scratch / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
    models = sorted(path for path in folder.rglob("*.onnx") if re.search(options.only, path.name))
    options.keep.mkdir(exist_ok=True)
    until, seed = time.time() + options.seconds, options.seed * 1000
    found: Any = multiprocessing.get_context("spawn").Queue()
    workers: list[tuple[Any, Path]] = []
    counts: collections.Counter[str] = collections.Counter()
    seen: set[str] = set()

    def keep(kind: str, message: str, data: bytes) -> None:
        key = kind + re.sub(r"[0-9]+", "0", message.split("\n")[0])[:80]
        if key in seen:
            return
        seen.add(key)
        path = options.keep / f"mutate_onnx-{len(seen)}-{os.getpid()}.onnx"
        path.write_bytes(data)
        print(f"{path}: {kind}: {message}\n", flush=True)

    while time.time() < until or workers:
        while len(workers) < options.jobs and time.time() < until:
            seed += 1
            note = scratch / f"note-{seed}"
            worker = multiprocessing.get_context("spawn").Process(target=work, args=(models, seed, until, note, found))
            worker.start()
            workers.append((worker, note))
        while not found.empty():
            kind, message, data = found.get()
            if kind == "count":
                counts[message] += 1
            else:
                keep(kind, message, data)
        for worker, note in list(workers):
            if worker.is_alive():
                continue
            workers.remove((worker, note))
            if worker.exitcode and worker.exitcode < 0:
                nodes = ",".join(node.op_type for node in onnx.load_from_string(note.read_bytes()).graph.node)
                what = "took too long" if worker.exitcode == -signal.SIGALRM else f"ended by {worker.exitcode}"
                keep("crash", f"{what} {nodes}", note.read_bytes())
        time.sleep(0.1)
    print(f"{sum(counts.values())} models from {len(models)}: {dict(counts.most_common())}")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
