"""``python -m pykittens``: the `pk` command where it is not on the path."""

from pykittens.cli.main import main

if __name__ == "__main__":
    main()
