"""Many runs: presets, sweeps, statistics, figures, the claims ledger, the report."""
