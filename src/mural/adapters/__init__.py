"""Our reward inside other people's training: Stable-Baselines3, SBX, and loops that take an environment."""
