"""Entry point of `python -m aeron_core`, which runs the command `aeron-core`."""

from aeron_core.cli.main import main

if __name__ == "__main__":
    main()
