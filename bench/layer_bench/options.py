"""Arguments of `primal bench`. A wrong one is told in one line, with exit code 2, before anything is measured."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from layer_bench import results
from layer_bench.sizes import CASES, SIZES, Sizes

WRONG_USAGE = 2


@dataclass(frozen=True)
class Options:
    cases: tuple[str, ...]
    sizes: Sizes
    repeats: int
    threads: int
    json: Path | None
    base: results.Results | None
    chart: Path | None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        fail(f"{message}; try --help")


def fail(message: str) -> NoReturn:
    print(f"primal bench: {message}", file=sys.stderr)
    sys.exit(WRONG_USAGE)


def parse(arguments: list[str]) -> Options:
    """Ends the program after --list and --help."""
    parser = _make_parser()
    given = parser.parse_args(arguments)
    if given.list:
        for name, about in CASES.items():
            print(f"{name:<9} {about}")
        sys.exit(0)
    sizes = SIZES["quick" if given.quick else given.sizes]
    for name, path in {"--json": given.json, "--chart": given.chart}.items():
        _check_writable(parser, name, path)
    _check_chart(parser, given.chart)
    base = None
    if given.base is not None:
        try:
            base = results.read(given.base)
        except results.BadFile as error:
            parser.error(f"--base {error}")
    threads = given.threads or len(os.sched_getaffinity(0))
    return Options(
        given.cases or sizes.cases, sizes, given.repeats or sizes.repeats, threads, given.json, base, given.chart
    )


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="primal bench",
        description="Measures our layer beside other implementations and attentions, in one run.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--cases", type=_cases, help="comma separated, of --list; default: all, with --quick the fast ones"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, 3 repeats, about a minute")
    parser.add_argument("--repeats", type=_positive, help="of each measurement; default 7, quick 3")
    parser.add_argument("--threads", type=_positive, help="default: one per core")
    parser.add_argument("--json", type=Path, metavar="FILE", help="results; written after every case")
    parser.add_argument("--base", type=Path, metavar="FILE", help="compare with the --json of an earlier run")
    parser.add_argument("--chart", type=Path, metavar="FILE", help=".html: a page that opens offline; .png: a picture")
    parser.add_argument("--list", action="store_true", help="list the cases, and stop")
    parser.add_argument("--sizes", choices=SIZES, default="full", help=argparse.SUPPRESS)
    return parser


def _cases(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in CASES:
            raise argparse.ArgumentTypeError(f"there is no case {name!r}; cases: {', '.join(CASES)}")
    if not names:
        raise argparse.ArgumentTypeError("names no case")
    return tuple(name for name in CASES if name in names)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _check_writable(parser: argparse.ArgumentParser, name: str, path: Path | None) -> None:
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        parser.error(f"{name} {path}: there is no folder {folder}")
    if path.is_dir():
        parser.error(f"{name} {path}: is a folder")
    if not os.access(folder, os.W_OK):
        parser.error(f"{name} {path}: no permission to write into {folder}")


def _check_chart(parser: argparse.ArgumentParser, chart: Path | None) -> None:
    if chart is None:
        return
    if chart.suffix not in (".html", ".png"):
        parser.error(f"--chart {chart}: must end in .html or .png")
    if chart.suffix == ".png" and shutil.which("chromium") is None:
        parser.error(f"--chart {chart}: a .png needs chromium; .html does not")
