"""Optimised random scales (R2DP), a second way: mpmath at 50 digits, no code of the workspace.

    python3 reference/r2dp_optimised.py > reference/r2dp_optimised.json

entropy:    the two-point inverse scale of least differential entropy at epsilon, sensitivity 1. Both points
            are found by a simplex search in floats; the entropy there by quadrature at 60 digits.
maximum:    the two-point inverse scale with the least expected maximum of k errors, in the same way.
condition:  both sides of Eqn 13 (Theorem 4.6) for members of each family, by quadrature over T.
gaussian:   delta of Gaussian mixtures at epsilon, by quadrature of the positive part of f(x) - e^epsilon f(x + 1).
two_sigmas: the mixture of two standard deviations with the least E[sigma^2] or E[sigma] that keeps
            (epsilon, delta), by a simplex search over the ratio and the weight in floats; good to 1e-5.
"""

import json
import math
import sys

from mpmath import erfc, exp, findroot, log, mp, mpf, nstr, pi, quad, sqrt

mp.dps = 60


def shown(x):
    return nstr(x, 17, strip_zeros=False)


def gain(t, eps):
    return t * (exp(-t) - exp(-eps))


def weight(t1, t2, eps):
    g1, g2 = gain(t1, eps), gain(t2, eps)
    return -g2 / (g1 - g2)


def nodes(t1, t2):
    # Where the two exponentials change over.
    return [0, 1 / t2, 4 / t2, 1 / t1, 4 / t1, 16 / t1, 64 / t1, 160 / t1]


def entropy(t1, t2, eps):
    w = weight(t1, t2, eps)
    density = lambda x: w * t1 * exp(-t1 * x) + (1 - w) * t2 * exp(-t2 * x)
    return quad(lambda x: -density(x) * log(density(x) / 2), nodes(t1, t2))


def maximum(t1, t2, eps, k):
    w = weight(t1, t2, eps)
    tail = lambda x: w * exp(-t1 * x) + (1 - w) * exp(-t2 * x)
    return quad(lambda x: 1 - (1 - tail(x)) ** k, nodes(t1, t2))


def simplex(f, start, size, rounds):
    """Nelder and Mead's search in the plane."""
    points = [list(start)] + [[s + (size if i == j else 0) for j, s in enumerate(start)] for i in range(2)]
    ranked = sorted((f(p), p) for p in points)
    for _ in range(rounds):
        best, middle, worst = ranked
        centre = [(a + b) / 2 for a, b in zip(best[1], middle[1])]
        step = lambda c: [m + c * (m - w) for m, w in zip(centre, worst[1])]
        p = step(1)
        v = f(p)
        if v < best[0]:
            q = step(2)
            u = f(q)
            worst = (u, q) if u < v else (v, p)
        elif v < middle[0]:
            worst = (v, p)
        else:
            q = step(-0.5)
            u = f(q)
            if u < worst[0]:
                worst = (u, q)
            else:
                shrunk = lambda r: [(a + b) / 2 for a, b in zip(r[1], best[1])]
                middle, worst = ((f(shrunk(r)), shrunk(r)) for r in (middle, worst))
        ranked = sorted([best, middle, worst])
    return ranked[0]


def simpson(f, points, pieces=160):
    total = 0.0
    for a, b in zip(points, points[1:]):
        h = (b - a) / pieces
        inner = sum((4 if i % 2 else 2) * f(a + i * h) for i in range(1, pieces))
        total += h / 3 * (f(a) + inner + f(b))
    return total


def two_points(of_float, of_mp, eps):
    """The least value over points on both sides of epsilon: a search in floats, the value at 60 digits."""
    places = lambda x: (eps * math.exp(-math.exp(x[0])), eps * math.exp(math.exp(x[1])))

    def value(x):
        t1, t2 = places(x)
        w = float(weight(mpf(t1), mpf(t2), mpf(eps)))
        ends = [0, 0.3 / t2, 1 / t2, 4 / t2, 1 / t1, 4 / t1, 12 / t1, 40 / t1]
        return simpson(lambda y: of_float(y, t1, t2, w), sorted(ends))

    found = min((simplex(value, start, 0.3, 100) for start in ([-1.0, -1.0], [0.0, 0.0])), key=lambda r: r[0])
    t1, t2 = (mpf(t) for t in places(found[1]))
    return t1, t2, of_mp(t1, t2)


def entropies():
    def surprise(x, t1, t2, w):
        density = w * t1 * math.exp(-t1 * x) + (1 - w) * t2 * math.exp(-t2 * x)
        return -density * math.log(density / 2)

    rows = []
    for eps in (4, 6, 8):
        t1, t2, h = two_points(surprise, lambda a, b: entropy(a, b, mpf(eps)), eps)
        laplace = 1 + log(mpf(2) / eps)
        rows.append({"eps": shown(mpf(eps)), "laplace": shown(laplace), "two_point": shown(min(h, laplace)),
                     "tau1": shown(t1), "tau2": shown(t2), "w1": shown(weight(t1, t2, mpf(eps)))})
    return rows


def maxima():
    rows = []
    for k, eps in ((2, 5), (4, 6)):
        outside = lambda x, t1, t2, w: 1 - (1 - w * math.exp(-t1 * x) - (1 - w) * math.exp(-t2 * x)) ** k
        t1, t2, m = two_points(outside, lambda a, b: maximum(a, b, mpf(eps), k), eps)
        laplace = sum(mpf(1) / i for i in range(1, k + 1)) / eps
        rows.append({"eps": shown(mpf(eps)), "copies": k, "laplace": shown(laplace),
                     "two_point": shown(min(m, laplace))})
    return rows


def conditions():
    normal = lambda mu, s: (lambda t: exp(-(((t - mu) / s) ** 2) / 2))
    gamma = lambda k, theta: (lambda t: t ** (k - 1) * exp(-t / theta))
    cases = [
        ("uniform", ["0.5", "9"], lambda t: mpf(1), [mpf("0.5"), 9], "1.2"),
        ("uniform", ["0.1", "0.2"], lambda t: mpf(1), [mpf("0.1"), mpf("0.2")], "1"),
        ("gamma", ["3", "0.5"], gamma(3, mpf("0.5")), [0, 1, 5, 20, 60, 200, 600], "1"),
        ("gamma", ["1.25", "0.25"], gamma(mpf("1.25"), mpf("0.25")), [0, mpf("1e-6"), mpf("1e-2"), 1, 5, 20, 90], "2"),
        ("truncated-gaussian", ["1", "3", "0.5", "9"], normal(1, 3), [mpf("0.5"), 3, 6, 9], "1"),
        ("truncated-gaussian", ["-4", "2", "0.25", "12"], normal(-4, 2), [mpf("0.25"), 1, 3, 6, 12], "0.75"),
    ]
    rows = []
    for family, parameters, density, points, d in cases:
        d = mpf(d)
        of = lambda f: quad(lambda t: f(t) * density(t), points)
        mass = of(lambda t: 1)
        rows.append({
            "family": family, "parameters": parameters, "sensitivity": nstr(d, 5),
            "epsilon": shown(log(of(lambda t: t) / of(lambda t: t * exp(-d * t)))),
            "average": shown(log(of(lambda t: exp(d * t)) / mass)),
        })
    return rows


def mixture_density(parts, x):
    return sum(w / s * exp(-((x / s) ** 2) / 2) for s, w in parts) / sqrt(2 * pi)


def mixture_tail(parts, x):
    return sum(w * erfc(x / (s * sqrt(2))) for s, w in parts) / 2


def mixture_delta(parts, eps):
    """The tails between the sign changes of f(x) - e^eps f(x + 1), which are found on a fine grid."""
    excess = lambda x: log(mixture_density(parts, x) / mixture_density(parts, x + 1)) - eps
    least, most = min(s for s, _ in parts), max(s for s, _ in parts)
    low, high = eps * least**2, eps * most**2
    grid = [low * (high / low) ** (mpf(i) / 400) - mpf(1) / 2 for i in range(401)]
    grid += [least * mpf(i) / 8 for i in range(-60, 61) if low < least * mpf(i) / 8 + mpf(1) / 2 < high]
    grid.sort()
    surplus = lambda x: mixture_tail(parts, x) - exp(eps) * mixture_tail(parts, x + 1)
    total, before = mpf(0), None
    if excess(grid[0]) > 0:
        total += surplus(grid[0])
    for x in grid:
        value = excess(x)
        if before is not None and (before[1] > 0) != (value > 0):
            root = findroot(excess, (before[0], x), solver="anderson", tol=mpf(10) ** (-2 * mp.dps + 20), verify=False)
            total += surplus(root) if value > 0 else -surplus(root)
        before = (x, value)
    if before[1] <= 0:
        total += surplus(grid[-1])
    return total


