/* The receiving side of a socket: the checks of a datagram in the order of docs/wire/secure-udp.md. Used by one thread. */
#ifndef AERON_SECURITY_OPENER_H
#define AERON_SECURITY_OPENER_H

#include "admission.h"

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
    if (NULL != parent && ac_is_unconfirmed(opener, parent))
    {
        ac_outdate(opener, parent->salt, parent->owner, now_ns);
        parent = NULL;
    }
    /* So the answer of a peer that sends much meanwhile is not beyond a limit. */
    if (AC_FRAMES == datagram[5] && NULL == parent && ac_is_asked(opener, salt, now_ns, name, name_length))
    {
        return AC_UNPROVED;
    }
    uint8_t *share = ac_share_of(opener, opener->shares, name);
    int most = opener->has_identity && opener->has_group ? AC_GROUP_SHARE : AC_SHARE;
    if (NULL != parent ? opener->next_left <= 0 : opener->unknown_left <= 0 || *share >= most)
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
                ac_challenge(opener, salt, now_ns, name, name_length, reply);
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
            if (!ac_admit(opener, secret, salt, &keys, number, now_ns, parent, 0))
            {
                return AC_BUSY;
            }
            ac_find(opener, salt)->source = ac_source_of(opener, name);
            return 0;
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
    ac_challenge(opener, salt, now_ns, name, name_length, reply);
    /* A challenge needs no admission. */
    return AC_CHALLENGE == datagram[5] ? 0 : AC_UNPROVED;
}

static int ac_is_own(const ac_sealer_t *own, const uint8_t *salt)
{
    return 0 == memcmp(salt, own->salt, AC_SALT_LENGTH) || 0 == memcmp(salt, own->previous_salt, AC_SALT_LENGTH);
}

/* Take a cookie from a budget; return 0 if none is left. An admitted salt has one for itself in each: a stranger does not know
 * it, and another host, which has seen it, uses up its own share. */
AC_COLD static int ac_take_cookie(ac_opener_t *opener, ac_peer_t *peer, const void *name)
{
    uint8_t *share = ac_share_of(opener, opener->cookies, name);
    if (NULL != peer && peer->cookie_ns != opener->budget_until_ns && opener->known_cookies_left > 0)
    {
        peer->cookie_ns = opener->budget_until_ns;
        opener->known_cookies_left--;
        return 1;
    }
    if (opener->cookies_left <= 0 || *share >= AC_COOKIE_SHARE)
    {
        return 0;
    }
    opener->cookies_left--;
    ++*share;
    return 1;
}

/* Check a datagram of a handshake: answer a hello in `reply`, pass another one to the conductor. Return 0, the reason of a
 * refusal, or -1 if it is for another socket. */
AC_COLD static int ac_open_handshake(
    ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length, int64_t now_ns, const void *name,
    size_t name_length, uint32_t socket, ac_reply_t *reply)
{
    int kind = datagram[5];
    const uint8_t *salt = datagram + 8;
    ac_peer_t *peer = ac_find(opener, salt);
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
        if (!ac_take_cookie(opener, peer, name))
        {
            return AC_BUSY;
        }
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
    return ac_pass(opener->exchange, kind - AC_COOKIE, datagram, length, name, name_length, socket, NULL != peer) ? 0
                                                                                                                : AC_BUSY;
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
        memset(opener->cookies, 0, sizeof(opener->cookies));
        memset(opener->greets, 0, sizeof(opener->greets));
        opener->unknown_left = opener->next_left = AC_BUDGET;
        opener->replies_left = opener->greets_left = opener->has_group ? AC_GROUP_BUDGET : AC_BUDGET;
        opener->cookies_left = opener->known_cookies_left = AC_COOKIE_BUDGET;
        if (now_ns >= opener->sweep_ns)
        {
            ac_sweep(opener, now_ns);
        }
        if (0 != opener->replace_ns && now_ns >= opener->replace_ns)
        {
            ac_replace(opener, now_ns);
        }
    }
    if (datagram[5] >= AC_HELLO)
    {
        return ac_open_handshake(opener, own, datagram, length, now_ns, name, name_length, socket, reply);
    }

    ac_peer_t *peer = ac_find(opener, salt);
    if (NULL != peer && ac_is_unconfirmed(opener, peer))
    {
        ac_outdate(opener, salt, peer->owner, now_ns);
        peer = NULL;
    }
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
        peer->source = ac_source_of(opener, name);
        if (opener->has_identity)
        {
            if (0 != peer->replace_ns)
            {
                ac_forget_replaced(opener, peer);
            }
            if ((peer->greeted != opener->greeting && 0 != opener->greeting) || now_ns > peer->confirm_ns)
            {
                ac_greet(opener, peer, length, now_ns, name, name_length, reply);
            }
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
