/* What a receiving socket remembers: admitted salts with their windows, and limits. Used by one thread. Memory grows only with
 * salts that hold the secret. */
#ifndef AERON_SECURITY_PEERS_H
#define AERON_SECURITY_PEERS_H

#include <netinet/in.h>
#include <stdlib.h>

#include "exchange.h"

#define AC_WINDOW 2048
#define AC_WINDOW_WORDS 64 /* a power of two, greater than AC_WINDOW / 64: the words around the window are spare */
#define AC_MAX_PEERS 4096
#define AC_MAX_OWNERS 1024 /* identities, from 1 on; 0 without */
#define AC_TABLE_LENGTH 8192 /* a power of two, at least twice AC_MAX_PEERS */
#define AC_MAX_SECRETS 4
#define AC_ASKED 64
#define AC_BUDGET 128
#define AC_GROUP_BUDGET 8 /* of replies to a group, which each of its members receives */
#define AC_SHARES 64
#define AC_SHARE 16 /* of a budget, for sources with one hash */
#define AC_GROUP_SHARE 2 /* the same, where each causes a hello to a group */
#define AC_COOKIE_BUDGET 512
#define AC_COOKIE_SHARE 64
#define AC_BUDGET_NS 10000000LL
#define AC_ASK_AGAIN_NS 100000000LL
#define AC_SILENT_NS 60000000000LL
#define AC_SWEEP_NS (AC_SILENT_NS / 10)
#define AC_CONFIRM_NS 30000000000LL /* to twice that after a grant, another one of the same secret is asked for */
#define AC_UNCONFIRMED_NS 30000000000LL /* of asking in vain, until its owner grants another one */
#define AC_REPLACE_NS 10000000000LL /* a secret that replaces another one is used well before */
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
    uint32_t owner; /* number of the identity that granted it, at most AC_MAX_OWNERS */
    uint8_t parent[AC_SALT_LENGTH]; /* the salt before this one; zeros if it was challenged */
    int has_next; /* the next salt was admitted once: if it is forgotten, it must be challenged */
    ac_keys_t keys;
    uint64_t top; /* greatest number */
    uint64_t window[AC_WINDOW_WORDS];
    int64_t seen_ns;
    uint64_t source; /* of the last datagram, see `ac_source_of` */
    int64_t cookie_ns; /* the end of the budget of which it has had its cookie */
    uint32_t greeted; /* the last greeting in which a handshake took place */
    int64_t greet_again_ns;
    uint64_t line;        /* of the endpoint that seals with it, which its earlier and later salts have, too */
    uint64_t generation;  /* of its secret in the line; a salt that follows it at a rotation has the same */
    int64_t admitted_ns;  /* it, or the salt that it follows */
    int64_t confirm_ns;   /* when it shall be granted again */
    int64_t replace_ns;   /* when earlier generations of its line are forgotten at the latest; 0 if there are none */
} ac_peer_t;

typedef struct
{
    uint8_t salt[AC_SALT_LENGTH];
    uint8_t name[AC_NAME_LENGTH]; /* where it was asked for; zeros if that is a group */
    int64_t again_ns;
} ac_asked_t;

