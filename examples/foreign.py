"""Trains the defaults on environments that are not ours, from examples that a few lines make.

    python examples/foreign.py mountain-car --seed 0 --out runs/foreign

No setting of the reward or the agent is touched, and no reward is used. `Judged` reports success to evaluations only.
Point maze, hand, cart-pole and ball-in-cup need `pip install gymnasium-robotics 'shimmy[dm-control]'`, the lander
`pip install 'gymnasium[box2d]'`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

Observation = Any
Env = gymnasium.Env[Any, Any]


class Judged(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports info["is_success"], which nothing learns from: it is what the curves show."""

    def __init__(self, env: Env, success: Callable[[Observation], bool]) -> None:
        super().__init__(env)
        self.success = success

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step of the environment, judged."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        info = {name: value for name, value in info.items() if name != "success"}
        return obs, reward, terminated, truncated, info | {"is_success": bool(self.success(obs))}


def uniform(low: list[float], high: list[float], n: int, seed: int) -> np.ndarray:
    """States [n, d], evenly spread over a box."""
    return np.random.default_rng(seed).uniform(low, high, (n, len(low)))


# By a rule: the car is past the flag, at any speed that leads there.
def mountain_car() -> Env:
    """The car that must swing back before it can climb. An episode ends at the flag, or after 999 steps."""
    return gymnasium.make("MountainCarContinuous-v0")


def mountain_car_examples(n: int, seed: int) -> np.ndarray:
    """Position 0.45 to 0.5 and velocity 0 to 0.05: the flag stands at 0.45."""
    return uniform([0.45, 0.0], [0.5, 0.05], n, seed)


# By a formula: the observation of an angle and a speed.
def pendulum() -> Env:
    """Swing the pendulum up and hold it. 200 steps from any angle."""
    return gymnasium.make("Pendulum-v1")


def pendulum_examples(n: int, seed: int) -> np.ndarray:
    """Within 0.1 rad of upright and slower than 0.5 rad/s: cos θ, sin θ, speed."""
    angle, speed = uniform([-0.1, -0.5], [0.1, 0.5], n, seed).T
    return np.stack([np.cos(angle), np.sin(angle), speed], axis=1)


def upright(obs: Observation) -> bool:
    """Within 0.25 rad of upright and slower than 1 rad/s."""
    return bool(abs(np.arctan2(obs[1], obs[0])) < 0.25 and abs(obs[2]) < 1.0)


def point_maze(anywhere: bool = False) -> Env:
    """A ball rolls from one end of a U to the other, or from anywhere in it to anywhere; 150 steps."""
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    start, goal, way = ("c", "c", "c") if anywhere else ("r", "g", 0)
    u = [[1, 1, 1, 1, 1], [1, start, way, way, 1], [1, 1, 1, way, 1], [1, goal, way, way, 1], [1, 1, 1, 1, 1]]
    return gymnasium.make("PointMaze_UMaze-v3", maze_map=u, max_episode_steps=150)


def point_maze_examples(n: int, seed: int, anywhere: bool = False) -> dict[str, np.ndarray]:
    """The ball within 0.25 of the goal along each axis, slow; goals as the environment sets them. An array per part."""
    env, rng = point_maze(anywhere), np.random.default_rng(seed)
    goals = np.array([env.reset(seed=seed + i)[0]["desired_goal"] for i in range(n)])
    env.close()
    places, speeds = goals + rng.uniform(-0.25, 0.25, (n, 2)), rng.uniform(-0.5, 0.5, (n, 2))
    return {"observation": np.hstack([places, speeds]), "achieved_goal": places, "desired_goal": goals}


def arrived(obs: Observation) -> bool:
    """What the environment calls success: within 0.45 of the goal."""
    return bool(np.linalg.norm(obs["achieved_goal"] - obs["desired_goal"]) < 0.45)


# By setting the simulator's state, and asking the environment what it observes there.
def reacher() -> Env:
    """An arm of two links brings its tip to a target that lies elsewhere in each episode. 50 steps."""
    return gymnasium.make("Reacher-v5")


