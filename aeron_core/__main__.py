"""`python -m aeron_core` is the command `aeron-core`."""

from aeron_core.cli.main import main

if __name__ == "__main__":
    main()
