"""The workloads of `bench account`, put to dp-accounting and prv-accountant.

    python -m venv peer && peer/bin/pip install dp-accounting prv-accountant
    peer/bin/python docs/benchmarks/account.py [processor seconds per workload and package]

Prints, for each workload and package, the best processor time of three runs (of one, if a run is slow) and the bounds on epsilon. Processor time
does not count what other programs on the machine take.
"""

import logging
import multiprocessing
import queue
import resource
import sys
import time

DELTA = 1e-6
LAPLACE, GAUSSIAN, RESPONSE, SAMPLED = range(4)

WORKLOADS = {
    "ten kinds x 1000": [
        (kind, value, 1000)
        for kind, value in [
            (LAPLACE, 0.02), (LAPLACE, 0.03), (LAPLACE, 0.04), (LAPLACE, 0.05), (GAUSSIAN, 50.0), (GAUSSIAN, 80.0),
            (SAMPLED, (1.0, 0.001)), (SAMPLED, (0.8, 0.002)), (RESPONSE, 0.02), (RESPONSE, 0.04),
        ]
    ],
    "1000 Gaussian sigmas x 10": [(GAUSSIAN, 50.0 + 0.05 * i, 10) for i in range(1000)],
    "1000 Laplace scales x 10": [(LAPLACE, 0.01 + 2e-5 * i, 10) for i in range(1000)],
    "sampled Gaussian sigma 1, rate 0.01, x 10000": [(SAMPLED, (1.0, 0.01), 10_000)],
    "sampled Gaussian sigma 0.3, rate 0.001, x 10000": [(SAMPLED, (0.3, 0.001), 10_000)],
}


def dp_accounting(events):
    """Upper bound and, from its optimistic estimate, a lower one, at the default grid of 1e-4."""
    import math
    from dp_accounting.pld import privacy_loss_distribution as pld

    def make(kind, value, pessimistic):
        options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": 1e-4}
        if kind == LAPLACE:
            return pld.from_laplace_mechanism(1 / value, **options)
        if kind == GAUSSIAN:
            return pld.from_gaussian_mechanism(value, **options)
        if kind == RESPONSE:
            return pld.from_randomized_response(2 / (1 + math.exp(value)), 2, **options)
        return pld.from_gaussian_mechanism(value[0], sampling_prob=value[1], **options)

    def epsilon(pessimistic):
        total = None
        for kind, value, times in events:
            one = make(kind, value, pessimistic).self_compose(times)
            total = one if total is None else total.compose(one)
        return total.get_epsilon_for_delta(DELTA)

    return epsilon(False), epsilon(True)


def prv_accountant(events):
    """Its bounds at an error of 0.1 in epsilon, as in its documentation; a smaller one takes longer."""
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import (
        GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism, PureDPMechanism,
    )

    def make(kind, value):
        if kind == LAPLACE:
            return LaplaceMechanism(mu=value)
        if kind == GAUSSIAN:
            return GaussianMechanism(noise_multiplier=value)
        if kind == RESPONSE:
            return PureDPMechanism(value)
        return PoissonSubsampledGaussianMechanism(noise_multiplier=value[0], sampling_probability=value[1])

    prvs = [make(kind, value) for kind, value, _ in events]
    times = [times for _, _, times in events]
    accountant = PRVAccountant(prvs=prvs, max_self_compositions=times, eps_error=0.1, delta_error=DELTA / 1000)
    low, _, high = accountant.compute_epsilon(DELTA, times)
    return low, high


def run(package, events, answers, limit):
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    logging.disable()
    try:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            bounds = package(events)
            best = min(best, time.process_time() - start)
            if best > 2:
                break
        answers.put((best, bounds))
    except Exception as error:  # A package that refuses a workload is a result too.
        answers.put(f"{type(error).__name__}: {error}")


def main():
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    for name, events in WORKLOADS.items():
        print(name)
        for package in (dp_accounting, prv_accountant):
            answers = multiprocessing.Queue()
            process = multiprocessing.Process(target=run, args=(package, events, answers, limit))
            process.start()
            process.join()
            try:
                answer = answers.get(timeout=1)
            except queue.Empty:
                answer = f"no answer in {limit} s of processor time"
            if isinstance(answer, str):
                print(f"  {package.__name__:<16} {answer[:150]}")
            else:
                seconds, (low, high) = answer
                print(f"  {package.__name__:<16} {1e3 * seconds:10.1f} ms   [{low:.6f}, {high:.6f}]   width {(high - low) / high:.1e}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
