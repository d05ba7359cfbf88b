"""`python -m mural` is the command `mural`."""

from mural.cli import main

if __name__ == "__main__":
    main()
