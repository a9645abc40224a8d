/* zlib streams (RFC 1950) with the library that setup.py found: ISA-L, else zlib.
 *
 * A stream lives in one block of memory that the caller provides and allocates nothing else, so that callers can
 * reuse blocks. Length arguments are in-out: bytes available on entry, bytes used on return.
 */
#ifndef AERON_LUMBERJACK_COMPRESSION_H
#define AERON_LUMBERJACK_COMPRESSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Results of all functions; a stream with a negative result cannot continue. */
enum { LJ_MORE = 0, LJ_FINISHED = 1, LJ_BROKEN = -2 };

/* Maximum of one call: both libraries use 32-bit lengths. */
#define LJ_MAX_LENGTH (1 << 30)

static inline uint32_t lj_bounded(int64_t length)
{
    return (uint32_t)(length < LJ_MAX_LENGTH ? length : LJ_MAX_LENGTH);
}

/* After an error ISA-L's counts can exceed the buffers: report that nothing was used and nothing produced. */
static inline int lj_broken(int64_t *in_length, int64_t *out_length)
{
    *in_length = 0;
    *out_length = 0;
    return LJ_BROKEN;
}

#ifdef AERON_HAS_ISAL

#include <isa-l/igzip_lib.h>

#define LJ_LIBRARY "ISA-L"

static inline int64_t lj_inflate_state_length(void)
{
    return sizeof(struct inflate_state);
}

static inline int lj_inflate_start(void *memory)
{
    struct inflate_state *state = memory;
    isal_inflate_init(state);
    state->crc_flag = ISAL_ZLIB;
    return LJ_MORE;
}

static inline int lj_inflate(void *memory, const uint8_t *in, int64_t *in_length, uint8_t *out, int64_t *out_length)
{
    struct inflate_state *state = memory;
    uint32_t given = lj_bounded(*in_length);
    uint32_t space = lj_bounded(*out_length);
    state->next_in = (uint8_t *)in;
    state->avail_in = given;
    state->next_out = out;
    state->avail_out = space;
    int result = isal_inflate(state);
    if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT && result != ISAL_OUT_OVERFLOW)
        return lj_broken(in_length, out_length);
    *in_length = (int64_t)given - state->avail_in;
    *out_length = (int64_t)space - state->avail_out;
    if (state->block_state != ISAL_BLOCK_FINISH)
        return LJ_MORE;
    /* ISA-L reads ahead: return the whole bytes after the end of the stream, as far as this call provided them. */
    int64_t unread = state->read_in_length / 8;
    *in_length -= unread < *in_length ? unread : *in_length;
    return LJ_FINISHED;
}

/* ISA-L's level 3 is not used: it compresses events no better than level 2, takes three times as long, and reads
 * uninitialised memory. */
static const uint32_t lj_isal_levels[10] = {0, 0, 1, 1, 2, 2, 2, 2, 2, 2};
static const uint32_t lj_isal_work_lengths[3] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT};

static inline int64_t lj_deflate_state_length(int level)
{
    return sizeof(struct isal_zstream) + lj_isal_work_lengths[lj_isal_levels[level]];
}

static inline int lj_deflate_start(void *memory, int level)
{
    struct isal_zstream *stream = memory;
    uint32_t isal_level = lj_isal_levels[level];
    isal_deflate_init(stream);
    stream->level = isal_level;
    stream->level_buf_size = lj_isal_work_lengths[isal_level];
    stream->level_buf = stream->level_buf_size ? (uint8_t *)memory + sizeof(*stream) : NULL;
    stream->gzip_flag = IGZIP_ZLIB;
    return LJ_MORE;
}

static inline int lj_deflate(
    void *memory, const uint8_t *in, int64_t *in_length, uint8_t *out, int64_t *out_length, int is_last)
{
    struct isal_zstream *stream = memory;
    uint32_t given = lj_bounded(*in_length);
    uint32_t space = lj_bounded(*out_length);
    stream->next_in = (uint8_t *)in;
    stream->avail_in = given;
    stream->next_out = out;
    stream->avail_out = space;
    stream->end_of_stream = is_last && given == *in_length;
    stream->flush = NO_FLUSH;
    int result = isal_deflate(stream);
    *in_length = (int64_t)given - stream->avail_in;
    *out_length = (int64_t)space - stream->avail_out;
    if (result != COMP_OK)
        return LJ_BROKEN;
    return stream->internal_state.state == ZSTATE_END ? LJ_FINISHED : LJ_MORE;
}

