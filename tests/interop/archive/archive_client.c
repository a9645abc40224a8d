/* The C client of Aeron Archive: records, lists, replays, extends, replicates, truncates and purges.
 *
 * Arguments: directory of the driver, request channel, response channel, control channel of a source or "-".
 * The last line that it prints is `done`; it exits with 1 after an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "aeronc.h"
#include "aeron_archive.h"

#define STREAM_ID 100
#define COUNT 1000
#define LENGTH 700

static int ended;

static void check(int result, const char *what)
{
    if (result < 0)
    {
        printf("%s: %s\n", what, aeron_errmsg());
        exit(1);
    }
}

static void require(int condition, const char *what)
{
    if (!condition)
    {
        printf("%s is wrong\n", what);
        exit(1);
    }
}

static void pause_shortly(void)
{
    static time_t deadline;
    struct timespec duration = { 0, 100000 };
    if (0 == deadline)
    {
        deadline = time(NULL) + 60;
    }
    require(time(NULL) < deadline, "the duration");
    nanosleep(&duration, NULL);
}

static void on_signal(aeron_archive_recording_signal_t *signal, void *clientd)
{
    ended |= 7 == signal->recording_signal_code;
}

static void on_recording(aeron_archive_recording_descriptor_t *descriptor, void *clientd)
{
    printf(
        "recording %" PRId64 " from %" PRId64 " to %" PRId64 "\n",
        descriptor->recording_id, descriptor->start_position, descriptor->stop_position);
    if (NULL != clientd)
    {
        *(aeron_archive_recording_descriptor_t *)clientd = *descriptor;
    }
}

static void send_messages(aeron_exclusive_publication_t *publication, uint64_t begin, uint64_t count)
{
    uint64_t message[LENGTH / 8] = { 0 };
    for (uint64_t number = begin; number < begin + count; number++)
    {
        message[0] = number;
        while (aeron_exclusive_publication_offer(
            publication, (uint8_t *)message, sizeof(message), NULL, NULL) < 0)
        {
            pause_shortly();
        }
    }
}

static void await_recorded(aeron_archive_t *archive, aeron_exclusive_publication_t *publication, int64_t recording_id)
{
    int64_t recorded = -1;
    while (recorded < aeron_exclusive_publication_position(publication))
    {
        check(aeron_archive_get_max_recorded_position(&recorded, archive, recording_id), "max recorded position");
        pause_shortly();
    }
}

static void on_fragment(void *clientd, const uint8_t *buffer, size_t length, aeron_header_t *header)
{
    uint64_t number;
    memcpy(&number, buffer, sizeof(number));
    require(number == *(uint64_t *)clientd, "a message of the replay");
    *(uint64_t *)clientd = number + 1;
}

static void replay(aeron_archive_t *archive, int64_t recording_id, const char *channel, uint64_t count)
{
    aeron_archive_replay_params_t params;
    aeron_subscription_t *subscription;
    uint64_t received = 0;
    aeron_archive_replay_params_init(&params);
    check(aeron_archive_replay(&subscription, archive, recording_id, channel, 900, &params), "replay");
    while (received < count)
    {
        if (aeron_subscription_poll(subscription, on_fragment, &received, 50) == 0)
        {
            pause_shortly();
        }
    }
    aeron_subscription_close(subscription, NULL, NULL);
    printf("replayed %" PRIu64 "\n", received);
}

static int64_t record(aeron_archive_t *archive)
{
    aeron_exclusive_publication_t *publication;
    aeron_publication_constants_t constants;
    int64_t recording_id = -1;
    check(aeron_archive_add_recorded_exclusive_publication(&publication, archive, "aeron:ipc", STREAM_ID), "record");
    aeron_exclusive_publication_constants(publication, &constants);
    send_messages(publication, 0, COUNT);
    while (recording_id < 0)
    {
        check(aeron_archive_find_last_matching_recording(
            &recording_id, archive, 0, "ipc", STREAM_ID, constants.session_id), "find the recording");
        pause_shortly();
    }
    await_recorded(archive, publication, recording_id);
    check(aeron_archive_stop_recording_exclusive_publication(archive, publication), "stop the recording");
    aeron_exclusive_publication_close(publication, NULL, NULL);
    return recording_id;
}

static void extend(aeron_archive_t *archive, aeron_t *aeron, aeron_archive_recording_descriptor_t *stopped)
{
    aeron_async_add_exclusive_publication_t *adding;
    aeron_exclusive_publication_t *publication = NULL;
    aeron_publication_constants_t constants;
    int64_t subscription_id, terms = stopped->stop_position / stopped->term_buffer_length;
    char channel[512];
    snprintf(
        channel, sizeof(channel), "aeron:ipc?term-length=%d|init-term-id=%d|term-id=%d|term-offset=%d|mtu=%d",
        stopped->term_buffer_length, stopped->initial_term_id, (int)(stopped->initial_term_id + (int32_t)terms),
        (int)(stopped->stop_position % stopped->term_buffer_length), stopped->mtu_length);
    check(aeron_async_add_exclusive_publication(&adding, aeron, channel, STREAM_ID), "add a publication");
    while (NULL == publication)
    {
        check(aeron_async_add_exclusive_publication_poll(&publication, adding), "add a publication");
    }
    aeron_exclusive_publication_constants(publication, &constants);
    snprintf(channel, sizeof(channel), "aeron:ipc?session-id=%d", constants.session_id);
    check(aeron_archive_extend_recording(
        &subscription_id, archive, stopped->recording_id, channel, STREAM_ID,
        AERON_ARCHIVE_SOURCE_LOCATION_LOCAL, false), "extend");
    while (!aeron_exclusive_publication_is_connected(publication))
    {
        pause_shortly();
    }
    send_messages(publication, COUNT, COUNT);
    await_recorded(archive, publication, stopped->recording_id);
    check(aeron_archive_stop_recording_subscription(archive, subscription_id), "stop the recording");
    aeron_exclusive_publication_close(publication, NULL, NULL);
}

static void replicate(aeron_archive_t *archive, const char *source)
{
    aeron_archive_replication_params_t params;
    int64_t replication_id;
    int32_t count;
    aeron_archive_replication_params_init(&params);
    check(aeron_archive_replicate(&replication_id, archive, 0, source, 10, &params), "replicate");
    while (!ended)
    {
        check(aeron_archive_poll_for_recording_signals(&count, archive), "poll for signals");
        pause_shortly();
    }
}

int main(int argc, char **argv)
{
    aeron_archive_context_t *context;
    aeron_archive_t *archive;
    aeron_archive_recording_descriptor_t stopped;
    int64_t recording_id, deleted;
    int32_t count;
    require(argc == 5, "the number of arguments");
    setvbuf(stdout, NULL, _IOLBF, 0);

    check(aeron_archive_context_init(&context), "context");
    aeron_archive_context_set_aeron_directory_name(context, argv[1]);
    aeron_archive_context_set_control_request_channel(context, argv[2]);
    aeron_archive_context_set_control_response_channel(context, argv[3]);
    aeron_archive_context_set_recording_signal_consumer(context, on_signal, NULL);
    check(aeron_archive_connect(&archive, context), "connect");
    printf("archive %" PRId64 "\n", aeron_archive_get_archive_id(archive));

    if (0 != strcmp(argv[4], "-"))
    {
        replicate(archive, argv[4]);
        check(aeron_archive_list_recordings(&count, archive, 0, 10, on_recording, NULL), "list");
        require(1 == count, "the number of copies");
        replay(archive, 0, "aeron:ipc", COUNT);
    }
    else
    {
        recording_id = record(archive);
        check(aeron_archive_list_recording(&count, archive, recording_id, on_recording, &stopped), "list one");
        require(1 == count, "the number of recordings");
        replay(archive, recording_id, "aeron:ipc", COUNT);
        extend(archive, aeron_archive_context_get_aeron(aeron_archive_get_archive_context(archive)), &stopped);
        replay(archive, recording_id, "aeron:ipc", 2 * COUNT);
        while (aeron_archive_truncate_recording(&deleted, archive, recording_id, stopped.stop_position) < 0)
        {
            pause_shortly();
        }
        replay(archive, recording_id, "aeron:ipc", COUNT);
        record(archive);
        while (aeron_archive_purge_recording(&deleted, archive, recording_id + 1) < 0)
        {
            pause_shortly();
        }
        check(aeron_archive_list_recordings(&count, archive, 0, 10, on_recording, NULL), "list");
        require(1 == count, "the number of recordings after the purge");
    }
    aeron_archive_close(archive);
    aeron_archive_context_close(context);
    printf("done\n");
    return 0;
}
