"""On-policy: PPO of Stable-Baselines3 on an environment whose reward is the learned one.

pip install 'mural-rl[sb3]'
python examples/sb3_ppo.py
"""

import torch
from sb3_sac import StopWhenSolved
from stable_baselines3 import PPO
from u_maze import UMaze, success_examples, success_rate

import mural
from mural.adapters.gym import OutcomeRewardWrapper


def main(steps: int = 40_000) -> float:
    """Train; returns the share of successful episodes."""
    torch.set_num_threads(1)  # small networks: more threads only wait for each other
    reward = mural.OutcomeReward(success_examples(), method="cnml", seed=0)
    env = OutcomeRewardWrapper(UMaze(), reward, every=500, gamma=0.9)
    model = PPO("MlpPolicy", env, seed=0, n_steps=500, batch_size=100, gamma=0.9, ent_coef=0.01, device="cpu")
    model.learn(steps, callback=StopWhenSolved())
    return success_rate(lambda obs: model.predict(obs, deterministic=True)[0])


if __name__ == "__main__":
    print(f"success: {main():.0%}")
