"""Draws time and memory over the sequence length, for every kind of attention, as docs/images/lra-growth.svg.

./primal bench --cases lra-growth --json lra.json
.venv/bin/python bench/lra_growth_chart.py lra.json docs/images/lra-growth.svg
"""

from __future__ import annotations

import argparse
import html
import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from layer_bench.arena import LAYER_TITLES, OURS, PLAIN, SOFTMAX
from layer_bench.results import MEGABYTES, SECONDS, BadFile, Measurement, read, write_text

WIDTH, HEIGHT = 1080, 520
TOP, BOTTOM, LEFT, LABELS = 80, 60, 58, 176  # margins of a panel; the last is the place for the names of its lines
LINE_HEIGHT = 15
STRONG = {OURS: "ours", PLAIN: "plain", SOFTMAX: "softmax"}  # classes of the style; the others share their own
DASHES = ("", "7 3", "2 3", "9 3 2 3")  # tell lines of the same colour apart
STYLE = """
    svg { --ground: #ffffff; --text: #212529; --faint: #5c636a; --grid: #e3e6ea;
          --ours: #2f5bd7; --plain: #c92a2a; --softmax: #d9640a; --a: #2b8a3e; --b: #7048b8; --c: #0b7285; }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #14171c; --text: #e9ecef; --faint: #a9b0b8; --grid: #2c3138;
            --ours: #7c9cff; --plain: #ff7b7b; --softmax: #ffa94d; --a: #69db7c; --b: #b197fc; --c: #5fd3e6; }
    }
    .ground { fill: var(--ground); }
    text { fill: var(--text); }
    .faint { fill: var(--faint); font-size: 12px; }
    .title { font-size: 16px; font-weight: bold; }
    .grid { stroke: var(--grid); }
    .line { fill: none; stroke-width: 1.6; }
    .leader { fill: none; stroke-width: 0.8; opacity: 0.6; }
    .name { font-size: 12.5px; }
"""


@dataclass(frozen=True)
class Axis:
    """Logarithmic, from the decades below the smallest value to those above the largest, onto pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return self.start + share * (self.end - self.start)


def decades(values: list[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def spread(wanted: list[float], distance: float, low: float, high: float) -> list[float]:
    """Places as near to the wanted ones as they can be without coming closer to each other; the order is kept."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places = [0.0] * len(wanted)
    before = low - distance
    for number in order:
        before = places[number] = max(wanted[number], before + distance)
    after = high + distance
    for number in reversed(order):
        after = places[number] = min(places[number], after - distance)
    return places


def quantity(value: float, unit: str) -> str:
    if unit == MEGABYTES:
        return f"{value / 1000:g} GB" if value >= 1000 else f"{value:g} MB"
    return f"{value:g} s" if value >= 1 else f"{1000 * value:g} ms"


def colour_of(subjects: list[str], subject: str) -> tuple[str, str]:
    """Colour and dashes: the three that matter have a colour of their own."""
    if subject in STRONG:
        return f"var(--{STRONG[subject]})", ""
    number = [name for name in subjects if name not in STRONG].index(subject)
    return f"var(--{'abc'[number % 3]})", DASHES[number // 3 % len(DASHES)]


def panel(title: str, found: list[Measurement], left: float, right: float) -> list[str]:
    lengths = sorted({m.length for m in found})
    across = Axis(lengths[0], max(lengths[-1], 2 * lengths[0]), left + LEFT, right - LABELS)
    up = Axis(*decades([m.best for m in found]), HEIGHT - BOTTOM, TOP)
    return [
        f'<text class="title" x="{left + LEFT}" y="{TOP - 18}">{title}</text>',
        *ticks(across, up, lengths, found[0].unit),
        *lines(across, up, found),
    ]


def ticks(across: Axis, up: Axis, lengths: list[int], unit: str) -> list[str]:
    made = []
    for power in range(round(math.log10(up.low)), round(math.log10(up.high)) + 1):
        y = up(10.0**power)
        made.append(f'<line class="grid" x1="{across.start}" x2="{across.end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = quantity(10.0**power, unit)
        made.append(f'<text class="faint" x="{across.start - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for length in lengths:
        x, label = across(length), f"{length // 1024}K" if length >= 1024 else str(length)
        made.append(f'<text class="faint" x="{x:.1f}" y="{up.start + 20}" text-anchor="middle">{label}</text>')
    middle = (across.start + across.end) / 2
    made.append(f'<text class="faint" x="{middle:.1f}" y="{up.start + 42}" text-anchor="middle">tokens</text>')
    return made


def lines(across: Axis, up: Axis, found: list[Measurement]) -> list[str]:
    """The lines with their names: at the edge, or above the last point of a line that ends before it."""
    subjects = list(dict.fromkeys(m.subject for m in found))
    points = {
        subject: sorted((across(m.length), up(m.best)) for m in found if m.subject == subject) for subject in subjects
    }
    complete = [subject for subject in subjects if points[subject][-1][0] == across.end]
    places = spread([points[subject][-1][1] for subject in complete], LINE_HEIGHT, up.end, up.start)
    at_edge = dict(zip(complete, places, strict=True))
    made = []
    for subject in subjects:
        colour, dashes = colour_of(subjects, subject)
        path = " L".join(f"{px:.1f} {py:.1f}" for px, py in points[subject])
        width = ' style="stroke-width: 3.2"' if subject == OURS else ""
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        made.append(f'<path class="line" stroke="{colour}"{dash}{width} d="M{path}"/>')
        x, y = points[subject][-1]
        if subject in at_edge:
            made.append(
                f'<path class="leader" stroke="{colour}" d="M{x:.1f} {y:.1f} L{x + 12:.1f} {at_edge[subject]:.1f}"/>'
            )
            x, y, anchor = x + 15, at_edge[subject] + 4, "start"
        else:
            x, y, anchor = x - 2, y - 8, "end"
        weight = "; font-weight: bold" if subject == OURS else ""
        name = html.escape(LAYER_TITLES.get(subject, subject))
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        made.append(f'<text class="name" {place} style="fill: {colour}{weight}">{name}</text>')
    return made


def picture(measurements: list[Measurement]) -> str:
    title = "An encoder layer of the Long Range Arena model over the sequence length"
    body = []
    for number, (unit, name) in enumerate(((SECONDS, "forward + backward, time"), (MEGABYTES, "peak memory"))):
        found = [m for m in measurements if m.unit == unit]
        body += panel(name, found, number * WIDTH / 2, (number + 1) * WIDTH / 2)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return "\n  ".join(
        [
            f'{head} font-family="Helvetica, Arial, sans-serif" font-size="15">',
            f"<title>{title}</title>",
            f"<style>{STYLE}  </style>",
            f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="faint" x="{LEFT}" y="24">{title}; one sequence, float32</text>',
            *body,
        ]
    ) + "\n</svg>\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="--json of primal bench --cases lra-growth")
    parser.add_argument("picture", type=Path, help="SVG file")
    given = parser.parse_args()
    try:
        found = [m for m in read(given.results).measurements if m.case == "lra-growth"]
    except BadFile as error:
        parser.error(str(error))
    if not found:
        parser.error(f"{given.results}: has no measurements of lra-growth")
    write_text(picture(found), given.picture)


if __name__ == "__main__":
    main()
