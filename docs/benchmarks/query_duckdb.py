"""One DuckDB measurement for `bench query`: best seconds of several runs, and the process's peak memory.

    python query_duckdb.py FILE.parquet THREADS RUNS "SELECT ..."

`{table}` in the query stands for the file. Needs the package duckdb.
"""

import json
import sys
import time

import duckdb


def peak_mebibytes():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main():
    file, threads, runs, query = sys.argv[1:]
    connection = duckdb.connect()
    connection.execute(f"SET threads = {int(threads)}")
    query = query.replace("{table}", f"read_parquet('{file}')")
    best = float("inf")
    for _ in range(int(runs)):
        start = time.perf_counter()
        rows = connection.execute(query).fetchall()
        best = min(best, time.perf_counter() - start)
    counted = sum(row[1] for row in rows)
    print(json.dumps({"seconds": best, "peak_mebibytes": peak_mebibytes(), "groups": len(rows), "counted": counted}))


main()
