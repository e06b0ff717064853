"""Opens an HTML file in headless Chromium and tells what became of it: the page after its scripts ran, and the console.

Usage:
`page = open_page(Path("report.html")); assert page.problems() == []; assert "JapaneseVowels" in page.text`.
"""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None,
    reason="needs Debian's chromium, which ./test installs: what a page shows is known only in a browser",
)
# Chromium writes: [123:123:1116/053000.123456:INFO:CONSOLE:12] "message", source: file:///report.html (12)
CONSOLE_LINE = re.compile(r"^\[[^\]]*:CONSOLE[:(]\d+\)?\] (.*)$", re.MULTILINE)
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Page(HTMLParser):
    """What is left in the document when its scripts have run."""

    dom: str
    console: list[str]  # every message; our pages write none unless something is wrong
    tags: dict[str, int] = field(default_factory=dict)  # elements by name
    body: dict[str, str] = field(default_factory=dict)  # attributes of <body>
    labels: list[str] = field(default_factory=list)  # aria-label of every canvas
    text: str = ""  # what a reader sees: no scripts, no styles, no <noscript>

    def __post_init__(self):
        HTMLParser.__init__(self)
        self._hidden = 0
        self.feed(self.dom)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag == "body":
            self.body = dict(attrs)
        if tag == "canvas":
            self.labels.append(dict(attrs).get("aria-label") or "")
        self._hidden += tag in {"script", "style", "noscript"}

    def handle_endtag(self, tag):
        self._hidden -= tag in {"script", "style", "noscript"}
        if tag not in VOID:
            self.text += " "

    def handle_data(self, data):
        if not self._hidden:
            self.text += data

    def problems(self) -> list[str]:
        """Why the page is not in order: console messages, an unfinished drawing, a chart without picture or label."""
        found = [f"console: {message}" for message in self.console]
        if "data-error" in self.body:
            found.append(f"error: {self.body['data-error']}")
        if self.body.get("data-ready") != "true":
            found.append("the page was not drawn to its end")
        if self.body.get("data-charts") != str(self.tags.get("canvas", 0)):
            found.append(f"{self.body.get('data-charts')} charts drawn of {self.tags.get('canvas', 0)}")
        if not all(self.labels):
            found.append("a chart has no text alternative")
        return found


def open_page(file: Path, *, dark: bool = False, width: int = 1400, seconds: int = 90) -> Page:
    if CHROMIUM is None:
        raise FileNotFoundError("chromium is not installed (Debian package chromium)")
    with tempfile.TemporaryDirectory(prefix="primal_chromium_") as profile:
        command = [
            CHROMIUM,
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={profile}",
            f"--window-size={width},2000",
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=10000",  # the page draws at once; this ends before the wall clock notices
            "--dump-dom",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *(["--blink-settings=preferredColorScheme=0"] if dark else []),
            file.resolve().as_uri(),
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if result.returncode != 0 or "<html" not in result.stdout:
        raise RuntimeError(f"chromium failed with {result.returncode}: {result.stderr[-2000:]}")
    return Page(result.stdout, CONSOLE_LINE.findall(result.stderr))
