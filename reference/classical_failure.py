"""The least epsilon at which a classical Gaussian standard deviation fails, over all deltas.

sigma = sqrt(2 ln(c/delta))/epsilon; delta(epsilon) by the error function at 50 digits. At the
least epsilon F(epsilon, delta) = delta(epsilon) - delta and dF/d(delta) vanish together.
mpmath 1.3; prints JSON.
"""
import json
from mpmath import mp, mpf, erfc, exp, log, sqrt, findroot, diff, nstr

mp.dps = 50


def excess(c, epsilon, delta):
    a = sqrt(2 * log(c / delta))
    upper = lambda x: erfc(x / sqrt(2)) / 2
    return upper(a - epsilon / (2 * a)) - exp(epsilon) * upper(a + epsilon / (2 * a)) - delta


rows = []
for c, start in ((mpf("1.25"), (mpf("3.8"), mpf("0.7"))), (mpf(2), (mpf("4.5"), mpf("0.8")))):
    epsilon, delta = findroot(
        lambda e, d: [excess(c, e, d), diff(lambda t: excess(c, e, t), d)], start, tol=mpf("1e-60")
    )
    # A second way: the least root in epsilon over a fine grid of deltas around it.
    near = [findroot(lambda e: excess(c, e, delta + k * mpf("1e-6")), epsilon) for k in (-1, 1)]
    assert all(value > epsilon for value in near)
    rows.append({"constant": nstr(c, 3), "epsilon": nstr(epsilon, 17), "delta": nstr(delta, 17)})
print(json.dumps({"what": __doc__.split("\n")[0], "rows": rows}, indent=1))