typedef struct ac_opener
{
    ac_secret_t secrets[AC_MAX_SECRETS];
    int secret_count;
    int role; /* of the peers */
    ac_peer_t *table[AC_TABLE_LENGTH];  /* by salt */
    ac_peer_t *nexts[AC_TABLE_LENGTH]; /* by next salt: a flood of unknown salts looks for it in vain */
    int peer_count;
    int64_t sweep_ns;
    uint8_t token_key[32];
    uint64_t forgotten; /* salts: a token from before one was forgotten must not admit it again */
    int64_t budget_until_ns;
    uint8_t shares[AC_SHARES]; /* datagrams of unknown salts that were checked, by a hash of their sources */
    uint8_t cookies[AC_SHARES]; /* the same of cookies to unknown salts */
    uint8_t greets[AC_MAX_OWNERS + 1]; /* hellos to admitted salts, by identity: one must not keep others from theirs */
    int unknown_left;          /* and that may still be checked */
    int next_left;             /* the same of next salts: strangers must not delay a rotation */
    int replies_left; /* challenges, answers and hellos that may still be sent */
    int greets_left; /* the same of hellos to admitted salts: strangers must not delay the next secret */
    int64_t replace_ns; /* the least of its peers, 0 if there is none */
    int64_t granted_ns[AC_MAX_OWNERS + 1]; /* by identity: when it granted a secret for the last time */
    int64_t outdated_ns[AC_MAX_OWNERS + 1]; /* handshakes with it that began before admit no salt any longer */
    int cookies_left; /* for unknown salts */
    int known_cookies_left; /* for admitted ones, one each: strangers must not delay handshakes with them */
    int has_identity; /* peers are admitted by handshakes, not by challenges */
    int has_group; /* replies go to a group, and are answered from other addresses */
    uint8_t public_key[32];
    ac_exchange_t *exchange; /* with the conductor, of all sockets of the endpoint; NULL without an identity */
    /* Sockets that obey the orders of the conductor, a list that begins in the opener of their session. */
    struct ac_opener *next;
    uint32_t greeting; /* number of the current one, 0 if there is none; of a session, of the last one */
    int is_joined;
    int holders; /* the channel, and the list */
    ac_asked_t asked[AC_ASKED];
    int asked_next;
    uint64_t opened;
    uint64_t counts[AC_REASONS];
} ac_opener_t;

#define AC_BY_SALT offsetof(ac_peer_t, salt)
#define AC_BY_NEXT offsetof(ac_peer_t, next_salt)

/* Return the index of the peer whose key, a salt at offset `key` of it, is `salt`; otherwise that of the empty entry behind
 * those with its hash. */
static inline uint32_t ac_index(ac_peer_t *const *table, size_t key, const uint8_t *salt)
{
    uint32_t i; /* a salt is random, and only those of holders of the secret are stored */
    memcpy(&i, salt, sizeof(i));
    i &= AC_TABLE_LENGTH - 1;
    while (NULL != table[i] && 0 != memcmp((const uint8_t *)table[i] + key, salt, AC_SALT_LENGTH))
    {
        i = (i + 1) & (AC_TABLE_LENGTH - 1);
    }
    return i;
}

static inline ac_peer_t *ac_find(const ac_opener_t *opener, const uint8_t *salt)
{
    return opener->table[ac_index(opener->table, AC_BY_SALT, salt)];
}

/* Return the peer that a salt follows at a rotation, unless it has admitted that before. */
static inline ac_peer_t *ac_parent_of(const ac_opener_t *opener, const uint8_t *salt)
{
    ac_peer_t *peer = opener->nexts[ac_index(opener->nexts, AC_BY_NEXT, salt)];
    return NULL == peer || peer->has_next ? NULL : peer;
}

/* Remove the peer at an index. Linear probing: those behind the gap, up to the next one, are put in again. */
AC_COLD static void ac_clear(ac_peer_t **table, size_t key, uint32_t i)
{
    table[i] = NULL;
    for (i = (i + 1) & (AC_TABLE_LENGTH - 1); NULL != table[i]; i = (i + 1) & (AC_TABLE_LENGTH - 1))
    {
        ac_peer_t *moved = table[i];
        table[i] = NULL;
        table[ac_index(table, key, (const uint8_t *)moved + key)] = moved;
    }
}

AC_COLD static void ac_peer_free(ac_peer_t *peer)
{
    ac_keys_free(&peer->keys);
    explicit_bzero(peer, sizeof(*peer));
    free(peer);
}

AC_COLD static void ac_remove(ac_opener_t *opener, const uint8_t *salt)
{
    uint32_t i = ac_index(opener->table, AC_BY_SALT, salt);
    ac_peer_t *peer = opener->table[i];
    if (NULL == peer)
    {
        return;
    }
    ac_clear(opener->table, AC_BY_SALT, i);
    ac_clear(opener->nexts, AC_BY_NEXT, ac_index(opener->nexts, AC_BY_NEXT, peer->next_salt));
    opener->peer_count--;
    opener->forgotten++;
    ac_peer_free(peer);
}

/* Return a number for an address and port: the same one for an IPv4 address as for the IPv6 address that stands for it. A
 * stranger does not know which others have the same: the hash depends on the key of tokens. */
static inline uint64_t ac_source_of(const ac_opener_t *opener, const void *name)
{
    const struct sockaddr_in6 *six = name;
    uint64_t halves[2] = {0, 0}, keys[2];
    memcpy(keys, opener->token_key, sizeof(keys));
    if (AF_INET == six->sin6_family)
    {
        memcpy(&halves[1], &((const struct sockaddr_in *)name)->sin_addr, 4);
    }
    else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    {
        memcpy(&halves[1], (const uint8_t *)&six->sin6_addr + 12, 4);
    }
    else
    {
        memcpy(halves, &six->sin6_addr, 16);
    }
    /* The port has the same place in both. */
    __uint128_t product = (__uint128_t)(halves[0] ^ keys[0]) * ((halves[1] * 0x9e3779b97f4a7c15ull + six->sin6_port) ^ keys[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Return the opener of a socket of a session, with windows of its own; NULL if memory or random numbers run out. */
AC_COLD static ac_opener_t *ac_opener_new(const ac_opener_t *session, int has_group)
{
    ac_opener_t *opener = calloc(1, sizeof(*opener));
    if (NULL == opener)
    {
        return NULL;
    }
    opener->holders = 1;
    memcpy(opener->secrets, session->secrets, sizeof(session->secrets));
    opener->secret_count = session->secret_count;
    opener->role = session->role;
    opener->has_identity = session->has_identity;
    opener->has_group = has_group;
    opener->exchange = session->exchange;
    memcpy(opener->public_key, session->public_key, 32);
    /* A handshake is of all sockets of the session: one may receive what another one has caused. */
    memcpy(opener->token_key, session->token_key, 32);
    if (!session->has_identity && !ac_random(opener->token_key, 32))
    {
        free(opener);
        return NULL;
    }
    return opener;
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
 * no salt, so it has missed nothing. A handshake that began before must not admit what was sent before the socket listened.
 * Only the agent changes the list, so it needs no lock. */
AC_COLD static void ac_join(ac_opener_t *session, ac_opener_t *opener, int64_t now_ns)
{
    ac_drop_closed(session, 0);
    __atomic_add_fetch(&opener->holders, 1, __ATOMIC_RELAXED);
    for (int i = 0; i <= AC_MAX_OWNERS; i++)
    {
        opener->outdated_ns[i] = now_ns;
    }
    opener->is_joined = 1;
    opener->next = session->next;
    session->next = opener;
}

/* Return the peer to forget for another one: of the identity that has most of them, the one silent for longest. So one that
 * grants ever new salts forgets its own. Without identities all are of owner 0. */
AC_COLD static const ac_peer_t *ac_victim(const ac_opener_t *opener)
{
    uint16_t counts[AC_MAX_OWNERS + 1] = {0};
    uint32_t most = 0;
    const ac_peer_t *oldest = NULL;
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        const ac_peer_t *peer = opener->table[i];
        if (NULL != peer)
        {
            counts[peer->owner]++;
            most = counts[peer->owner] > counts[most] ? peer->owner : most;
        }
    }
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        const ac_peer_t *peer = opener->table[i];
        if (NULL != peer && peer->owner == most && (NULL == oldest || peer->seen_ns < oldest->seen_ns))
        {
            oldest = peer;
        }
    }
    return oldest;
}

/* Those that were granted at the same time are not confirmed at the same time, nor is one by all its receivers: each host has
 * limits for handshakes. */
static inline void ac_confirm(const ac_opener_t *opener, ac_peer_t *peer, int64_t now_ns)
{
    peer->confirm_ns = now_ns + AC_CONFIRM_NS + AC_CONFIRM_NS * (peer->salt[0] ^ opener->token_key[0]) / 256;
}

/* Return whether the owner of a secret has granted another one, after this one was asked for in vain: then a peer that was
 * removed from its list may be the only one that seals with it. Without a handshake, such as in a flood, a secret stays. */
static inline int ac_is_unconfirmed(const ac_opener_t *opener, const ac_peer_t *peer)
{
    return opener->has_identity && opener->granted_ns[peer->owner] - peer->confirm_ns > AC_UNCONFIRMED_NS;
}

/* Forget a salt that may be in use: a handshake that has begun before must not admit it again, with an earlier number. */
AC_COLD static void ac_outdate(ac_opener_t *opener, const uint8_t *salt, uint32_t owner, int64_t now_ns)
{
    uint8_t copy[AC_SALT_LENGTH];
    memcpy(copy, salt, AC_SALT_LENGTH);
    opener->outdated_ns[owner] = now_ns;
    ac_remove(opener, copy);
}

/* Forget salts that have been silent, or are not confirmed. */
AC_COLD static void ac_sweep(ac_opener_t *opener, int64_t now_ns)
{
    opener->sweep_ns = now_ns + AC_SWEEP_NS;
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        /* A removal may move another one to this index. */
        while (NULL != opener->table[i] &&
            (now_ns - opener->table[i]->seen_ns > AC_SILENT_NS || ac_is_unconfirmed(opener, opener->table[i])))
        {
            ac_outdate(opener, opener->table[i]->salt, opener->table[i]->owner, now_ns);
        }
    }
}

static inline int ac_is_of_line(const ac_peer_t *peer, uint32_t owner, uint64_t line)
{
    /* An identity chooses its lines: it must not replace the secrets of another one. */
    return NULL != peer && peer->owner == owner && peer->line == line;
}

/* Return an admitted salt of the greatest generation of a line, NULL if there is none. */
AC_COLD static const ac_peer_t *ac_newest_of(const ac_opener_t *opener, uint32_t owner, uint64_t line)
{
    const ac_peer_t *newest = NULL;
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        const ac_peer_t *peer = opener->table[i];
        if (ac_is_of_line(peer, owner, line) && (NULL == newest || peer->generation > newest->generation))
        {
            newest = peer;
        }
    }
    return newest;
}

/* Forget the salts of earlier generations that `peer` replaces: a peer that was removed from the list of their owner has their
 * secrets. Late grants of them are refused because of `peer`. */
AC_COLD static void ac_forget_replaced(ac_opener_t *opener, ac_peer_t *peer)
{
    uint8_t salt[AC_SALT_LENGTH];
    peer->replace_ns = 0;
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        /* A removal may move another one to this index. */
        while (ac_is_of_line(opener->table[i], peer->owner, peer->line) && opener->table[i]->generation < peer->generation)
        {
            memcpy(salt, opener->table[i]->salt, AC_SALT_LENGTH);
            ac_remove(opener, salt);
        }
    }
}

/* Forget what is replaced by a secret of which nothing has arrived in time. */
AC_COLD static void ac_replace(ac_opener_t *opener, int64_t now_ns)
{
    opener->replace_ns = 0;
    for (int i = 0; i < AC_TABLE_LENGTH; i++)
    {
        ac_peer_t *peer = opener->table[i];
        if (NULL == peer || 0 == peer->replace_ns)
        {
            continue;
        }
        if (now_ns >= peer->replace_ns)
        {
            ac_forget_replaced(opener, peer);
            /* The removals may have moved another one to an index that was visited. */
            i = -1;
            opener->replace_ns = 0;
        }
        else if (0 == opener->replace_ns || peer->replace_ns < opener->replace_ns)
        {
            opener->replace_ns = peer->replace_ns;
        }
    }
}

/* Forget another salt if all places are taken. */
AC_COLD static void ac_make_space(ac_opener_t *opener, int64_t now_ns)
{
    if (opener->peer_count >= AC_MAX_PEERS)
    {
        const ac_peer_t *victim = ac_victim(opener);
        ac_outdate(opener, victim->salt, victim->owner, now_ns);
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

#endif
