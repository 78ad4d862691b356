"""Bounded generalized Gaussian noise for several numbers, and norms as sensitivities.

Least scales of pure privacy, from the densities themselves: normalisers and tails by the power
series of exp(-t^p), asserted against quadrature, the worst answer and the worst move by search, the
scale by the secant method. 50 digits; mpmath 1.3. No incomplete gamma function is used but for the
table `norms`, which is asserted against quadrature. Prints JSON.
"""
import json
from mpmath import mp, mpf, exp, log, quad, gamma, gammainc, findroot, nstr, sqrt, inf

mp.dps = 50
THOROUGH = False


def golden(f, low, high, steps=50):
    """The largest value of a function with one maximum, and the ends."""
    ratio = (sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = f(a), f(b)
    for _ in range(steps):
        if fa > fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = f(b)
    return max(fa, fb)


def largest(f, low, high, pieces=8):
    """The largest value on an interval, from several starting pieces."""
    if high <= low:
        return f(low)
    points = [low + (high - low) * i / pieces for i in range(pieces + 1)]
    best = max(range(pieces + 1), key=lambda i: f(points[i]))
    return max(
        f(points[best]), golden(f, points[max(best - 1, 0)], points[min(best + 1, pieces)])
    )


def mass(p, x):
    """The integral of exp(-t^p) from 0 to x, term by term."""
    power, total, term, n = x**p, mpf(0), x, 0
    while abs(term) > mpf(10) ** (-mp.dps - 5) or n < power:
        total += term / (p * n + 1)
        n += 1
        term *= -power / n
    return total


for p in (1, 2, 3):
    for x in (mpf("0.3"), mpf("1.7")):
        assert abs(mass(p, x) - quad(lambda t: exp(-(t**p)), [0, x / 2, x])) < mpf("1e-40")


def truncated(p, b, R, d):
    """max over s, which is at a bound here, of ln f_{s+d}(R) - ln f_s(R), the densities on [0, R]."""
    d = min(d, R)
    ln_density = lambda s: -(((R - s) / b) ** p) - log(mass(p, s / b) + mass(p, (R - s) / b))
    gap = lambda s: ln_density(s + d) - ln_density(s)
    most = max(gap(mpf(0)), gap(R - d))
    if THOROUGH:
        assert all(gap((R - d) * i / 20) <= most for i in range(21))
    return most


def inflated(p, b, R, d):
    """The atom at R: ln P[X > R - d] - ln P[X > R]."""
    tail = lambda x: gamma(1 + mpf(1) / p) - mass(p, x / b)
    return log(tail(R - min(d, R))) - log(tail(R))


def worst(loss, p, b, ranges, kind, moves):
    if kind == "per-element":
        return sum(loss(p, b, R, d) for R, d in zip(ranges, moves))
    each = lambda: sorted((loss(p, b, R, moves) for R in ranges), reverse=True)
    if kind == "one":
        return each()[0]
    if kind == "two":
        return sum(each()[:2])
    q, bound = moves
    total = lambda d: loss(p, b, ranges[0], d) + loss(
        p, b, ranges[1], (bound**q - d**q) ** (1 / mpf(q))
    )
    small = mpf("1e-12") * bound
    return largest(total, small, bound - small)


def least_scale(loss, p, ranges, kind, moves, eps, guess):
    # The loss falls with b: secant steps on its logarithm.
    f = lambda t: log(worst(loss, p, exp(t), ranges, kind, moves) / eps)
    return exp(findroot(f, (log(guess), log(guess * mpf("1.05"))), solver="secant", tol=mpf("1e-40")))


number = lambda text: mpf(text)
CASES = [
    ("truncated", 1, ["1", "3"], "per-element", ["0.5", "1"], "1", "3"),
    ("truncated", 2, ["1", "4", "2"], "per-element", ["0.5", "1", "0.25"], "0.7", "4"),
    ("truncated", 3, ["1", "2"], "per-element", ["0.5", "0.5"], "2", "1.2"),
    ("truncated", 2, ["1", "4"], "one", "0.5", "1", "2"),
    ("truncated", 3, ["1", "4", "3"], "two", "0.75", "1", "3"),
    ("truncated", 1, ["1", "3"], "norm", ["2", "0.8"], "1", "1.5"),
    ("truncated", 2, ["1", "3"], "norm", ["2", "0.8"], "1", "2"),
    ("truncated", 2, ["2", "2"], "norm", ["1", "1"], "0.5", "3"),
    ("truncated", 3, ["1", "2"], "norm", ["3", "0.6"], "1.5", "1.3"),
    ("inflated", 1, ["1", "3"], "per-element", ["0.5", "1"], "1", "1.5"),
    ("inflated", 2, ["1", "4", "2"], "per-element", ["0.5", "1", "0.25"], "0.7", "4"),
    ("inflated", 3, ["1", "4"], "one", "0.5", "1", "3"),
    ("inflated", 2, ["1", "4", "3"], "two", "0.75", "1", "3"),
    ("inflated", 2, ["1", "3"], "norm", ["2", "0.8"], "1", "2"),
    ("inflated", 3, ["1", "2"], "norm", ["1.5", "0.6"], "1.5", "1.5"),
]
scales = []
for shape, p, ranges, kind, moves, eps, guess in CASES:
    loss = {"truncated": truncated, "inflated": inflated}[shape]
    values = [number(r) for r in ranges]
    move = number(moves) if isinstance(moves, str) else [number(m) for m in moves]
    b = least_scale(loss, p, values, kind, move, number(eps), number(guess))
    # Nowhere between the bounds is the loss of a move larger.
    THOROUGH = True
    if kind == "per-element":
        worst(loss, p, b, values, kind, move)
    else:
        distance = move[1] if kind == "norm" else move
        for R in values:
            for part in (distance / 3, distance):
                loss(p, b, R, min(part, R))
    THOROUGH = False
    scales.append(
        {"bounding": shape, "p": p, "ranges": ranges, "kind": kind, "moves": moves, "eps": eps,
         "b": nstr(b, 17)}
    )

# Generalized Gaussian noise on r coordinates of l_p sensitivity 1: Corollary 9 with r/p, and the
# expectation of (1 - e^(eps - l(rho)))_+, both over rho^p ~ Gamma(r/p).
norms = []
for p, r, eps, delta, scale in [
    (3, 2, "1", "1e-6", "14"), (3, 5, "0.5", "1e-5", "40"), (4, 3, "2", "1e-3", "6"),
    ("1.5", 4, "1", "1e-6", "8"), (6, 10, "1", "1e-9", "30"),
]:
    P, E, D, B = mpf(p), mpf(eps), mpf(delta), mpf(scale)
    shape = r / P
    tail = lambda y: gammainc(shape, y) / gamma(shape)
    y = findroot(lambda t: log(tail(exp(t))) - log(D), log(shape + 2 - log(D)))
    y = exp(y)
    b = 1 / ((y + E) ** (1 / P) - y ** (1 / P))
    l = lambda rho: (rho + 1 / B) ** P - rho**P
    start = findroot(lambda t: l(exp(t)) - E, log(mpf(1))) if l(mpf(0)) < E else None
    start = exp(start) if start is not None else mpf(0)
    # In units of the density at the start, so that the integrals are not tiny.
    unit = exp(-(start**P))
    density = lambda rho: P * rho ** (r - 1) * exp(start**P - rho**P) / gamma(shape)
    # Fine pieces where the density is, and one up to where e^-rho^p is below 1e-200.
    pieces = [start + mpf(i) / 8 for i in range(25)]
    pieces += [end for end in (start + 6, start + 14, mpf(60)) if end > pieces[-1]]
    error = abs(unit * quad(density, pieces) / tail(start**P) - 1)
    assert error < mpf("1e-15"), (p, r, nstr(error, 3), nstr(start, 5))
    excess = unit * quad(lambda rho: (1 - exp(E - l(rho))) * density(rho), pieces)
    norms.append({"p": str(p), "r": r, "eps": eps, "delta": delta, "b_probabilistic": nstr(b, 17),
                  "scale": scale, "delta_at_scale": nstr(excess, 17)})

# Proposition 8 for two numbers that move by 1 and 1/2, of which the l_3 sensitivity is 1: the
# probability that 3 x^2 u + 3 x u^2 + 3 y^2 v + 3 y v^2 is above eps - (1/b)^3.
eighth = []
for b, eps in [("6", "1"), ("9", "0.5"), ("3", "2")]:
    B, E = mpf(b), mpf(eps)
    u, v = 1 / B, 1 / (2 * B)
    room = E - u**3
    half = lambda x: quad(lambda t: exp(-(t**3)), [x, x + 1, x + 3, x + 8])
    whole = half(mpf(0))
    cross = lambda x, w: 3 * x * x * w + 3 * x * w * w
    root = lambda value, w: (-w + sqrt(w * w + 4 * value / (3 * w))) / 2
    edge = root(room, v)
    beyond = quad(
        lambda y: exp(-(y**3)) * half(root(room - cross(y, v), u)), [0, edge / 4, edge / 2, edge]
    )
    probability = (beyond + half(edge) * whole) / whole**2
    eighth.append({"b": b, "eps": eps, "probability": nstr(probability, 17)})
print(json.dumps({"what": __doc__.split("\n")[0], "scales": scales, "norms": norms,
                  "proposition_8": eighth}, indent=1))
