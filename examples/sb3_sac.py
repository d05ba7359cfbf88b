"""Stable-Baselines3: SAC learns a maze from examples of success, is saved, loaded, and learns on.

pip install 'mural-rl[sb3]'
python examples/sb3_sac.py
"""

import tempfile
from pathlib import Path

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from u_maze import UMaze, success_examples, success_rate

import mural
from mural.adapters.sb3 import OutcomeCallback, OutcomeReplayBuffer


class StopWhenSolved(BaseCallback):
    """Ends the training when nine of ten episodes end in success."""

    def _on_step(self) -> bool:
        if self.num_timesteps % 500:
            return True
        return success_rate(lambda obs: self.model.predict(obs, deterministic=True)[0]) < 0.9


def main(steps: int = 10_000, more: int = 5_000, folder: Path | None = None) -> tuple[float, float, int]:
    """Train; returns the share of successful episodes before and after the model was away, and the steps until then."""
    torch.set_num_threads(1)  # small networks: more threads only wait for each other
    reward = mural.OutcomeReward(success_examples(), method="cnml", seed=0)
    model = SAC(
        "MlpPolicy", UMaze(), seed=0, learning_starts=250, train_freq=4, batch_size=128, learning_rate=3e-3, gamma=0.9,
        ent_coef="auto_0.1", target_entropy=-1.0, policy_kwargs={"net_arch": [64, 64]}, device="cpu",
        replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": reward},
    )  # fmt: skip
    model.learn(steps, callback=[OutcomeCallback(every=500), StopWhenSolved()])
    before = success_rate(lambda obs: model.predict(obs, deterministic=True)[0])

    folder = Path(tempfile.mkdtemp()) if folder is None else folder
    model.save(folder / "model")  # with the learned reward
    model.save_replay_buffer(folder / "buffer")

    again = SAC.load(folder / "model", env=UMaze(), device="cpu")
    again.load_replay_buffer(folder / "buffer")
    again.learn(more, callback=[OutcomeCallback(every=500), StopWhenSolved()], reset_num_timesteps=False)
    after = success_rate(lambda obs: again.predict(obs, deterministic=True)[0])
    return before, after, model.num_timesteps


if __name__ == "__main__":
    print("success before and after: {:.0%}, {:.0%}; solved in {} steps".format(*main()))
