/* CRC-32 of zlib, gzip and Ethernet (polynomial 0x04C11DB7, reflected): the checksum of a recording's index. And CRC-32C
 * (0x1EDC6F41, reflected), by tables only: an Aeron Archive can have it in its frames.
 *
 * x86-64 multiplies polynomials without carries, 64 bytes at a time, if the processor can; all else uses tables, eight
 * bytes at a time. Source of the method and of its constants: "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", V. Gopal et al., Intel, 2009; the same constants are in zlib of Chromium, crc32_simd.c.
 */
#ifndef AERON_RECORDING_CRC32_H
#define AERON_RECORDING_CRC32_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t rc_table[256];

static rc_table rc_tables[8], rc_tables_of_crc32c[8];

static void rc_fill(rc_table *tables, uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = (value >> 1) ^ (value & 1 ? polynomial : 0);
        tables[0][byte] = value;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int table = 1; table < 8; table++)
            tables[table][byte] = (tables[table - 1][byte] >> 8) ^ tables[0][tables[table - 1][byte] & 0xFF];
}

/* To be called once, before any other function. */
static void rc_make_tables(void)
{
    rc_fill(rc_tables, 0xEDB88320u);
    rc_fill(rc_tables_of_crc32c, 0x82F63B78u);
}

/* All functions below take and return the inverted checksum. */
static uint32_t rc_by_tables(const rc_table *tables, uint32_t value, const uint8_t *data, int64_t length)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; length >= 8; data += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        word ^= value;
        value = tables[7][word & 0xFF] ^ tables[6][word >> 8 & 0xFF] ^ tables[5][word >> 16 & 0xFF] ^
                tables[4][word >> 24 & 0xFF] ^ tables[3][word >> 32 & 0xFF] ^ tables[2][word >> 40 & 0xFF] ^
                tables[1][word >> 48 & 0xFF] ^ tables[0][word >> 56];
    }
#endif
    for (; length > 0; data++, length--)
        value = (value >> 8) ^ tables[0][(value ^ *data) & 0xFF];
    return value;
}

#if defined(__x86_64__)

#include <immintrin.h>

#define RC_VECTOR __attribute__((target("pclmul,sse4.1")))

/* Multiply both halves of `sum` by the constants, and add what follows it in the data. */
RC_VECTOR static inline __m128i rc_fold(__m128i sum, __m128i constants, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(sum, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

RC_VECTOR static inline __m128i rc_load(const uint8_t *data)
{
    return _mm_loadu_si128((const __m128i *)data);
}

/* `length`: at least 64, a multiple of 16. */
RC_VECTOR static uint32_t rc_by_vectors(uint32_t value, const uint8_t *data, int64_t length)
{
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i reduction = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low_words = _mm_set_epi32(0, -1, 0, -1);

    __m128i a = _mm_xor_si128(rc_load(data), _mm_cvtsi32_si128((int)value));
    __m128i b = rc_load(data + 16), c = rc_load(data + 32), d = rc_load(data + 48);
    for (data += 64, length -= 64; length >= 64; data += 64, length -= 64) {
        a = rc_fold(a, by_64, rc_load(data));
        b = rc_fold(b, by_64, rc_load(data + 16));
        c = rc_fold(c, by_64, rc_load(data + 32));
        d = rc_fold(d, by_64, rc_load(data + 48));
    }
    a = rc_fold(a, by_16, b);
    a = rc_fold(a, by_16, c);
    a = rc_fold(a, by_16, d);
    for (; length >= 16; data += 16, length -= 16)
        a = rc_fold(a, by_16, rc_load(data));

    /* 128 bits to 64. */
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low_words), by_8, 0x00));
    /* 64 bits to 32: Barrett's reduction. */
    b = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low_words), reduction, 0x10), low_words);
    a = _mm_xor_si128(a, _mm_clmulepi64_si128(b, reduction, 0x00));
    return (uint32_t)_mm_extract_epi32(a, 1);
}

static int rc_has_vectors(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

#else

static uint32_t rc_by_vectors(uint32_t value, const uint8_t *data, int64_t length)
{
    return rc_by_tables(rc_tables, value, data, length);
}

static int rc_has_vectors(void)
{
    return 0;
}

#endif

/* Return the checksum of `length` bytes that follow those with the checksum `value`, 0 at the beginning. */
static uint32_t rc_crc32(uint32_t value, const uint8_t *data, int64_t length, int has_vectors)
{
    value = ~value;
    if (has_vectors && length >= 64) {
        int64_t whole = length & ~(int64_t)15;
        value = rc_by_vectors(value, data, whole);
        data += whole;
        length -= whole;
    }
    return ~rc_by_tables(rc_tables, value, data, length);
}

/* Return the CRC-32C of `length` bytes. */
static uint32_t rc_crc32c(const uint8_t *data, int64_t length)
{
    return ~rc_by_tables(rc_tables_of_crc32c, ~(uint32_t)0, data, length);
}

#endif
