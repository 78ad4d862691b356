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
    seconds = processor_seconds = float("inf")
    for _ in range(int(runs)):
        start, used = time.perf_counter(), time.process_time()
        rows = connection.execute(query).fetchall()
        seconds = min(seconds, time.perf_counter() - start)
        processor_seconds = min(processor_seconds, time.process_time() - used)
    figures = {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "peak_mebibytes": peak_mebibytes(),
        "groups": len(rows),
        "counted": sum(row[1] for row in rows),
    }
    print(json.dumps(figures))


main()
