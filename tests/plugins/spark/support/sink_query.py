"""A query that stages and commits batches without a Spark session."""

import pyarrow as pa
from pyspark_aeron.writing.sink import StreamWriter
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staged_file import Task
from pyspark_aeron.writing.staging import stage


class Query:
    """The calls of Spark for a query, in one process."""

    def __init__(self, **options):
        self.options = SinkOptions.parse(options)
        self.writer = StreamWriter(self.options)

    def stage(self, batch_id, partition, *payloads):
        rows = pa.RecordBatch.from_arrays([pa.array(payloads, pa.binary())], names=["payload"])
        return stage(self.options, [rows], Task("query-1", batch_id, partition))

    def commit(self, batch_id, *messages):
        self.writer.commit(list(messages), batch_id)
