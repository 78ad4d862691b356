"""Errors of Reticent's SQL answers beside those of OpenDP, SmartNoise and Tumult, all measured on the same table at the same budget.

    python query_accuracy.py RETICENT [--opendp PYTHON] [--smartnoise PYTHON] [--tumult PYTHON] [--runs N] [--keep FOLDER]

RETICENT is the program. PYTHON is the interpreter of an environment in which the peer is installed (`pip install "opendp[polars]"`, `smartnoise-sql`, `tmlt.analytics`; the last needs Java); a peer that is not named is left out.
RUNS (default 3) is how often each query is asked, with 500 groups each time; --keep stores what was answered, and reads what is there. This file needs no package; query_peers.py runs inside the environments.

The table has 20,000 people with 2 rows in each of 5 of 500 shops. With max_groups = 5 and max_rows = 2 nothing is cut off, so that the plain answer is the truth for everyone and what remains is noise.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

PEOPLE, SHOPS, GROUPS_EACH, ROWS_EACH, HIGHEST = 20_000, 500, 5, 2, 100.0
EPSILON, DELTA = 1.0, 1e-6

# `shop` has public values, `name` has not: groups by it are found in the data.
CASES = [
    {"unit": unit, "key": key, "figures": figures}
    for key in ("shop", "name")
    for unit in ("a row", "a person")
    for figures in (["count"], ["sum"], ["count", "sum"], ["avg"])
    if key == "shop" or figures != ["sum"]
]

POLICY = f"""
[budget]
epsilon = 1e6
delta = 0.01

[tables.alone]
source = "visits.csv"
each_row = true
[tables.alone.columns]
shop = {{ type = "integer", bounds = [0, {SHOPS - 1}], nullable = false }}
name = {{ type = "text", nullable = false }}
amount = {{ type = "real", bounds = [0, 100], nullable = false }}

