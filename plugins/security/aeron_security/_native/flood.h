/* A filter in the kernel, while strangers flood a socket: their datagrams would take the place of others in its buffer, and the
 * time to receive them. It passes all with a salt that is admitted, or the next one of such a salt; of others, a part. Those of
 * handshakes with this socket pass unless they are a flood themselves, because a new peer may send much before it is admitted.
 * The filter only decides what is received: all that passes is checked as without it. Used by one thread. */
#ifndef AERON_SECURITY_FLOOD_H
#define AERON_SECURITY_FLOOD_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include "opener.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* linux/udp.h */
#endif

/* Refused datagrams of strangers in 10 ms. Invented: to receive and to refuse so many takes about 1 % of a processor, and they
 * fill a buffer of 2 MB in 150 ms. */
#define AC_FLOOD 64
#define AC_FLOOD_SOURCES 8
#define AC_FLOOD_SALTS 192 /* the filter compares them one by one; with more there is none */
/* One in 64 datagrams of a source that floods, and of the others all, or one in 4, 16, ..., 65536 if there are too many:
 * as few as would be checked without a filter. */
#define AC_FLOOD_PART 64
#define AC_FLOOD_MOST_SHIFT 16
#define AC_FLOOD_END_NS 1000000000LL /* without a flood until the filter is removed */

/* A network of 64 bits of IPv6, a link-local address, or an IPv4 address, as in the header at `offset`. */
typedef struct
{
    uint32_t offset; /* 0 if there is none */
    uint32_t words[2];
    uint32_t weight;
} ac_flooder_t;

typedef struct
{
    int64_t begin_ns; /* of counting */
    int64_t end_ns;   /* when the filter is removed */
    uint32_t refused[2]; /* frames and garbage; handshakes, challenges and answers */
    int64_t sent;        /* about as many as would be refused without the filter; a flood's fourth drains from it */
    ac_flooder_t found[AC_FLOOD_SOURCES];    /* since `begin_ns` */
    ac_flooder_t filtered[AC_FLOOD_SOURCES]; /* the filter passes a part of their datagrams */
    uint32_t next;  /* of them, the one that is replaced */
    uint32_t shift; /* of others, one in 2^shift passes */
    uint64_t version; /* of the salts in the filter */
    int has_all; /* handshakes are a flood, too */
    int is_filtered;
    /* Datagrams of a stranger and of a peer were merged, because their sources are the same: of those that are, a filter sees
     * only the first one, so there is none until then. */
    int64_t mixed_until_ns;
} ac_flood_t;

/* Of salts that are admitted, and of the own ones: it grows with each admission, removal and change. */
static inline uint64_t ac_salts_version(const ac_opener_t *opener, const ac_sealer_t *own)
{
    return (uint64_t)opener->peer_count + 2 * opener->forgotten + own->version;
}

/* Return whether a datagram is one of those of handshakes that the filter passes. A stranger does not know the own salts. */
static inline int ac_is_greeting(const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length)
{
    return opener->has_identity
        ? length >= 24 + AC_SALT_LENGTH && datagram[5] >= AC_HELLO && datagram[5] <= AC_THIRD && ac_is_own(own, datagram + 24)
        : length > 5 && (AC_CHALLENGE == datagram[5] || AC_ANSWER == datagram[5]);
}

AC_COLD static void ac_flooder_of(ac_flooder_t *flooder, const void *name)
{
    const struct sockaddr_in6 *six = name;
    const uint8_t *from = (const uint8_t *)&six->sin6_addr;
    memset(flooder, 0, sizeof(*flooder));
    if (AF_INET == six->sin6_family || IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    {
        flooder->offset = 12;
        from = AF_INET == six->sin6_family ? (const uint8_t *)&((const struct sockaddr_in *)name)->sin_addr : from + 12;
        memcpy(flooder->words, from, 4);
    }
    else
    {
        size_t skipped = IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? 8 : 0;
        flooder->offset = 8 + (uint32_t)skipped;
        memcpy(flooder->words, from + skipped, 8);
    }
}

static ac_flooder_t *ac_find_flooder(ac_flooder_t *in, const ac_flooder_t *flooder)
{
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        if (in[i].offset == flooder->offset && 0 == memcmp(in[i].words, flooder->words, 8))
        {
            return &in[i];
        }
    }
    return NULL;
}

/* Count a datagram that was refused, if the filter may drop it; return whether it may. A source of more than a ninth is found
 * (Misra, Gries 1982). */
