"""Episodes of HalfCheetah: played by the program, side by side; and one after another by eager PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from layer_bench import cheetah, machine
from layer_bench.agreement import compare
from layer_bench.decision import ACTIONS, CHECKED, RETURN_SCALE, STATES, TIME_LIMIT, DecisionSizes, RolloutSizes
from layer_bench.decision_model import DecisionTransformer, Windows
from layer_bench.decision_step import answer, parameters_of, written_tensors
from layer_bench.memory import in_fresh_process
from layer_bench.step_program import NotMeasured

TARGET = 12_000.0  # return that is asked for, as published
FOLLOWED = 10  # steps after which two simulations are still the same to TOLERANCE


class Agent:
    """Sees the last steps of one episode."""

    def __init__(self, model: DecisionTransformer, window: int) -> None:
        self.model, self.window = model.eval(), window
        self.timesteps, self.real = torch.arange(TIME_LIMIT)[None], torch.ones(1, window)

    def begin(self) -> None:
        dtype = self.model.predict_action.weight.dtype
        self.states = torch.zeros(1, TIME_LIMIT, STATES, dtype=dtype)
        self.actions = torch.zeros(1, TIME_LIMIT, ACTIONS, dtype=dtype)  # that of the present step stays 0
        self.returns_to_go = torch.zeros(1, TIME_LIMIT, dtype=dtype)
        self.step = 0

    @torch.inference_mode()
    def act(self, state: Tensor, wanted: float | Tensor) -> Tensor:
        """[S], in units of the scale -> [A]"""
        now, first = self.step, max(0, self.step + 1 - self.window)
        self.states[0, now], self.returns_to_go[0, now] = state, wanted
        seen = (self.states, self.actions, self.returns_to_go, self.timesteps)
        windows = Windows(*(t[:, first : now + 1] for t in seen), real=self.real[:, : now + 1 - first])
        action = self.model(windows)[0][0, -1]
        self.actions[0, now] = action
        self.step += 1
        return action


def play(agent: Agent, robot: cheetah.HalfCheetah) -> float:
    """The seconds of an episode that were the robot's."""
    agent.begin()
    robot.reset()
    wanted, of_robot = TARGET / RETURN_SCALE, 0.0
    for _ in range(TIME_LIMIT):
        action = agent.act(robot.state(), wanted)
        start = perf_counter()
        wanted -= robot.step(action) / RETURN_SCALE
        of_robot += perf_counter() - start
    return of_robot


@dataclass(frozen=True)
class Played:
    """All episodes of a case."""

    seconds: float
    of_environment: float  # seconds of these


def measure(model: str, sizes: RolloutSizes, threads: int, *, whole_episode: bool) -> Played:
    more = {"--play": True, "--whole-episode": whole_episode, "--episodes": sizes.episodes, "--steps": 1}
    made = answer(model, sizes.agent, threads, more)
    return Played(made["seconds"][0], made["environment_seconds"][0])


def measure_eager(model: str, sizes: RolloutSizes, threads: int) -> Played:
    """The same, of windows."""
    need_packages()
    return in_fresh_process(_eager, model, sizes, threads)


def need_packages() -> None:
    name = cheetah.missing()
    if name is not None:
        raise NotMeasured(f"this Python has no {name} (tools/requirements-robots.txt)")


def _eager(model: str, sizes: RolloutSizes, threads: int) -> Played:
    machine.set_up(threads)
    torch.manual_seed(1)
    agent, robot = Agent(DecisionTransformer(model, sizes.agent), sizes.agent.window), cheetah.HalfCheetah()
    play(agent, robot)
    start = perf_counter()
    of_robot = sum(play(agent, robot) for _ in range(sizes.episodes))
    return Played(perf_counter() - start, of_robot)


def check(model: str, sizes: DecisionSizes = CHECKED, *, whole_episode: bool = False) -> float:
    """What the program's agent did in two episodes, and what came of it, against eager in double precision; the largest
    relative error. Of whole episodes the window is as long as what is compared."""
    made = written_tensors(model, sizes, {"--play": True, "--whole-episode": whole_episode, "--episodes": 2})
    expected = {"actions": eager_actions(model, sizes, made, whole_episode=whole_episode)}
    ours = {"actions": made["done.actions"]}
    if cheetah.missing() is None:
        expected |= eager_way(made)
        ours |= {
            "states": made["seen.states"][1:FOLLOWED, 0],
            "returns to go": made["seen.returns_to_go"][1:FOLLOWED, 0],
        }
    return compare("ours", ours, expected)


def eager_actions(model: str, sizes: DecisionSizes, made: Mapping[str, Tensor], *, whole_episode: bool) -> Tensor:
    """For the states and returns that the program's agent saw. [T, E, A]"""
    eager = DecisionTransformer(model, sizes).double()
    eager.load_state_dict(parameters_of(made))
    states, wanted = made["seen.states"], made["seen.returns_to_go"]
    agent = Agent(eager, len(states) if whole_episode else sizes.window)
    episodes = []
    for episode in range(states.shape[1]):
        agent.begin()
        episodes.append(torch.stack([agent.act(states[t, episode], wanted[t, episode]) for t in range(len(states))]))
    return torch.stack(episodes, dim=1)


def eager_way(made: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Where the first episode's actions lead from where it began. [FOLLOWED - 1, ...]"""
    robot = cheetah.HalfCheetah()
    robot.begin_at(made["seen.states"][0, 0])
    wanted, states, returns_to_go = made["seen.returns_to_go"][0, 0].double(), [], []
    for action in made["done.actions"][: FOLLOWED - 1, 0]:
        wanted = wanted - robot.step(action) / RETURN_SCALE
        states.append(robot.state())
        returns_to_go.append(wanted)
    return {"states": torch.stack(states), "returns to go": torch.stack(returns_to_go)}