def gaussians():
    rows = []
    for sigmas in ([("1", "1")], [("1", "0.5"), ("3", "0.5")], [("0.05", "0.2"), ("2", "0.8")],
                   [("0.3", "0.3"), ("1", "0.3"), ("2", "0.3"), ("5", "0.1")]):
        parts = [(mpf(s), mpf(w)) for s, w in sigmas]
        for eps in ("0.25", "1", "4"):
            rows.append({"sigmas": [list(p) for p in sigmas], "eps": eps, "delta": shown(mixture_delta(parts, mpf(eps)))})
    return rows


def float_delta(parts, eps):
    """The same in floats: the positive part of f(x) - e^eps f(x + 1), by tails between its sign changes."""
    density = lambda x: sum(w / s * math.exp(-((x / s) ** 2) / 2) for s, w in parts)
    tail = lambda x: sum(w * math.erfc(x / (s * math.sqrt(2))) for s, w in parts) / 2
    positive = lambda x: density(x) > math.exp(eps) * density(x + 1)
    surplus = lambda x: tail(x) - math.exp(eps) * tail(x + 1)
    least, most = min(s for s, _ in parts), max(s for s, _ in parts)
    low, high = eps * least**2, eps * most**2
    grid = [low * (high / low) ** (i / 400) - 0.5 for i in range(401)]
    grid = sorted(grid + [least * i / 8 for i in range(-60, 61) if low < least * i / 8 + 0.5 < high])
    total, before = (surplus(grid[0]) if positive(grid[0]) else 0.0), None
    for x in grid:
        sign = positive(x)
        if before is not None and before[1] != sign:
            a, b = before[0], x
            for _ in range(45):
                middle = (a + b) / 2
                a, b = (middle, b) if positive(middle) == before[1] else (a, middle)
            total += surplus(b) if sign else -surplus(b)
        before = (x, sign)
    return total if before[1] else total + surplus(grid[-1])


def two_sigmas():
    rows = []
    for eps, delta, power in ((1.0, 1e-6, 2), (1.0, 1e-6, 1), (4.0, 1e-5, 2)):

        def stretched(ratio, w):
            low, high = math.log(0.05), math.log(12)
            for _ in range(34):
                middle = (low + high) / 2
                parts = [(ratio * math.exp(middle), w), (math.exp(middle), 1 - w)]
                low, high = (middle, high) if float_delta(parts, eps) > delta else (low, middle)
            return [(ratio * math.exp(high), w), (math.exp(high), 1 - w)]

        member = lambda x: stretched(math.exp(-math.exp(x[0])), 1 / (1 + math.exp(-x[1])))
        cost = lambda x: sum(b * a**power for a, b in member(x))
        found = simplex(cost, [-0.2, 1.0], 0.4, 40)
        parts = member(found[1])
        # The search was in floats; that the mixture keeps its budget is checked at 60 digits, to a thousandth.
        kept = mixture_delta([(mpf(a), mpf(b)) for a, b in parts], mpf(eps))
        assert abs(kept / mpf(delta) - 1) < mpf("1e-3"), kept
        rows.append({"eps": repr(eps), "delta": repr(delta), "power": power, "cost": "%.9g" % found[0],
                     "sigmas": [["%.9g" % a, "%.9g" % b] for a, b in parts]})
    return rows


if __name__ == "__main__":
    what = {"what": __doc__.split("\n")[0], "conditions": conditions(), "gaussian": gaussians()}
    print("conditions, gaussian", file=sys.stderr)
    what["maximum"] = maxima()
    print("maximum", file=sys.stderr)
    what["entropy"] = entropies()
    print("entropy", file=sys.stderr)
    what["two_sigmas"] = two_sigmas()
    print(json.dumps(what, indent=1))
