"""The demo: a trained network from an ONNX file, compiled here, reading digits it has not seen before.

    make demo        (or: python examples/digits/demo.py --report report.html)

Shows pictures with the answers, how many of the held-back digits are read right, the time of one picture beside ONNX
Runtime's where that is installed, and the size of what would be shipped. The report is also written as a page.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import statistics
import sys
import time
from typing import Any, Callable

import numpy as np
import pictures
import report
import tessera
from tessera.driver import tvmc

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "digits.onnx"
LIBRARY = pathlib.Path(tessera.__file__).parent / "lib" / "libtessera_runtime.so"
Rows = list[tuple[str, str]]


def held_back() -> tuple[np.ndarray, np.ndarray]:
    """Pictures as the network takes them, (n, 1, 8, 8) from 0 to 1, and what they show."""
    with np.load(HERE / "held_back.npz") as data:
        return (data["images"].astype("float32") / 16)[:, None], data["labels"]


def answers_of(model: tessera.Model, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The digit that the network sees in each picture, and how sure it is."""
    probabilities = np.concatenate([model.run(image[None])[0].numpy() for image in images])
    return probabilities.argmax(axis=1), probabilities.max(axis=1)


def runtime_session() -> tuple[Callable[[np.ndarray], Any], str] | None:
    """ONNX Runtime's way to run the model, and its name, where it is installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    return lambda image: session.run(None, {"image": image})[0], f"ONNX Runtime {onnxruntime.__version__}"


def times_of(functions: list[Callable[[], Any]], rounds: int = 15, calls: int = 200) -> list[float]:
    """Seconds of one call of each: the median over rounds, in which they take turns."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, found in zip(functions, seconds):
            function()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            found.append((time.perf_counter() - start) / calls)
    return [statistics.median(found) for found in seconds]


def speed(model: tessera.Model, image: np.ndarray) -> Rows:
    """The time of one picture, from a NumPy array to a NumPy array."""
    peer = runtime_session()
    ours: Callable[[], Any] = lambda: model.run(image)[0].numpy()
    if peer is None:
        (seconds,) = times_of([ours])
        return [("one picture", f"{seconds * 1e6:.1f} µs (onnxruntime is not installed: nothing to compare with)")]
    run, name = peer
    np.testing.assert_allclose(ours(), run(image), rtol=1e-3, atol=1e-5)
    seconds, theirs = times_of([ours, lambda: run(image)])
    ratio = theirs / seconds
    told = f"{ratio:.2f} times as fast" if ratio >= 1 else f"{1 / ratio:.2f} times as slow"
    return [("one picture", f"{seconds * 1e6:.1f} µs; {name}: {theirs * 1e6:.1f} µs, so {told}")]


def kilobytes(path: str | os.PathLike) -> str:
    return f"{os.path.getsize(path) / 1000:,.0f} kB"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compiles a trained network and reads digits with it.")
    parser.add_argument(
        "--report", type=pathlib.Path, default=pathlib.Path("digits-report.html"), help="where the page goes"
    )
    parser.add_argument(
        "--package", type=pathlib.Path, help="where the compiled model goes; beside the report when not given"
    )
    options = parser.parse_args()
    options.report.parent.mkdir(parents=True, exist_ok=True)
    package_path = options.package or options.report.with_name("digits.tar")
    style = pictures.style_of()
    images, labels = held_back()

    start = time.perf_counter()
    loaded = tvmc.load(str(MODEL))
    imported = time.perf_counter()
    package = tvmc.compile(loaded, target="llvm", package_path=str(package_path))
    compiled = time.perf_counter()
    model = tessera.Model(package.package_path)
    model.run(images[:1])
    first = time.perf_counter()
    answers, certainty = answers_of(model, images)
    right = answers == labels

    shown = [int(np.flatnonzero((labels == digit) & right)[0]) for digit in range(10)]
    hardest = [int(i) for i in np.lexsort((certainty, right))[:5]]
    captions = {
        i: f"{answers[i]} ({certainty[i]:.0%})" + ("" if right[i] else f", is {labels[i]}") for i in shown + hardest
    }
    rows: Rows = [
        ("accuracy", f"{right.sum()} of {len(labels)} held-back digits read right, {right.mean():.1%}"),
        *speed(model, images[:1]),
        ("from file to answer", f"{(first - start) * 1e3:.0f} ms: {(imported - start) * 1e3:.0f} to read the model, "
         f"{(compiled - imported) * 1e3:.0f} to compile and pack it, {(first - compiled) * 1e3:.0f} to load and run it"),
        ("to ship", f"{kilobytes(package.package_path)}: {package.package_path}"),
        ("beside it", f"{kilobytes(LIBRARY)}: {LIBRARY.name}, which runs it without compiler or Python"),
    ]  # fmt: skip

    print(
        f"Tessera {tessera.__version__} reads handwritten digits: {MODEL.name}, {kilobytes(MODEL)}, trained by Tessera\n"
    )
    print(pictures.side_by_side([pictures.picture(images[i, 0], style) for i in shown], [captions[i] for i in shown]))
    print("  The hardest of those held back:\n")
    print(
        pictures.side_by_side([pictures.picture(images[i, 0], style) for i in hardest], [captions[i] for i in hardest])
    )
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)
    print(text if style != pictures.LETTERS else text.replace("µ", "u"))

    parts = [
        report.paragraph(
            f"{MODEL.name} on {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}."
        ),
        report.table(rows),
        report.heading("Digits it had not seen"),
        *(report.figure(images[i, 0], captions[i]) for i in shown),
        report.heading("The hardest of those held back"),
        *(report.figure(images[i, 0], captions[i], bool(right[i])) for i in hardest),
        report.heading("The model as Relay"),
        report.preformatted(loaded.mod.astext(show_meta_data=False)),
    ]
    options.report.write_text(report.page("Tessera reads handwritten digits", parts), encoding="utf-8")
    print(f"\nThe report is in {options.report.resolve()}")
    print(
        "Next: `tessera run examples/digits/digits.onnx`, docs/, or train the network again: examples/digits/train.py"
    )


if __name__ == "__main__":
    sys.exit(main())
