/* The receiving side of a socket: the checks of a datagram in the order of docs/wire/secure-udp.md. Used by one thread. */
#ifndef AERON_SECURITY_OPENER_H
#define AERON_SECURITY_OPENER_H

#include <netinet/in.h>

#include "peers.h"

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

/* A token, or a cookie; for the address of a peer in `name`, unless `name_length` is 0. */
AC_COLD static int ac_token(
    const ac_opener_t *opener, int is_cookie, const uint8_t *salt, int64_t step, const void *name, size_t name_length,
    uint8_t *token)
{
    uint8_t data[AC_SALT_LENGTH + 8 + 8 + 1 + AC_NAME_LENGTH];
    uint8_t out[32];
    /* A grant has a number that only grows, and its token may be from another socket. */
    uint64_t forgotten = opener->has_identity ? 0 : opener->forgotten;
    memcpy(data, salt, AC_SALT_LENGTH);
    memcpy(data + AC_SALT_LENGTH, &step, 8);
    memcpy(data + AC_SALT_LENGTH + 8, &forgotten, 8);
    data[AC_SALT_LENGTH + 16] = (uint8_t)is_cookie;
    memcpy(data + AC_SALT_LENGTH + 17, name, name_length);
    if (!ac_crypto_hmac(opener->token_key, data, AC_SALT_LENGTH + 17 + name_length, out))
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

static int ac_is_asked(const ac_opener_t *opener, const uint8_t *salt, int64_t now_ns)
{
    for (int i = 0; i < AC_ASKED; i++)
    {
        if (opener->asked[i].again_ns > now_ns && 0 == memcmp(opener->asked[i].salt, salt, AC_SALT_LENGTH))
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
    if (opener->replies_left <= 0 || ac_is_asked(opener, salt, now_ns) ||
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
    peer->greeted = NULL == parent ? opener->greeting : parent->greeted;
    if (NULL != parent)
    {
        parent->has_next = 1;
    }
    /* An answer or a grant may be later than that of the next salt. */
    peer->has_next = NULL != ac_find(opener, peer->next_salt);
    ac_remove(opener, grandparent);
    ac_make_space(opener, now_ns);
    opener->table[ac_index(opener->table, AC_BY_SALT, salt)] = peer;
    opener->nexts[ac_index(opener->nexts, AC_BY_NEXT, peer->next_salt)] = peer;
    opener->peer_count++;
    return 1;
}

/* Return the count of a source: that of its address, or of its network of 64 bits. A stranger does not know which others
 * have the same: the hash depends on the key of tokens. */
AC_COLD static uint8_t *ac_share_of(ac_opener_t *opener, const void *name)
{
    const struct sockaddr_in6 *six = name;
    uint64_t address = 0, keys[2];
    if (AF_INET == ((const struct sockaddr *)name)->sa_family)
    {
        memcpy(&address, &((const struct sockaddr_in *)name)->sin_addr, 4);
    }
    else if (AF_INET6 == six->sin6_family)
    {
        int is_whole = IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
        memcpy(&address, (const uint8_t *)&six->sin6_addr + 8 * is_whole, 8);
    }
    memcpy(keys, opener->token_key, sizeof(keys));
    address = (address ^ keys[0]) * (keys[1] | 1);
    return &opener->shares[((address ^ address >> 29) * (keys[1] | 1)) >> 58];
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
    ac_peer_t *parent = ac_parent_of(opener, salt);
    /* So the answer of a peer that sends much meanwhile is not beyond a limit. */
    if (AC_FRAMES == datagram[5] && NULL == parent && ac_is_asked(opener, salt, now_ns))
    {
        return AC_UNPROVED;
    }
    uint8_t *share = ac_share_of(opener, name);
    if (NULL != parent ? opener->next_left <= 0 : opener->unknown_left <= 0 || *share >= AC_SHARE)
    {
        return AC_BUSY;
    }
    opener->next_left -= NULL != parent;
    opener->unknown_left -= NULL == parent;
    *share = (uint8_t)(*share + (NULL == parent));
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
    return ac_pass(opener->exchange, kind - AC_COOKIE, datagram, length, name, name_length, socket) ? 0 : AC_BUSY;
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
        int is_done = AC_FORGET == order->code || AC_GREET == order->code ||
            (ac_owned_secret(
                 &secret, order->prk, order->key, own->secret.cipher, is_admission ? session->role : own->role, salt) &&
             /* Out of memory: a peer that was removed must not keep its key, so the order stays. */
             (is_admission || ac_sealer_change(own, &secret, salt, now_ns, 1)));
        session->greeting += AC_GREET == order->code;
        for (ac_opener_t *opener = session->next; NULL != opener && is_done; opener = opener->next)
        {
            if (AC_FORGET == order->code)
            {
                ac_forget(opener, order->owner);
            }
            else if (!is_admission)
            {
                opener->greeting = AC_GREET == order->code ? session->greeting : 0;
            }
            else if (NULL != ac_find(opener, salt))
            {
                ac_find(opener, salt)->greeted = opener->greeting;
            }
            else if (!ac_is_outdated(opener, &secret, salt) && ac_keys_init(&keys, &secret, opener->role, salt, 0))
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
        memset(opener->shares, 0, sizeof(opener->shares));
        opener->unknown_left = opener->next_left = AC_BUDGET;
        opener->replies_left = opener->has_group ? AC_GROUP_BUDGET : AC_BUDGET;
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
        /* Again each 100 ms, until the handshake takes place. */
        if (0 != opener->greeting && peer->greeted != opener->greeting && length >= AC_HELLO_LENGTH &&
            name_length <= AC_NAME_LENGTH)
        {
            ac_challenge(opener, salt, now_ns, name, opener->has_group ? 0 : name_length, reply);
        }
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

/* Put the datagrams of a reply at `to`, one behind the other, and their lengths into `lengths`; return their number, at
 * most 2. They have at most 512 bytes together. */
AC_COLD static int ac_put_replies(
    const ac_opener_t *session, ac_sealer_t *sealer, ac_reply_t *reply, int64_t now_ns, uint8_t *to, int32_t *lengths)
{
    uint8_t challenge[AC_SALT_LENGTH + AC_TOKEN_LENGTH];
    int count = 0;
    if (session->has_identity)
    {
        if (reply->challenges)
        {
            ac_put_header(reply->hello, sealer, AC_HELLO, reply->salt);
            memcpy(reply->hello + 40, reply->challenge_token, AC_TOKEN_LENGTH);
        }
        memcpy(to, reply->hello, AC_HELLO_LENGTH);
        lengths[0] = AC_HELLO_LENGTH;
        return 1;
    }
    if (!ac_sealer_begin(sealer, now_ns))
    {
        return 0;
    }
    if (reply->answers && ac_sealer_seal(sealer, AC_ANSWER, to, reply->token, AC_TOKEN_LENGTH))
    {
        lengths[count++] = AC_OVERHEAD + AC_TOKEN_LENGTH;
        to += AC_OVERHEAD + AC_TOKEN_LENGTH;
    }
    if (reply->challenges)
    {
        memcpy(challenge, reply->salt, AC_SALT_LENGTH);
        memcpy(challenge + AC_SALT_LENGTH, reply->challenge_token, AC_TOKEN_LENGTH);
        if (ac_sealer_seal(sealer, AC_CHALLENGE, to, challenge, sizeof(challenge)))
        {
            lengths[count++] = AC_OVERHEAD + (int32_t)sizeof(challenge);
        }
    }
    return count;
}

#endif