AC_COLD static int ac_count_flood(
    ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length,
    const void *name)
{
    ac_flooder_t flooder;
    ac_flooder_t *found;
    if (length >= 8 + AC_SALT_LENGTH &&
        (NULL != ac_find(opener, datagram + 8) || NULL != opener->nexts[ac_index(opener->nexts, AC_BY_NEXT, datagram + 8)]))
    {
        return 0;
    }
    int is_greeting = ac_is_greeting(opener, own, datagram, length);
    flood->refused[is_greeting]++;
    ac_flooder_of(&flooder, name);
    flood->sent += !flood->is_filtered || (is_greeting && !flood->has_all) ? 1
        : NULL != ac_find_flooder(flood->filtered, &flooder)               ? AC_FLOOD_PART
                                                                           : 1 << flood->shift;
    found = ac_find_flooder(flood->found, &flooder);
    for (int i = 0; i < AC_FLOOD_SOURCES && NULL == found; i++)
    {
        if (0 == flood->found[i].weight)
        {
            found = &flood->found[i];
            *found = flooder;
        }
    }
    for (int i = 0; i < AC_FLOOD_SOURCES && NULL == found; i++)
    {
        flood->found[i].weight--;
    }
    if (NULL != found)
    {
        found->weight++;
    }
    return 1;
}

/* An instruction of classic BPF. Numbers: include/uapi/linux/filter.h and bpf_common.h. */
typedef struct
{
    uint16_t operation;
    uint8_t yes; /* instructions that are skipped if a comparison is true, and if not */
    uint8_t no;
    uint32_t value;
} ac_code_t;

typedef struct
{
    unsigned short length;
    ac_code_t *code;
} ac_program_t;

enum
{
    AC_LOAD = 0x20, /* BPF_LD | BPF_W | BPF_ABS: 4 bytes, big-endian */
    AC_LOAD_BYTE = 0x30,
    AC_SUBTRACT = 0x14,
    AC_IS = 0x15,
    AC_IS_MORE = 0x25, /* without a sign */
    AC_RESULT = 0x06   /* bytes that pass */
};
#define AC_FROM_IP ((uint32_t)-0x100000) /* SKF_NET_OFF; other offsets are from the header of UDP on */
#define AC_RANDOM ((uint32_t)(-0x1000 + 56)) /* SKF_AD_OFF + SKF_AD_RANDOM */
#define AC_UDP_LENGTH 8

static inline uint32_t ac_put_code(ac_code_t *code, uint32_t at, uint16_t operation, uint32_t value, uint8_t no)
{
    code[at] = (ac_code_t){operation, 0, no, value};
    return at + 1;
}

AC_COLD static void ac_remove_filter(int descriptor)
{
    setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &descriptor, sizeof(descriptor));
}

/* Remove the filter, and begin again. */
AC_COLD static void ac_detach_filter(ac_flood_t *flood, int descriptor)
{
    int64_t mixed_until_ns = flood->mixed_until_ns;
    ac_remove_filter(descriptor);
    memset(flood, 0, sizeof(*flood));
    flood->mixed_until_ns = mixed_until_ns;
}

