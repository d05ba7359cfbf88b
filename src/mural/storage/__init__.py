"""What is kept and survives: atomic files, checkpoints, metrics, the run folder."""
