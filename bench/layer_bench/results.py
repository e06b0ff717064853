"""What was measured, as plain data, and its JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

FORMAT = 1
SECONDS, MEGABYTES = "s", "MB"


class BadFile(ValueError):
    """A file that is not a result of this program."""


@dataclass(frozen=True)
class Measurement:
    case: str  # "layer"
    what: str  # "forward"
    length: int  # N; position when decoding; number of threads in the case threads
    subject: str  # "ours", "eager", ...
    unit: str  # SECONDS per call or MEGABYTES
    best: float
    median: float
    repeats: int
    tokens: int = 1  # that one call works on
    share: float = 1  # of the batch that was measured, where all of it takes too long or too much; the rest is scaled

    @property
    def group(self) -> tuple[str, str, int]:
        return self.case, self.what, self.length

    @property
    def key(self) -> tuple[str, str, int, str]:
        return *self.group, self.subject


@dataclass
class Results:
    """One run. `cases`: what each case that is done has to say besides its measurements: seconds it took, notes."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    measurements: list[Measurement] = field(default_factory=list)
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    roofline: list[dict[str, Any]] = field(default_factory=list)
    goals: list[dict[str, Any]] = field(default_factory=list)

    def find(self, case: str, what: str, length: int, subject: str) -> Measurement | None:
        return next((m for m in self.measurements if m.key == (case, what, length, subject)), None)

    def ratio(self, case: str, what: str, length: int, over: str, under: str, figure: str = "best") -> float | None:
        """How many times the first subject takes of what the second takes; None unless both were measured."""
        first, second = self.find(case, what, length, over), self.find(case, what, length, under)
        return quotient(first and getattr(first, figure), second and getattr(second, figure))

    def lengths(self, case: str, what: str) -> list[int]:
        return sorted({m.length for m in self.measurements if (m.case, m.what) == (case, what)})

    def groups(self) -> dict[tuple[str, str, int], dict[str, Measurement]]:
        """Measurements that can be compared with each other, by subject; in the order in which they were made."""
        groups: dict[tuple[str, str, int], dict[str, Measurement]] = {}
        for measurement in self.measurements:
            groups.setdefault(measurement.group, {})[measurement.subject] = measurement
        return groups


def quotient(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def write_text(text: str, path: Path) -> None:
    """The file appears complete or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def to_json(results: Results) -> str:
    return json.dumps({"format": FORMAT, **asdict(results)}, indent=1) + "\n"


def read(path: Path) -> Results:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadFile(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict) or "format" not in document:
        raise BadFile(f"{path}: not a result of primal bench")
    if document["format"] != FORMAT:
        raise BadFile(f"{path}: format {document['format']}, this program reads {FORMAT}")
    try:
        return _results(document)
    except (KeyError, TypeError) as error:
        raise BadFile(f"{path}: not a result of primal bench: {error}") from error


def _results(document: dict[str, Any]) -> Results:
    known = {f.name for f in fields(Results)}
    values = {name: value for name, value in document.items() if name in known}
    return Results(**{**values, "measurements": list(_measurements(document["measurements"]))})


def _measurements(rows: Iterable[dict[str, Any]]) -> Iterable[Measurement]:
    for row in rows:
        measurement = Measurement(**row)
        if not all(isinstance(value, (int, float)) for value in (measurement.best, measurement.median)):
            raise TypeError(f"best and median of {measurement.key} must be numbers")
        yield measurement
