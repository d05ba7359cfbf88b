"""A loop of your own: Q-learning on a grid in NumPy, with the learned reward. Nothing of ours but `OutcomeReward`.

python examples/plain_loop.py
"""

import numpy as np

import mural

SIZE, MOVES = 8, np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])


def step(place: np.ndarray, action: int) -> np.ndarray:
    """The environment: a square of cells; a wall divides it but for its right column."""
    new = np.clip(place + MOVES[action], 0, SIZE - 1)
    through = {int(place[1]), int(new[1])} == {SIZE // 2 - 1, SIZE // 2} and place[0] < SIZE - 1
    return place if through else new


def main(episodes: int = 120, horizon: int = 40, gamma: float = 0.95, seed: int = 0) -> np.ndarray:
    """Learn to go around the wall, to the upper left; returns where the greedy policy ends."""
    rng, q = np.random.default_rng(seed), np.zeros((SIZE, SIZE, 4))
    reward = mural.OutcomeReward(np.full((20, 2), (0, SIZE - 1)), method="cnml", units="raw")
    replay: list[tuple[np.ndarray, int, np.ndarray]] = []
    for episode in range(episodes):
        place = np.zeros(2, int)
        for _ in range(horizon):
            action = (
                rng.integers(4) if rng.random() < 0.1 else int(rng.choice(np.flatnonzero(q[*place] == q[*place].max())))
            )
            new = step(place, action)
            replay.append((place, action, new))
            place = new
        if episode % 5 == 4:  # the reward learns from the states since the last time, and the replay is labelled anew
            reward.update(np.array([new for _, _, new in replay[-5 * horizon :]]))
            table = reward(np.indices((SIZE, SIZE)).reshape(2, -1).T).reshape(SIZE, SIZE)
            for i in rng.permutation(len(replay)).tolist()[:4000]:
                s, a, t = replay[i]
                q[*s, a] += 0.5 * (table[*t] + gamma * q[*t].max() - q[*s, a])
    place = np.zeros(2, int)
    for _ in range(horizon):
        place = step(place, int(q[*place].argmax()))
    return place


if __name__ == "__main__":
    print(f"the greedy policy ends in cell {main()}; success is in [0 {SIZE - 1}]")
