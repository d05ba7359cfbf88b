"""One page to look at: `mural report` makes a self-contained HTML file of runs."""
