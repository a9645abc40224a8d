/* How a receiving socket admits a salt: challenges, hellos, and the orders of the conductor. Used by one thread. Source:
 * docs/wire/secure-udp.md. */
#ifndef AERON_SECURITY_ADMISSION_H
#define AERON_SECURITY_ADMISSION_H

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

/* Set the key of the datagrams of a salt in `asked`. With the source to which a question goes: a stranger that has seen the
 * salt must not have its owner's questions sent to itself. */
static inline void ac_put_asked(
    const ac_opener_t *opener, ac_asked_t *key, const uint8_t *salt, const void *name, size_t name_length)
{
    memset(key, 0, sizeof(*key));
    memcpy(key->salt, salt, AC_SALT_LENGTH);
    memcpy(key->name, name, opener->has_group ? 0 : name_length < AC_NAME_LENGTH ? name_length : AC_NAME_LENGTH);
}

static int ac_is_asked(
    const ac_opener_t *opener, const uint8_t *salt, int64_t now_ns, const void *name, size_t name_length)
{
    ac_asked_t key;
    ac_put_asked(opener, &key, salt, name, name_length);
    for (int i = 0; i < AC_ASKED; i++)
    {
        if (opener->asked[i].again_ns > now_ns && 0 == memcmp(&opener->asked[i], &key, offsetof(ac_asked_t, again_ns)))
        {
            return 1;
        }
    }
    return 0;
}

/* Set the challenge of a salt in `reply`, unless one was sent to this source in the last 100 ms or too many were sent to
 * others. The token of a hello is for the address in `name`, as a cookie: otherwise its receiver could cause firsts to other
 * addresses. */
AC_COLD static void ac_challenge(
    ac_opener_t *opener, const uint8_t *salt, int64_t now_ns, const void *name, size_t name_length, ac_reply_t *reply)
{
    size_t bound_length = opener->has_identity && !opener->has_group ? name_length : 0;
    if (opener->replies_left <= 0 || ac_is_asked(opener, salt, now_ns, name, name_length) ||
        !ac_token(opener, 0, salt, now_ns / AC_TOKEN_STEP_NS, name, bound_length, reply->challenge_token))
    {
        return;
    }
    opener->replies_left--;
    ac_put_asked(opener, &opener->asked[opener->asked_next], salt, name, name_length);
    opener->asked[opener->asked_next].again_ns = now_ns + AC_ASK_AGAIN_NS;
    opener->asked_next = (opener->asked_next + 1) % AC_ASKED;
    memcpy(reply->salt, salt, AC_SALT_LENGTH);
    reply->challenges = 1;
}

/* Start a handshake with an admitted peer, again each 100 ms until it takes place: its secret, or the next one of this socket,
 * is granted in it. */
