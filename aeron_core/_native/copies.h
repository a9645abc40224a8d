/* Copies of short messages: a call of memcpy costs as much as the copy itself.
 *
 * The head and the tail of a range are each copied with one move of a size known to the compiler; where they
 * overlap both write the same bytes. Nothing outside the range is touched. Ranges must not overlap. */
#ifndef AERON_CORE_COPIES_H
#define AERON_CORE_COPIES_H

#include <stdint.h>
#include <string.h>

static inline void ac_copy(uint8_t *to, const uint8_t *from, int64_t length)
{
    if (length > 64) {
        memcpy(to, from, (size_t)length);
    } else if (length >= 32) {
        memcpy(to, from, 32);
        memcpy(to + length - 32, from + length - 32, 32);
    } else if (length >= 16) {
        memcpy(to, from, 16);
        memcpy(to + length - 16, from + length - 16, 16);
    } else if (length >= 8) {
        memcpy(to, from, 8);
        memcpy(to + length - 8, from + length - 8, 8);
    } else if (length >= 4) {
        memcpy(to, from, 4);
        memcpy(to + length - 4, from + length - 4, 4);
    } else {
        for (int64_t i = 0; i < length; i++) to[i] = from[i];
    }
}

#endif
