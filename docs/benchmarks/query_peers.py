"""The answers of three peers to the cases of query_accuracy.py, which starts this file in the environment of each.

    PYTHON query_peers.py opendp|smartnoise|tumult TABLE RUNS

Prints JSON: for each case, by figure, a list of [key, value]. Every peer gets the same table and the same (epsilon, delta), and is used in the way that is best for it: the public facts are declared, nothing
is cut off, and OpenDP runs with Laplace and with Gaussian noise, of which query_accuracy.py takes the better.
"""

import json
import sys
import warnings

from query_accuracy import CASES, DELTA, EPSILON, GROUPS_EACH, HIGHEST, ROWS_EACH, SHOPS, name_of, zcdp_rho

warnings.filterwarnings("ignore")


def opendp(table, runs):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious")
    data = pl.scan_csv(table)
    size = data.select(pl.len()).collect().item()

    def release(case, loss):
        key, by_person = case["key"], case["unit"] == "a person"
        bound = dp.polars.Bound(by=[key], per_group=ROWS_EACH, num_groups=GROUPS_EACH)
        unit = dp.unit_of(contributions=[bound] if by_person else 1)
        invariant = "keys" if key == "shop" else None
        margin = dp.polars.Margin(by=[key], invariant=invariant, max_length=size, max_groups=SHOPS)
        session = dp.Context.compositor(
            data=data, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=[margin]
        )
        count = dp.len(signed=True).alias("count")
        total = pl.col("amount").fill_null(0.0).dp.sum(bounds=(0.0, HIGHEST)).alias("sum")
        # Groups that are found need a count, and a mean is a sum over one.
        counted = key == "name" or case["figures"] != ["sum"]
        summed = case["figures"] != ["count"]
        query = session.query().group_by(key).agg(*[count] * counted, *[total] * summed)
        answer = query.release().collect().to_dict(as_series=False)
        if case["figures"] == ["avg"]:
            answer["avg"] = [total / max(count, 1) for total, count in zip(answer["sum"], answer["count"])]
        return {figure: list(zip(answer[key], answer[figure])) for figure in case["figures"]}

    def losses(case):
        found = case["key"] == "name"
        yield "laplace", dp.loss_of(epsilon=EPSILON, delta=DELTA if found else 0.0)
        # Half of delta for the threshold, half for the conversion.
        rho = zcdp_rho(EPSILON, DELTA / 2 if found else DELTA)
        yield "gaussian", dp.loss_of(rho=rho, delta=DELTA / 2 if found else 0.0)

    return {
        f"{number}/{noise}": [release(case, loss) for _ in range(runs)]
        for number, case in enumerate(CASES)
        for noise, loss in losses(case)
    }


def smartnoise(table, runs):
    import pandas
    import snsql

    data = pandas.read_csv(table)

    def release(case):
        columns = {
            "person": {"type": "int"},
            "shop": {"type": "int", "lower": 0, "upper": SHOPS - 1},
            "name": {"type": "string"},
            "amount": {"type": "float", "lower": 0.0, "upper": HIGHEST},
        }
        options = {"rows": len(data), "censor_dims": case["key"] == "name", "clamp_counts": False}
        if case["unit"] == "a person":
            columns["person"]["private_id"] = True
            options |= {"max_ids": GROUPS_EACH * ROWS_EACH, "sample_max_ids": True}
        else:
            options["row_privacy"] = True
        metadata = {"": {"public": {"visits": options | columns}}}
        sql = {"count": "COUNT(*) AS count_", "sum": "SUM(amount) AS sum_", "avg": "AVG(amount) AS avg_"}
        listed = ", ".join(sql[figure] for figure in case["figures"])
        query = f"SELECT {case['key']}, {listed} FROM public.visits GROUP BY {case['key']}"

        def reader(epsilon):
            return snsql.from_df(data, privacy=snsql.Privacy(epsilon=epsilon, delta=DELTA), metadata=metadata)

        # It charges epsilon for every column that it needs.
        charged, _ = reader(1.0).get_privacy_cost(query)
        rows = reader(EPSILON / charged).execute(query)[1:]
        return {figure: [(row[0], row[index + 1]) for row in rows] for index, figure in enumerate(case["figures"])}

    return {str(number): [release(case) for _ in range(runs)] for number, case in enumerate(CASES)}


def tumult(table, runs):
    import os

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    # Next to the table, which is in a folder that goes.
    warehouse = os.path.join(os.path.dirname(os.path.abspath(table)), "warehouse")
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.warehouse.dir", warehouse)
    spark = spark.config("spark.sql.shuffle.partitions", "1").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    from tmlt import analytics as tm

    data = spark.read.csv(table, header=True, inferSchema=True).repartition(1).cache()

    def session(case):
        change = tm.AddRowsWithID("person") if case["unit"] == "a person" else tm.AddOneRow()
        return tm.Session.from_dataframe(tm.ApproxDPBudget(1e6, 0.1), "visits", data, protected_change=change)

    def bounded(case):
        query = tm.QueryBuilder("visits")
        if case["unit"] == "a person":
            query = query.enforce(tm.MaxGroupsPerID(case["key"], GROUPS_EACH))
            query = query.enforce(tm.MaxRowsPerGroupPerID(case["key"], ROWS_EACH))
        return query

    def release(case):
        key, asked, left = case["key"], session(case), EPSILON
        if key == "shop":
            keys = tm.KeySet.from_dict({key: list(range(SHOPS))})
        else:
            left /= 2
            found = asked.evaluate(bounded(case).get_groups([key]), tm.ApproxDPBudget(EPSILON / 2, DELTA))
            keys = tm.KeySet.from_dataframe(found.select(key))
        share = tm.ApproxDPBudget(left / len(case["figures"]), 0)
        groups = bounded(case).groupby(keys)
        queries = {
            "count": lambda: groups.count(name="value"),
            "sum": lambda: groups.sum("amount", 0.0, HIGHEST, name="value"),
            "avg": lambda: groups.average("amount", 0.0, HIGHEST, name="value"),
        }
        answers = {figure: asked.evaluate(queries[figure](), share).toPandas() for figure in case["figures"]}
        return {figure: [(row[key], row["value"]) for _, row in rows.iterrows()] for figure, rows in answers.items()}

    return {str(number): [release(case) for _ in range(runs)] for number, case in enumerate(CASES)}


def main():
    peer, table, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = {"opendp": opendp, "smartnoise": smartnoise, "tumult": tumult}[peer](table, runs)
    # Keys of all kinds as the names of the shops.
    for releases in answers.values():
        for release in releases:
            for figure, rows in release.items():
                release[figure] = [[name_of(key), float(value)] for key, value in rows]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
