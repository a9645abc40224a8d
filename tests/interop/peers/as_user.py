"""`foreign.py` as another user: imports its modules, which may be in a folder of root, and gives up the privileges.

as_user.py USER GROUP ARGUMENT...       numbers, then the arguments of foreign.py
"""

import os
import runpy
import sys
from pathlib import Path

user, group, *arguments = sys.argv[1:]
program = Path(__file__).with_name("foreign.py")
code = compile(program.read_text(encoding="utf-8"), program, "exec")
# Imports what it needs.
runpy.run_path(str(program), run_name="imported")
os.setgroups([int(group)])
os.setgid(int(user))
os.setuid(int(user))
sys.argv[:] = [str(program), *arguments]
exec(code, {"__name__": "__main__"})
