/* The receiving side of a socket: admitted salts and their windows, and the checks of a datagram in the order of
 * docs/wire/secure-udp.md. Used by one thread. Memory grows only with salts that hold the secret. */
#ifndef AERON_SECURITY_OPENER_H
#define AERON_SECURITY_OPENER_H

#include <stdlib.h>

#include "exchange.h"

#define AC_WINDOW 2048
#define AC_WINDOW_WORDS 64 /* a power of two, greater than AC_WINDOW / 64: the words around the window are spare */
#define AC_MAX_PEERS 4096
#define AC_TABLE_LENGTH 8192 /* a power of two, at least twice AC_MAX_PEERS */
#define AC_MAX_SECRETS 4
#define AC_ASKED 64
#define AC_BUDGET 64
#define AC_COOKIE_BUDGET 512
#define AC_BUDGET_NS 10000000LL
#define AC_ASK_AGAIN_NS 100000000LL
#define AC_SILENT_NS 60000000000LL
#define AC_TOKEN_STEP_NS 8000000000LL
#define AC_TOKEN_LENGTH 16

/* Why a datagram was not opened: the order of the reasons is that of the checks. */
enum
{
    AC_PLAIN = 1,
    AC_OTHER_SECRET,
    AC_OTHER_ROLE,
    AC_ECHO,
    AC_BUSY,
    AC_FORGED,
    AC_REPLAYED,
    AC_UNPROVED,
    AC_BAD_HANDSHAKE,
    AC_REASONS
};

typedef struct
{
    uint8_t salt[AC_SALT_LENGTH];
    uint8_t next_salt[AC_SALT_LENGTH];
    ac_secret_t next_secret;
    uint32_t owner; /* number of the identity that granted it */
    uint8_t parent[AC_SALT_LENGTH]; /* the salt before this one; zeros if it was challenged */
    int has_next; /* the next salt was admitted once: if it is forgotten, it must be challenged */
    ac_keys_t keys;
    uint64_t top; /* greatest number */
    uint64_t window[AC_WINDOW_WORDS];
    int64_t seen_ns;
} ac_peer_t;

typedef struct
{
    uint8_t salt[AC_SALT_LENGTH];
    int64_t again_ns;
} ac_asked_t;

typedef struct ac_opener
{
    ac_secret_t secrets[AC_MAX_SECRETS];
    int secret_count;
    int role; /* of the peers */
    ac_peer_t *table[AC_TABLE_LENGTH];
    int peer_count;
    int64_t sweep_ns;
    uint8_t token_key[32];
    int64_t budget_until_ns;
    int unknown_left; /* datagrams of unknown salts that may still be checked */
    int replies_left; /* challenges, answers and hellos that may still be sent */
    int cookies_left;
    int has_identity; /* peers are admitted by handshakes, not by challenges */
    int has_group; /* replies go to a group, and are answered from other addresses */
    uint8_t public_key[32];
    ac_exchange_t *exchange; /* with the conductor, of all sockets of the endpoint; NULL without an identity */
    /* Sockets that obey the orders of the conductor, a list that begins in the opener of their session. */
    struct ac_opener *next;
    int is_joined;
    int holders; /* the channel, and the list */
    ac_asked_t asked[AC_ASKED];
    int asked_next;
    uint64_t opened;
    uint64_t counts[AC_REASONS];
} ac_opener_t;

/* What is to be sent after a datagram was checked. `hello_length` is 0, or that of `hello`, which is a hello or a cookie
 * and is not sealed. */
typedef struct
{
    int hello_length;
    uint8_t hello[AC_HELLO_LENGTH];
    int answers;    /* an answer with `token` */
    int challenges; /* a challenge of `salt` with `challenge_token` */
    uint8_t token[AC_TOKEN_LENGTH];
    uint8_t salt[AC_SALT_LENGTH];
    uint8_t challenge_token[AC_TOKEN_LENGTH];
} ac_reply_t;

static inline uint32_t ac_slot_of(const uint8_t *salt)
{
    uint32_t hash; /* a salt is random, and only those of holders of the secret are stored */
    memcpy(&hash, salt, sizeof(hash));
    return hash & (AC_TABLE_LENGTH - 1);
}