[tables.visits]
source = "visits.csv"
unit = "person"
max_groups = {GROUPS_EACH}
max_rows = {ROWS_EACH}
[tables.visits.columns]
person = {{ type = "integer", nullable = false }}
shop = {{ type = "integer", bounds = [0, {SHOPS - 1}], nullable = false }}
name = {{ type = "text", nullable = false }}
amount = {{ type = "real", bounds = [0, 100], nullable = false }}
"""

AGGREGATES = {"count": "COUNT(*)", "sum": "SUM(amount)", "avg": "AVG(amount)"}


def name_of(key):
    return key if isinstance(key, str) else f"shop {int(key)}"


def write_table(folder):
    """Writes the table and returns the true answers of each shop by name."""
    draw = random.Random(7)
    shops = range(SHOPS)
    popularity = [1 / (1 + shop / 50) for shop in shops]
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
    return {name_of(shop): {"count": n, "sum": total, "avg": total / n} for shop, (n, total) in totals.items()}


def reticent(program, folder, runs):
    """The answers of Reticent, as query_peers.py prints those of the others."""

    def release(case):
        table = "alone" if case["unit"] == "a row" else "visits"
        columns = ", ".join(f"{AGGREGATES[figure]} AS a_{figure}" for figure in case["figures"])
        sql = f"SELECT {case['key']}, {columns} FROM {table} GROUP BY {case['key']}"
        command = [program, "query", "--policy", folder / "policy.toml", "--fresh", "--format", "json"]
        command += ["--epsilon", str(EPSILON), "--delta", str(DELTA), sql]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows = answer["rows"]
        return {
            figure: [[name_of(row[0]), row[index + 1]] for row in rows] for index, figure in enumerate(case["figures"])
        }

    return {str(number): [release(case) for _ in range(runs)] for number, case in enumerate(CASES)}


def peer(name, python, folder, runs):
    script = pathlib.Path(__file__).with_name("query_peers.py")
    command = [python, script, name, folder / "visits.csv", str(runs)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


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


def measure(releases, figure, truth, among=None):
    """Root mean squared error, its standard error, the bias with its standard error, and the groups shown; of some groups, or of all."""
    rows = [row for release in releases for row in release[figure] if among is None or row[0] in among]
    errors = [value - truth[name][figure] for name, value in rows]
    if not errors:
        return None
    count = len(errors)
    square = sum(error**2 for error in errors) / count
    spread = sum((error**2 - square) ** 2 for error in errors) / count
    root = math.sqrt(square)
    bias = sum(errors) / count
    return {
        "error": root,
        "deviation": math.sqrt(spread / count) / (2 * root),
        "bias": bias,
        "bias_deviation": math.sqrt((square - bias**2) / count),
        "shown": count / len(releases),
        "names": {name for name, _ in rows},
    }


def best(answers, number, figure, truth, among=None):
    """What one system does; where it ran with several kinds of noise, the one of the least error."""
    runs = [releases for case, releases in answers.items() if case.split("/")[0] == str(number)]
    measured = [found for found in (measure(releases, figure, truth, among) for releases in runs) if found]
    return min(measured, key=lambda found: found["error"], default=None)


def print_table(systems, truth):
    print(f"| one unit | groups | query | figure | {' | '.join(systems)} |")
    print("|---" * (4 + len(systems)) + "|")
    for number, case in enumerate(CASES):
        for figure in case["figures"]:
            cells = []
            for system, answers in systems.items():
                found = best(answers, number, figure, truth)
                text = f"{found['error']:.4g} ± {found['deviation']:.2g}" if found else "nothing shown"
                if found and case["key"] == "name":
                    text += f" ({found['shown']:.0f} shown"
                    # The larger the group, the nearer its average: only the same groups can be compared.
                    if figure == "avg" and system != "Reticent":
                        ours = best(systems["Reticent"], number, figure, truth, found["names"])
                        text += f"; Reticent there {ours['error']:.4g}"
                    text += ")"
                cells.append(text)
            groups = "public" if case["key"] == "shop" else "found"
            query = ", ".join(case["figures"]).upper()
            print(f"| {case['unit']} | {groups} | {query} | {figure} | {' | '.join(cells)} |")
    print("\nBias in its own standard errors, largest first:\n")
    for system, answers in systems.items():
        scores = []
        for number, case in enumerate(CASES):
            for figure in case["figures"]:
                found = best(answers, number, figure, truth)
                if found and found["bias_deviation"] > 0:
                    query = ", ".join(case["figures"]).upper()
                    scores.append((abs(found["bias"] / found["bias_deviation"]), found["bias"], query, figure, case))
        scores.sort(key=lambda score: -score[0])
        listed = "; ".join(
            f"{score:.1f} ({bias:+.3g}, {figure} of {query}, {case['unit']}, {case['key']})"
            for score, bias, query, figure, case in scores[:3]
        )
        print(f"- {system}: {listed}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("reticent")
    for name in ("opendp", "smartnoise", "tumult"):
        options.add_argument(f"--{name}", metavar="PYTHON")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    given = options.parse_args()
    program = str(pathlib.Path(given.reticent).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "policy.toml").write_text(POLICY)
        truth = write_table(folder)

        def kept(system, answer):
            file = given.keep and given.keep / f"{system}.json"
            if file and file.exists():
                return json.loads(file.read_text())
            print(f"running {system}", file=sys.stderr)
            found = answer()
            if file:
                given.keep.mkdir(exist_ok=True)
                file.write_text(json.dumps(found))
            return found

        systems = {"Reticent": kept("reticent", lambda: reticent(program, folder, given.runs))}
        for title in ("OpenDP", "SmartNoise", "Tumult"):
            python = getattr(given, title.lower())
            if python:
                systems[title] = kept(title.lower(), lambda: peer(title.lower(), python, folder, given.runs))
        print_table(systems, truth)


if __name__ == "__main__":
    main()
