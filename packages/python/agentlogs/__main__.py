"""``python -m agentlogs``: the program."""

import os
import subprocess
import sys

from agentlogs._program import program


def main() -> int:
    command = [program(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
