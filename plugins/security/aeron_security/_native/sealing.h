/* Keys of a salt, and the sealing and opening of one datagram. Source: docs/wire/secure-udp.md. */
#ifndef AERON_SECURITY_SEALING_H
#define AERON_SECURITY_SEALING_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "crypto.h"

#define AC_SALT_LENGTH 16
#define AC_HEADER_LENGTH 40
#define AC_TAG_LENGTH 16
#define AC_OVERHEAD (AC_HEADER_LENGTH + AC_TAG_LENGTH)
#define AC_VERSION 1

enum
{
    AC_FRAMES = 0,
    AC_CHALLENGE = 1,
    AC_ANSWER = 2,
    AC_HELLO = 3,
    AC_COOKIE = 4,
    AC_FIRST = 5,
    AC_SECOND = 6,
    AC_THIRD = 7
};

typedef struct
{
    uint8_t prk[32];
    uint8_t id;
    uint8_t cipher;   /* 1 AES-128-GCM, 2 AES-256-GCM, 3 ChaCha20-Poly1305 */
    uint8_t is_owned; /* of one socket: salts and the next secret are derived from it */
    uint8_t owner[32]; /* then the public key of its identity */
} ac_secret_t;

/* Keys of one salt. `aead` has the batch key of `freshness` if `is_keyed`. */
typedef struct
{
    void *kdf;
    void *aead;
    uint64_t freshness;
    int is_keyed;
    int is_sealing;
    int cipher;
} ac_keys_t;

#define AC_MAX_INFO 40

/* HKDF-Expand to at most 32 bytes: one block of HMAC. `info` has at most AC_MAX_INFO bytes. */
AC_COLD static int ac_expand(const uint8_t *prk, const uint8_t *info, size_t length, uint8_t *out)
{
    uint8_t data[AC_MAX_INFO + 1];
    memcpy(data, info, length);
    data[length] = 1;
    return ac_crypto_hmac(prk, data, length + 1, out);
}

AC_COLD static int ac_secret_init(ac_secret_t *secret, const uint8_t *bytes, int cipher)
{
    /* HKDF-Extract: the HMAC key is padded with zeros to a block anyway, so 32 bytes stand for the 23 of the text. */
    uint8_t key[32] = "aeron-core secure udp 1";
    uint8_t id[32];
    secret->cipher = (uint8_t)cipher;
    if (!ac_crypto_hmac(key, bytes, 32, secret->prk) || !ac_expand(secret->prk, (const uint8_t *)"id", 2, id))
    {
        return 0;
    }
    secret->id = id[0];
    return 1;
}

/* Make the secret of one socket from its PRK and the public key of its identity, and its salt. */
AC_COLD static int ac_owned_secret(
    ac_secret_t *secret, const uint8_t *prk, const uint8_t *owner, int cipher, int role, uint8_t *salt)
{
    uint8_t info[5 + 32] = "salt";
    uint8_t out[32];
    memmove(secret->prk, prk, 32);
    secret->cipher = (uint8_t)cipher;
    secret->is_owned = 1;
    memmove(secret->owner, owner, 32);
    if (!ac_expand(prk, (const uint8_t *)"id", 2, out))
    {
        return 0;
    }
    secret->id = out[0];
    info[4] = (uint8_t)role;
    memcpy(info + 5, secret->owner, 32);
    if (!ac_expand(secret->prk, info, sizeof(info), out))
    {
        return 0;
    }
    memcpy(salt, out, AC_SALT_LENGTH);
    return 1;
}

/* Set the secret and the salt that follow a salt of `role` at a rotation. */
AC_COLD static int ac_next(const ac_secret_t *secret, int role, const uint8_t *salt, ac_secret_t *next, uint8_t *next_salt)
{
    uint8_t info[5 + AC_SALT_LENGTH] = "next";
    uint8_t out[32];
    int is_made;
    if (secret->is_owned)
    {
        is_made = ac_expand(secret->prk, info, 4, out) &&
            ac_owned_secret(next, out, secret->owner, secret->cipher, role, next_salt);
        explicit_bzero(out, sizeof(out));
        return is_made;
    }
    info[4] = (uint8_t)role;
    memcpy(info + 5, salt, AC_SALT_LENGTH);
    if (!ac_expand(secret->prk, info, sizeof(info), out))
    {
        return 0;
    }
    *next = *secret;
    memcpy(next_salt, out, AC_SALT_LENGTH);
    return 1;
}

AC_COLD static void ac_keys_free(ac_keys_t *keys)
{
    if (NULL != keys->kdf)
    {
        ac_crypto.context_free(keys->kdf);
    }
    if (NULL != keys->aead)
    {
        ac_crypto.context_free(keys->aead);
    }
    keys->kdf = keys->aead = NULL;
}

/* Return 1, or 0 if memory runs out; then nothing has to be freed. */
AC_COLD static int ac_keys_init(ac_keys_t *keys, const ac_secret_t *secret, int role, const uint8_t *salt, int is_sealing)
{
    uint8_t info[9 + AC_SALT_LENGTH] = "traffic";
    uint8_t traffic[32];
    info[7] = (uint8_t)role;
    info[8] = secret->cipher;
    memcpy(info + 9, salt, AC_SALT_LENGTH);
    memset(keys, 0, sizeof(*keys));
    keys->is_sealing = is_sealing;
    keys->cipher = secret->cipher;
    keys->kdf = ac_crypto.context_new();
    keys->aead = ac_crypto.context_new();
    int is_made = NULL != keys->kdf && NULL != keys->aead && ac_expand(secret->prk, info, sizeof(info), traffic) &&
        ac_crypto.init(keys->kdf, ac_ciphers[0], NULL, traffic, NULL, 1) &&
        ac_crypto.context_set_padding(keys->kdf, 0) &&
        ac_crypto.init(keys->aead, ac_ciphers[secret->cipher], NULL, NULL, NULL, is_sealing);
    explicit_bzero(traffic, sizeof(traffic));
    if (!is_made)
    {
        ac_keys_free(keys);
    }
    return is_made;
}

