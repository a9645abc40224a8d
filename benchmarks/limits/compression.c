/*
 * Limits of Lumberjack with compression: ISA-L alone, on windows of events, without parsing.
 *
 *     compression inflate|deflate LEVEL SECONDS       LEVEL: 0 to 3
 *
 * Bytes are those of the uncompressed windows, of about 400 kB: 2048 events with a number and a text.
 */

#include <isa-l/igzip_lib.h>

#include "measure.h"

#define EVENTS 2048
#define SPACE (4 * 1024 * 1024)

static size_t fill(char *window)
{
    size_t length = 0;
    for (int i = 0; i < EVENTS; i++) {
        length += (size_t)sprintf(
            window + length,
            "{\"@timestamp\":\"2026-01-01T00:00:%02d.%03dZ\",\"log\":{\"offset\":%d},\"message\":\"%08x request served in "
            "%d ms\",\"host\":{\"name\":\"web-%d\"},\"agent\":{\"type\":\"filebeat\",\"version\":\"8.0.0\"}}",
            i / 1000 % 60, i % 1000, i * 185, i * 2654435761u, i * 37 % 997, i % 7);
    }
    return length;
}

static size_t compress(const char *source, size_t length, int level, char *target)
{
    static const uint32_t sizes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                     ISAL_DEF_LVL3_DEFAULT};
    static uint8_t space[ISAL_DEF_LVL3_EXTRA_LARGE];
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.level = level;
    stream.level_buf = space;
    stream.level_buf_size = sizes[level];
    stream.gzip_flag = IGZIP_ZLIB;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)source;
    stream.avail_in = length;
    stream.next_out = (uint8_t *)target;
    stream.avail_out = SPACE;
    REQUIRE(isal_deflate(&stream) == COMP_OK && stream.avail_in == 0);
    return stream.total_out;
}

static void decompress(const char *source, size_t length, size_t whole, char *target)
{
    struct inflate_state state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_ZLIB;
    state.next_in = (uint8_t *)source;
    state.avail_in = length;
    state.next_out = (uint8_t *)target;
    state.avail_out = SPACE;
    REQUIRE(isal_inflate(&state) == ISAL_DECOMP_OK && state.total_out == whole);
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[1], "inflate") && strcmp(argv[1], "deflate"))) {
        fprintf(stderr, "usage: compression inflate|deflate LEVEL SECONDS\n");
        return 2;
    }
    const int is_inflate = strcmp(argv[1], "inflate") == 0;
    const int level = (int)length_of(argv[2], 0, 3);
    const double seconds = seconds_of(argv[3]);
    char *window = malloc(SPACE), *packed = malloc(SPACE), *target = malloc(SPACE);
    REQUIRE(window != NULL && packed != NULL && target != NULL);
    const size_t length = fill(window), packed_length = compress(window, length, level, packed);
    double bytes = 0;
    const int64_t start = now_ns();
    int64_t elapsed;
    do {
        if (is_inflate)
            decompress(packed, packed_length, length, target);
        else
            compress(window, length, level, target);
        bytes += length;
        elapsed = now_ns() - start;
    } while (elapsed < seconds * 1e9);
    print_rate(bytes, (double)length / EVENTS, elapsed);
    return 0;
}
