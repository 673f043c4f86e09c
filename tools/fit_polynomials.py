"""Fits the polynomials of src/codegen/intrin_rules/coefficients.h (needs mpmath).

Each fit makes  base(u) + factor(u) * P(u)  close to f(u).
    python tools/fit_polynomials.py > src/codegen/intrin_rules/coefficients.h
"""

from typing import Any, Callable

import mpmath as mp

mp.mp.dps = 150

Function = Callable[[Any], Any]


def interpolate(target: Function, weight: Function, lo: Any, hi: Any, degree: int) -> tuple[list[Any], Any]:
    """Coefficients (lowest first) of the polynomial through the Chebyshev points of [lo, hi], which is close to the
    best one, and its largest weighted error."""
    n = degree + 1
    points = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    rows = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for i, x in enumerate(points):
        for k in range(n):
            rows[i, k] = x**k
        right[i] = target(x)
    solution = mp.lu_solve(rows, right)
    coefficients = [solution[k] for k in range(n)]
    grid = [lo + (hi - lo) * i / 500 for i in range(501)]
    worst = max(abs(weight(x) * (mp.polyval(coefficients[::-1], x) - target(x))) for x in grid)
    return coefficients, worst


def fit(
    name: str, comment: str, bits: int, f: Function, base: Function, factor: Function, lo: Any, hi: Any, degree: int
) -> None:
    """[lo, hi] is the range of u; `f`, `base` and `factor` are functions of u."""
    coefficients, worst = interpolate(
        lambda u: (f(u) - base(u)) / factor(u), lambda u: factor(u) / f(u), mp.mpf(lo), mp.mpf(hi), degree
    )
    digits = 10 if bits == 32 else 20
    print(f"/// {comment}")
    print(f"/// u in [{mp.nstr(mp.mpf(lo), 4)}, {mp.nstr(mp.mpf(hi), 4)}]; largest relative error {mp.nstr(worst, 2)}.")
    lines = ", ".join(mp.nstr(c, digits, strip_zeros=False) for c in coefficients)
    print(f"inline constexpr double {name}[] = {{{lines}}};\n")


EPS = mp.mpf(10) ** -30  # stands for 0, where the quotients have limits
half_ln2, half_lg2 = mp.log(2) / 2, mp.log10(2) / 2
log_lo, log_hi = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
s_max = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)


def away(u: Any) -> Any:
    return EPS if abs(u) < EPS else u


def over(function: Function) -> Function:
    return lambda u: function(away(u))


print("#pragma once")
print("// Written by tools/fit_polynomials.py. Coefficients are listed from the constant term up.\n")
print("namespace tessera::codegen::coefficients {\n")
fit(
    "kExp32",
    "e^u = 1 + u + u^2 P(u)",
    32,
    over(mp.exp),
    over(lambda u: 1 + u),
    over(lambda u: u * u),
    -half_ln2,
    half_ln2,
    4,
)
fit(
    "kExp64",
    "e^u = 1 + u + u^2 P(u)",
    64,
    over(mp.exp),
    over(lambda u: 1 + u),
    over(lambda u: u * u),
    -half_ln2,
    half_ln2,
    10,
)
fit("kExp2_32", "2^u = 1 + u P(u)", 32, over(lambda u: mp.mpf(2) ** u), lambda u: 1, over(lambda u: u), -0.5, 0.5, 5)
fit("kExp2_64", "2^u = 1 + u P(u)", 64, over(lambda u: mp.mpf(2) ** u), lambda u: 1, over(lambda u: u), -0.5, 0.5, 11)
fit(
    "kExp2Short",
    "2^u = 1 + u P(u), in double for a float32 result",
    64,
    over(lambda u: mp.mpf(2) ** u),
    lambda u: 1,
    over(lambda u: u),
    -0.5,
    0.5,
    6,
)
fit(
    "kExp10_32",
    "10^u = 1 + u P(u)",
    32,
    over(lambda u: mp.mpf(10) ** u),
    lambda u: 1,
    over(lambda u: u),
    -half_lg2,
    half_lg2,
    5,
)
fit(
    "kExp10_64",
    "10^u = 1 + u P(u)",
    64,
    over(lambda u: mp.mpf(10) ** u),
    lambda u: 1,
    over(lambda u: u),
    -half_lg2,
    half_lg2,
    11,
)
fit(
    "kLog32",
    "log(1 + u) = u - u^2/2 + u^3 P(u)",
    32,
    over(mp.log1p),
    over(lambda u: u - u * u / 2),
    over(lambda u: u**3),
    log_lo,
    log_hi,
    8,
)


def atanh_series(u: Any) -> Any:  # log((1 + s) / (1 - s)) = 2 s + s u P(u) with u = s^2
    s = mp.sqrt(u)
    return 2 * mp.atanh(s) / s


fit(
    "kLog64",
    "log((1 + s) / (1 - s)) = 2 s + s u P(u), u = s^2",
    64,
    over(atanh_series),
    lambda u: 2,
    over(lambda u: u),
    0,
    s_max**2,
    6,
)
fit(
    "kLog64Short",
    "the same for a float32 result",
    64,
    over(atanh_series),
    lambda u: 2,
    over(lambda u: u),
    0,
    s_max**2,
    4,
)
fit(
    "kLogTail64",
    "log((1 + s) / (1 - s)) = 2 s + 2/3 s u + s u^2 P(u), u = s^2",
    64,
    over(atanh_series),
    lambda u: 2 + 2 * u / 3,
    over(lambda u: u * u),
    0,
    s_max**2,
    7,
)
fit(
    "kTanh64",
    "tanh(x) = x + x u P(u), u = x^2",
    64,
    over(lambda u: mp.tanh(mp.sqrt(u)) / mp.sqrt(u)),
    lambda u: 1,
    over(lambda u: u),
    0,
    0.625**2,
    11,
)