static inline ac_peer_t *ac_find(const ac_opener_t *opener, const uint8_t *salt)
{
    for (uint32_t i = ac_slot_of(salt);; i = (i + 1) & (AC_TABLE_LENGTH - 1))
    {
        ac_peer_t *peer = opener->table[i];
        if (NULL == peer || 0 == memcmp(peer->salt, salt, AC_SALT_LENGTH))
        {
            return peer;
        }
    }
}

AC_COLD static void ac_insert(ac_opener_t *opener, ac_peer_t *peer)
{
    uint32_t i = ac_slot_of(peer->salt);
    while (NULL != opener->table[i])
    {
        i = (i + 1) & (AC_TABLE_LENGTH - 1);
    }
    opener->table[i] = peer;
    opener->peer_count++;
}

AC_COLD static void ac_peer_free(ac_peer_t *peer)
{
    ac_keys_free(&peer->keys);
    explicit_bzero(peer, sizeof(*peer));
    free(peer);
}

AC_COLD static void ac_remove(ac_opener_t *opener, const uint8_t *salt)
{
    uint32_t i = ac_slot_of(salt);
    while (NULL != opener->table[i] && 0 != memcmp(opener->table[i]->salt, salt, AC_SALT_LENGTH))
    {
        i = (i + 1) & (AC_TABLE_LENGTH - 1);
    }
    ac_peer_t *peer = opener->table[i];
    if (NULL == peer)
    {
        return;
    }
    ac_peer_free(peer);
    opener->table[i] = NULL;
    opener->peer_count--;
    /* Linear probing: those behind the gap, up to the next one, are put in again. */
    for (i = (i + 1) & (AC_TABLE_LENGTH - 1); NULL != opener->table[i]; i = (i + 1) & (AC_TABLE_LENGTH - 1))
    {
        ac_peer_t *moved = opener->table[i];
        opener->table[i] = NULL;
        opener->peer_count--;
        ac_insert(opener, moved);
    }
}

AC_COLD static void ac_opener_free(ac_opener_t *opener)
{
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        if (NULL != opener->table[i])
        {
            ac_peer_free(opener->table[i]);
        }
    }
    explicit_bzero(opener, sizeof(*opener));
    free(opener);
}

/* The conductor closes a socket that its agent has released, while the list may still contain it: the last one that drops
 * an opener frees it. */
AC_COLD static void ac_opener_drop(ac_opener_t *opener)
{
    if (0 == __atomic_sub_fetch(&opener->holders, 1, __ATOMIC_ACQ_REL))
    {
        ac_opener_free(opener);
    }
}

/* Drop the openers of closed sockets, or all. Called by the agent; or for all, when no agent is left. */
AC_COLD static void ac_drop_closed(ac_opener_t *session, int is_all)
{
    ac_opener_t **link = &session->next;
    while (NULL != *link)
    {
        ac_opener_t *opener = *link;
        if (is_all || 1 == __atomic_load_n(&opener->holders, __ATOMIC_ACQUIRE))
        {
            *link = opener->next;
            ac_opener_drop(opener);
        }
        else
        {
            link = &opener->next;
        }
    }
}

/* Let a socket obey the orders of the conductor. Called by the agent before the socket receives: until then it has admitted
 * no salt, so it has missed nothing. Only the agent changes the list, so it needs no lock. */
AC_COLD static void ac_join(ac_opener_t *session, ac_opener_t *opener)
{
    ac_drop_closed(session, 0);
    __atomic_add_fetch(&opener->holders, 1, __ATOMIC_RELAXED);
    opener->is_joined = 1;
    opener->next = session->next;
    session->next = opener;
}

/* Forget salts that have been silent, at most every tenth of the limit; and the one silent for longest if all places are
 * taken. */
AC_COLD static void ac_make_space(ac_opener_t *opener, int64_t now_ns)
{
    uint8_t salt[AC_SALT_LENGTH];
    if (now_ns >= opener->sweep_ns)
    {
        opener->sweep_ns = now_ns + AC_SILENT_NS / 10;
        for (int i = 0; i < AC_TABLE_LENGTH; i++)
        {
            /* A removal may move another one to this index. */
            while (NULL != opener->table[i] && now_ns - opener->table[i]->seen_ns > AC_SILENT_NS)
            {
                memcpy(salt, opener->table[i]->salt, AC_SALT_LENGTH);
                ac_remove(opener, salt);
            }
        }
    }
    if (opener->peer_count >= AC_MAX_PEERS)
    {
        ac_peer_t *oldest = NULL;
        for (int i = 0; i < AC_TABLE_LENGTH; i++)
        {
            ac_peer_t *peer = opener->table[i];
            if (NULL != peer && (NULL == oldest || peer->seen_ns < oldest->seen_ns))
            {
                oldest = peer;
            }
        }
        memcpy(salt, oldest->salt, AC_SALT_LENGTH);
        ac_remove(opener, salt);
    }
}