def reacher_examples(n: int, seed: int) -> np.ndarray:
    """The arm anywhere, slow, and the target within 1 cm of its tip along each axis."""
    env, rng = reacher(), np.random.default_rng(seed)
    env.reset(seed=seed)
    arm: Any = env.unwrapped
    rows: list[np.ndarray] = []
    while len(rows) < n:
        joints, speeds = rng.uniform(-np.pi, np.pi, 2), [*rng.uniform(-0.5, 0.5, 2), 0.0, 0.0]
        arm.set_state(np.array([*joints, 0.0, 0.0]), np.array(speeds))
        target = arm.get_body_com("fingertip")[:2] + rng.uniform(-0.01, 0.01, 2)
        if np.linalg.norm(target) < 0.2:  # where the environment puts it
            arm.set_state(np.array([*joints, *target]), np.array(speeds))
            rows.append(arm._get_obs())
    env.close()
    return np.array(rows)


def door() -> Env:
    """A hand of 24 joints on a moving arm unlatches a door and opens it. The door's place differs. 200 steps."""
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return gymnasium.make("AdroitHandDoor-v1")


def door_examples(n: int, seed: int) -> np.ndarray:
    """The hand wanders; then the door is set to an angle of 1.36 to 1.55 rad, and the latch to any: it stays turned."""
    env, rng = door(), np.random.default_rng(seed)
    hand: Any = env.unwrapped
    rows = []
    for i in range(n):
        env.reset(seed=seed + i)
        action = rng.uniform(-1, 1, env.action_space.shape)
        for _ in range(int(rng.integers(5, 80))):
            env.step(np.clip(0.7 * action + rng.normal(0, 0.3, action.shape), -1, 1))
        state = hand.get_env_state()
        state["qpos"][hand.door_hinge_addrs] = rng.uniform(1.36, 1.55)
        state["qpos"][-1] = rng.uniform(0.0, 1.8)
        hand.set_env_state(state)
        rows.append(hand._get_obs())
    env.close()
    return np.array(rows)


def cart_pole() -> Env:
    """The pole hangs; the cart swings it up and balances it in the middle of the rail. 1000 steps."""
    import shimmy

    gymnasium.register_envs(shimmy)
    return gymnasium.wrappers.TimeLimit(gymnasium.make("dm_control/cartpole-swingup-v0"), 1000)


def cart_pole_examples(n: int, seed: int) -> dict[str, np.ndarray]:
    """Cart within 0.2 m of the middle, pole within 0.08 rad of upright, both slow: an entry per part of the Dict."""
    x, angle, dx, turn = uniform([-0.2, -0.08, -0.2, -0.3], [0.2, 0.08, 0.2, 0.3], n, seed).T
    return {"position": np.stack([x, np.cos(angle), np.sin(angle)], axis=1), "velocity": np.stack([dx, turn], axis=1)}


def balanced(obs: Observation) -> bool:
    """What dm_control's sparse reward asks for: cart within 0.25, cosine of the pole's angle above 0.995."""
    return bool(abs(obs["position"][0]) < 0.25 and obs["position"][1] > 0.995)


def ball_in_cup() -> Env:
    """A ball hangs on a string below a cup that moves; swing it up and catch it. 1000 steps."""
    import shimmy

    gymnasium.register_envs(shimmy)
    return gymnasium.wrappers.TimeLimit(gymnasium.make("dm_control/ball_in_cup-catch-v0"), 1000)


IN_CUP = np.array([0.0, 0.45])  # the ball's place measured from the cup's, when it lies in the middle of it


def ball_in_cup_examples(n: int, seed: int) -> dict[str, np.ndarray]:
    """The cup anywhere, the ball within 1.5 cm of its middle, both slow and moving together."""
    cup, ball = uniform([-0.2, -0.2], [0.2, 0.2], n, seed), uniform([-0.015, -0.015], [0.015, 0.015], n, seed + 1)
    speeds = uniform([-0.2, -0.2], [0.2, 0.2], n, seed + 2)
    return {"position": np.hstack([cup, cup + IN_CUP + ball]), "velocity": np.hstack([speeds, speeds])}


def caught(obs: Observation) -> bool:
    """What dm_control's reward asks for: the ball within 2.5 cm of the cup's middle along each axis."""
    return bool(np.max(np.abs(obs["position"][2:] - obs["position"][:2] - IN_CUP)) < 0.025)


# By a formula, for a vehicle that can break.
def lunar_lander() -> Env:
    """Land between two flags. An episode ends where the lander crashes, leaves the picture or comes to rest."""
    return gymnasium.make("LunarLanderContinuous-v3")