AC_COLD static void ac_greet(
    ac_opener_t *opener, ac_peer_t *peer, int length, int64_t now_ns, const void *name, size_t name_length,
    ac_reply_t *reply)
{
    uint8_t *share = &opener->greets[peer->owner];
    if (opener->greets_left <= 0 || *share >= (opener->has_group ? AC_GROUP_SHARE : AC_SHARE) ||
        now_ns < peer->greet_again_ns || length < AC_HELLO_LENGTH ||
        name_length > AC_NAME_LENGTH ||
        !ac_token(
            opener, 0, peer->salt, now_ns / AC_TOKEN_STEP_NS, name, opener->has_group ? 0 : name_length,
            reply->challenge_token))
    {
        return;
    }
    opener->greets_left--;
    ++*share;
    peer->greet_again_ns = now_ns + AC_ASK_AGAIN_NS;
    memcpy(reply->salt, peer->salt, AC_SALT_LENGTH);
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
    peer->source = NULL == parent ? 0 : parent->source;
    peer->greeted = NULL == parent ? opener->greeting : parent->greeted;
    ac_confirm(opener, peer, now_ns);
    if (NULL != parent)
    {
        parent->has_next = 1;
        /* Whoever has the secret of a salt has those that follow it: they are confirmed together. */
        peer->confirm_ns = parent->confirm_ns;
        peer->line = parent->line;
        peer->generation = parent->generation;
        peer->admitted_ns = parent->admitted_ns;
        peer->replace_ns = parent->replace_ns;
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

/* Return the count of a source in `shares`: that of its address, or of its network of 64 bits. A stranger does not know which
 * others have the same: the hash depends on the key of tokens. */
AC_COLD static uint8_t *ac_share_of(const ac_opener_t *opener, uint8_t *shares, const void *name)
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
    return &shares[((address ^ address >> 29) * (keys[1] | 1)) >> 58];
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

/* Return the admitted salt that follows the next one of a granted secret, NULL if there is none. The granted one was forgotten
 * at a rotation then, and its grant is late; its datagrams may have been received. A grant is late by 5 s at most, in which 5
 * rotations take place. */
AC_COLD static ac_peer_t *ac_follower_of(
    const ac_opener_t *opener, const ac_secret_t *granted, const uint8_t *granted_salt)
{
    uint8_t salt[AC_SALT_LENGTH];
    ac_secret_t secret = *granted;
    ac_peer_t *found = NULL;
    memcpy(salt, granted_salt, AC_SALT_LENGTH);
    for (int i = 1; i <= 8 && NULL == found && ac_next(&secret, opener->role, salt, &secret, salt); i++)
    {
        found = i > 1 ? ac_find(opener, salt) : NULL;
    }
    explicit_bzero(&secret, sizeof(secret));
    return found;
}

/* Admit a secret that an identity granted, or confirm it if it was granted before. */
AC_COLD static void ac_obey_grant(
    ac_opener_t *opener, const ac_order_t *order, const ac_secret_t *secret, const uint8_t *salt, int64_t now_ns)
{
    ac_keys_t keys;
    ac_peer_t *peer = ac_find(opener, salt);
    ac_peer_t *follower = NULL == peer ? ac_follower_of(opener, secret, salt) : NULL;
    opener->granted_ns[order->owner] = now_ns;
    if (NULL != follower)
    {
        ac_confirm(opener, follower, now_ns);
        return;
    }
    if (NULL == peer)
    {
        const ac_peer_t *newest = ac_newest_of(opener, order->owner, order->line);
        /* The owner has granted a later generation since: this grant was on its way for longer. One that began later is that of
         * an owner whose machine was set back to an earlier state. */
        int is_late = NULL != newest && order->generation < newest->generation && order->began_ns < newest->admitted_ns;
        if (is_late || order->began_ns < opener->outdated_ns[order->owner])
        {
            return;
        }
        int is_renewal = NULL != newest && order->generation > newest->generation;
        /* The salt before it, if that is admitted, must not admit it once more. */
        if (!ac_keys_init(&keys, secret, opener->role, salt, 0) ||
            !ac_admit(
                opener, secret, salt, &keys, order->number, now_ns, ac_parent_of(opener, salt), order->owner))
        {
            return;
        }
        peer = ac_find(opener, salt);
        peer->line = order->line;
        peer->generation = order->generation;
        peer->admitted_ns = now_ns;
        if (is_renewal)
        {
            peer->replace_ns = now_ns + AC_REPLACE_NS;
            opener->replace_ns = 0 == opener->replace_ns ? peer->replace_ns : opener->replace_ns;
        }
    }
    peer->greeted = opener->greeting;
    ac_confirm(opener, peer, now_ns);
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
                opener->granted_ns[order->owner] = 0;
                opener->outdated_ns[order->owner] = now_ns;
            }
            else if (!is_admission)
            {
                opener->greeting = AC_GREET == order->code ? session->greeting : 0;
            }
            else
            {
                ac_obey_grant(opener, order, &secret, salt, now_ns);
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

#endif