/* Make `aead` use the key of a batch. */
static int ac_keys_set_batch(ac_keys_t *keys, uint64_t freshness)
{
    uint8_t blocks[32] = {0};
    uint8_t key[32];
    int written = 0;
    if (keys->is_keyed && freshness == keys->freshness)
    {
        return 1;
    }
    memcpy(blocks, &freshness, sizeof(freshness));
    memcpy(blocks + 16, &freshness, sizeof(freshness));
    blocks[16 + 8] = 1;
    keys->is_keyed = ac_crypto.update(keys->kdf, key, &written, blocks, sizeof(blocks)) &&
        ac_crypto.init(keys->aead, NULL, NULL, key, NULL, keys->is_sealing);
    keys->freshness = freshness;
    explicit_bzero(key, sizeof(key));
    return keys->is_keyed;
}

static inline int ac_begin(ac_keys_t *keys, const uint8_t *header)
{
    uint8_t nonce[12] = {0};
    int written = 0;
    memcpy(nonce, header + 24, 8);
    return ac_crypto.init(keys->aead, NULL, NULL, NULL, nonce, keys->is_sealing) &&
        ac_crypto.update(keys->aead, NULL, &written, header, AC_HEADER_LENGTH);
}

/* Seal `length` bytes of `from` behind the header at `to`, which has its batch's freshness; return 1, or 0 on failure. */
static inline int ac_seal(ac_keys_t *keys, uint8_t *to, const uint8_t *from, int length)
{
    int written = 0;
    uint8_t *tag = to + AC_HEADER_LENGTH + length;
    return ac_begin(keys, to) && ac_crypto.update(keys->aead, to + AC_HEADER_LENGTH, &written, from, length) &&
        ac_crypto.final(keys->aead, tag, &written) &&
        ac_crypto.context_control(keys->aead, AC_AEAD_GET_TAG, AC_TAG_LENGTH, tag);
}

/* Open a datagram in place; return 1, or 0 if it was not sealed with these keys. Its content is garbage then. */
static inline int ac_open(ac_keys_t *keys, uint8_t *datagram, int length)
{
    int written = 0;
    uint8_t *content = datagram + AC_HEADER_LENGTH;
    uint8_t *tag = datagram + length - AC_TAG_LENGTH;
    uint64_t freshness;
    memcpy(&freshness, datagram + 32, sizeof(freshness));
    return ac_keys_set_batch(keys, freshness) && ac_begin(keys, datagram) &&
        ac_crypto.update(keys->aead, content, &written, content, length - AC_OVERHEAD) &&
        ac_crypto.context_control(keys->aead, AC_AEAD_SET_TAG, AC_TAG_LENGTH, tag) &&
        ac_crypto.final(keys->aead, tag, &written);
}

/* Random numbers that two copies of one virtual machine do not share, if the processor has an instruction for them. */
#if defined(__x86_64__)
#include <cpuid.h>
/* CPUID is slow in a virtual machine: asked once. Threads that ask at the same time find the same. */
static int ac_has_instruction(void)
{
    static int found = -1;
    unsigned int a, b, c, d;
    int is_there = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (is_there < 0)
    {
        is_there = __get_cpuid(1, &a, &b, &c, &d) && 0 != (c & (1u << 30));
        __atomic_store_n(&found, is_there, __ATOMIC_RELAXED);
    }
    return is_there;
}

__attribute__((target("rdrnd"))) static int ac_use_instruction(uint64_t *number)
{
    unsigned long long value;
    /* It reports by the carry flag whether there is a number. */
    int is_made = __builtin_ia32_rdrand64_step(&value);
    *number = value;
    return is_made;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define AC_HWCAP2_RNG (1ul << 16) /* linux/arch/arm64/include/uapi/asm/hwcap.h */

static int ac_has_instruction(void)
{
    return 0 != (getauxval(AT_HWCAP2) & AC_HWCAP2_RNG);
}

static int ac_use_instruction(uint64_t *number)
{
    uint64_t is_made;
    /* The register RNDR, by its number, because older assemblers do not know its name. A read sets the zero flag if there is
     * no number. Volatile: each read gives another one. */
    __asm__ volatile("mrs %0, s3_3_c2_c4_0\n\tcset %1, ne" : "=r"(*number), "=r"(is_made) : : "cc");
    return (int)is_made;
}
#else
static int ac_has_instruction(void) { return 0; }
static int ac_use_instruction(uint64_t *number) { (void)number; return 0; }
#endif

static int ac_fresh_number(uint64_t *number)
{
    uint64_t value;
    /* A processor without the instruction would end the process by SIGILL. */
    for (int i = 0; i < 10 && ac_has_instruction(); i++)
    {
        /* Some processors return only ones, or zeros, as if that were a random number. */
        if (ac_use_instruction(&value) && 0 != value && ~0ULL != value)
        {
            *number = value;
            return 1;
        }
    }
    return 0;
}

static int ac_has_fresh_numbers(void)
{
    uint64_t number;
    return ac_fresh_number(&number);
}

static inline int ac_random(void *to, size_t length)
{
    return (ssize_t)length == getrandom(to, length, 0);
}

#endif
