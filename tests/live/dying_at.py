"""`sluice` that is killed, as by `kill -9`, at the nth time it does something.

    python -m tests.live.dying_at os.rename 3 run jobs.json

The something is an audit event of Python: every opening, renaming, removing, starting of a process
is one. Moments found so do not depend on how fast the machine is.
"""

import os
import runpy
import signal
import sys

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "shutil.rmtree", "subprocess.Popen")


def main():
    """Arm, and run the command line."""
    name, left = sys.argv[1], int(sys.argv[2])
    del sys.argv[1:3]

    def count(event, _arguments):
        nonlocal left
        if event == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    runpy.run_module("sluice", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
