"""The MuJoCo tasks: arm, ant and hand."""
