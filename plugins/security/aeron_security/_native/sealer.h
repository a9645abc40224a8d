/* The sending side of a socket: its salt, the numbers of its datagrams, and rotation. Used by one thread. */
#ifndef AERON_SECURITY_SEALER_H
#define AERON_SECURITY_SEALER_H

#include "sealing.h"

typedef struct
{
    ac_secret_t secret;
    int role;
    uint8_t salt[AC_SALT_LENGTH];
    uint8_t previous_salt[AC_SALT_LENGTH]; /* the same as `salt` before the first change */
    ac_keys_t keys;
    uint64_t number;    /* of the last datagram */
    uint64_t freshness; /* of the current batch */
    uint64_t rotate_numbers;
    int64_t rotate_interval_ns;
    int64_t rotate_at_ns;
    uint64_t sealed;
    uint64_t rotations;
    uint64_t renewals;
    uint64_t version; /* odd while the secret, the salt and the number change; another thread may read them */
} ac_sealer_t;

/* Begin with a secret, and a random salt unless the secret is of this socket, which has made its salt. */
AC_COLD static int ac_sealer_init(ac_sealer_t *sealer, const ac_secret_t *secret, int role, int64_t now_ns)
{
    sealer->secret = *secret;
    sealer->role = role;
    sealer->rotate_at_ns = now_ns + sealer->rotate_interval_ns;
    if (!secret->is_owned && !ac_random(sealer->salt, AC_SALT_LENGTH))
    {
        return 0;
    }
    /* Never zeros, with which anyone could address this socket. */
    memcpy(sealer->previous_salt, sealer->salt, AC_SALT_LENGTH);
    return ac_keys_init(&sealer->keys, secret, role, sealer->salt, 1);
}

AC_COLD static void ac_sealer_free(ac_sealer_t *sealer)
{
    ac_keys_free(&sealer->keys);
    explicit_bzero(sealer, sizeof(*sealer));
}

/* Continue with another secret and salt; return 1, or 0 if memory runs out: then nothing has changed. */
AC_COLD static int ac_sealer_change(
    ac_sealer_t *sealer, const ac_secret_t *secret, const uint8_t *salt, int64_t now_ns, int is_renewal)
{
    ac_keys_t keys;
    if (!ac_keys_init(&keys, secret, sealer->role, salt, 1))
    {
        return 0;
    }
    ac_keys_free(&sealer->keys);
    sealer->keys = keys;
    __atomic_store_n(&sealer->version, sealer->version + 1, __ATOMIC_RELAXED);
    /* Release: a reader that sees a part of the change sees the odd version. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    sealer->secret = *secret;
    memcpy(sealer->previous_salt, sealer->salt, AC_SALT_LENGTH);
    memcpy(sealer->salt, salt, AC_SALT_LENGTH);
    sealer->number = 0;
    sealer->renewals += (uint64_t)is_renewal;
    /* Release: a reader that sees the even version sees the whole change. */
    __atomic_store_n(&sealer->version, sealer->version + 1, __ATOMIC_RELEASE);
    sealer->rotate_at_ns = now_ns + sealer->rotate_interval_ns;
    return 1;
}

/* Copy what a grant has; any thread may call it. Return 1, or 0 if the agent changes it: then try again later. */
AC_COLD static int ac_sealer_read(const ac_sealer_t *sealer, uint8_t *prk, uint64_t *number, uint64_t *renewals)
{
    uint64_t version = __atomic_load_n(&sealer->version, __ATOMIC_ACQUIRE);
    memcpy(prk, sealer->secret.prk, 32);
    *renewals = sealer->renewals;
    *number = __atomic_load_n(&sealer->number, __ATOMIC_RELAXED);
    /* Acquire: the copies are made before the version is read again. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return 0 == version % 2 && version == __atomic_load_n(&sealer->version, __ATOMIC_RELAXED);
}

AC_COLD static int ac_sealer_rotate(ac_sealer_t *sealer, int64_t now_ns)
{
    uint8_t salt[AC_SALT_LENGTH];
    ac_secret_t next;
    int is_made = ac_next(&sealer->secret, sealer->role, sealer->salt, &next, salt) &&
        ac_sealer_change(sealer, &next, salt, now_ns, 0);
    explicit_bzero(&next, sizeof(next));
    sealer->rotations += (uint64_t)is_made;
    return is_made;
}

/* Begin a batch: its datagrams share a freshness. Return 1, or 0 on failure: then nothing may be sealed. */
static int ac_sealer_begin(ac_sealer_t *sealer, int64_t now_ns)
{
    if ((sealer->number >= sealer->rotate_numbers || now_ns >= sealer->rotate_at_ns) &&
        !ac_sealer_rotate(sealer, now_ns))
    {
        return 0;
    }
    if (!ac_fresh_number(&sealer->freshness) && !ac_random(&sealer->freshness, sizeof(sealer->freshness)))
    {
        return 0;
    }
    return ac_keys_set_batch(&sealer->keys, sealer->freshness);
}

/* Seal one datagram of the batch at `to`, which has space for `length` + AC_OVERHEAD bytes; return 1, or 0 on failure. */
static inline int ac_sealer_seal(ac_sealer_t *sealer, int kind, uint8_t *to, const uint8_t *from, int length)
{
    /* The number is used up even if sealing fails: it must never occur twice. */
    sealer->number++;
    memcpy(to, "AeSU", 4);
    to[4] = AC_VERSION;
    to[5] = (uint8_t)kind;
    to[6] = (uint8_t)sealer->role;
    to[7] = sealer->secret.id;
    memcpy(to + 8, sealer->salt, AC_SALT_LENGTH);
    memcpy(to + 24, &sealer->number, 8);
    memcpy(to + 32, &sealer->freshness, 8);
    sealer->sealed++;
    return ac_seal(&sealer->keys, to, from, length);
}

#endif
