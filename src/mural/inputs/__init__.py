"""What a user brings, checked: spaces, examples, environments."""
