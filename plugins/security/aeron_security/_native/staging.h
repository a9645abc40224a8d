/* Sealed datagrams of a batch, in pieces: each is sent before the next one is sealed, so that the receiver opens it
 * meanwhile. All pieces of a batch stay, as far as the memory goes: other destinations get the same datagrams.
 * Used by one thread. */
#ifndef AERON_SECURITY_STAGING_H
#define AERON_SECURITY_STAGING_H

#include "datagrams.h"
#include "sealer.h"

#define AC_STAGING_LENGTH (4 * 65536)
#define AC_MAX_SEGMENTS 64 /* UDP_MAX_SEGMENTS */
/* Of a piece with more than one datagram: at 1 KiB, a quarter of the initial window of a receiver. Longer ones leave the
 * receiver idle while the first one is sealed, shorter ones cost more system calls. */
#define AC_PIECE_LENGTH 33000

typedef struct
{
    int32_t entry; /* of the plain batch */
    int32_t end;   /* of the content, in the entry */
    int32_t begin; /* in the memory for sealed datagrams */
    int32_t length;
    int32_t segment_length;
} ac_piece_t;

typedef struct
{
    ac_piece_t pieces[AC_BATCH_CAPACITY];
    int32_t count;
    int32_t used; /* bytes of the memory */
    int32_t entry; /* of the plain batch: the next to be sealed */
    int32_t done;  /* bytes of it that are sealed */
    int32_t last_entry; /* the last that was sent, up to `last_end` */
    int32_t last_end;
    int is_cut; /* the last one was sent in part */
} ac_staged_t;

static inline int32_t ac_step(const ac_batch_t *batch, int32_t entry)
{
    return batch->segment_lengths[entry] > 1 ? batch->segment_lengths[entry] : 1;
}

/* Return whether the next piece of `batch` would exceed the memory, or the entries of a batch. */
static inline int ac_is_full(const ac_staged_t *staged, const ac_batch_t *batch)
{
    int32_t one = ac_step(batch, staged->entry) + AC_OVERHEAD;
    return AC_BATCH_CAPACITY == staged->count ||
        staged->used + (one > AC_PIECE_LENGTH ? one : AC_PIECE_LENGTH) > AC_STAGING_LENGTH;
}

/* Seal the next datagrams of `batch` as another piece, at `memory` of AC_STAGING_LENGTH bytes; return 1, or 0 on failure:
 * then there is no piece, but the numbers of its datagrams are used up. */
static int ac_stage(ac_staged_t *staged, ac_sealer_t *sealer, const ac_batch_t *batch, uint8_t *memory)
{
    const uint8_t *data = batch->vectors[staged->entry].iov_base;
    ac_piece_t *piece = &staged->pieces[staged->count];
    int32_t length = batch->lengths[staged->entry];
    int32_t step = ac_step(batch, staged->entry);
    int32_t done = staged->done, used = staged->used;
    int many = 0;
    do
    {
        int32_t part = step < length - done ? step : length - done;
        if (!ac_sealer_seal(sealer, AC_FRAMES, memory + used, data + done, part))
        {
            return 0;
        }
        used += part + AC_OVERHEAD;
        done += part;
        many++;
    } while (done < length && many < AC_MAX_SEGMENTS && used - staged->used + step + AC_OVERHEAD <= AC_PIECE_LENGTH);
    piece->entry = staged->entry;
    piece->end = done;
    piece->begin = staged->used;
    piece->length = used - staged->used;
    piece->segment_length = step + AC_OVERHEAD < piece->length ? step + AC_OVERHEAD : piece->length;
    staged->used = used;
    staged->count++;
    staged->entry += done >= length;
    staged->done = done >= length ? 0 : done;
    return 1;
}

/* Seal the next piece of `count` entries and, while they are short together, those after it; return 1, or 0 on failure:
 * then nothing that is staged may be sent. */
static int ac_stage_some(
    ac_staged_t *staged, ac_sealer_t *sealer, const ac_batch_t *batch, int32_t count, uint8_t *memory)
{
    int32_t begin = staged->used;
    do
    {
        if (!ac_stage(staged, sealer, batch, memory))
        {
            return 0;
        }
    } while (staged->entry < count && staged->used - begin < AC_PIECE_LENGTH / 2 && !ac_is_full(staged, batch));
    return 1;
}

/* Note that `sent` bytes of a piece were sent; return the number of entries sent, the last one in part. */
static inline int32_t ac_note_sent(ac_staged_t *staged, const ac_batch_t *batch, int32_t index, int32_t sent)
{
    const ac_piece_t *piece = &staged->pieces[index];
    int32_t step = ac_step(batch, piece->entry);
    int32_t end = piece->end;
    /* Each datagram that was not sent is AC_OVERHEAD longer than its content. */
    while (sent < piece->length)
    {
        int32_t part = (end - 1) % step + 1;
        staged->is_cut = 1;
        end -= part;
        sent += part + AC_OVERHEAD;
    }
    staged->last_entry = piece->entry;
    staged->last_end = end;
    return piece->entry + 1;
}

#endif
