import io.aeron.Aeron;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.archive.ArchiveTool;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.ReplayMerge;
import io.aeron.archive.client.ReplayParams;
import io.aeron.archive.client.ReplicationParams;
import io.aeron.archive.codecs.RecordingSignal;
import io.aeron.archive.codecs.SourceLocation;
import io.aeron.security.CredentialsSupplier;
import io.aeron.security.NullCredentialsSupplier;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.agrona.concurrent.UnsafeBuffer;

/** What the Java client of Aeron Archive requests of an archive of either kind. */
final class ArchiveRequests
{
    /** A client and the signals that it has received. */
    record Requester(AeronArchive archive, List<RecordingSignal> signals) implements AutoCloseable
    {
        public void close()
        {
            archive.close();
        }
    }

    /** Credentials, and the HMAC of a challenge. */
    record Secret(String credentials, String secret) implements CredentialsSupplier
    {
        public byte[] encodedCredentials()
        {
            return credentials.getBytes(StandardCharsets.US_ASCII);
        }

        public byte[] onChallenge(final byte[] encodedChallenge)
        {
            try
            {
                final Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.US_ASCII), "HmacSHA256"));
                return mac.doFinal(encodedChallenge);
            }
            catch (final GeneralSecurityException error)
            {
                throw new IllegalStateException(error);
            }
        }
    }

    private ArchiveRequests()
    {
    }

    /** Connect: directory of the driver, request and response channel; credentials, and a secret for a challenge. */
    static Requester connect(final String[] args)
    {
        final List<RecordingSignal> signals = new CopyOnWriteArrayList<>();
        return new Requester(AeronArchive.connect(new AeronArchive.Context()
            .aeronDirectoryName(args[0])
            .controlRequestChannel(args[1])
            .controlResponseChannel(args[2])
            .credentialsSupplier(args.length > 3 ? new Secret(args[3], args[4]) : new NullCredentialsSupplier())
            .recordingSignalConsumer((session, correlation, recording, subscription, position, signal) ->
                signals.add(signal))), signals);
    }

    static Object request(final Requester requester, final String name, final String[] args)
    {
        final AeronArchive archive = requester.archive();
        return switch (name)
        {
            case "start-remote" -> archive.startRecording(
                args[0], Integer.parseInt(args[1]), SourceLocation.REMOTE, true);
            case "stop-subscription" -> archive.tryStopRecording(number(args[0]));
            case "stop-by-id" -> archive.tryStopRecordingByIdentity(number(args[0]));
            case "publish" -> archive.addRecordedPublication(args[0], Integer.parseInt(args[1])).sessionId();
            case "list" -> list(archive, 0, 1000);
            case "list-from" -> list(archive, number(args[0]), Integer.parseInt(args[1]));
            case "list-one" -> archive.listRecording(number(args[0]), CONSUMER);
            case "list-uri" -> archive.listRecordingsForUri(
                0, 1000, args[0], Integer.parseInt(args[1]), CONSUMER);
            case "list-subscriptions" -> archive.listRecordingSubscriptions(
                0, 1000, args[0], Integer.parseInt(args[1]), true, (session, correlation, id, stream, channel) -> {});
            case "find" -> archive.findLastMatchingRecording(
                number(args[0]), args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]));
            case "positions" -> archive.getStartPosition(number(args[0])) + " " +
                archive.getRecordingPosition(number(args[0])) + " " + archive.getStopPosition(number(args[0])) + " " +
                archive.getMaxRecordedPosition(number(args[0]));
            case "stop-replays" -> stopReplays(archive, number(args[0]));
            case "truncate" -> archive.truncateRecording(number(args[0]), number(args[1]));
            case "purge" -> archive.purgeRecording(number(args[0]));
            case "purge-segments" -> archive.purgeSegments(number(args[0]), number(args[1]));
            case "detach" -> detach(archive, number(args[0]), number(args[1]));
            case "attach" -> archive.attachSegments(number(args[0]));
            case "delete-detached" -> archive.deleteDetachedSegments(number(args[0]));
            case "migrate" -> archive.migrateSegments(number(args[0]), number(args[1]));
            case "replicate" -> replicate(requester, args);
            case "merge" -> merge(archive, args);
            case "signals" -> signals(requester);
            case "archive-id" -> archive.archiveId();
            default -> throw new IllegalArgumentException("unknown request: " + name);
        };
    }

    /** Replay: recording, position, length, channel, stream. */
    static Peer.Reader replay(final Requester requester, final String[] args)
    {
        final Subscription subscription = requester.archive().replay(
            number(args[0]), args[3], Integer.parseInt(args[4]),
            new ReplayParams().position(number(args[1])).length(number(args[2])));
        return new Peer.Reader(subscription, new AtomicInteger(), new AtomicInteger());
    }

    /** Return what ArchiveTool prints: a folder, then `describe`, `dump` or `verify`. */
    static String tool(final String folder, final String action)
    {
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        final PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        final File directory = new File(folder);
        switch (action)
        {
            case "describe" -> ArchiveTool.describe(out, directory);
            case "dump" -> ArchiveTool.dump(out, directory, Long.MAX_VALUE, (count) -> true);
            case "verify" -> out.println("verified " + ArchiveTool.verify(
                out, directory, EnumSet.of(ArchiveTool.VerifyOption.VERIFY_ALL_SEGMENT_FILES), null, (file) -> false));
            default -> throw new IllegalArgumentException("unknown action: " + action);
        }
        return printed.toString(StandardCharsets.UTF_8).replace('\n', '\u001f');
    }

    private static final io.aeron.archive.client.RecordingDescriptorConsumer CONSUMER =
        (session, correlation, id, started, stopped, start, stop, initialTermId, segmentLength, termLength, mtu,
            sessionId, stream, stripped, original, source) ->
        {
        };

    private static String list(final AeronArchive archive, final long from, final int count)
    {
        final StringBuilder text = new StringBuilder();
        archive.listRecordings(from, count,
            (session, correlation, id, started, stopped, start, stop, initialTermId, segmentLength, termLength, mtu,
                sessionId, stream, stripped, original, source) ->
                text.append(id).append(' ').append(start).append(' ').append(stop).append(' ').append(stream)
                    .append(' ').append(original).append(';'));
        return text.toString();
    }

    private static Object stopReplays(final AeronArchive archive, final long recordingId)
    {
        archive.stopAllReplays(recordingId);
        return "";
    }

    private static Object detach(final AeronArchive archive, final long recordingId, final long position)
    {
        archive.detachSegments(recordingId, position);
        return "";
    }

    /** Replicate: source recording, source channel, tags or -1, and wait for the end. */
    private static Object replicate(final Requester requester, final String[] args)
    {
        requester.signals().clear();
        final ReplicationParams params = new ReplicationParams();
        if (!"-1".equals(args[2]))
        {
            params.channelTagId(number(args[2])).subscriptionTagId(number(args[2]) + 1);
        }
        requester.archive().replicate(
            number(args[0]), AeronArchive.Configuration.controlStreamId(), args[1], params);
        final long deadline = System.nanoTime() + 30_000_000_000L;
        while (!requester.signals().contains(RecordingSignal.REPLICATE_END))
        {
            requester.archive().checkForErrorResponse();
            requester.archive().pollForRecordingSignals();
            if (System.nanoTime() > deadline)
            {
                throw new IllegalStateException("timeout while waiting for REPLICATE_END: " + requester.signals());
            }
            Thread.onSpinWait();
        }
        return signals(requester);
    }

    /** Record a stream with several destinations, and join it by a replay: two ports, and a number of messages. */
    private static Object merge(final AeronArchive archive, final String[] args)
    {
        final Aeron aeron = archive.context().aeron();
        final String control = "127.0.0.1:" + args[0];
        final int count = Integer.parseInt(args[2]);
        final UnsafeBuffer message = new UnsafeBuffer(new byte[700]);
        try (Publication publication = aeron.addPublication(
            "aeron:udp?control=" + control + "|control-mode=dynamic|term-length=256k|ssc=true", 300))
        {
            final String live = "aeron:udp?control=" + control + "|control-mode=dynamic";
            archive.startRecording(live + "|session-id=" + publication.sessionId(), 300, SourceLocation.LOCAL, true);
            send(publication, message, 0, count);
            final long[] recordingId = { -1 };
            await(() ->
            {
                recordingId[0] = archive.findLastMatchingRecording(0, "udp", 300, publication.sessionId());
                return recordingId[0] >= 0;
            });
            await(() -> archive.getMaxRecordedPosition(recordingId[0]) >= publication.position());
            final long[] next = { 0 };
            try (Subscription subscription = aeron.addSubscription(
                "aeron:udp?control-mode=manual|session-id=" + publication.sessionId(), 300);
                ReplayMerge merge = new ReplayMerge(
                    subscription, archive,
                    "aeron:udp?session-id=" + publication.sessionId(),
                    "aeron:udp?endpoint=127.0.0.1:0",
                    "aeron:udp?endpoint=127.0.0.1:" + args[1] + "|control=" + control,
                    recordingId[0], 0))
            {
                final long[] sent = { count };
                await(() ->
                {
                    merge.poll((buffer, offset, length, header) ->
                    {
                        if (buffer.getLong(offset) != next[0]++)
                        {
                            throw new IllegalStateException("message " + buffer.getLong(offset));
                        }
                    }, 10);
                    if (merge.hasFailed())
                    {
                        throw new IllegalStateException(merge.toString());
                    }
                    if (sent[0] < 2L * count && sent[0] - next[0] < 100)
                    {
                        send(publication, message, sent[0], 1);
                        sent[0]++;
                    }
                    return merge.isMerged() && next[0] == 2L * count;
                });
            }
        }
        return "merged";
    }

    private static void send(
        final Publication publication, final UnsafeBuffer message, final long begin, final int count)
    {
        for (long number = begin; number < begin + count; number++)
        {
            message.putLong(0, number);
            await(() -> publication.offer(message) > 0);
        }
    }

    private static void await(final BooleanSupplier condition)
    {
        final long deadline = System.nanoTime() + 30_000_000_000L;
        while (!condition.getAsBoolean())
        {
            if (System.nanoTime() > deadline)
            {
                throw new IllegalStateException("timeout");
            }
            Thread.onSpinWait();
        }
    }

    private static String signals(final Requester requester)
    {
        requester.archive().pollForRecordingSignals();
        return requester.signals().stream().map(RecordingSignal::name).collect(Collectors.joining(" "));
    }

    private static long number(final String text)
    {
        return Long.parseLong(text);
    }
}
