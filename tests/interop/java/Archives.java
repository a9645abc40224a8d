import io.aeron.Aeron;
import io.aeron.ChannelUriStringBuilder;
import io.aeron.ExclusivePublication;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.archive.status.RecordingPos;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.security.NullCredentialsSupplier;
import java.io.File;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.agrona.concurrent.status.CountersReader;

/** The real Aeron Archive, and a client that controls it. */
final class Archives
{
    private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(30);

    /** An archive client and the directory of the driver that it uses. */
    record Client(AeronArchive archive) implements AutoCloseable
    {
        public void close()
        {
            archive.close();
        }
    }

    private Archives()
    {
    }

    /** Launch a driver with an archive: directory, folder of the archive, then options as `name=value`. */
    static ArchivingMediaDriver launch(final String[] args)
    {
        final MediaDriver.Context driver = new MediaDriver.Context()
            .aeronDirectoryName(args[0])
            .threadingMode(ThreadingMode.SHARED)
            .ipcTermBufferLength(256 * 1024)
            .publicationTermBufferLength(256 * 1024)
            .timerIntervalNs(TimeUnit.MILLISECONDS.toNanos(100))
            .spiesSimulateConnection(true)
            .dirDeleteOnShutdown(true)
            .printConfigurationOnStart(false);
        final Archive.Context archive = new Archive.Context()
            .aeronDirectoryName(args[0])
            .archiveDir(new File(args[1]))
            .threadingMode(ArchiveThreadingMode.SHARED)
            .controlChannel("aeron:udp?endpoint=localhost:0")
            .replicationChannel("aeron:udp?endpoint=localhost:0")
            .recordingEventsEnabled(false)
            .segmentFileLength(512 * 1024)
            .catalogCapacity(64 * 1024);
        for (int i = 2; i < args.length; i++)
        {
            final String[] option = args[i].split("=", 2);
            switch (option[0])
            {
                case "segment-length" -> archive.segmentFileLength(Integer.parseInt(option[1]));
                case "id" -> archive.archiveId(Long.parseLong(option[1]));
                case "control" -> archive.controlChannel(option[1]);
                case "replication" -> archive.replicationChannel(option[1]);
                case "events" -> archive.recordingEventsEnabled(true).recordingEventsChannel(option[1]);
                case "impatient" -> archive.sessionLivenessCheckIntervalNs(TimeUnit.MILLISECONDS.toNanos(1))
                    .connectTimeoutNs(TimeUnit.SECONDS.toNanos(1));
                case "token" -> archive.authenticatorSupplier(() -> new TokenAuthenticator(option[1], false));
                case "challenge" -> archive.authenticatorSupplier(() -> new TokenAuthenticator(option[1], true));
                case "checksum" -> archive.recordChecksum(io.aeron.archive.checksum.Checksums.newInstance(option[1]));
                case "replay-checksum" ->
                    archive.replayChecksum(io.aeron.archive.checksum.Checksums.newInstance(option[1]));
                default -> throw new IllegalArgumentException("unknown option: " + args[i]);
            }
        }
        return ArchivingMediaDriver.launch(driver, archive);
    }

    /** Connect: directory of the driver, and credentials if there are some. */
    static Client connect(final String[] args)
    {
        return new Client(AeronArchive.connect(new AeronArchive.Context()
            .aeronDirectoryName(args[0])
            .credentialsSupplier(args.length > 1 ?
                new ArchiveRequests.Secret(args[1], "") : new NullCredentialsSupplier())
            .controlRequestChannel("aeron:ipc")
            .controlResponseChannel("aeron:ipc")));
    }

    static ExclusivePublication record(final Client client, final String channel, final int streamId)
    {
        return client.archive().addRecordedExclusivePublication(channel, streamId);
    }

    /** Continue a stopped recording with a new session. */
    static ExclusivePublication extend(
        final Client client, final long recordingId, final String channel, final int streamId)
    {
        final AeronArchive archive = client.archive();
        final long[] described = new long[3];
        archive.listRecording(recordingId,
            (controlSessionId, correlationId, id, startTimestamp, stopTimestamp, startPosition, stopPosition,
                initialTermId, segmentFileLength, termBufferLength, mtuLength, sessionId, stream, stripped, original,
                source) ->
            {
                described[0] = stopPosition;
                described[1] = initialTermId;
                described[2] = termBufferLength;
            });
        final String continued = new ChannelUriStringBuilder(channel)
            .initialPosition(described[0], (int)described[1], (int)described[2])
            .build();
        final ExclusivePublication publication = archive.context().aeron().addExclusivePublication(continued, streamId);
        archive.extendRecording(
            recordingId, channel + (channel.contains("?") ? "|" : "?") + "session-id=" + publication.sessionId(),
            streamId, SourceLocation.LOCAL);
        await(publication::isConnected, "the recording to continue");
        return publication;
    }

    /** Return the id of the recording of a publication, after the archive has recorded all of it. */
    static long awaitRecorded(final Client client, final ExclusivePublication publication)
    {
        final CountersReader counters = client.archive().context().aeron().countersReader();
        final int[] counterId = new int[1];
        await(() ->
        {
            counterId[0] = RecordingPos.findCounterIdBySession(
                counters, publication.sessionId(), client.archive().archiveId());
            return counterId[0] != CountersReader.NULL_COUNTER_ID;
        }, "the counter of the recording");
        await(() -> counters.getCounterValue(counterId[0]) >= publication.position(), "the recording");
        return RecordingPos.getRecordingId(counters, counterId[0]);
    }

    static Object stop(final Client client, final ExclusivePublication publication, final long recordingId)
    {
        client.archive().stopRecording(publication);
        await(() -> client.archive().getStopPosition(recordingId) != AeronArchive.NULL_POSITION, "the stop position");
        return client.archive().getStopPosition(recordingId);
    }

    /** Change a recording: `purge-segments` and `truncate` have a position. */
    static Object change(final Client client, final String operation, final long recordingId, final long position)
    {
        return switch (operation)
        {
            case "purge" -> client.archive().purgeRecording(recordingId);
            case "purge-segments" -> client.archive().purgeSegments(recordingId, position);
            case "truncate" -> client.archive().truncateRecording(recordingId, position);
            default -> throw new IllegalArgumentException("unknown operation: " + operation);
        };
    }

    private static void await(final BooleanSupplier condition, final String what)
    {
        final long deadline = System.nanoTime() + DEADLINE_NS;
        while (!condition.getAsBoolean())
        {
            if (System.nanoTime() > deadline)
            {
                throw new IllegalStateException("timeout while waiting for " + what);
            }
            java.util.concurrent.locks.LockSupport.parkNanos(100_000);
        }
    }
}
