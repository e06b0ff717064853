"""HalfCheetah through MuJoCo's Python bindings, as gymnasium's class of version 4 steps it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import torch
from torch import Tensor

FRAMES = 5  # steps of the simulator for each action
CONTROL_COST, START_NOISE = 0.1, 0.1
PACKAGES = ("mujoco", "numpy", "gymnasium")  # the last for the robot's file


def missing() -> str | None:
    """The name of a package that is needed and not there."""
    return next((name for name in PACKAGES if importlib.util.find_spec(name) is None), None)


def _file() -> str:
    package = Path(importlib.util.find_spec("gymnasium").origin).parent
    folder = os.environ.get("PRIMAL_ROBOTS") or package / "envs" / "mujoco" / "assets"
    return str(Path(folder) / "half_cheetah.xml")


class HalfCheetah:
    def __init__(self, seed: int = 1) -> None:
        os.environ["MUJOCO_GL"] = "disable"  # nothing is drawn; without it more packages are needed
        import mujoco
        import numpy

        self._mujoco, self._numpy, self._random = mujoco, numpy, numpy.random.default_rng(seed)
        self._model = mujoco.MjModel.from_xml_path(_file())
        self._data = mujoco.MjData(self._model)
        self._seconds = self._model.opt.timestep * FRAMES

    def reset(self) -> None:
        self._mujoco.mj_resetData(self._model, self._data)
        data, random = self._data, self._random
        data.qpos[:] += random.uniform(-START_NOISE, START_NOISE, self._model.nq)
        data.qvel[:] += START_NOISE * random.standard_normal(self._model.nv)
        self._mujoco.mj_forward(self._model, data)

    def begin_at(self, state: Tensor) -> None:
        """At the start of the way, in a state that is known. [17]"""
        self._mujoco.mj_resetData(self._model, self._data)
        joints = self._model.nq - 1
        self._data.qpos[1:], self._data.qvel[:] = state[:joints], state[joints:]
        self._mujoco.mj_forward(self._model, self._data)

    def state(self) -> Tensor:
        """[17]: positions but x, velocities."""
        seen = self._numpy.concatenate([self._data.qpos[1:], self._data.qvel])
        return torch.from_numpy(seen).float()

    def step(self, action: Tensor) -> float:
        """action: [6] -> the reward"""
        data, numpy = self._data, self._numpy
        controls = numpy.clip(action.double().numpy(), -1, 1)
        before, data.ctrl[:] = data.qpos[0], controls
        self._mujoco.mj_step(self._model, data, nstep=FRAMES)
        return float((data.qpos[0] - before) / self._seconds - CONTROL_COST * numpy.square(controls).sum())