#else

#include <zlib.h>

#define LJ_LIBRARY "zlib"

/* A stream and a bump allocator over the memory that follows it; nothing is freed before the block is. */
struct lj_zlib {
    z_stream stream;
    int64_t used;
    int64_t length;
    uint8_t memory[];
};

static inline void *lj_zlib_take(void *opaque, uInt items, uInt size)
{
    struct lj_zlib *zlib = opaque;
    int64_t aligned = ((int64_t)items * size + 63) & ~(int64_t)63;
    if (aligned > zlib->length - zlib->used)
        return Z_NULL;
    void *taken = zlib->memory + zlib->used;
    zlib->used += aligned;
    return taken;
}

static inline void lj_zlib_give(void *opaque, void *address)
{
    (void)opaque;
    (void)address;
}

static inline z_stream *lj_zlib_open(void *memory, int64_t length)
{
    struct lj_zlib *zlib = memory;
    memset(zlib, 0, sizeof(*zlib));
    zlib->length = length - (int64_t)sizeof(*zlib);
    zlib->stream.zalloc = lj_zlib_take;
    zlib->stream.zfree = lj_zlib_give;
    zlib->stream.opaque = zlib;
    return &zlib->stream;
}

/* A window of 32 KiB and tables: zlib needs 40 KiB, zlib-ng and other successors a little more. */
static inline int64_t lj_inflate_state_length(void)
{
    return 64 * 1024;
}

static inline int lj_inflate_start(void *memory)
{
    return inflateInit(lj_zlib_open(memory, lj_inflate_state_length())) == Z_OK ? LJ_MORE : LJ_BROKEN;
}

static inline int lj_inflate(void *memory, const uint8_t *in, int64_t *in_length, uint8_t *out, int64_t *out_length)
{
    z_stream *stream = &((struct lj_zlib *)memory)->stream;
    uint32_t given = lj_bounded(*in_length);
    uint32_t space = lj_bounded(*out_length);
    stream->next_in = (Bytef *)in;
    stream->avail_in = given;
    stream->next_out = out;
    stream->avail_out = space;
    int result = inflate(stream, Z_SYNC_FLUSH);
    /* Z_BUF_ERROR is not an error: no progress was possible. */
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return lj_broken(in_length, out_length);
    *in_length = (int64_t)given - stream->avail_in;
    *out_length = (int64_t)space - stream->avail_out;
    return result == Z_STREAM_END ? LJ_FINISHED : LJ_MORE;
}

/* Two windows of 32 KiB, hash chains and pending output: zlib needs 264 KiB, its successors more. */
static inline int64_t lj_deflate_state_length(int level)
{
    (void)level;
    return 512 * 1024;
}

static inline int lj_deflate_start(void *memory, int level)
{
    return deflateInit(lj_zlib_open(memory, lj_deflate_state_length(level)), level) == Z_OK ? LJ_MORE : LJ_BROKEN;
}

static inline int lj_deflate(
    void *memory, const uint8_t *in, int64_t *in_length, uint8_t *out, int64_t *out_length, int is_last)
{
    z_stream *stream = &((struct lj_zlib *)memory)->stream;
    uint32_t given = lj_bounded(*in_length);
    uint32_t space = lj_bounded(*out_length);
    stream->next_in = (Bytef *)in;
    stream->avail_in = given;
    stream->next_out = out;
    stream->avail_out = space;
    int result = deflate(stream, is_last && given == *in_length ? Z_FINISH : Z_NO_FLUSH);
    *in_length = (int64_t)given - stream->avail_in;
    *out_length = (int64_t)space - stream->avail_out;
    if (result == Z_STREAM_END)
        return LJ_FINISHED;
    return result == Z_OK || result == Z_BUF_ERROR ? LJ_MORE : LJ_BROKEN;
}

#endif
#endif
