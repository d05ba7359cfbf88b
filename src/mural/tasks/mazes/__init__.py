"""The maze tasks."""
