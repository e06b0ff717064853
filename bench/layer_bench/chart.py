"""The results as a page that opens offline, in the dress of `primal report`, or as a picture of that page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path

from layer_bench import tables
from layer_bench.goals import goals
from layer_bench.machine import ROOT
from layer_bench.results import Results, write_text

OWN = Path(__file__).parent / "page"
REPORT = ROOT / "src" / "report" / "page"
STYLES = (REPORT / "report.css", OWN / "bench.css")
# In this order.
SHARED_SCRIPTS = ("elements.js", "format.js", "chart_scales.js", "chart_marks.js", "chart_levels.js", "charts.js")
SCRIPTS = (*(REPORT / name for name in SHARED_SCRIPTS), OWN / "bench.js")
WIDTH, FIRST_HEIGHT = 1240, 2000  # of a picture


def write(results: Results, path: Path) -> None:
    page = make_page(results)
    if path.suffix == ".html":
        write_text(page, path)
        return
    with tempfile.TemporaryDirectory(prefix="primal_bench_") as folder:
        source, picture = Path(folder) / "bench.html", Path(folder) / "bench.png"
        source.write_text(page)
        _photograph(source, picture)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.write_bytes(picture.read_bytes())
        temporary.replace(path)


def make_page(results: Results) -> str:
    style = "\n".join(path.read_text() for path in STYLES)
    scripts = [path.read_text() for path in (chart_js(), *SCRIPTS)]
    policy = "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'"
    places = {
        "policy": policy.format(" ".join(map(_hash, scripts)), _hash(style)),
        "title": "primal bench",
        "summary": html.escape(tables.ratio_tables(results) + "\n" + tables.goal_table(goals(results), "full")),
        "style": style,
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
        "data": json.dumps(page_data(results)).replace("<", "\\u003c"),
    }
    template = (REPORT / "report.html").read_text()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: places[match[1]], template)


def page_data(results: Results) -> dict[str, object]:
    return {**asdict(results), "goals": [goal.as_dict() for goal in goals(results)]}


def chart_js() -> Path:
    """Where the build found it, else where Debian's package libjs-chart.js puts it."""
    cache = ROOT / "build" / "release" / "CMakeCache.txt"
    configured = re.search(r"^PRIMAL_CHART_JS:\w+=(.+)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    folders = ("/usr/share/javascript/chart.js", "/usr/share/nodejs/chart.js/dist")
    places = [Path(configured[1])] if configured else []
    places += [Path(folder) / "chart.min.js" for folder in folders]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError("Chart.js (chart.min.js) was not found; install the Debian package libjs-chart.js")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _photograph(source: Path, picture: Path) -> None:
    """Twice: the first time to learn how high the page is."""
    height = re.search(r'data-height="(\d+)"', _chromium(source, FIRST_HEIGHT, "--dump-dom"))
    _chromium(source, int(height[1]) if height else FIRST_HEIGHT, f"--screenshot={picture}")


def _chromium(source: Path, height: int, *arguments: str) -> str:
    command = ["chromium", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += [f"--user-data-dir={source.parent / 'profile'}", f"--window-size={WIDTH},{height}", "--hide-scrollbars"]
    command += ["--virtual-time-budget=10000", *(["--no-sandbox"] if os.geteuid() == 0 else []), *arguments]
    done = subprocess.run([*command, source.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout
