/* The receiving side of a socket: admitted salts and their windows, and the checks of a datagram in the order of
 * docs/wire/secure-udp.md. Used by one thread. Memory grows only with salts that hold the secret. */
#ifndef AERON_SECURITY_OPENER_H
#define AERON_SECURITY_OPENER_H

#include <stdlib.h>

#include "sealer.h"

#define AC_WINDOW 2048
#define AC_WINDOW_WORDS 64 /* a power of two, greater than AC_WINDOW / 64: the words around the window are spare */
#define AC_MAX_PEERS 4096
#define AC_TABLE_LENGTH 8192 /* a power of two, at least twice AC_MAX_PEERS */
#define AC_MAX_SECRETS 4
#define AC_ASKED 64
#define AC_BUDGET 64
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
    AC_REASONS
};

typedef struct
{
    uint8_t salt[AC_SALT_LENGTH];
    uint8_t next_salt[AC_SALT_LENGTH];
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

typedef struct
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
    int replies_left; /* challenges and answers that may still be sent */
    ac_asked_t asked[AC_ASKED];
    int asked_next;
    uint64_t opened;
    uint64_t counts[AC_REASONS];
} ac_opener_t;

/* What is to be sent after a datagram was checked. */
typedef struct
{
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

static void ac_insert(ac_opener_t *opener, ac_peer_t *peer)
{
    uint32_t i = ac_slot_of(peer->salt);
    while (NULL != opener->table[i])
    {
        i = (i + 1) & (AC_TABLE_LENGTH - 1);
    }
    opener->table[i] = peer;
    opener->peer_count++;
}

static void ac_remove(ac_opener_t *opener, const uint8_t *salt)
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
    ac_keys_free(&peer->keys);
    free(peer);
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

static void ac_opener_free(ac_opener_t *opener)
{
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        if (NULL != opener->table[i])
        {
            ac_keys_free(&opener->table[i]->keys);
            free(opener->table[i]);
            opener->table[i] = NULL;
        }
    }
}

/* Forget salts that have been silent, at most every tenth of the limit; and the one silent for longest if all places are
 * taken. */
static void ac_make_space(ac_opener_t *opener, int64_t now_ns)
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

static int ac_token(const ac_opener_t *opener, const uint8_t *salt, int64_t step, uint8_t *token)
{
    uint8_t data[AC_SALT_LENGTH + 8];
    uint8_t out[32];
    memcpy(data, salt, AC_SALT_LENGTH);
    memcpy(data + AC_SALT_LENGTH, &step, 8);
    if (!ac_crypto_hmac(opener->token_key, data, sizeof(data), out))
    {
        return 0;
    }
    memcpy(token, out, AC_TOKEN_LENGTH);
    return 1;
}

