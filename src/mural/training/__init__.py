"""The loop that joins them: collect, label, learn, evaluate, checkpoint, log."""
