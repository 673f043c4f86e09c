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


def times_of(functions: list[Callable[[], Any]], rounds: int, calls: int = 50) -> list[float]:
    """Seconds of one call of each, in the best of the rounds, in which they take turns."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, found in zip(functions, seconds):
            function()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            found.append((time.perf_counter() - start) / calls)
    return [min(found) for found in seconds]


def speed(model: tessera.Model, image: np.ndarray, rounds: int) -> Rows:
    """The time of one picture, from a NumPy array to a NumPy array."""
    peer = runtime_session()
    ours: Callable[[], Any] = lambda: model.run(image)[0].numpy()
    if peer is None:
        (seconds,) = times_of([ours], rounds)
        return [("one picture", f"{seconds * 1e6:.1f} µs (onnxruntime is not installed: nothing to compare with)")]
    run, name = peer
    np.testing.assert_allclose(ours(), run(image), rtol=1e-3, atol=1e-5)
    seconds, theirs = times_of([ours, lambda: run(image)], rounds)
    ratio = theirs / seconds
    told = f"{ratio:.2f} times as fast" if ratio >= 1 else f"{1 / ratio:.2f} times as slow"
    return [("one picture", f"{seconds * 1e6:.1f} µs; {name}: {theirs * 1e6:.1f} µs, so {told}")]


def kilobytes(path: str | os.PathLike) -> str:
    return f"{os.path.getsize(path) / 1000:,.0f} kB"


def compiled(package_path: pathlib.Path, image: np.ndarray) -> tuple[tvmc.TVMCModel, tessera.Model, Rows]:
    """The model as it was read and as it runs, and what that took."""
    times = [time.perf_counter()]
    loaded = tvmc.load(MODEL)
    times.append(time.perf_counter())
    package = tvmc.compile(loaded, target="llvm", package_path=package_path)
    times.append(time.perf_counter())
    model = tessera.Model(package.package_path)
    model.run(image)
    times.append(time.perf_counter())
    read, compile_, run = ((end - start) * 1e3 for start, end in zip(times, times[1:]))
    steps = f"{read:.0f} to read the model, {compile_:.0f} to compile and pack it, {run:.0f} to load and run it"
    return (
        loaded,
        model,
        [
            ("from file to answer", f"{read + compile_ + run:.0f} ms: {steps}"),
            ("to ship", f"{kilobytes(package_path)}: {package_path}"),
            ("beside it", f"{kilobytes(LIBRARY)}: {LIBRARY.name}, which runs it without compiler or Python"),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compiles a trained network and reads digits with it.")
    parser.add_argument("--report", type=pathlib.Path, default=pathlib.Path("digits.html"), help="where the page goes")
    parser.add_argument("--rounds", type=int, default=60, help="how often the time is taken, 50 pictures each")
    options = parser.parse_args()
    options.report.parent.mkdir(parents=True, exist_ok=True)
    images, labels = held_back()

    loaded, model, costs = compiled(options.report.with_name("digits.tar"), images[:1])
    answers, certainty = answers_of(model, images)
    right = answers == labels
    first = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    hardest = [int(i) for i in np.lexsort((certainty, right))[:5]]
    rows = [
        ("accuracy", f"{right.sum()} of {len(labels)} held-back digits read right, {right.mean():.1%}"),
        *speed(model, images[:1], options.rounds),
        *costs,
    ]

    def caption(i: int) -> str:
        return f"{answers[i]} ({certainty[i]:.0%})" + ("" if right[i] else f", is {labels[i]}")

    style = pictures.style_of()
    title = f"Tessera reads handwritten digits: {MODEL.name}, {kilobytes(MODEL)}, trained by Tessera"
    parts = [report.paragraph(f"{platform.machine()}, {os.cpu_count()} CPUs"), report.table(rows)]
    print(title)
    for heading, chosen in (("Digits it had not seen", first), ("The hardest of them", hardest)):
        drawn = [pictures.picture(images[i, 0], style) for i in chosen]
        print(f"\n{heading}:\n\n{pictures.side_by_side(drawn, [caption(i) for i in chosen])}", end="")
        figures = (report.figure(images[i, 0], caption(i), bool(right[i])) for i in chosen)
        parts += [report.heading(heading), *figures]
    text = "\n".join(f"  {name:<20} {value}" for name, value in rows)
    print("\n" + (text if style != pictures.LETTERS else text.replace("µ", "u")))

    parts += [report.heading("The model as Relay"), report.preformatted(loaded.mod.astext(show_meta_data=False))]
    options.report.write_text(report.page(title, parts), encoding="utf-8")
    print(f"\nThe report is in {options.report.resolve()}")
    print("Next: docs/quick_start.md, or train the network again: examples/digits/train.py")


if __name__ == "__main__":
    main()
