/* What the agent of a socket and the conductor exchange in a handshake: datagrams for the conductor, and its orders. Each ring
 * has one writer and one reader. Source: docs/wire/secure-udp.md. */
#ifndef AERON_SECURITY_EXCHANGE_H
#define AERON_SECURITY_EXCHANGE_H

#include "sealer.h"

/* That of a sealed RES frame with one short name: no peer begins with a shorter datagram. */
#define AC_HELLO_LENGTH 80
#define AC_FIRST_LENGTH 168
#define AC_NAME_LENGTH 32 /* of sockaddr_in and sockaddr_in6 */
#define AC_RING_LENGTH 64 /* a power of two */
#define AC_KIND_LENGTH (AC_RING_LENGTH / 4)
#define AC_KNOWN_LENGTH (AC_KIND_LENGTH / 4)

enum
{
    AC_ADMIT,
    AC_FORGET,
    AC_GREET, /* start handshakes with all that are admitted: the next secret is granted in them */
    AC_RENEW
};

typedef struct
{
    uint8_t data[AC_FIRST_LENGTH];
    uint8_t name[AC_NAME_LENGTH];
    int32_t length;
    uint32_t name_length;
    uint32_t socket;
    int32_t kind; /* from 0 for cookies to 3 for thirds */
} ac_passed_t;

typedef struct
{
    uint8_t prk[32];
    uint8_t key[32]; /* public, of the identity */
    uint64_t number;
    uint64_t line;       /* of all secrets of an endpoint */
    uint64_t generation; /* of the secret in its line */
    int64_t began_ns; /* of the handshake */
    uint32_t owner;
    int32_t code;
} ac_order_t;

typedef struct
{
    ac_passed_t passed[AC_RING_LENGTH];
    uint64_t passed_count;
    uint64_t taken_count;
    /* By kind, of which each has a quarter of the ring: a flood of firsts does not keep cookies out. A quarter of that is for
     * admitted salts: nor do strangers keep peers out. */
    uint64_t passed_of[4];
    uint64_t taken_of[4];
    ac_order_t orders[AC_RING_LENGTH];
    uint64_t ordered_count;
    uint64_t done_count;
} ac_exchange_t;

/* The agent passes a datagram to the conductor; return 0 if the ring has no place for its kind. `is_known`: its salt is
 * admitted. */
AC_COLD static int ac_pass(
    ac_exchange_t *exchange, int kind, const uint8_t *data, int length, const void *name, size_t name_length,
    uint32_t socket, int is_known)
{
    uint64_t most = AC_KIND_LENGTH - (is_known ? 0 : AC_KNOWN_LENGTH);
    uint64_t count = exchange->passed_count;
    ac_passed_t *passed = &exchange->passed[count % AC_RING_LENGTH];
    /* Acquire: the conductor has finished with the slot. The ring is full if all kinds have their quarter. */
    if (exchange->passed_of[kind] - __atomic_load_n(&exchange->taken_of[kind], __ATOMIC_RELAXED) >= most ||
        count - __atomic_load_n(&exchange->taken_count, __ATOMIC_ACQUIRE) >= AC_RING_LENGTH)
    {
        return 0;
    }
    exchange->passed_of[kind]++;
    passed->kind = kind;
    memcpy(passed->data, data, (size_t)length);
    memcpy(passed->name, name, name_length);
    passed->length = length;
    passed->name_length = (uint32_t)name_length;
    passed->socket = socket;
    /* Release: the slot is written first. */
    __atomic_store_n(&exchange->passed_count, count + 1, __ATOMIC_RELEASE);
    return 1;
}

/* The conductor takes the oldest datagram, NULL if there is none; it calls `ac_end_passed` after use. */
static ac_passed_t *ac_next_passed(ac_exchange_t *exchange)
{
    return exchange->taken_count == __atomic_load_n(&exchange->passed_count, __ATOMIC_ACQUIRE)
        ? NULL
        : &exchange->passed[exchange->taken_count % AC_RING_LENGTH];
}

static void ac_end_passed(ac_exchange_t *exchange)
{
    uint64_t *taken = &exchange->taken_of[exchange->passed[exchange->taken_count % AC_RING_LENGTH].kind];
    __atomic_store_n(taken, *taken + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&exchange->taken_count, exchange->taken_count + 1, __ATOMIC_RELEASE);
}

/* The conductor gives an order; return 0 if the ring is full. */
AC_COLD static int ac_give_order(
    ac_exchange_t *exchange, int code, uint32_t owner, const uint8_t *key, const uint8_t *prk, uint64_t number,
    uint64_t line, uint64_t generation, int64_t began_ns)
{
    uint64_t count = exchange->ordered_count;
    ac_order_t *order = &exchange->orders[count % AC_RING_LENGTH];
    if (count - __atomic_load_n(&exchange->done_count, __ATOMIC_ACQUIRE) >= AC_RING_LENGTH)
    {
        return 0;
    }
    memcpy(order->prk, prk, sizeof(order->prk));
    memcpy(order->key, key, sizeof(order->key));
    order->number = number;
    order->line = line;
    order->generation = generation;
    order->began_ns = began_ns;
    order->owner = owner;
    order->code = code;
    __atomic_store_n(&exchange->ordered_count, count + 1, __ATOMIC_RELEASE);
    return 1;
}

static ac_order_t *ac_next_order(ac_exchange_t *exchange)
{
    return NULL == exchange || exchange->done_count == __atomic_load_n(&exchange->ordered_count, __ATOMIC_ACQUIRE)
        ? NULL
        : &exchange->orders[exchange->done_count % AC_RING_LENGTH];
}

static void ac_end_order(ac_exchange_t *exchange)
{
    explicit_bzero(&exchange->orders[exchange->done_count % AC_RING_LENGTH], sizeof(ac_order_t));
    __atomic_store_n(&exchange->done_count, exchange->done_count + 1, __ATOMIC_RELEASE);
}

static int ac_handshake_length(int kind)
{
    static const uint8_t lengths[] = {AC_HELLO_LENGTH, AC_HELLO_LENGTH, AC_FIRST_LENGTH, 160, 136};
    return lengths[kind - AC_HELLO];
}

AC_COLD static void ac_put_header(uint8_t *to, const ac_sealer_t *own, int kind, const uint8_t *salt)
{
    memset(to, 0, AC_HELLO_LENGTH);
    memcpy(to, "AeSU", 4);
    to[4] = AC_VERSION;
    to[5] = (uint8_t)kind;
    to[6] = (uint8_t)own->role;
    to[7] = own->secret.cipher;
    memcpy(to + 8, own->salt, AC_SALT_LENGTH);
    memcpy(to + 24, salt, AC_SALT_LENGTH);
}

/* Make the cookie datagram that answers `hello`, all but its cookie; return 1, or 0 on failure. */
AC_COLD static int ac_put_cookie(uint8_t *to, const ac_sealer_t *own, const uint8_t *hello, const uint8_t *public_key)
{
    uint8_t data[20] = "hint";
    uint8_t hint[32];
    ac_put_header(to, own, AC_COOKIE, hello + 8);
    memcpy(to + 40, hello + 40, 16);
    memcpy(data + 4, hello + 40, 16);
    if (!ac_crypto_hmac(public_key, data, sizeof(data), hint))
    {
        return 0;
    }
    memcpy(to + 72, hint, 8);
    return 1;
}

#endif
