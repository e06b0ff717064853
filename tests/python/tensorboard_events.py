"""Reads the event files of a run the way TensorBoard does."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
from tensorboard.util import tensor_util


def _load(path: Path) -> EventAccumulator:
    # 0: keep all; by default TensorBoard keeps a sample of each tag.
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, TENSORS: 0})
    accumulator.Reload()
    return accumulator


def read_events(path: Path) -> dict[str, list[tuple[int, float]]]:
    """The scalars of a run directory, or of one event file: tag -> [(step, value), ...]."""
    events = _load(path)
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def read_texts(path: Path) -> dict[str, list[tuple[int, str]]]:
    """The texts, likewise."""
    events = _load(path)
    return {
        tag: [(e.step, tensor_util.make_ndarray(e.tensor_proto).item().decode()) for e in events.Tensors(tag)]
        for tag in events.PluginTagToContent("text")
    }
