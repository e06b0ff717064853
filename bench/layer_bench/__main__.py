"""`python bench/layer_bench ...`, which is also what `primal bench` starts."""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
# The checkout's own package is measured, whatever else this Python has.
sys.path[:0] = [str(BENCH), str(BENCH.parent / "python")]

from layer_bench.command import main  # noqa: E402

if __name__ == "__main__":  # child processes import this file under another name
    sys.exit(main(sys.argv[1:]))
