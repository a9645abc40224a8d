"""`aeron-core recordings convert`: copies an archive to the other format."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.archive.server.conversion import convert
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.progress import byte_bar
from aeron_core.cli.records.selection import ArchiveUri, Checksum
from aeron_core.cli.text_table import print_table
from aeron_core.recording.storage.archive import Archive

_COLUMNS = ("id", "new id", "start", "stop")

Target = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the new archive: empty, or it does not exist.")
]


def convert_archive(uri: ArchiveUri, target: Target, checksum: Checksum = None, json: Json = False) -> None:
    """Copy the recordings of an archive to the format of Aeron Archive, or from it to ours.

    The copies have new ids, from 0 on. A recording that is live is copied up to its last whole message. The source is
    not changed; checksums of its index are compared.
    """
    archive = Archive.open(uri, checksum=checksum)
    total = sum(each.position - each.start_position for each in archive.recordings())
    with byte_bar("converted", total) as advance:
        found = list(convert(archive, target, advance))
    if json:
        print_json([asdict(each) for each in found])
    else:
        rows = [[str(value) for value in asdict(each).values()] for each in found]
        print_table(_COLUMNS, rows, right=_COLUMNS)
