"""`python -m timesurf` is the command line."""

from timesurf.cli import main

if __name__ == "__main__":
    main()
