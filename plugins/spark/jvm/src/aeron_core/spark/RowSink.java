package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Sink into a recording or onto a channel: tasks write files in Java, and a process of Python commits them.
 *
 * <p>Options and columns are checked by that process, so that they have one definition.
 */
final class RowSink implements SupportsTruncate, Write, BatchWrite, StreamingWrite {
    private final Map<String, String> options;
    private final String query;
    private final Task task; // in the folder of all writers, until its writer is known
    private final boolean mayRepeat; // requests: those of a recording do nothing the second time
    private boolean isOverwriting;
    private String writer;

    /** What a task writes: columns by their number in a row, `reserved` -1 without one. */
    record Task(
        String folder, int privateParts, String column, int payload, boolean isText, int reserved, boolean isInt)
        implements DataWriterFactory, StreamingDataWriterFactory {
        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task) {
            return new StagedRows(this, partition, 0);
        }

        @Override
        public DataWriter<InternalRow> createWriter(int partition, long task, long batchId) {
            return new StagedRows(this, partition, batchId);
        }
    }

    RowSink(Map<String, String> options, LogicalWriteInfo info) {
        this.options = options;
        this.query = info.queryId();
        StructType schema = info.schema();
        Map<String, String> columns = new LinkedHashMap<>();
        for (StructField field : schema.fields()) {
            columns.put(field.name(), field.dataType().simpleString());
        }
        if (columns.size() < schema.size()) {
            throw new ConfigurationException(
                "columns " + String.join(", ", schema.fieldNames()) + ": must have different names");
        }
        JsonNode answer = Committer.ask(Map.of("do", "check", "options", options, "columns", columns), true);
        this.mayRepeat = answer.get("may_repeat").asBoolean();
        List<String> names = new ArrayList<>(columns.keySet());
        String payload = answer.get("payload").asText();
        this.task = new Task(
            answer.get("folder").asText(),
            answer.get("private_parts").asInt(),
            payload,
            names.indexOf(payload),
            columns.get(payload).equals("string"),
            names.indexOf("reserved"),
            "int".equals(columns.get("reserved")));
    }

    @Override
    public RowSink truncate() { // streams with outputMode complete too, which append the whole result in each batch
        isOverwriting = true;
        return this;
    }

    @Override
    public Write build() {
        return this;
    }

    @Override
    public BatchWrite toBatch() {
        if (isOverwriting) {
            throw new ConfigurationException("mode overwrite: must be append, .mode(\"append\"): what was recorded or "
                + "published is never replaced");
        }
        writer = "job-" + UUID.randomUUID();
        return this;
    }

    @Override
    public StreamingWrite toStreaming() {
        writer = query;
        return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return taskOfWriter();
    }

    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
        // Epochs end by time: one that is repeated may have other rows than the one that was recorded with its id.
        SparkContext context = SparkSession.active().sparkContext();
        if (Boolean.parseBoolean(context.getLocalProperty("__is_continuous_processing"))) {
            throw new ConfigurationException("trigger continuous: must be processingTime or availableNow: a sink that "
                + "keeps rows exactly once needs batches");
        }
        return taskOfWriter();
    }

    private Task taskOfWriter() {
        return new Task(Path.of(task.folder, writer).toString(), task.privateParts, task.column, task.payload,
            task.isText, task.reserved, task.isInt);
    }

    @Override
    public boolean useCommitCoordinator() {
        return true;
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        request("commit job", 0, messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        request("abort job", 0, messages);
    }

    @Override
    public void commit(long batchId, WriterCommitMessage[] messages) {
        request("commit batch", batchId, messages);
    }

    @Override
    public void abort(long batchId, WriterCommitMessage[] messages) {
        request("abort batch", batchId, messages);
    }

    private void request(String what, long batchId, WriterCommitMessage[] messages) {
        List<Map<String, Object>> files = new ArrayList<>();
        for (WriterCommitMessage message : messages) {
            if (message instanceof StagedRows.Staged staged) { // null of a failed task
                files.add(Map.of("path", staged.path(), "rows", staged.rows(), "partition", staged.partition(),
                    "sha256", staged.sha256()));
            }
        }
        Committer.ask(
            Map.of("do", what, "options", options, "writer", writer, "batch_id", batchId, "files", files), mayRepeat);
    }
}