/* Return whether a number was neither received nor is below the window. */
static inline int ac_is_new(const ac_peer_t *peer, uint64_t number)
{
    if (number > peer->top)
    {
        return 1;
    }
    return peer->top - number < AC_WINDOW &&
        0 == (peer->window[(number / 64) % AC_WINDOW_WORDS] >> (number % 64) & 1);
}

/* Source: RFC 6479, with a window that moves by whole words. */
static inline void ac_mark(ac_peer_t *peer, uint64_t number)
{
    if (number > peer->top)
    {
        uint64_t words = number / 64 - peer->top / 64;
        for (uint64_t i = 1; i <= (words < AC_WINDOW_WORDS ? words : AC_WINDOW_WORDS); i++)
        {
            peer->window[(peer->top / 64 + i) % AC_WINDOW_WORDS] = 0;
        }
        peer->top = number;
    }
    peer->window[(number / 64) % AC_WINDOW_WORDS] |= 1ULL << (number % 64);
}

/* A token, or a cookie; for the address of a peer in `name`, unless `name_length` is 0. */
AC_COLD static int ac_token(
    const ac_opener_t *opener, int is_cookie, const uint8_t *salt, int64_t step, const void *name, size_t name_length,
    uint8_t *token)
{
    uint8_t data[AC_SALT_LENGTH + 8 + 1 + AC_NAME_LENGTH];
    uint8_t out[32];
    memcpy(data, salt, AC_SALT_LENGTH);
    memcpy(data + AC_SALT_LENGTH, &step, 8);
    data[AC_SALT_LENGTH + 8] = (uint8_t)is_cookie;
    memcpy(data + AC_SALT_LENGTH + 9, name, name_length);
    if (!ac_crypto_hmac(opener->token_key, data, AC_SALT_LENGTH + 9 + name_length, out))
    {
        return 0;
    }
    memcpy(token, out, AC_TOKEN_LENGTH);
    return 1;
}

AC_COLD static int ac_is_token(
    const ac_opener_t *opener, int is_cookie, const uint8_t *salt, int64_t now_ns, const void *name, size_t name_length,
    const uint8_t *token)
{
    uint8_t expected[AC_TOKEN_LENGTH];
    for (int64_t step = now_ns / AC_TOKEN_STEP_NS; step >= now_ns / AC_TOKEN_STEP_NS - 1; step--)
    {
        uint8_t difference = 0;
        if (!ac_token(opener, is_cookie, salt, step, name, name_length, expected))
        {
            return 0;
        }
        for (int i = 0; i < AC_TOKEN_LENGTH; i++)
        {
            difference |= (uint8_t)(expected[i] ^ token[i]);
        }
        if (0 == difference)
        {
            return 1;
        }
    }
    return 0;
}

/* Set the challenge of a salt in `reply`, unless one was sent in the last 100 ms or too many were sent to others. The token
 * of a hello is for the address in `name`, as a cookie: otherwise its receiver could cause firsts to other addresses. */
AC_COLD static void ac_challenge(
    ac_opener_t *opener, const uint8_t *salt, int64_t now_ns, const void *name, size_t name_length, ac_reply_t *reply)
{
    for (int i = 0; i < AC_ASKED; i++)
    {
        if (opener->asked[i].again_ns > now_ns && 0 == memcmp(opener->asked[i].salt, salt, AC_SALT_LENGTH))
        {
            return;
        }
    }
    if (opener->replies_left <= 0 ||
        !ac_token(opener, 0, salt, now_ns / AC_TOKEN_STEP_NS, name, name_length, reply->challenge_token))
    {
        return;
    }
    opener->replies_left--;
    memcpy(opener->asked[opener->asked_next].salt, salt, AC_SALT_LENGTH);
    opener->asked[opener->asked_next].again_ns = now_ns + AC_ASK_AGAIN_NS;
    opener->asked_next = (opener->asked_next + 1) % AC_ASKED;
    memcpy(reply->salt, salt, AC_SALT_LENGTH);
    reply->challenges = 1;
}