def fit_ratio(name: str, function: Function, last: Any, degrees: tuple[int, int]) -> None:
    """function(x) = x P(u) / Q(u), u = x^2, for x from 0 to `last`: least squares of the relative error, in which points
    count the more the worse they are, and which is linear because Q is taken from the round before."""
    top, bottom = degrees
    count = 120
    points = [mp.mpf(last) * (1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count)) / 2 for i in range(count)]
    squares, values = [x * x for x in points], [function(x) / x for x in points]
    weights, below = [mp.mpf(1)] * count, [mp.mpf(1)] * count
    best: tuple[Any, list[Any], list[Any]] | None = None
    for _ in range(25):
        rows, right = mp.matrix(count, top + 1 + bottom), mp.matrix(count, 1)
        for i, (u, value) in enumerate(zip(squares, values, strict=True)):
            scale = mp.sqrt(weights[i]) / (value * below[i])
            for k in range(top + 1):
                rows[i, k] = scale * u**k
            for k in range(1, bottom + 1):
                rows[i, top + k] = -scale * value * u**k
            right[i] = scale * value
        solution = mp.lu_solve(rows.T * rows, rows.T * right)
        p = [solution[k] for k in range(top + 1)]
        q = [mp.mpf(1), *(solution[top + k] for k in range(1, bottom + 1))]
        below = [mp.polyval(q[::-1], u) for u in squares]
        errors = [abs(mp.polyval(p[::-1], u) / below[i] / values[i] - 1) for i, u in enumerate(squares)]
        if best is None or max(errors) < best[0]:
            best = max(errors), p, q
        mean = sum(errors) / count
        weights = [w * (e / mean + mp.mpf("1e-3")) ** mp.mpf("0.7") for w, e in zip(weights, errors, strict=True)]
        total = sum(weights) / count
        weights = [w / total for w in weights]
    assert best
    print(f"/// {name.lower()}(x) = x P(u) / Q(u), u = x^2")
    print(f"/// x in [0, {mp.nstr(mp.mpf(last), 3)}]; largest relative error {mp.nstr(best[0], 2)}.")
    for part, coefficients in (("Top", best[1]), ("Bottom", best[2])):
        lines = ", ".join(mp.nstr(c, 12) for c in coefficients)
        print(f"inline constexpr double k{name}{part}32[] = {{{lines}}};")
    print()


fit_ratio("Erf", mp.erf, "3.93", (5, 5))
fit_ratio("Tanh", mp.tanh, "9.02", (4, 4))
fit(
    "kErf64",
    "erf(x) = x + x P(u), u = x^2",
    64,
    over(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u)),
    lambda u: 1,
    lambda u: 1,
    0,
    1,
    11,
)


def fit_scaled_erfc() -> None:
    center, degree = mp.mpf(7) / 2, 14

    def argument(s: Any) -> Any:
        return center * (1 + s) / (1 - s)

    def scaled(s: Any) -> Any:
        x = argument(s)
        return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)

    def weight(s: Any) -> Any:
        x = argument(s)
        return mp.exp(-x * x) / (1 + 2 * x)

    lo, hi = ((x - center) / (x + center) for x in (mp.mpf(1), mp.mpf(6)))
    coefficients, worst = interpolate(scaled, weight, lo, hi, degree)
    print("/// 1 - erf(x) = e^(-x^2) / (1 + 2 x) * P(s), s = (x - 3.5) / (x + 3.5)")
    print(f"/// x in [1, 6]; largest error of the erf that follows {mp.nstr(worst, 2)}.")
    lines = ", ".join(mp.nstr(c, 20, strip_zeros=False) for c in coefficients)
    print(f"inline constexpr double kErfc64[] = {{{lines}}};\n")


fit_scaled_erfc()


def fit_odd(name: str, function: Function, lo: Any, hi: Any, degree: int, bits: int) -> None:
    """f(x) = x + x u P(u) with u = x^2 in [lo, hi]."""
    fit(
        f"k{name.capitalize()}{bits}",
        f"{name}(x) = x + x u P(u), u = x^2",
        bits,
        over(lambda u: function(mp.sqrt(u)) / mp.sqrt(u)),
        lambda u: 1,
        over(lambda u: u),
        lo,
        hi,
        degree,
    )


octant = (mp.sqrt(2) - 1) ** 2  # tan(pi / 8) squared
fit_odd("atan", mp.atan, 0, octant, 4, 32)
fit_odd("atan", mp.atan, 0, octant, 10, 64)
fit_odd("asin", mp.asin, 0, 0.25, 5, 32)
fit_odd("asin", mp.asin, 0, 0.25, 12, 64)
fit_odd("sinh", mp.sinh, 0, 1, 3, 32)
fit_odd("sinh", mp.sinh, 0, 1, 6, 64)
print("}  // namespace tessera::codegen::coefficients")
