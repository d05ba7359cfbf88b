"""Many runs, and what is learned from them: evidence, the paper's figures, measurements of speed and fidelity."""
