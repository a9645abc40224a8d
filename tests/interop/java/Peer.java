import io.aeron.Aeron;
import io.aeron.CommonContext;
import io.aeron.ConcurrentPublication;
import io.aeron.Counter;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.CongestionControlSupplier;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.driver.ext.DebugReceiveChannelEndpoint;
import io.aeron.driver.ext.RandomLossGenerator;
import io.aeron.status.PublicationErrorFrame;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.agrona.DirectBuffer;
import org.agrona.SystemUtil;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Java clients and drivers of the real Aeron, controlled through the standard streams.
 *
 * <p>Each request is a line of fields separated by tabs: an id, a command and its arguments. Each request runs on a
 * thread of its own, so that one can wait while others run. The response is the id, `ok` and a value, or the id,
 * `error` and a message. Objects have numeric handles. The process exits at the end of its input.
 */
public final class Peer
{
    private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long DRIVER_TIMEOUT_MS = 10_000;

    private final Map<Long, Object> objects = new ConcurrentHashMap<>();
    private final AtomicLong lastHandle = new AtomicLong();
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    /** A client and the rejections that it was notified of. */
    record Client(Aeron aeron, BlockingQueue<PublicationErrorFrame> rejections) implements AutoCloseable
    {
        public void close()
        {
            aeron.close();
        }
    }

    /** A subscription and how often an image has become available and unavailable. */
    record Reader(Subscription subscription, AtomicInteger available, AtomicInteger unavailable)
        implements AutoCloseable
    {
        public void close()
        {
            subscription.close();
        }
    }

    public static void main(final String[] args) throws Exception
    {
        new Peer().serve();
        System.exit(0);
    }