static int ac_is_token(const ac_opener_t *opener, const uint8_t *salt, int64_t now_ns, const uint8_t *token)
{
    uint8_t expected[AC_TOKEN_LENGTH];
    for (int64_t step = now_ns / AC_TOKEN_STEP_NS; step >= now_ns / AC_TOKEN_STEP_NS - 1; step--)
    {
        uint8_t difference = 0;
        if (!ac_token(opener, salt, step, expected))
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

/* Set the challenge of a salt in `reply`, unless one was sent in the last 100 ms or too many were sent to others. */
static void ac_challenge(ac_opener_t *opener, const uint8_t *salt, int64_t now_ns, ac_reply_t *reply)
{
    for (int i = 0; i < AC_ASKED; i++)
    {
        if (opener->asked[i].again_ns > now_ns && 0 == memcmp(opener->asked[i].salt, salt, AC_SALT_LENGTH))
        {
            return;
        }
    }
    if (opener->replies_left <= 0 || !ac_token(opener, salt, now_ns / AC_TOKEN_STEP_NS, reply->challenge_token))
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
static int ac_admit(
    ac_opener_t *opener, const ac_secret_t *secret, const uint8_t *salt, ac_keys_t *keys, uint64_t top, int64_t now_ns,
    ac_peer_t *parent)
{
    uint8_t before[AC_SALT_LENGTH] = {0};
    uint8_t grandparent[AC_SALT_LENGTH] = {0};
    if (NULL != parent)
    {
        memcpy(before, parent->salt, AC_SALT_LENGTH);
        memcpy(grandparent, parent->parent, AC_SALT_LENGTH);
    }
    ac_peer_t *peer = calloc(1, sizeof(*peer));
    if (NULL == peer || !ac_next_salt(secret, opener->role, salt, peer->next_salt))
    {
        free(peer);
        ac_keys_free(keys);
        return 0;
    }
    memcpy(peer->salt, salt, AC_SALT_LENGTH);
    memcpy(peer->parent, before, AC_SALT_LENGTH);
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
    ac_remove(opener, grandparent);
    ac_make_space(opener, now_ns);
    ac_insert(opener, peer);
    return 1;
}

static ac_peer_t *ac_parent_of(const ac_opener_t *opener, const uint8_t *salt)
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
static int ac_open_unknown(
    ac_opener_t *opener, const ac_secret_t *secret, uint8_t *datagram, int length, int64_t now_ns, ac_reply_t *reply)
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
        if (AC_TOKEN_LENGTH == content_length && ac_is_token(opener, salt, now_ns, content))
        {
            return ac_admit(opener, secret, salt, &keys, number, now_ns, NULL) ? 0 : AC_BUSY;
        }
        ac_keys_free(&keys);
        return AC_UNPROVED;
    }
    ac_peer_t *parent = ac_parent_of(opener, salt);
    if (NULL != parent)
    {
        /* The next salt of an admitted one, for the first time: nothing of it was received before. */
        if (!ac_admit(opener, secret, salt, &keys, 0, now_ns, parent))
        {
            return AC_BUSY;
        }
        ac_mark(ac_find(opener, salt), number);
        return 0;
    }
    ac_keys_free(&keys);
    ac_challenge(opener, salt, now_ns, reply);
    /* A challenge needs no admission. */
    return AC_CHALLENGE == datagram[5] ? 0 : AC_UNPROVED;
}

/* Open a datagram in place. Return 0 if it may be used: frames are then behind its header, and challenges and answers have
 * had their effect, on `reply`. Otherwise return the reason. */
static int ac_opener_open(
    ac_opener_t *opener, const ac_sealer_t *own, uint8_t *datagram, int length, int64_t now_ns, ac_reply_t *reply)
{
    const ac_secret_t *secret = NULL;
    const uint8_t *salt = datagram + 8;
    uint64_t number;
    int reason = 0;
    if (length < AC_OVERHEAD || 0 != memcmp(datagram, "AeSU", 4) || AC_VERSION != datagram[4] ||
        datagram[5] > AC_ANSWER)
    {
        return AC_PLAIN;
    }
    for (int i = 0; i < opener->secret_count && NULL == secret; i++)
    {
        secret = opener->secrets[i].id == datagram[7] ? &opener->secrets[i] : NULL;
    }
    if (NULL == secret)
    {
        return AC_OTHER_SECRET;
    }
    if (opener->role != datagram[6])
    {
        return AC_OTHER_ROLE;
    }
    if (0 == memcmp(salt, own->salt, AC_SALT_LENGTH) || 0 == memcmp(salt, own->previous_salt, AC_SALT_LENGTH))
    {
        return AC_ECHO;
    }
    if (now_ns >= opener->budget_until_ns)
    {
        opener->budget_until_ns = now_ns + AC_BUDGET_NS;
        opener->unknown_left = opener->replies_left = AC_BUDGET;
    }

    ac_peer_t *peer = ac_find(opener, salt);
    if (NULL == peer)
    {
        reason = ac_open_unknown(opener, secret, datagram, length, now_ns, reply);
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
