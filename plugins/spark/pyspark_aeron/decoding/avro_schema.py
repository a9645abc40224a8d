"""Schemas of Avro records: as they were written, and with a mark by which Spark's result shows that it was decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from aeron_core.errors import ConfigurationError

#: Field that only the reader's schema has. Its default value is present in a decoded record and null in a broken one,
#: of which Spark makes all fields null.
MARK: Final = "_aeron_decoded"


def avro_schemas(path: Path) -> tuple[str, str]:
    """Return the schema of a file for the writer and, with a mark, for the reader, as JSON.

    Raises ConfigurationError if the file is not readable, or not the schema of a record.
    """
    try:
        schema: Any = json.loads(path.read_text(encoding="utf-8"))
        marked = {**schema, "fields": [*schema["fields"], {"name": MARK, "type": "boolean", "default": True}]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            f"decoder avro: schema {path}: must be a file with a record of Avro: {error}"
        ) from None
    return json.dumps(schema), json.dumps(marked)