    private void serve() throws Exception
    {
        final ExecutorService threads = Executors.newCachedThreadPool();
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine())
        {
            final String[] fields = line.split("\t", -1);
            threads.execute(() -> respond(fields));
        }
    }

    private void respond(final String[] fields)
    {
        String response;
        try
        {
            response = "ok\t" + execute(fields[1], Arrays.copyOfRange(fields, 2, fields.length));
        }
        catch (final Throwable error)
        {
            response = "error\t" + error;
        }
        final String line = fields[0] + "\t" + response.replace("\n", " ");
        synchronized (out)
        {
            out.println(line);
        }
    }

    private Object execute(final String command, final String[] args) throws Exception
    {
        return switch (command)
        {
            case "driver" -> keep(launch(args));
            case "connect" -> keep(connect(args[0], args.length > 1 ? Long.parseLong(args[1]) : DRIVER_TIMEOUT_MS));
            case "await-closed" -> awaitClosed(object(args[0], Client.class));
            case "publication" -> keep(publication(args));
            case "subscription" -> keep(subscription(args));
            case "send" -> send(object(args[0], Publication.class), Integer.parseInt(args[1]));
            case "send-numbers" -> sendNumbers(object(args[0], Publication.class), Integer.parseInt(args[1]));
            case "offer" -> offer(object(args[0], Publication.class), args[1]);
            case "receive" -> receive(object(args[0], Reader.class), Integer.parseInt(args[1]));
            case "receive-first" -> receiveFirst(object(args[0], Reader.class));
            case "receive-timestamps" -> receiveTimestamps(object(args[0], Reader.class));
            case "receive-until-gap" -> receiveWithGaps(object(args[0], Reader.class), Long.parseLong(args[1]));
            case "respond" -> echo(args);
            case "await-images" -> awaitImages(object(args[0], Reader.class), Integer.parseInt(args[1]));
            case "await-end" -> awaitEnd(object(args[0], Reader.class));
            case "await-events" -> awaitEvents(args);
            case "await-connected" -> awaitConnected(object(args[0], Publication.class));
            case "describe" -> describe(objects.get(Long.parseLong(args[0])));
            case "resolved-endpoint" -> resolvedEndpoint(object(args[0], Reader.class));
            case "reject" -> reject(object(args[0], Reader.class), Integer.parseInt(args[1]), args[2]);
            case "rejection" -> rejection(object(args[0], Client.class));
            case "add-destination" -> addDestination(args);
            case "remove-destination" -> removeDestination(args);
            case "revoke" -> revoke(object(args[0], ExclusivePublication.class));
            case "counter" -> keep(counter(args, Aeron.NULL_VALUE));
            case "static-counter" -> keep(counter(args, Long.parseLong(args[4])));
            case "set-counter" -> setCounter(object(args[0], Counter.class), Long.parseLong(args[1]));
            case "list-counters" -> listCounters(object(args[0], Client.class).aeron());
            case "archive-samples" -> ArchiveSamples.all();
            case "archive" -> keep(Archives.launch(args));
            case "archive-client" -> keep(Archives.connect(args));
            case "archive-record" ->
                keep(Archives.record(object(args[0], Archives.Client.class), args[1], Integer.parseInt(args[2])));
            case "archive-extend" -> keep(Archives.extend(
                object(args[0], Archives.Client.class), Long.parseLong(args[1]), args[2], Integer.parseInt(args[3])));
            case "archive-await" -> Archives.awaitRecorded(
                object(args[0], Archives.Client.class), object(args[1], ExclusivePublication.class));
            case "archive-stop" -> Archives.stop(
                object(args[0], Archives.Client.class), object(args[1], ExclusivePublication.class),
                Long.parseLong(args[2]));
            case "archive-change" -> Archives.change(
                object(args[0], Archives.Client.class), args[1], Long.parseLong(args[2]), Long.parseLong(args[3]));
            case "archive-requester" -> keep(ArchiveRequests.connect(args));
            case "archive-request" -> ArchiveRequests.request(
                object(args[0], ArchiveRequests.Requester.class), args[1], Arrays.copyOfRange(args, 2, args.length));
            case "archive-replay" -> keep(ArchiveRequests.replay(
                object(args[0], ArchiveRequests.Requester.class), Arrays.copyOfRange(args, 1, args.length)));
            case "archive-tool" -> ArchiveRequests.tool(args[0], args[1]);
            case "tool" -> runTool(args[0], args[1]);
            case "terminate" -> terminate(args[0], args[1]);
            case "close" -> close(Long.parseLong(args[0]));
            default -> throw new IllegalArgumentException("unknown command: " + command);
        };
    }

    private long keep(final Object object)
    {
        final long handle = lastHandle.incrementAndGet();
        objects.put(handle, object);
        return handle;
    }

    private <T> T object(final String handle, final Class<T> type)
    {
        return type.cast(objects.get(Long.parseLong(handle)));
    }

    private Object close(final long handle) throws Exception
    {
        ((AutoCloseable)objects.remove(handle)).close();
        return "";
    }

    /** Launch a driver; each option is `name=value`. */
    private static MediaDriver launch(final String[] args) throws ReflectiveOperationException
    {
        final MediaDriver.Context context = new MediaDriver.Context()
            .aeronDirectoryName(args[0])
            .threadingMode(ThreadingMode.SHARED)
            .publicationTermBufferLength(1024 * 1024)
            .ipcTermBufferLength(1024 * 1024)
            .timerIntervalNs(TimeUnit.MILLISECONDS.toNanos(100))
            .spiesSimulateConnection(false)
            .dirDeleteOnShutdown(true)
            .printConfigurationOnStart(false);
        for (int i = 1; i < args.length; i++)
        {
            final String[] option = args[i].split("=", 2);
            switch (option[0])
            {
                case "loss" -> lose(context, Double.parseDouble(option[1]));
                case "client-liveness-timeout" ->
                    context.clientLivenessTimeoutNs(SystemUtil.parseDuration(option[0], option[1]));
                case "publication-unblock-timeout" ->
                    context.publicationUnblockTimeoutNs(SystemUtil.parseDuration(option[0], option[1]));
                case "publication-connection-timeout" ->
                    context.publicationConnectionTimeoutNs(SystemUtil.parseDuration(option[0], option[1]));
                case "congestion-control-supplier" -> context.congestControlSupplier(
                    (CongestionControlSupplier)Class.forName(option[1]).getConstructor().newInstance());
                case "resolver-name" -> context.resolverName(option[1]);
                case "resolver-interface" -> context.resolverInterface(option[1]);
                case "resolver-bootstrap-neighbor" -> context.resolverBootstrapNeighbor(option[1]);
                default -> throw new IllegalArgumentException("unknown option: " + args[i]);
            }
        }
        return MediaDriver.launch(context);
    }

    /** Drop received frames at random: data at a receiver; status messages and NAKs at a sender. */
    private static void lose(final MediaDriver.Context context, final double rate)
    {
        context.receiveChannelEndpointSupplier((channel, dispatcher, status, ctx) ->
            new DebugReceiveChannelEndpoint(
                channel, dispatcher, status, ctx, new RandomLossGenerator(rate, 42), (address, buffer, length) -> false));
        context.sendChannelEndpointSupplier((channel, status, ctx) ->
            new io.aeron.driver.ext.DebugSendChannelEndpoint(
                channel, status, ctx, (address, buffer, length) -> false, new RandomLossGenerator(rate, 43)));
    }

    private static Client connect(final String directory, final long driverTimeoutMs)
    {
        final BlockingQueue<PublicationErrorFrame> rejections = new LinkedBlockingQueue<>();
        final Aeron aeron = Aeron.connect(new Aeron.Context()
            .aeronDirectoryName(directory)
            .driverTimeoutMs(driverTimeoutMs)
            .idleSleepDurationNs(TimeUnit.MILLISECONDS.toNanos(1))
            .errorHandler(error -> System.err.println(error))
            .publicationErrorFrameHandler(frame -> rejections.add(frame.clone())));
        return new Client(aeron, rejections);
    }

    private Publication publication(final String[] args)
    {
        final Aeron aeron = object(args[0], Client.class).aeron();
        final int streamId = Integer.parseInt(args[3]);
        return args[1].equals("exclusive") ?
            aeron.addExclusivePublication(args[2], streamId) : aeron.addPublication(args[2], streamId);
    }

    private Reader subscription(final String[] args)
    {
        final AtomicInteger available = new AtomicInteger();
        final AtomicInteger unavailable = new AtomicInteger();
        final Subscription subscription = object(args[0], Client.class).aeron().addSubscription(
            args[1], Integer.parseInt(args[2]),
            image -> available.incrementAndGet(), image -> unavailable.incrementAndGet());
        return new Reader(subscription, available, unavailable);
    }

    private static final byte[] SEED = new byte[256 * 80];

    static
    {
        for (int i = 0; i < SEED.length; i++)
        {
            SEED[i] = (byte)i;
        }
    }

    /** Return message `index`, the same as `message` in messages.py. */
    private static byte[] message(final int index)
    {
        final int length = index % 100 == 99 ? 2000 + index * 31 % 18000 : (int)(index * 7919L % 997);
        final byte[] data = new byte[8 + length];
        new UnsafeBuffer(data).putLong(0, index);
        System.arraycopy(SEED, index % 256, data, 8, length);
        return Arrays.copyOf(data, length);
    }

    /** SHA-256 over messages and their boundaries, the same as `Checksum` in messages.py. */
    private static final class Checksum
    {
        private final MessageDigest digest = sha256();
        private final UnsafeBuffer length = new UnsafeBuffer(new byte[4]);
        private int count;

        private static MessageDigest sha256()
        {
            try
            {
                return MessageDigest.getInstance("SHA-256");
            }
            catch (final java.security.NoSuchAlgorithmException error)
            {
                throw new IllegalStateException(error);
            }
        }

        void add(final byte[] data)
        {
            length.putInt(0, data.length);
            digest.update(length.byteArray());
            digest.update(data);
            count++;
        }

        String hex()
        {
            return HexFormat.of().formatHex(digest.digest());
        }
    }

    private static byte[] copy(final DirectBuffer buffer, final int offset, final int length)
    {
        final byte[] data = new byte[length];
        buffer.getBytes(offset, data);
        return data;
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
            // Yield the CPU to the other processes.
            java.util.concurrent.locks.LockSupport.parkNanos(50_000);
        }
    }

    private static Object awaitClosed(final Client client)
    {
        await(client.aeron()::isClosed, "the client to close itself");
        return "";
    }

    private static Object awaitConnected(final Publication publication)
    {
        await(publication::isConnected, "the connection of " + publication.channel());
        return "";
    }

    private static int send(final Publication publication, final int count)
    {
        awaitConnected(publication);
        final UnsafeBuffer buffer = new UnsafeBuffer(0, 0);
        for (int i = 0; i < count; i++)
        {
            buffer.wrap(message(i));
            offerUntilAccepted(publication, buffer);
        }
        return count;
    }

    private static int sendNumbers(final Publication publication, final int count)
    {
        awaitConnected(publication);
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[700]);
        for (int i = 0; i < count; i++)
        {
            buffer.putLong(0, i);
            offerUntilAccepted(publication, buffer);
        }
        return count;
    }

    private static Object offer(final Publication publication, final String text)
    {
        awaitConnected(publication);
        offerUntilAccepted(publication, new UnsafeBuffer(text.getBytes(StandardCharsets.UTF_8)));
        return publication.position();
    }

    private static void offerUntilAccepted(final Publication publication, final UnsafeBuffer buffer)
    {
        await(
            () ->
            {
                final long position = publication.offer(buffer);
                if (position == Publication.CLOSED || position == Publication.MAX_POSITION_EXCEEDED)
                {
                    throw new IllegalStateException("offer returned " + Publication.errorString(position));
                }
                return position > 0;
            },
            "the acceptance of a message on " + publication.channel());
    }

    private static String receive(final Reader reader, final int count)
    {
        final Checksum checksum = new Checksum();
        final FragmentAssembler assembler = new FragmentAssembler(
            (buffer, offset, length, header) -> checksum.add(copy(buffer, offset, length)));
        await(
            () ->
            {
                while (checksum.count < count && reader.subscription().poll(assembler, 50) > 0)
                {
                    Thread.onSpinWait();
                }
                return checksum.count >= count;
            },
            "message " + count);
        return checksum.hex();
    }

    private static String receiveFirst(final Reader reader)
    {
        final StringBuilder text = new StringBuilder();
        final AtomicInteger sessionId = new AtomicInteger();
        final FragmentAssembler assembler = new FragmentAssembler((buffer, offset, length, header) ->
        {
            text.append(new String(copy(buffer, offset, length), StandardCharsets.UTF_8));
            sessionId.set(header.sessionId());
        });
        await(() -> reader.subscription().poll(assembler, 1) > 0 && !text.isEmpty(), "a message");
        return sessionId + " " + text;
    }

    /** Receive one frame and return its reserved value and the first two numbers of its payload. */
    private static String receiveTimestamps(final Reader reader)
    {
        final StringBuilder timestamps = new StringBuilder();
        await(
            () -> reader.subscription().poll(
                (buffer, offset, length, header) -> timestamps.append(header.reservedValue()).append(' ')
                    .append(buffer.getLong(offset)).append(' ').append(buffer.getLong(offset + Long.BYTES)),
                1) > 0,
            "a frame");
        return timestamps.toString();
    }

    /** Return how many numbered messages arrived until `last`, and whether their numbers always grew. */
    private static String receiveWithGaps(final Reader reader, final long last)
    {
        final AtomicInteger received = new AtomicInteger();
        final AtomicLong previous = new AtomicLong(-1);
        final boolean[] ordered = {true};
        await(
            () ->
            {
                reader.subscription().poll(
                    (buffer, offset, length, header) ->
                    {
                        final long number = buffer.getLong(offset);
                        ordered[0] &= number > previous.get();
                        previous.set(number);
                        received.incrementAndGet();
                    },
                    50);
                return previous.get() >= last;
            },
            "message " + last);
        return received + " " + previous + " " + ordered[0];
    }

    /** Return each request of a subscription on a publication, in order. */
    private Object echo(final String[] args)
    {
        final Reader reader = object(args[0], Reader.class);
        final Publication publication = object(args[1], Publication.class);
        final int count = Integer.parseInt(args[2]);
        final ArrayDeque<byte[]> pending = new ArrayDeque<>();
        final FragmentAssembler assembler = new FragmentAssembler(
            (buffer, offset, length, header) -> pending.add(copy(buffer, offset, length)));
        final int[] answered = {0};
        await(
            () ->
            {
                reader.subscription().poll(assembler, 50);
                while (!pending.isEmpty() && publication.offer(new UnsafeBuffer(pending.peek())) > 0)
                {
                    pending.remove();
                    answered[0]++;
                }
                return answered[0] == count;
            },
            "request " + count);
        return answered[0];
    }

    private static Object awaitImages(final Reader reader, final int count)
    {
        await(() -> reader.subscription().imageCount() == count, count + " images");
        return describe(reader);
    }

    private static String awaitEnd(final Reader reader)
    {
        final Image image = reader.subscription().imageAtIndex(0);
        await(
            () ->
            {
                reader.subscription().poll((buffer, offset, length, header) -> {}, 50);
                return image.isEndOfStream() || image.isClosed();
            },
            "the end of the stream");
        return image.position() + " " + image.isPublicationRevoked();
    }

    private Object awaitEvents(final String[] args)
    {
        final Reader reader = object(args[0], Reader.class);
        final int available = Integer.parseInt(args[1]);
        final int unavailable = Integer.parseInt(args[2]);
        await(
            () -> reader.available().get() >= available && reader.unavailable().get() >= unavailable,
            args[1] + " available and " + args[2] + " unavailable images");
        return "";
    }

    /** Return `name=value` pairs; of a subscription, one group for each image, separated by semicolons. */
    private static String describe(final Object object)
    {
        if (object instanceof Publication publication)
        {
            return "registration-id=" + publication.registrationId() + " session-id=" + publication.sessionId() +
                " position=" + publication.position() + " is-connected=" + publication.isConnected();
        }
        if (object instanceof Counter counter)
        {
            return "id=" + counter.id() + " registration-id=" + counter.registrationId() + " value=" + counter.get();
        }
        if (object instanceof Client client)
        {
            return "client-id=" + client.aeron().clientId();
        }
        final Subscription subscription = ((Reader)object).subscription();
        final String images = subscription.images().stream().map(image ->
            "session-id=" + image.sessionId() + " correlation-id=" + image.correlationId() +
            " mtu=" + image.mtuLength() + " initial-term-id=" + image.initialTermId() +
            " join-position=" + image.joinPosition() + " term-length=" + image.termBufferLength() +
            " position=" + image.position()).collect(Collectors.joining(";"));
        return "registration-id=" + subscription.registrationId() + ";" + images;
    }

    private static String resolvedEndpoint(final Reader reader)
    {
        await(() -> reader.subscription().resolvedEndpoint() != null, "the resolved endpoint");
        return reader.subscription().resolvedEndpoint();
    }

    private static Object reject(final Reader reader, final int index, final String reason)
    {
        reader.subscription().imageAtIndex(index).reject(reason);
        return "";
    }

    private static String rejection(final Client client) throws InterruptedException
    {
        final PublicationErrorFrame frame = client.rejections().poll(DEADLINE_NS, TimeUnit.NANOSECONDS);
        if (frame == null)
        {
            throw new IllegalStateException("timeout while waiting for a rejection");
        }
        return frame.registrationId() + " " + frame.streamId() + " " + frame.errorCode() + " " +
            frame.sourceAddress().getAddress().getHostAddress() + " " + frame.destinationRegistrationId() + " " +
            frame.errorMessage();
    }

    private Object addDestination(final String[] args)
    {
        final Object object = objects.get(Long.parseLong(args[0]));
        if (object instanceof Reader reader)
        {
            reader.subscription().addDestination(args[1]);
            return "";
        }
        if (object instanceof ConcurrentPublication publication)
        {
            publication.addDestination(args[1]);
            return "";
        }
        ((ExclusivePublication)object).addDestination(args[1]);
        return "";
    }

    private Object removeDestination(final String[] args)
    {
        final Object object = objects.get(Long.parseLong(args[0]));
        if (object instanceof Reader reader)
        {
            reader.subscription().removeDestination(args[1]);
            return "";
        }
        ((Publication)object).removeDestination(args[1]);
        return "";
    }

    private static Object revoke(final ExclusivePublication publication)
    {
        publication.revoke();
        return "";
    }

    private Counter counter(final String[] args, final long registrationId)
    {
        final Aeron aeron = object(args[0], Client.class).aeron();
        final int typeId = Integer.parseInt(args[1]);
        final UnsafeBuffer key = new UnsafeBuffer(HexFormat.of().parseHex(args[2]));
        final UnsafeBuffer label = new UnsafeBuffer(args[3].getBytes(StandardCharsets.US_ASCII));
        return registrationId == Aeron.NULL_VALUE ?
            aeron.addCounter(typeId, key, 0, key.capacity(), label, 0, label.capacity()) :
            aeron.addStaticCounter(
                typeId, key, 0, key.capacity(), label, 0, label.capacity(), registrationId);
    }

    private static Object setCounter(final Counter counter, final long value)
    {
        counter.setRelease(value);
        return "";
    }

    /** Return id, type, value, owner, registration id and label of each counter, separated by unit separators. */
    private static String listCounters(final Aeron aeron)
    {
        final StringBuilder lines = new StringBuilder();
        final var reader = aeron.countersReader();
        reader.forEach((counterId, typeId, keyBuffer, label) ->
            lines.append(counterId).append(' ').append(typeId).append(' ')
                .append(reader.getCounterValue(counterId)).append(' ')
                .append(reader.getCounterOwnerId(counterId)).append(' ')
                .append(reader.getCounterRegistrationId(counterId)).append(' ')
                .append(label).append('\u001f'));
        return lines.toString();
    }

    private static Object terminate(final String directory, final String token)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(token.getBytes(StandardCharsets.UTF_8));
        return CommonContext.requestDriverTermination(new java.io.File(directory), buffer, 0, buffer.capacity());
    }

    /** Run a command-line tool of the Aeron samples on a driver and return what it prints. */
    private static synchronized String runTool(final String name, final String directory) throws Exception
    {
        // AeronStat repeats its output otherwise.
        final String[] options = name.equals("AeronStat") ? new String[]{ "watch=false" } : new String[0];
        final PrintStream stdout = System.out;
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setProperty(CommonContext.AERON_DIR_PROP_NAME, directory);
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try
        {
            Class.forName("io.aeron.samples." + name)
                .getMethod("main", String[].class).invoke(null, (Object)options);
        }
        finally
        {
            System.setOut(stdout);
            System.clearProperty(CommonContext.AERON_DIR_PROP_NAME);
        }
        return printed.toString(StandardCharsets.UTF_8).replace('\n', '\u001f');
    }
}
