/*
 * Workloads of the reference's C client, which the library of pyaeron contains: loaded by c_clients.py beside it.
 *
 * An error of the client is printed, and ends the process. Types are opaque, so no header is needed.
 */

#include <sched.h>

#include "../limits/measure.h"

typedef struct context aeron_context_t;
typedef struct client aeron_t;
typedef struct publication aeron_exclusive_publication_t;
typedef struct subscription aeron_subscription_t;
typedef struct async aeron_async_t;
typedef struct header aeron_header_t;
typedef void (*on_fragment_t)(void *clientd, const uint8_t *buffer, size_t length, aeron_header_t *header);

const char *aeron_errmsg(void);
int aeron_context_init(aeron_context_t **context);
int aeron_context_set_dir(aeron_context_t *context, const char *directory);
int aeron_context_close(aeron_context_t *context);
int aeron_init(aeron_t **client, aeron_context_t *context);
int aeron_start(aeron_t *client);
int aeron_close(aeron_t *client);
int aeron_async_add_exclusive_publication(aeron_async_t **async, aeron_t *client, const char *uri, int32_t stream);
int aeron_async_add_exclusive_publication_poll(aeron_exclusive_publication_t **publication, aeron_async_t *async);
int aeron_async_add_subscription(aeron_async_t **async, aeron_t *client, const char *uri, int32_t stream, void *available,
                                 void *available_clientd, void *unavailable, void *unavailable_clientd);
int aeron_async_add_subscription_poll(aeron_subscription_t **subscription, aeron_async_t *async);
int64_t aeron_exclusive_publication_offer(aeron_exclusive_publication_t *publication, const uint8_t *buffer,
                                          size_t length, void *supplier, void *clientd);
_Bool aeron_exclusive_publication_is_connected(aeron_exclusive_publication_t *publication);
int aeron_subscription_poll(aeron_subscription_t *subscription, on_fragment_t handler, void *clientd, size_t limit);

#define MAX_TRIPS 4000000
#define FRAGMENTS 64

#define CHECK(condition)                                          \
    do {                                                          \
        if (!(condition)) {                                       \
            fprintf(stderr, "error: %s: %s\n", #condition, aeron_errmsg()); \
            exit(1);                                              \
        }                                                         \
    } while (0)

static aeron_t *connect_to(const char *directory)
{
    aeron_context_t *context;
    aeron_t *client;
    CHECK(aeron_context_init(&context) == 0 && aeron_context_set_dir(context, directory) == 0);
    CHECK(aeron_init(&client, context) == 0 && aeron_start(client) == 0);
    return client;
}

static aeron_exclusive_publication_t *add_publication(aeron_t *client, const char *uri, int stream)
{
    aeron_async_t *async;
    aeron_exclusive_publication_t *publication = NULL;
    CHECK(aeron_async_add_exclusive_publication(&async, client, uri, stream) == 0);
    while (publication == NULL) {
        CHECK(aeron_async_add_exclusive_publication_poll(&publication, async) >= 0);
        sched_yield();
    }
    return publication;
}

static aeron_subscription_t *add_subscription(aeron_t *client, const char *uri, int stream)
{
    aeron_async_t *async;
    aeron_subscription_t *subscription = NULL;
    CHECK(aeron_async_add_subscription(&async, client, uri, stream, NULL, NULL, NULL, NULL) == 0);
    while (subscription == NULL) {
        CHECK(aeron_async_add_subscription_poll(&subscription, async) >= 0);
        sched_yield();
    }
    return subscription;
}

static void await_connected(aeron_exclusive_publication_t *publication)
{
    while (!aeron_exclusive_publication_is_connected(publication))
        sched_yield();
}

/* Offer messages until killed. */
void publish(const char *directory, const char *uri, int length)
{
    aeron_t *client = connect_to(directory);
    aeron_exclusive_publication_t *publication = add_publication(client, uri, 1);
    uint8_t *message = calloc(1, length + 1);
    await_connected(publication);
    for (;;) {
        if (aeron_exclusive_publication_offer(publication, message, length, NULL, NULL) < 0)
            sched_yield();
    }
}

static void count_bytes(void *clientd, const uint8_t *buffer, size_t length, aeron_header_t *header)
{
    (void)buffer, (void)header;
    *(int64_t *)clientd += length;
}

/* Receive for half of the seconds to warm up, then for all of them; write the rate as JSON. `mark` is called at both ends. */
void subscribe(const char *directory, const char *uri, int length, double seconds, void (*mark)(void), char *rate)
{
    aeron_t *client = connect_to(directory);
    aeron_subscription_t *subscription = add_subscription(client, uri, 1);
    int64_t bytes = 0, begin = 0, started = 0, end = 0;
    while (bytes == 0) {
        if (aeron_subscription_poll(subscription, count_bytes, &bytes, FRAGMENTS) <= 0)
            sched_yield();
    }
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8);
    for (;;) {
        const int64_t now = now_ns();
        if (!started && now >= warm) {
            mark();
            begin = bytes;
            started = now_ns();
            end = started + (int64_t)(seconds * 1e9);
        }
        if (started && now >= end)
            break;
        if (aeron_subscription_poll(subscription, count_bytes, &bytes, FRAGMENTS) <= 0)
            sched_yield();
    }
    const int64_t elapsed_ns = now_ns() - started;
    mark();
    sprintf(rate, "{\"MB/s\": %.3f, \"messages/s\": %.1f}", (bytes - begin) * 1e3 / elapsed_ns,
            (double)(bytes - begin) / length * 1e9 / elapsed_ns);
}