/* Admit a salt; all numbers up to `top` count as received. Takes over `keys`. Return 1, or 0 if memory runs out. */
AC_COLD static int ac_admit(
    ac_opener_t *opener, const ac_secret_t *secret, const uint8_t *salt, ac_keys_t *keys, uint64_t top, int64_t now_ns,
    ac_peer_t *parent, uint32_t owner)
{
    uint8_t before[AC_SALT_LENGTH] = {0};
    uint8_t grandparent[AC_SALT_LENGTH] = {0};
    if (NULL != parent)
    {
        memcpy(before, parent->salt, AC_SALT_LENGTH);
        memcpy(grandparent, parent->parent, AC_SALT_LENGTH);
    }
    ac_peer_t *peer = calloc(1, sizeof(*peer));
    if (NULL == peer || !ac_next(secret, opener->role, salt, &peer->next_secret, peer->next_salt))
    {
        if (NULL != peer)
        {
            ac_peer_free(peer);
        }
        ac_keys_free(keys);
        return 0;
    }
    memcpy(peer->salt, salt, AC_SALT_LENGTH);
    memcpy(peer->parent, before, AC_SALT_LENGTH);
    peer->owner = NULL == parent ? owner : parent->owner;
    peer->keys = *keys;
    peer->top = top;
    /* All up to `top` are marked; the words behind its own are cleared when the window reaches them. */
    memset(peer->window, 0xff, sizeof(peer->window));
    peer->window[(top / 64) % AC_WINDOW_WORDS] = ~0ULL >> (63 - top % 64);
    peer->seen_ns = now_ns;
    if (NULL != parent)
    {
        parent->has_next = 1;
    }
    /* An answer or a grant may be later than that of the next salt. */
    peer->has_next = NULL != ac_find(opener, peer->next_salt);
    ac_remove(opener, grandparent);
    ac_make_space(opener, now_ns);
    ac_insert(opener, peer);
    return 1;
}

AC_COLD static ac_peer_t *ac_parent_of(const ac_opener_t *opener, const uint8_t *salt)
{
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        ac_peer_t *peer = opener->table[i];
        if (NULL != peer && !peer->has_next && 0 == memcmp(peer->next_salt, salt, AC_SALT_LENGTH))
        {
            return peer;
        }
    }
    return NULL;
}

/* A datagram of a salt that is not admitted; `datagram` is opened in place. Return 0, or the reason of a refusal. */
AC_COLD static int ac_open_unknown(
    ac_opener_t *opener, const ac_secret_t *secret, uint8_t *datagram, int length, int64_t now_ns, const void *name,
    size_t name_length, ac_reply_t *reply)
{
    ac_keys_t keys;
    const uint8_t *salt = datagram + 8;
    const uint8_t *content = datagram + AC_HEADER_LENGTH;
    int content_length = length - AC_OVERHEAD;
    uint64_t number;
    memcpy(&number, datagram + 24, sizeof(number));
    if (opener->unknown_left <= 0)
    {
        return AC_BUSY;
    }
    opener->unknown_left--;
    ac_peer_t *parent = ac_parent_of(opener, salt);
    if (opener->has_identity)
    {
        if (NULL == parent)
        {
            if (length >= AC_HELLO_LENGTH && name_length <= AC_NAME_LENGTH)
            {
                ac_challenge(opener, salt, now_ns, name, opener->has_group ? 0 : name_length, reply);
            }
            return AC_UNPROVED;
        }
        secret = &parent->next_secret;
    }
    if (!ac_keys_init(&keys, secret, opener->role, salt, 0))
    {
        return AC_BUSY;
    }
    if (!ac_open(&keys, datagram, length))
    {
        ac_keys_free(&keys);
        return AC_FORGED;
    }
    if (AC_ANSWER == datagram[5])
    {
        if (AC_TOKEN_LENGTH == content_length && ac_is_token(opener, 0, salt, now_ns, "", 0, content))
        {
            return ac_admit(opener, secret, salt, &keys, number, now_ns, parent, 0) ? 0 : AC_BUSY;
        }
        ac_keys_free(&keys);
        return AC_UNPROVED;
    }
    if (NULL != parent)
    {
        /* The next salt of an admitted one, for the first time: nothing of it was received before. */
        if (!ac_admit(opener, secret, salt, &keys, 0, now_ns, parent, 0))
        {
            return AC_BUSY;
        }
        ac_mark(ac_find(opener, salt), number);
        return 0;
    }
    ac_keys_free(&keys);
    ac_challenge(opener, salt, now_ns, "", 0, reply);
    /* A challenge needs no admission. */
    return AC_CHALLENGE == datagram[5] ? 0 : AC_UNPROVED;
}

