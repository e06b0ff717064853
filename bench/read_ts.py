"""Times our reader of .ts files beside aeon's on the same file, in one run.

    ninja -C build/release bench_read_ts
    python3 bench/read_ts.py [FILE] [--python VENV/bin/python]   # a Python with aeon

Both programs read the whole file five times; the best time counts. Starting a program is not in it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_FILE = "SpokenArabicDigits/SpokenArabicDigits_TRAIN.ts"

AEON = """
import json, sys, time
from aeon.datasets import load_from_ts_file
seconds = []
for _ in range(5):
    start = time.perf_counter()
    cases = len(load_from_ts_file(sys.argv[1])[0])
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(seconds), "cases": cases}))
"""


def default_file() -> Path | None:
    for directory in os.environ.get("PRIMAL_DATA", "").split(":"):
        for folder in (Path(directory), Path(directory) / "uea"):
            if directory and (folder / DEFAULT_FILE).is_file():
                return folder / DEFAULT_FILE
    return None


def measure(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"read_ts.py: {command[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="Times our .ts reader beside aeon's.")
    parser.add_argument("file", nargs="?", type=Path, help=f"default: {DEFAULT_FILE} below PRIMAL_DATA")
    parser.add_argument("--python", default=sys.executable, help="a Python that has aeon (default: this one)")
    parser.add_argument("--program", type=Path, help="bench_read_ts (default: the one below build/release)")
    arguments = parser.parse_args()
    file = arguments.file or default_file()
    if file is None:
        parser.error(f"{DEFAULT_FILE} is not below PRIMAL_DATA; give a FILE")
    program = arguments.program or ROOT / "build/release/bench/bench_read_ts"
    if not program.is_file():
        parser.error(f"{program} is not there; build it with: ninja -C build/release bench_read_ts")

    ours = measure([str(program), str(file)])
    aeon = measure([arguments.python, "-c", AEON, str(file)])
    if ours["cases"] != aeon["cases"]:
        sys.exit(f"read_ts.py: primal read {ours['cases']} cases, aeon {aeon['cases']}")
    megabytes = file.stat().st_size / 1e6
    print(f"{file.name}: {megabytes:.1f} MB, {ours['cases']} cases, best of 5")
    print(f"{'reader':<8}{'seconds':>10}{'MB/s':>10}{'ratio':>8}")
    for name, result in (("primal", ours), ("aeon", aeon)):
        ratio = result["seconds"] / ours["seconds"]
        print(f"{name:<8}{result['seconds']:>10.4f}{megabytes / result['seconds']:>10.1f}{ratio:>8.1f}")


if __name__ == "__main__":
    main()