struct echo {
    aeron_exclusive_publication_t *publication;
    int64_t received;
};

static void return_message(void *clientd, const uint8_t *buffer, size_t length, aeron_header_t *header)
{
    struct echo *echo = clientd;
    (void)header;
    while (aeron_exclusive_publication_offer(echo->publication, buffer, length, NULL, NULL) < 0)
        sched_yield();
}

static void count_message(void *clientd, const uint8_t *buffer, size_t length, aeron_header_t *header)
{
    (void)buffer, (void)length, (void)header;
    ++((struct echo *)clientd)->received;
}

/* Return each message until killed. */
void pong(const char *directory, const char *there, const char *back)
{
    aeron_t *client = connect_to(directory);
    aeron_subscription_t *subscription = add_subscription(client, there, 1);
    struct echo echo = {.publication = add_publication(client, back, 2)};
    for (;;) {
        if (aeron_subscription_poll(subscription, return_message, &echo, FRAGMENTS) <= 0)
            sched_yield();
    }
}

/* Send one message there and wait for it, for half of the seconds to warm up and then for all; print percentiles. */
void ping(const char *directory, const char *there, const char *back, int length, double seconds)
{
    aeron_t *client = connect_to(directory);
    struct echo echo = {.publication = add_publication(client, there, 1)};
    aeron_subscription_t *subscription = add_subscription(client, back, 2);
    int64_t *times = malloc(MAX_TRIPS * sizeof *times);
    uint8_t *message = calloc(1, length + 1);
    size_t count = 0;
    await_connected(echo.publication);
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8), end = warm + (int64_t)(seconds * 1e9);
    for (int64_t sent = now_ns(); sent < end && count < MAX_TRIPS; sent = now_ns()) {
        while (aeron_exclusive_publication_offer(echo.publication, message, length, NULL, NULL) < 0)
            sched_yield();
        const int64_t awaited = echo.received + 1;
        while (echo.received < awaited)
            if (aeron_subscription_poll(subscription, count_message, &echo, FRAGMENTS) <= 0)
                sched_yield();
        if (sent >= warm)
            times[count++] = now_ns() - sent;
    }
    if (count == 0) {
        fprintf(stderr, "error: no round trip in %.2f s: must be at least one\n", seconds);
        exit(1);
    }
    qsort(times, count, sizeof *times, compare_i64);
    printf("{\"p50 us\": %.3f, \"p99 us\": %.3f, \"p99.9 us\": %.3f, \"round trips\": %zu}\n", times[count / 2] / 1e3,
           times[count * 99 / 100] / 1e3, times[count * 999 / 1000] / 1e3, count);
    fflush(stdout);
}
