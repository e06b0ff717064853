"""`primal bench`: runs the cases one after another, prints tables, writes results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from time import monotonic

from layer_bench.options import Options, fail, parse

FAILED, INTERRUPTED = 1, 130


def say(message: str) -> None:
    print(f"primal bench: {message}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if importlib.util.find_spec("torch") is None:
        fail(f"{Path(sys.executable).name} has no PyTorch; PRIMAL_PYTHON chooses another Python")
    try:
        import primal  # noqa: F401
    except ImportError as error:
        fail(str(error).splitlines()[0])
    return _run(options)


def _run(options: Options) -> int:
    from layer_bench import goals, machine, tables  # PyTorch takes seconds to load
    from layer_bench.results import Results, to_json, write_text

    machine.set_up(options.threads)
    settings = {"sizes": options.sizes.name, "repeats": options.repeats, "cases": list(options.cases)}
    results = Results(machine.facts(options.threads), settings)
    exit_code = 0
    try:
        results.machine["limits"] = machine.limits(options.sizes.limit_size)
        for number, case in enumerate(options.cases, 1):
            say(f"{case} ({number} of {len(options.cases)}) ...")
            if not _run_case(case, options, results):
                exit_code = FAILED
            results.goals = [goal.as_dict() for goal in goals.goals(results)]
            if options.json is not None:
                write_text(to_json(results), options.json)
    except KeyboardInterrupt:
        done = ", ".join(results.cases) or "none"
        say(f"interrupted; finished cases: {done}")
        exit_code = INTERRUPTED
    if not results.cases:
        return exit_code
    print(tables.ratio_tables(results))
    print(tables.goal_table(goals.goals(results), options.sizes.name))
    if options.base is not None:
        print(tables.base_table(results, options.base))
    if options.chart is not None:
        from layer_bench import chart

        chart.write(results, options.chart)
    return exit_code


def _run_case(case: str, options: Options, results: object) -> bool:
    """A case that fails is told and left out; the others go on."""
    from layer_bench import cases
    from layer_bench.agreement import Disagreement

    run = cases.Run(options.sizes, options.repeats, options.threads)
    start = monotonic()
    try:
        cases.FUNCTIONS[case](run)
    except Disagreement as error:
        say(f"{case}: wrong results, not measured: {error}")
        return False
    except Exception as error:
        say(f"{case}: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}")
        return False
    seconds = monotonic() - start
    results.measurements += run.measurements
    results.roofline += run.roofline
    limits = results.machine["limits"]
    limits["gigaflops"] = max([limits["gigaflops"], *(point["gigaflops"] for point in run.roofline)])
    about = {"seconds": round(seconds, 1), "notes": run.notes, "largest_disagreement": run.worst_error}
    results.cases[case] = {**about, **run.about}
    say(f"{case}: {len(run.measurements)} measurements in {seconds:.0f} s")
    return True
