"""Results as text: ratios, goals, and a comparison with an earlier run."""

from __future__ import annotations

from collections.abc import Iterable

from layer_bench import arena_tables
from layer_bench.goals import Goal
from layer_bench.results import MEGABYTES, Measurement, Results, quotient

ORDER = ("copy", "floor", "products", "eager", "compile", "softmax", "linear", "beside", "pass", "environment")
TITLES = {"beside": "beside others", "compile": "torch.compile", "pass": "forward pass", "products": "all products"}
NAMES_WIDTH = 34  # of the first column, at least
OWN_TABLES = {"lra-table": arena_tables.table, "lra-growth": arena_tables.growth_table}
LENGTH_NAMES = {
    "decode": "position",
    "generation": "tokens",
    "rollouts": "episodes",
    "threads": "threads",
}  # what the length of a case is, when not N


def quantity(value: float, unit: str) -> str:
    steps = ((1, "MB"), (2**-10, "kB")) if unit == MEGABYTES else ((1, "s"), (1e-3, "ms"), (1e-6, "us"))
    scale, name = next((step for step in steps if value >= step[0]), steps[-1])
    scaled = value / scale
    return f"{scaled:.0f} {name}" if scaled >= 1000 else f"{scaled:.3g} {name}"


def place(case: str, what: str, length: int) -> str:
    return f"{what}, {LENGTH_NAMES.get(case, 'N')}={length}" if length else what


def ratio_tables(results: Results) -> str:
    """A block per case; ours in seconds or MB, the others as multiples of ours: above 1 they need more than ours."""
    return "\n".join(_case_table(results, case) for case in results.cases)


def _case_table(results: Results, case: str) -> str:
    if case in OWN_TABLES:
        found = [m for m in results.measurements if m.case == case]
        return OWN_TABLES[case](found, results.cases[case].get("notes", []))
    groups = {key: group for key, group in results.groups().items() if key[0] == case}
    others = [name for name in ORDER if any(name in group for group in groups.values())]
    width = max([NAMES_WIDTH, *(len(place(*key)) + 4 for key in groups)])
    lines = [f"{case:<{width}}{'':>8}{'ours':>10}" + "".join(f"{TITLES.get(n, n):>15}" for n in others)]
    for key, group in groups.items():
        lines += _group_rows(place(*key).ljust(width - 2), group, others)
    about = results.cases[case]
    lines += [f"  note: {note}" for note in about.get("notes", [])]
    return "\n".join(lines) + "\n"


def _group_rows(name: str, group: dict[str, Measurement], others: Iterable[str]) -> Iterable[str]:
    ours = group.get("ours")
    if ours is None:
        return
    for figure in ("best", "median") if ours.repeats > 1 else ("best",):
        cells = ""
        for other in others:
            value = quotient(getattr(group[other], figure), getattr(ours, figure)) if other in group else None
            cells += f"{'-':>15}" if value is None else f"{f'x {value:.2f}':>15}"
        title = f"  {name if figure == 'best' else ' ' * len(name)}"
        label = figure if ours.repeats > 1 else ""
        yield f"{title}{label:>8}{quantity(getattr(ours, figure), ours.unit):>10}{cells}"


def goal_table(goals: list[Goal], sizes: str) -> str:
    if not goals:
        return ""
    title = "goals" if sizes == "full" else f"goals ({sizes} sizes: an indication; they hold for a full run)"
    lines = [title]
    for goal in goals:
        value = "-" if goal.value is None else f"{goal.value:.2f}"
        lines.append(f"  {goal.case + ': ' + goal.name:<66}{goal.relation} {goal.limit:<6g}{value:>8}  {goal.status}")
    passed = sum(goal.status == "pass" for goal in goals)
    missed = sum(goal.status == "miss" for goal in goals)
    lines.append(f"  {passed} pass, {missed} miss, {len(goals) - passed - missed} not measured")
    return "\n".join(lines) + "\n"


def base_table(results: Results, base: Results) -> str:
    """Ours now and then. The last column divides both by eager of their own run: the speed of the machine drops out."""
    lines = [f"compared with {base.machine.get('date', 'an earlier run')}, commit {base.machine.get('commit')}"]
    for name in ("cpu", "threads", "torch", "primal_cpu_target"):
        then, now = base.machine.get(name), results.machine.get(name)
        if then != now:
            lines.append(f"  note: {name} was {then}, is {now}")
    lines.append(f"  {'':<44}{'then':>10}{'now':>10}{'now/then':>10}{'beside eager':>14}")
    for (case, what, length), group in results.groups().items():
        now, then = group.get("ours"), base.find(case, what, length, "ours")
        if now is None or then is None or now.tokens != then.tokens:
            continue
        beside = quotient(
            results.ratio(case, what, length, "ours", "eager"), base.ratio(case, what, length, "ours", "eager")
        )
        cells = "".join(f"{quantity(m.best, m.unit):>10}" for m in (then, now))
        share = quotient(now.best, then.best)
        cells += "".join(f"{'-' if v is None else f'{v:.2f}':>{w}}" for v, w in ((share, 10), (beside, 14)))
        lines.append(f"  {case + ': ' + place(case, what, length):<44}{cells}")
    if len(lines) == 2:
        lines.append("  nothing in common")
    return "\n".join(lines) + "\n"
