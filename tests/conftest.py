"""Built-in plugins are importable from a checkout that is built in place but not installed."""

import importlib.util
import sys
from pathlib import Path

PLUGINS = Path(__file__).parents[1] / "plugins"

for package in sorted(PLUGINS.glob("*/aeron_*")):
    if importlib.util.find_spec(package.name) is None:
        sys.path.append(str(package.parent))
