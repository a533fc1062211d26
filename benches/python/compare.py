"""Fuseline from Python beside other libraries.

    ./x bench python [--scale S] [--rounds N] [--program FILE] [--chart FILE] [PART...]

Parts are `overhead` (what calls cost beside operators), `loss` (one expression over sparse data beside the same script
in the program, and its memory), `operations` (single operations beside those of NumPy and SciPy, and which of them
take longer) and (parts of) names of workloads and estimators; all by default. Every workload is
computed by each library that is installed and can, in doubles, on the same threads and data, in turn, round after
round; tables show medians. Results are compared first. `--chart` draws the workloads as a picture, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# Libraries read these while they are imported.
for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ[_variable] = str(THREADS)
# All are compared on the processor.
os.environ["JAX_PLATFORMS"] = "cpu"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--program", help="the program `fuseline`, for the part `loss`")
    parser.add_argument("--chart", help="an SVG file for a picture of the workloads")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()

    def chosen(name: str) -> bool:
        return not options.parts or any(part in name for part in options.parts)

    print(f"{machine()}\n")
    if chosen("overhead"):
        from overhead import measure_overhead

        measure_overhead()
    if chosen("loss"):
        from loss import measure_loss

        measure_loss(options.scale, options.rounds, options.program)
    if chosen("operations"):
        from operations import compare_operations

        compare_operations(options.scale, options.rounds, THREADS)
    if options.parts and all(part in ("overhead", "loss", "operations") for part in options.parts):
        return
    from estimators import compare_estimators
    from workloads import compare_workloads

    times = compare_workloads(options.scale, options.rounds, THREADS, chosen)
    if options.chart and times:
        from chart import draw

        draw(times, f"{machine()}; ./x bench python --rounds {options.rounds}", options.chart)
    compare_estimators(options.scale, options.rounds, chosen)


def let_others_sleep() -> None:
    """Threads of BLAS and OpenMP spin on their cores for some time after a call: whose turn is next does not pay for it."""
    time.sleep(0.1)


def machine() -> str:
    """The processor, and the threads that may be used."""
    model = "an unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    return f"{model}, {THREADS} threads"


if __name__ == "__main__":
    sys.exit(main())
