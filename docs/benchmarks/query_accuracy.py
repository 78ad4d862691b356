"""Errors of Reticent's SQL answers, measured, beside the errors that the noise formulas of three peers give.

    python query_accuracy.py RETICENT [RUNS]

RETICENT is the program; RUNS (default 3) is how often each query by group is asked: 100 cells a run. Needs no package.

The table has 10,000 people with 2 rows in each of 5 of 100 shops. With max_groups = 5 and max_rows = 2 nothing is cut off, so the plain answer is the truth for everyone and what
remains is noise. The peers are NOT run: their figures are computed from formulas (docs/benchmarks/accuracy.md says which were read in their sources), in the way that is best for them.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

PEOPLE, SHOPS, GROUPS_EACH, ROWS_EACH, HIGHEST = 10_000, 100, 5, 2, 100.0
DELTA = 1e-6

POLICY = """
[budget]
epsilon = 1e6
delta = 0.01

[tables.alone]
source = "visits.csv"
each_row = true
[tables.alone.columns]
shop = { type = "integer", bounds = [0, 99], nullable = false }
amount = { type = "real", bounds = [0, 100], nullable = false }

[tables.visits]
source = "visits.csv"
unit = "person"
max_groups = 5
max_rows = 2
[tables.visits.columns]
person = { type = "integer", nullable = false }
shop = { type = "integer", bounds = [0, 99], nullable = false }
name = { type = "text", nullable = false }
amount = { type = "real", bounds = [0, 100], nullable = false }
"""

AGGREGATES = {"count": "COUNT(*)", "sum": "SUM(amount)", "avg": "AVG(amount)"}


def write_table(folder):
    """Writes the table and returns the true answers of each shop."""
    draw = random.Random(7)
    shops = range(SHOPS)
    popularity = [1 / (1 + shop / 10) for shop in shops]
    totals = {shop: [0, 0.0] for shop in shops}
    with open(folder / "visits.csv", "w") as file:
        file.write("person,shop,name,amount\n")
        for person in range(PEOPLE):
            chosen = set()
            while len(chosen) < GROUPS_EACH:
                chosen.update(draw.choices(shops, popularity))
            for shop in sorted(chosen) * ROWS_EACH:
                amount = round(draw.triangular(0, HIGHEST, 20), 2)
                file.write(f"{person},{shop},shop {shop},{amount}\n")
                totals[shop][0] += 1
                totals[shop][1] += amount
    return {shop: {"count": n, "sum": total, "avg": total / n} for shop, (n, total) in totals.items()}


def ask(program, folder, sql, epsilon):
    command = [program, "query", "--policy", folder / "policy.toml", "--fresh", "--format", "json"]
    command += ["--epsilon", str(epsilon), "--delta", str(DELTA), sql]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measured(program, folder, truth, table, wanted, epsilon, runs):
    """Bias and root mean squared error of each aggregate over all shops and runs, and the noise used."""
    columns = ", ".join(f"{AGGREGATES[name]} AS a_{name}" for name in wanted)
    errors = {name: [] for name in wanted}
    for _ in range(runs):
        answer = ask(program, folder, f"SELECT shop, {columns} FROM {table} GROUP BY shop", epsilon)
        for shop, *values in answer["rows"]:
            for name, value in zip(wanted, values):
                errors[name].append(value - truth[shop][name])
    noise = answer["mechanisms"][0]["mechanism"]
    return {name: (sum(e) / len(e), root_mean_square(e), len(e)) for name, e in errors.items()}, noise


def root_mean_square(values):
    return math.sqrt(sum(value * value for value in values) / len(values))


def zcdp_rho(epsilon, delta):
    """The largest rho whose best conversion (Canonne, Kamath, Steinke 2020) is within (epsilon, delta)."""

    def log_delta(rho):
        orders = (1 + 10 ** (power / 50) for power in range(-100, 201))
        return min((a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a) for a in orders)

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def laplace(scale):
    return math.sqrt(2) * scale


def geometric(scale):
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / (1 - q)


def of_average(truth, center, sum_error, count_error):
    """First order: ((S - center n) / n has the variance (var S + (mean - center)^2 var n) / n^2."""
    return root_mean_square(
        [math.hypot(sum_error, (t["avg"] - center) * count_error) / t["count"] for t in truth.values()]
    )


def opendp(truth, wanted, epsilon, groups, rows):
    """The better of Laplace and (zCDP) Gaussian noise; an average is a sum over a count, and reuses those asked for."""
    numbers = 1 if wanted in (["count"], ["sum"]) else 2
    share, reach = epsilon / numbers, groups * rows
    sigma = rows * math.sqrt(groups * numbers / (2 * zcdp_rho(epsilon, DELTA)))
    count = min(geometric(reach / share), sigma)
    total = HIGHEST * min(laplace(reach / share), sigma)
    return {"count": count, "sum": total, "avg": of_average(truth, 0, total, count)}


def smartnoise(truth, wanted, epsilon, groups, rows):
    """Laplace noise for max_ids = groups * rows, the same epsilon for each column; counts are cut to integers."""
    numbers = 1 if wanted in (["count"], ["sum"]) else 2
    scale = groups * rows * numbers / epsilon
    # A continuous number that is cut off: uniform between 0 and 1 too low.
    count = math.sqrt(laplace(scale) ** 2 + 1 / 3)
    total = HIGHEST * laplace(scale)
    return {"count": count, "sum": total, "avg": of_average(truth, 0, total, laplace(scale))}


def tumult(truth, wanted, epsilon, groups, rows):
    """Geometric and Laplace noise; each aggregate is a query with its share; an average halves its own."""
    scale = groups * rows * len(wanted) / epsilon
    average = of_average(truth, HIGHEST / 2, HIGHEST / 2 * laplace(2 * scale), geometric(2 * scale))
    return {"count": geometric(scale), "sum": HIGHEST * laplace(scale), "avg": average}


def print_by_group(program, folder, truth, runs):
    print("| one unit | query | epsilon | figure | Reticent | bias | OpenDP* | SmartNoise* | Tumult* | noise |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for table, groups, rows in [("alone", 1, 1), ("visits", GROUPS_EACH, ROWS_EACH)]:
        unit = "a row" if table == "alone" else "a person"
        for wanted in [["count"], ["sum"], ["avg"], ["count", "sum", "avg"]]:
            for epsilon in (0.1, 1.0):
                ours, noise = measured(program, folder, truth, table, wanted, epsilon, runs)
                peers = [peer(truth, wanted, epsilon, groups, rows) for peer in (opendp, smartnoise, tumult)]
                for name in wanted:
                    bias, error, cells = ours[name]
                    theirs = " | ".join(f"{peer[name]:.4g}" for peer in peers)
                    bias = f"{bias:+.2g} ± {1.96 * error / math.sqrt(cells):.2g}"
                    query = ", ".join(wanted).upper()
                    print(f"| {unit} | {query} | {epsilon} | {name} | {error:.4g} | {bias} | {theirs} | {noise} |")
                sys.stdout.flush()


def print_found_groups(program, folder, truth):
    """Groups that are found: the peers' errors and the count at which a group is shown as often as not."""
    print("\n| epsilon | Reticent: error, shown from | shown of 100 | OpenDP* | SmartNoise* | Tumult* (error) |")
    print("|---|---|---|---|---|---|")
    by_name = {f"shop {shop}": t["count"] for shop, t in truth.items()}
    for epsilon in (0.1, 1.0):
        answer = ask(program, folder, "SELECT name, COUNT(*) AS n FROM visits GROUP BY name", epsilon)
        error = root_mean_square([n - by_name[name] for name, n in answer["rows"]]) if answer["rows"] else math.nan
        reach = GROUPS_EACH * ROWS_EACH
        scale = reach / epsilon
        # A group of one person has at most ROWS_EACH rows; GROUPS_EACH of them share delta.
        threshold = ROWS_EACH + scale * math.log(GROUPS_EACH / (2 * DELTA))
        halved = 2 * scale
        their_threshold = reach * (1 - math.log(2 * DELTA / reach) / (epsilon / 2))
        print(
            f"| {epsilon} | {error:.4g}, {answer['selection']} | {len(answer['rows'])} "
            f"| {geometric(scale):.4g}, {threshold:.0f} rows | {laplace(halved):.4g}, {their_threshold:.0f} people | {geometric(halved):.4g} |"
        )


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "policy.toml").write_text(POLICY)
        truth = write_table(folder)
        print_by_group(program, folder, truth, runs)
        print_found_groups(program, folder, truth)


main()
