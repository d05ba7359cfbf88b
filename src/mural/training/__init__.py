"""The training loop: collect steps, let the reward learn, label the replay, update the agent, evaluate."""
