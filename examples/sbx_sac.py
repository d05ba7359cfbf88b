"""SBX, Stable-Baselines3 in JAX: the same buffer and callback.

pip install 'mural-rl[sbx]'
python examples/sbx_sac.py
"""

from sb3_sac import StopWhenSolved
from sbx import SAC
from u_maze import UMaze, success_examples, success_rate

import mural
from mural.adapters.sb3 import OutcomeCallback, OutcomeReplayBuffer


def main(steps: int = 10_000) -> float:
    """Train; returns the share of successful episodes."""
    reward = mural.OutcomeReward(success_examples(), method="cnml", seed=0)
    model = SAC(
        "MlpPolicy", UMaze(), seed=0, learning_starts=250, train_freq=4, batch_size=128, learning_rate=3e-3, gamma=0.9,
        ent_coef="auto_0.1", target_entropy=-1.0, policy_kwargs={"net_arch": [64, 64]},
        replay_buffer_class=OutcomeReplayBuffer, replay_buffer_kwargs={"reward": reward},
    )  # fmt: skip
    model.learn(steps, callback=[OutcomeCallback(every=500), StopWhenSolved()])
    return success_rate(lambda obs: model.predict(obs, deterministic=True)[0])


if __name__ == "__main__":
    print(f"success: {main():.0%}")
