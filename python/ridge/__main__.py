"""python -m ridge: the command."""
import os
import sys

from ._profile import command


def main():
    os.execv(command(), ["ridge"] + sys.argv[1:])


if __name__ == "__main__":
    main()
