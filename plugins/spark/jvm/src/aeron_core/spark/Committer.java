package aeron_core.spark;

import aeron_core.recording.ConfigurationException;
import aeron_core.recording.RecordingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.spark.SparkEnv;

/**
 * A process of Python, `pyspark_aeron.writing.committer`: a request and its answer are a line of JSON each.
 *
 * <p>An idle process serves the next request of any query. It ends with this Java machine.
 */
final class Committer {
    private static final String MODULE = "pyspark_aeron.writing.committer";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ConcurrentLinkedDeque<Committer> IDLE = new ConcurrentLinkedDeque<>();

    private final Process process;
    private final OutputStream requests;
    private final BufferedReader answers;

    private Committer(String python) throws IOException {
        process = new ProcessBuilder(python, "-P", "-m", MODULE).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        requests = process.getOutputStream();
        answers = process.inputReader(StandardCharsets.UTF_8);
    }

    /**
     * Return the answer to a request; raises ConfigurationException or RecordingException with the text of Python.
     *
     * <p>If the process ends without an answer, another one gets the request once more, if it `mayRepeat`.
     */
    static JsonNode ask(Map<String, ?> request, boolean mayRepeat) {
        String python = python();
        JsonNode answer;
        try {
            Committer committer = take(python);
            answer = committer.answer(JSON.writeValueAsString(request));
            IDLE.addFirst(committer);
        } catch (IOException error) {
            if (mayRepeat) {
                return ask(request, false);
            }
            throw new RecordingException("`" + python + " -m " + MODULE + "` does not answer: " + error.getMessage()
                + ": its stderr has the cause; install aeron-core for this Python, or set spark.pyspark.python "
                + "to one that has it; then restart the query, or run the job again: no row is lost", error);
        }
        if (answer.has("error")) {
            String text = answer.get("error").asText();
            throw answer.get("is_configuration").asBoolean()
                ? new ConfigurationException(text)
                : new RecordingException(text);
        }
        return answer;
    }

    private static Committer take(String python) throws IOException {
        Committer idle;
        while ((idle = IDLE.pollFirst()) != null) {
            if (idle.process.isAlive()) {
                return idle;
            }
        }
        return new Committer(python);
    }

    private JsonNode answer(String request) throws IOException {
        try {
            requests.write((request + "\n").getBytes(StandardCharsets.UTF_8));
            requests.flush();
            String line = answers.readLine();
            if (line == null) {
                throw new IOException("it ended");
            }
            return JSON.readTree(line);
        } catch (IOException error) {
            process.destroy();
            throw error;
        }
    }

    /** Return the Python of Spark's workers, which is also that of the sink in Python. */
    private static String python() {
        String variable = System.getenv().getOrDefault("PYSPARK_PYTHON", "python3");
        return SparkEnv.get().conf().get("spark.pyspark.python", variable);
    }
}