static int ac_is_own(const ac_sealer_t *own, const uint8_t *salt)
{
    return 0 == memcmp(salt, own->salt, AC_SALT_LENGTH) || 0 == memcmp(salt, own->previous_salt, AC_SALT_LENGTH);
}

/* Check a datagram of a handshake: answer a hello in `reply`, pass another one to the conductor. Return 0, the reason of a
 * refusal, or -1 if it is for another socket. */
AC_COLD static int ac_open_handshake(
    ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length, int64_t now_ns, const void *name,
    size_t name_length, uint32_t socket, ac_reply_t *reply)
{
    int kind = datagram[5];
    const uint8_t *salt = datagram + 8;
    if (!ac_is_own(own, datagram + 24))
    {
        return -1;
    }
    if (own->secret.cipher != datagram[7])
    {
        return AC_FORGED;
    }
    if (length != ac_handshake_length(kind) || name_length > AC_NAME_LENGTH)
    {
        return AC_BAD_HANDSHAKE;
    }
    if (AC_HELLO == kind)
    {
        if (opener->cookies_left <= 0)
        {
            return AC_BUSY;
        }
        opener->cookies_left--;
        reply->hello_length =
            ac_put_cookie(reply->hello, own, datagram, opener->public_key) &&
            ac_token(opener, 1, salt, now_ns / AC_TOKEN_STEP_NS, name, name_length, reply->hello + 56) ? AC_HELLO_LENGTH : 0;
        return 0;
    }
    int is_cookie = AC_FIRST == kind || AC_THIRD == kind;
    size_t bound_length = !is_cookie && opener->has_group ? 0 : name_length;
    if (!ac_is_token(opener, is_cookie, salt, now_ns, name, bound_length, datagram + 40))
    {
        return AC_BAD_HANDSHAKE;
    }
    return ac_pass(opener->exchange, datagram, length, name, name_length, socket) ? 0 : AC_BUSY;
}

/* Forget all that an identity granted. */
AC_COLD static void ac_forget(ac_opener_t *opener, uint32_t owner)
{
    uint8_t salt[AC_SALT_LENGTH];
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        /* A removal may move another one to this index. */
        while (NULL != opener->table[i] && opener->table[i]->owner == owner)
        {
            memcpy(salt, opener->table[i]->salt, AC_SALT_LENGTH);
            ac_remove(opener, salt);
        }
    }
}

/* Return whether a salt that follows the next one of a granted secret is admitted: then that was forgotten at a rotation, and
 * its grant is late; its datagrams may have been received. A grant is late by 5 s at most, in which 5 rotations take place. */
AC_COLD static int ac_is_outdated(const ac_opener_t *opener, const ac_secret_t *granted, const uint8_t *granted_salt)
{
    uint8_t salt[AC_SALT_LENGTH];
    ac_secret_t secret = *granted;
    int is_found = 0;
    memcpy(salt, granted_salt, AC_SALT_LENGTH);
    for (int i = 1; i <= 8 && !is_found && ac_next(&secret, opener->role, salt, &secret, salt); i++)
    {
        is_found = i > 1 && NULL != ac_find(opener, salt);
    }
    explicit_bzero(&secret, sizeof(secret));
    return is_found;
}