def lunar_lander_examples(n: int, seed: int) -> np.ndarray:
    """Both legs on the ground between the flags, upright, nearly still."""
    states = uniform([-0.15, -0.01, -0.02, -0.02, -0.05, -0.02], [0.15, 0.01, 0.02, 0.02, 0.05, 0.02], n, seed)
    return np.hstack([states, np.ones((n, 2))])


def landed(obs: Observation) -> bool:
    """Between the flags, on both legs, still."""
    return bool(abs(obs[0]) < 0.2 and np.all(obs[6:] > 0.5) and np.max(np.abs(obs[2:4])) < 0.05)


@dataclass(frozen=True)
class Case:
    """An environment, how its examples are made, what counts as success, and how long to train."""

    make: Callable[[], Env]
    examples: Callable[[int, int], Any]
    success: Callable[[Observation], bool]
    steps: int


CASES = {
    "mountain-car": Case(mountain_car, mountain_car_examples, lambda obs: obs[0] >= 0.45, 30_000),
    "pendulum": Case(pendulum, pendulum_examples, upright, 30_000),
    "reacher": Case(reacher, reacher_examples, lambda obs: bool(np.hypot(obs[8], obs[9]) < 0.02), 30_000),
    "point-maze": Case(point_maze, point_maze_examples, arrived, 60_000),
    "point-maze-anywhere": Case(
        partial(point_maze, anywhere=True), partial(point_maze_examples, anywhere=True), arrived, 60_000
    ),
    "cart-pole": Case(cart_pole, cart_pole_examples, balanced, 50_000),
    "ball-in-cup": Case(ball_in_cup, ball_in_cup_examples, caught, 50_000),
    "lunar-lander": Case(lunar_lander, lunar_lander_examples, landed, 60_000),
    "adroit-door": Case(door, door_examples, lambda obs: obs[28] >= 1.35, 60_000),
}


def spoilt(case: Case, n: int, wrong: float, seed: int) -> Any:
    """The examples of a case, a share of them replaced by states of random episodes (not for Dict observations)."""
    examples, rng = case.examples(n, seed), np.random.default_rng(seed)
    if wrong:
        env = case.make()
        for row in range(round(wrong * n)):
            env.reset(seed=seed + row)
            for _ in range(int(rng.integers(1, 100))):
                examples[row] = env.step(rng.uniform(env.action_space.low, env.action_space.high))[0]
        env.close()
    return examples


def record(folder: Path, out: Path, kind: str) -> None:
    """A small file of the run's curves, settings, commit and command, as those of `mural sweep`."""
    from mural.study import results

    words = [word for word in sys.argv[1:] if "/" not in word and word not in ("--out", "--results")]
    result = results.summary(folder, kind) | {"command": " ".join(["python examples/foreign.py", *words])}
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{folder.name}.json").write_text(json.dumps(result) + "\n")
    print(f"success of the last ten evaluations {result['success_of_last_ten']}, solved at {result['solved_at']}")


def main() -> None:
    """Train one of them into OUT/NAME-mural-SEED."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=sorted(CASES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=None, help="default: as in CASES")
    parser.add_argument("--episodes", type=int, default=20, help="episodes per evaluation")
    parser.add_argument("--examples", type=int, default=150, help="how many examples")
    parser.add_argument("--wrong", type=float, default=0.0, help="share of examples that are states of no success")
    parser.add_argument("--out", type=Path, default=Path("runs/foreign"))
    parser.add_argument("--results", type=Path, default=Path("results/foreign"))
    asked = parser.parse_args()
    import mural

    case, kind = CASES[asked.name], ""
    kind += f"-examples{asked.examples}" if asked.examples != 150 else ""
    kind += f"-wrong{round(100 * asked.wrong)}" if asked.wrong else ""
    folder = asked.out / f"{asked.name}-mural{kind}-{asked.seed}"
    agent = mural.Agent(
        Judged(case.make(), case.success),
        examples=spoilt(case, asked.examples, asked.wrong, asked.seed),
        seed=asked.seed,
        run_dir=folder,
        config={"watch.eval_episodes": asked.episodes},
    )
    agent.learn(asked.steps or case.steps)
    record(folder, asked.results, kind.lstrip("-"))


if __name__ == "__main__":
    main()
