"""`python -m edgecond` is the command `edgecond`."""

from edgecond.cli import main

if __name__ == "__main__":
    main()
