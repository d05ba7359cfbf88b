"""Many runs, and what is learned from them: sweeps, statistics, figures, tables, claims, a report, measurements."""