/* Attach a filter for the salts that are admitted now, or remove it if that fails: it must not be for those of before. */
AC_COLD static void ac_attach_filter(ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor)
{
    ac_code_t code[2 * AC_FLOOD_SALTS + 11 * AC_FLOOD_SOURCES + 16];
    uint32_t at = 0, salts = 0, word;
    /* The first bytes of a salt are enough: of others, the filter passes few anyway. A datagram without them does not pass. */
    at = ac_put_code(code, at, AC_LOAD, AC_UDP_LENGTH + 8, 0);
    for (int i = 0; i < AC_TABLE_LENGTH && salts <= AC_FLOOD_SALTS; i++)
    {
        const ac_peer_t *peer = opener->table[i];
        for (int j = 0; j < 2 && NULL != peer && ++salts <= AC_FLOOD_SALTS; j++)
        {
            memcpy(&word, 0 == j ? peer->salt : peer->next_salt, 4);
            at = ac_put_code(code, at, AC_IS, ntohl(word), 1);
            at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
        }
    }
    if (!flood->has_all)
    {
        uint32_t first = opener->has_identity ? AC_HELLO : AC_CHALLENGE, last = opener->has_identity ? AC_THIRD : AC_ANSWER;
        /* The kind: lesser ones are more than the last one, less the first, without a sign. */
        at = ac_put_code(code, at, AC_LOAD_BYTE, AC_UDP_LENGTH + 5, 0);
        at = ac_put_code(code, at, AC_SUBTRACT, first, 0);
        at = ac_put_code(code, at, AC_IS_MORE, last - first, 0);
        code[at - 1].yes = opener->has_identity ? 5 : 1;
        if (opener->has_identity)
        {
            at = ac_put_code(code, at, AC_LOAD, AC_UDP_LENGTH + 24, 0);
            memcpy(&word, own->salt, 4);
            at = ac_put_code(code, at, AC_IS, ntohl(word), 1);
            at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
            memcpy(&word, own->previous_salt, 4);
            at = ac_put_code(code, at, AC_IS, ntohl(word), 1);
        }
        at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
    }
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        const ac_flooder_t *flooder = &flood->filtered[i];
        int is_long = 12 != flooder->offset;
        if (0 != flooder->offset)
        {
            /* A socket may receive both protocols, whose sources are at different offsets. */
            at = ac_put_code(code, at, AC_LOAD_BYTE, AC_FROM_IP, 0);
            at = ac_put_code(code, at, AC_SUBTRACT, is_long ? 0x60 : 0x40, 0);
            at = ac_put_code(code, at, AC_IS_MORE, 0x0f, 0);
            code[at - 1].yes = (uint8_t)(2 * is_long + 6);
            at = ac_put_code(code, at, AC_LOAD, AC_FROM_IP + flooder->offset, 0);
            at = ac_put_code(code, at, AC_IS, ntohl(flooder->words[0]), (uint8_t)(2 * is_long + 4));
            if (is_long)
            {
                at = ac_put_code(code, at, AC_LOAD, AC_FROM_IP + flooder->offset + 4, 0);
                at = ac_put_code(code, at, AC_IS, ntohl(flooder->words[1]), 4);
            }
            at = ac_put_code(code, at, AC_LOAD, AC_RANDOM, 0);
            at = ac_put_code(code, at, AC_IS_MORE, ~0u / AC_FLOOD_PART, 1);
            at = ac_put_code(code, at, AC_RESULT, 0, 0);
            at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
        }
    }
    at = ac_put_code(code, at, AC_LOAD, AC_RANDOM, 0);
    at = ac_put_code(code, at, AC_IS_MORE, ~0u >> flood->shift, 1);
    at = ac_put_code(code, at, AC_RESULT, 0, 0);
    at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
    ac_program_t program = {(unsigned short)at, code};
    int protocol = 0;
    socklen_t protocol_length = sizeof(protocol);
    /* A medium may give another descriptor to wait for: the offsets are those of UDP. */
    getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_length);
    if (salts > AC_FLOOD_SALTS || IPPROTO_UDP != protocol || 0 != setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
    {
        ac_detach_filter(flood, descriptor);
        return;
    }
    flood->version = ac_salts_version(opener, own);
    flood->is_filtered = 1;
}

/* Note sources that send much of a flood; return whether there is one that was not noted before. */
AC_COLD static int ac_note_flooders(ac_flood_t *flood)
{
    int is_new = 0;
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        const ac_flooder_t *found = &flood->found[i];
        if (found->weight >= AC_FLOOD / AC_FLOOD_SOURCES && NULL == ac_find_flooder(flood->filtered, found))
        {
            flood->filtered[flood->next++ % AC_FLOOD_SOURCES] = *found;
            is_new = 1;
        }
    }
    return is_new;
}

/* Attach, change or remove the filter of a socket; called each 10 ms at most. */
AC_COLD static void ac_step_flood(
    ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor, int64_t now_ns)
{
    int64_t passed = (now_ns - flood->begin_ns) / AC_BUDGET_NS;
    int64_t others = flood->refused[1] / (passed > 0 ? passed : 1);
    int64_t refused = flood->refused[0] / (passed > 0 ? passed : 1) + (flood->has_all ? others : 0);
    int is_changed = flood->is_filtered && flood->version != ac_salts_version(opener, own);
    if (!flood->has_all && others >= AC_FLOOD)
    {
        flood->has_all = 1;
        refused += others;
    }
    if (refused >= AC_FLOOD)
    {
        is_changed = 1;
        if (!ac_note_flooders(flood) && flood->is_filtered && flood->shift < AC_FLOOD_MOST_SHIFT)
        {
            flood->shift += 2;
        }
    }
    else if (refused < AC_FLOOD / 16 && flood->shift > 0)
    {
        is_changed = 1;
        flood->shift -= 2;
    }
    /* Not because of one datagram that happens to pass, although it stands for many. */
    if ((flood->sent >= 3 * AC_FLOOD_PART && flood->refused[0] + flood->refused[1] > 0) ||
        (refused >= AC_FLOOD && !flood->is_filtered))
    {
        flood->end_ns = now_ns + AC_FLOOD_END_NS;
    }
    flood->sent = flood->sent < 4 * AC_FLOOD_PART ? flood->sent : 4 * AC_FLOOD_PART;
    flood->sent = flood->sent > AC_FLOOD / 4 * passed ? flood->sent - AC_FLOOD / 4 * passed : 0;
    if (flood->is_filtered && (now_ns >= flood->end_ns || now_ns < flood->mixed_until_ns))
    {
        ac_detach_filter(flood, descriptor);
    }
    else if (is_changed && now_ns >= flood->mixed_until_ns)
    {
        ac_attach_filter(flood, opener, own, descriptor);
    }
    memset(flood->found, 0, sizeof(flood->found));
    flood->refused[0] = flood->refused[1] = 0;
    flood->begin_ns = now_ns;
}

#endif
