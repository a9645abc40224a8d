"""The reader for Spark's Java: rows and errors of generated archives are those of the reader in Python."""

import os
import tempfile
from pathlib import Path

from both_readers import assert_same, python, rows_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from aeron_core.errors import AeronError
from aeron_core.testing.recordings import TERM_LENGTH, RecordingUnderTest, frame_at, padding_at

BEGIN, MIDDLE, END, WHOLE = 0x80, 0x00, 0x40, 0xC0
#: Examples of one run. Each is a job of Spark.
EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "25"))

LENGTHS = st.integers(0, 300) | st.integers(0, 8000)
#: A message of one frame or of fragments, fragments without begin or end, padding up to the end of the term, a flush.
ITEMS = (
    st.tuples(st.just("message"), st.lists(LENGTHS, min_size=1, max_size=4))
    | st.tuples(st.just("fragments"), st.lists(st.sampled_from([BEGIN, MIDDLE, END, WHOLE]), max_size=4))
    | st.just(("padding", None))
    | st.just(("flush", None))
)


class Frames:
    """Frames of generated items, appended to a recording at each flush; none crosses a term."""

    def __init__(self, written):
        self.written = written
        self.position = written.writer.written_position
        self.block = b""

    def add(self, kind, content):
        if kind == "message":
            last = len(content) - 1
            flags = [BEGIN * (at == 0) | END * (at == last) for at in range(last + 1)]
            self.append(list(zip(content, flags, strict=True)))
        elif kind == "fragments":
            self.append([(20, flags) for flags in content])
        elif kind == "padding":
            self.pad()
        else:
            self.flush()

    def append(self, parts):
        if sum(32 + (length + 31) // 32 * 32 for length, _ in parts) > self.left:
            self.pad()
        for length, flags in parts:
            payload = self.position.to_bytes(8, "little") * (length // 8 + 1)
            self._take(frame_at(self.position, payload[:length], flags=flags, reserved_value=length))

    def pad(self):
        if self.left < TERM_LENGTH:
            self._take(padding_at(self.position, self.left))

    @property
    def left(self):
        return TERM_LENGTH - self.position % TERM_LENGTH

    def flush(self):
        if self.block:
            self.written.append_block(self.block)
            self.block = b""

    def _take(self, frame):
        if self.position % TERM_LENGTH == 0:
            self.flush()  # a recorder writes at most to the end of a term
        self.block += frame
        self.position += len(frame)


def generate(folder, items, start, segment_length, is_stopped):
    written = RecordingUnderTest.begin(folder, start_position=start, segment_length=segment_length)
    frames = Frames(written)
    for kind, content in items:
        frames.add(kind, content)
    frames.append([(5, WHOLE)])  # readers read whole messages only
    frames.flush()
    if is_stopped:
        written.stop()
    return written


RECORDINGS = {
    "items": st.lists(ITEMS, max_size=40),
    "start": st.sampled_from([0, 96, TERM_LENGTH, 5 * TERM_LENGTH - 64]),
    "segment_length": st.sampled_from([TERM_LENGTH, 2 * TERM_LENGTH]),
    "is_stopped": st.booleans(),
}
OPTIONS = st.fixed_dictionaries(
    {
        "assemble": st.sampled_from(["messages", "fragments"]),
        "batchRows": st.sampled_from(["1", "3", "32768"]),
        "minPartitions": st.sampled_from(["1", "5"]),
        "verify": st.sampled_from(["true", "false"]),
    }
)
QUICK = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(**RECORDINGS, options=OPTIONS)
def test_generated_recordings_have_the_same_rows(java, options, **recording):
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), **recording)

        assert_same(java, folder, **options)


DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(["rec", "idx", "recording.json", "mark", "archive.json"]),
        st.sampled_from(["flip", "zero", "ones", "cut", "insert"]),
        st.floats(0, 1, exclude_max=True),
    ),
    min_size=1,
    max_size=3,
)


def damage(folder, kind, how, where):
    paths = sorted(path for path in Path(folder).rglob("*") if path.name.endswith(kind))
    if not paths:
        return
    path = paths[int(where * len(paths))]
    data = bytearray(path.read_bytes())
    at = int(where * len(data)) if data else 0
    if how == "cut":
        del data[at:]
    elif how == "insert":
        data[at:at] = b"7"
    elif data:
        data[at] = {"flip": data[at] ^ 1 << at % 8, "zero": 0, "ones": 255}[how]
    path.write_bytes(data)


@QUICK
@given(**RECORDINGS, options=OPTIONS, damages=DAMAGES)
def test_hostile_damage_is_an_error_or_gives_the_same_rows(java, options, damages, **recording):
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), **recording)
        for each in damages:
            damage(folder, *each)
        expected = rows_or_error(lambda: rows_of(python(folder, **options)))
        found = rows_or_error(lambda: rows_of(java(folder, **options)))
        assert found == expected or (isinstance(found, str) and isinstance(expected, str)), (found, expected)


def rows_or_error(read):
    """Return the rows, or the text of an error that one of the readers documents."""
    try:
        return read()
    except (AeronError, OSError, PySparkException) as error:
        return str(error)
    except Exception as error:
        if "aeron_core.recording." not in str(error):  # the failure of a task
            raise
        return str(error)