/* Do what the conductor has ordered, at all sockets of a session. */
AC_COLD static void ac_obey(ac_opener_t *session, ac_sealer_t *own, int64_t now_ns)
{
    ac_order_t *order;
    ac_drop_closed(session, 0);
    while (NULL != (order = ac_next_order(session->exchange)))
    {
        uint8_t salt[AC_SALT_LENGTH];
        ac_secret_t secret;
        ac_keys_t keys;
        int is_admission = AC_ADMIT == order->code;
        int is_done = AC_FORGET == order->code ||
            (ac_owned_secret(
                 &secret, order->prk, order->key, own->secret.cipher, is_admission ? session->role : own->role, salt) &&
             /* Out of memory: a peer that was removed must not keep its key, so the order stays. */
             (is_admission || ac_sealer_change(own, &secret, salt, now_ns, 1)));
        for (ac_opener_t *opener = session->next; NULL != opener && is_done; opener = opener->next)
        {
            if (AC_FORGET == order->code)
            {
                ac_forget(opener, order->owner);
            }
            else if (
                is_admission && NULL == ac_find(opener, salt) && !ac_is_outdated(opener, &secret, salt) &&
                ac_keys_init(&keys, &secret, opener->role, salt, 0))
            {
                /* The salt before it, if that is admitted, must not admit it once more. */
                ac_admit(
                    opener, &secret, salt, &keys, order->number, now_ns, ac_parent_of(opener, salt), order->owner);
            }
        }
        explicit_bzero(&secret, sizeof(secret));
        if (!is_done)
        {
            return;
        }
        ac_end_order(session->exchange);
    }
}

/* Open a datagram in place. Return 0 if it may be used: frames are then behind its header, and all others have had their
 * effect, on `reply`. Otherwise return the reason, or -1 if it is for another socket. `name` is the address of its sender,
 * `socket` the number of the socket that received it. */
static int ac_opener_open(
    ac_opener_t *opener, const ac_sealer_t *own, uint8_t *datagram, int length, int64_t now_ns, const void *name,
    size_t name_length, uint32_t socket, ac_reply_t *reply)
{
    const ac_secret_t *secret = NULL;
    const uint8_t *salt = datagram + 8;
    uint64_t number;
    int reason = 0;
    if (length < AC_OVERHEAD || 0 != memcmp(datagram, "AeSU", 4) || AC_VERSION != datagram[4] ||
        datagram[5] > AC_THIRD)
    {
        return AC_PLAIN;
    }
    for (int i = 0; i < opener->secret_count && NULL == secret; i++)
    {
        secret = opener->secrets[i].id == datagram[7] ? &opener->secrets[i] : NULL;
    }
    if (opener->has_identity ? AC_CHALLENGE == datagram[5] || AC_ANSWER == datagram[5]
                             : NULL == secret || datagram[5] > AC_ANSWER)
    {
        return AC_OTHER_SECRET;
    }
    if (opener->role != datagram[6])
    {
        return AC_OTHER_ROLE;
    }
    if (ac_is_own(own, salt))
    {
        return AC_ECHO;
    }
    if (now_ns >= opener->budget_until_ns)
    {
        opener->budget_until_ns = now_ns + AC_BUDGET_NS;
        opener->unknown_left = opener->replies_left = AC_BUDGET;
        opener->cookies_left = AC_COOKIE_BUDGET;
    }
    if (datagram[5] >= AC_HELLO)
    {
        return ac_open_handshake(opener, own, datagram, length, now_ns, name, name_length, socket, reply);
    }

    ac_peer_t *peer = ac_find(opener, salt);
    if (NULL == peer)
    {
        reason = ac_open_unknown(opener, secret, datagram, length, now_ns, name, name_length, reply);
    }
    else
    {
        memcpy(&number, datagram + 24, sizeof(number));
        /* Before the tag, because it is cheaper; a forged datagram changes nothing here. */
        if (!ac_is_new(peer, number))
        {
            return AC_REPLAYED;
        }
        if (!ac_open(&peer->keys, datagram, length))
        {
            return AC_FORGED;
        }
        ac_mark(peer, number);
        peer->seen_ns = now_ns;
    }
    if (0 == reason && AC_CHALLENGE == datagram[5])
    {
        const uint8_t *content = datagram + AC_HEADER_LENGTH;
        if (AC_SALT_LENGTH + AC_TOKEN_LENGTH == length - AC_OVERHEAD &&
            0 == memcmp(content, own->salt, AC_SALT_LENGTH) && opener->replies_left > 0)
        {
            opener->replies_left--;
            memcpy(reply->token, content + AC_SALT_LENGTH, AC_TOKEN_LENGTH);
            reply->answers = 1;
        }
    }
    return reason;
}

#endif
