#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources, two at a time. clang cannot read g++'s precompiled header, so it gets a build
folder that is configured without one and never built."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "tidy"


def configure() -> None:
    options = [
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
        "-DPRIMAL_UNITY=OFF",
        f"-DPRIMAL_PYTHON={ROOT}/.venv/bin/python",
    ]
    command = ["cmake", "--preset", "release", "-B", str(BUILD), *options]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def sources(wanted: list[str]) -> list[str]:
    """The files of the compilation database under the wanted paths (default: src)."""
    files = [entry["file"] for entry in json.loads((BUILD / "compile_commands.json").read_text())]
    roots = [(ROOT / path).resolve() for path in wanted or ["src"]]
    return sorted({f for f in files if any(Path(f).is_relative_to(r) for r in roots)})


def check(file: str) -> tuple[str, int, str]:
    result = subprocess.run(
        # clang has no omp.h here, and cannot read g++'s.
        ["clang-tidy-16", "--quiet", "--extra-arg=-fno-openmp", "-p", str(BUILD), file],
        capture_output=True,
        text=True,
        check=False,
    )
    return file, result.returncode, result.stdout


def main() -> int:
    configure()
    files = sources(sys.argv[1:])
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, output in pool.map(check, files):
            print(f"{'ok    ' if code == 0 else 'FAILED'} {Path(file).relative_to(ROOT)}", flush=True)
            if code != 0:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
