/* A filter in the kernel, while strangers flood a socket: their datagrams would take the place of others in its buffer, and the
 * time to receive them. It passes all with a salt that is admitted, or the next one of such a salt; of others, a part: a
 * sixty-fourth at least, because a new peer is admitted by what passes. Those of handshakes with this socket pass unless they
 * are a flood themselves. What the filter cannot drop does not count as a flood: more of it would only harm others. The filter
 * only decides what is received: all that passes is checked as without it. Used by one thread. */
#ifndef AERON_SECURITY_FLOOD_H
#define AERON_SECURITY_FLOOD_H

#include <arpa/inet.h>
#include <stddef.h>
#include <sys/socket.h>

#include "opener.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* linux/udp.h */
#endif

/* Refused datagrams of strangers in 10 ms. Invented: to receive and to refuse so many takes about 1 % of a processor, and they
 * fill a buffer of 2 MB in 150 ms. The filter is attached at half of that on the average of the last 160 ms, so that a burst
 * does not suffice, and removed at an eighth of it. */
#define AC_FLOOD 64
#define AC_FLOOD_BEGIN (AC_FLOOD / 2)
#define AC_FLOOD_END (AC_FLOOD / 8)
#define AC_FLOOD_STEPS 16 /* of an average */
#define AC_FLOOD_SOURCES 8
#define AC_FLOOD_SALTS 192 /* the filter compares them one by one; with more there is none */
#define AC_FLOOD_CODE (1 + 2 * AC_FLOOD_SALTS) /* instructions for them */
/* One in 64 datagrams of a source that floods passes, and of the others all, or one in 2, 4, ..., 64 if they are too many. */
#define AC_FLOOD_SHIFT 6
#define AC_FLOOD_SILENT_NS 1000000000LL /* until a source is forgotten */
#define AC_MIXED_NS 1000000000LL

/* A network of 64 bits of IPv6, a link-local address, or an IPv4 address, as in the header at `offset`. */
typedef struct
{
    uint32_t offset; /* 0 if there is none */
    uint32_t words[2];
    uint32_t weight;
    int64_t seen_ns;
} ac_flooder_t;

/* Averages of the last steps, times AC_FLOOD_STEPS: datagrams in 10 ms that would be refused without the filter. */
typedef struct
{
    uint64_t frames;    /* and garbage */
    uint64_t greetings; /* datagrams of handshakes with this socket */
    uint64_t others;    /* of all that the filter may drop: those of sources that are not in `filtered` */
} ac_rates_t;

typedef struct
{
    int64_t begin_ns; /* of counting */
    uint32_t refused[2][2]; /* frames, or greetings; of other sources, or of those in `filtered` */
    ac_rates_t rates;
    ac_flooder_t found[AC_FLOOD_SOURCES];    /* other sources since `begin_ns` */
    ac_flooder_t filtered[AC_FLOOD_SOURCES]; /* the filter passes a sixty-fourth of their datagrams */
    uint32_t shift; /* of others, one in 2^shift passes */
    uint64_t version; /* of the salts in the filter */
    uint64_t program; /* a hash of the filter; 0 if it must be attached */
    int has_all; /* greetings are a flood, too */
    int is_filtered;
    /* A stranger sends from the address and port of a peer, and the kernel merges such datagrams (GRO): of those that are
     * merged, a filter sees only the first one, so there is none until then. */
    int64_t mixed_until_ns;
    int has_gro;
    uint32_t peer_count;
    uint64_t peers[AC_FLOOD_SALTS]; /* sources of peers, see `ac_source_of` */
} ac_flood_t;

/* Of salts that are admitted, and of the own ones: it grows with each admission, removal and change. */
static inline uint64_t ac_salts_version(const ac_opener_t *opener, const ac_sealer_t *own)
{
    return (uint64_t)opener->peer_count + 2 * opener->forgotten + own->version;
}

/* Return whether a datagram has a salt whose first bytes, which the filter compares, are those of an entry. */
static inline int ac_is_passed(ac_peer_t *const *table, size_t key, const uint8_t *salt)
{
    uint32_t i; /* entries with the same first bytes have the same hash */
    memcpy(&i, salt, sizeof(i));
    for (i &= AC_TABLE_LENGTH - 1; NULL != table[i]; i = (i + 1) & (AC_TABLE_LENGTH - 1))
    {
        if (0 == memcmp((const uint8_t *)table[i] + key, salt, 4))
        {
            return 1;
        }
    }
    return 0;
}

/* Return whether a datagram is one of those of handshakes that the filter passes; the filter compares as many bytes. */
static inline int ac_is_greeting(const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length)
{
    return opener->has_identity
        ? length >= 28 && datagram[5] >= AC_HELLO && datagram[5] <= AC_THIRD &&
            (0 == memcmp(datagram + 24, own->salt, 4) || 0 == memcmp(datagram + 24, own->previous_salt, 4))
        : length >= 12 && (AC_CHALLENGE == datagram[5] || AC_ANSWER == datagram[5]);
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

/* Count a datagram that was refused, if the filter may drop it; return whether it may. Of other sources, one of more than a
 * ninth is found (Misra, Gries 1982). */
AC_COLD static int ac_count_flood(
    ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length,
    const void *name)
{
    ac_flooder_t flooder;
    ac_flooder_t *found;
    if (length >= 12 &&
        (ac_is_passed(opener->table, AC_BY_SALT, datagram + 8) || ac_is_passed(opener->nexts, AC_BY_NEXT, datagram + 8)))
    {
        return 0;
    }
    ac_flooder_of(&flooder, name);
    found = ac_find_flooder(flood->filtered, &flooder);
    flood->refused[ac_is_greeting(opener, own, datagram, length)][NULL != found]++;
    if (NULL != found)
    {
        found->seen_ns = flood->begin_ns;
        return 1;
    }
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

/* Return whether the kernel may merge datagrams of a source with those of a peer; each step of the filter notes the peers. */
AC_COLD static int ac_is_source_of_peer(const ac_flood_t *flood, const void *name)
{
    uint64_t source = ac_source_of(name);
    for (uint32_t i = 0; i < flood->peer_count; i++)
    {
        if (flood->peers[i] == source)
        {
            return 1;
        }
    }
    return 0;
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

/* Begin again, without a filter. */
AC_COLD static void ac_end_flood(ac_flood_t *flood, int descriptor)
{
    if (flood->is_filtered)
    {
        ac_remove_filter(descriptor);
    }
    /* Not the members after it, which are about peers. */
    memset(flood, 0, offsetof(ac_flood_t, mixed_until_ns));
}

/* Note the sources of the peers, for `ac_is_source_of_peer`. */
AC_COLD static void ac_note_peers(ac_flood_t *flood, const ac_opener_t *opener, int descriptor)
{
    socklen_t length = sizeof(flood->has_gro);
    flood->peer_count = 0;
    flood->has_gro = 0;
    if (0 != getsockopt(descriptor, IPPROTO_UDP, UDP_GRO, &flood->has_gro, &length) || !flood->has_gro)
    {
        return;
    }
    for (int i = 0; i < AC_TABLE_LENGTH && flood->peer_count < AC_FLOOD_SALTS; i++)
    {
        if (NULL != opener->table[i])
        {
            flood->peers[flood->peer_count++] = opener->table[i]->source;
        }
    }
}

/* Put instructions that pass a salt, unless it has them; return the number of instructions, which is greater than
 * AC_FLOOD_CODE if there are too many salts. */
static inline uint32_t ac_put_salt(ac_code_t *code, uint32_t at, const uint8_t *salt)
{
    uint32_t word;
    memcpy(&word, salt, 4);
    for (uint32_t i = 1; i < at && at <= AC_FLOOD_CODE; i += 2)
    {
        if (code[i].value == ntohl(word))
        {
            return at;
        }
    }
    if (at < AC_FLOOD_CODE)
    {
        at = ac_put_code(code, at, AC_IS, ntohl(word), 1);
        return ac_put_code(code, at, AC_RESULT, ~0u, 0);
    }
    return AC_FLOOD_CODE + 1;
}

/* Attach a filter for the salts that are admitted now, or remove it if that fails: it must not be for those of before. */
AC_COLD static void ac_attach_filter(ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor)
{
    ac_code_t code[AC_FLOOD_CODE + 11 * AC_FLOOD_SOURCES + 12];
    uint32_t at = 0, word;
    int protocol = 0;
    socklen_t protocol_length = sizeof(protocol);
    /* A medium may give another descriptor to wait for: the offsets are those of UDP. */
    if (0 != getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_length) || IPPROTO_UDP != protocol)
    {
        return;
    }
    /* The first bytes of a salt are enough: of others, the filter passes few anyway. A datagram without them does not pass. */
    at = ac_put_code(code, at, AC_LOAD, AC_UDP_LENGTH + 8, 0);
    for (int i = 0; i < AC_TABLE_LENGTH && at <= AC_FLOOD_CODE; i++)
    {
        if (NULL != opener->table[i])
        {
            at = ac_put_salt(code, at, opener->table[i]->salt);
            at = ac_put_salt(code, at, opener->table[i]->next_salt);
        }
    }
    if (at > AC_FLOOD_CODE)
    {
        ac_end_flood(flood, descriptor);
        return;
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
            at = ac_put_code(code, at, AC_IS_MORE, ~0u >> AC_FLOOD_SHIFT, 1);
            at = ac_put_code(code, at, AC_RESULT, 0, 0);
            at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
        }
    }
    at = ac_put_code(code, at, AC_LOAD, AC_RANDOM, 0);
    at = ac_put_code(code, at, AC_IS_MORE, ~0u >> flood->shift, 1);
    at = ac_put_code(code, at, AC_RESULT, 0, 0);
    at = ac_put_code(code, at, AC_RESULT, ~0u, 0);
    /* FNV-1a, to attach only what has changed. */
    uint64_t hash = 14695981039346656037ull;
    for (uint32_t i = 0; i < at * sizeof(ac_code_t); i++)
    {
        hash = (hash ^ ((const uint8_t *)code)[i]) * 1099511628211ull;
    }
    ac_program_t program = {(unsigned short)at, code};
    if (!flood->is_filtered || hash != flood->program)
    {
        if (0 != setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
        {
            ac_end_flood(flood, descriptor);
            return;
        }
    }
    flood->program = hash;
    flood->version = ac_salts_version(opener, own);
    flood->is_filtered = 1;
}

/* Forget sources that are silent, and note those that send much; return whether the filter changes. */
AC_COLD static int ac_note_flooders(ac_flood_t *flood, int64_t now_ns)
{
    int is_changed = 0;
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        if (0 != flood->filtered[i].offset && now_ns - flood->filtered[i].seen_ns > AC_FLOOD_SILENT_NS)
        {
            memset(&flood->filtered[i], 0, sizeof(flood->filtered[i]));
            is_changed = 1;
        }
    }
    for (int i = 0, j = 0; i < AC_FLOOD_SOURCES; i++)
    {
        while (j < AC_FLOOD_SOURCES && 0 != flood->filtered[j].offset)
        {
            j++;
        }
        /* Not one for another: sources in turn would otherwise pass all of the time. */
        if (j < AC_FLOOD_SOURCES && flood->found[i].weight >= AC_FLOOD / AC_FLOOD_SOURCES)
        {
            flood->filtered[j] = flood->found[i];
            flood->filtered[j].seen_ns = now_ns;
            /* What it has sent does not count for other sources any longer. */
            flood->rates.others = 0;
            is_changed = 1;
        }
    }
    return is_changed;
}

/* Determine which part of other sources passes; return whether the filter changes. */
static inline int ac_set_shift(ac_flood_t *flood)
{
    uint64_t others = flood->rates.others / AC_FLOOD_STEPS;
    uint32_t before = flood->shift;
    while (flood->shift < AC_FLOOD_SHIFT && others >> flood->shift > AC_FLOOD)
    {
        flood->shift++;
    }
    if (flood->shift == before && before > 0 && others >> (before - 1) < AC_FLOOD / 2)
    {
        flood->shift--;
    }
    return flood->shift != before;
}

/* Add what was counted to the averages. */
static inline void ac_average(ac_flood_t *flood, int64_t passed)
{
    uint64_t parts[2] = {1, 1}, sent[2][2];
    for (int i = 0; i < 2; i++)
    {
        if (flood->is_filtered && (0 == i || flood->has_all))
        {
            parts[0] = 1ull << flood->shift;
            parts[1] = 1ull << AC_FLOOD_SHIFT;
        }
        else
        {
            parts[0] = parts[1] = 1;
        }
        sent[i][0] = flood->refused[i][0] * parts[0] / (uint64_t)passed;
        sent[i][1] = flood->refused[i][1] * parts[1] / (uint64_t)passed;
    }
    ac_rates_t *rates = &flood->rates;
    for (int64_t i = 0; i < passed; i++)
    {
        rates->frames += sent[0][0] + sent[0][1] - rates->frames / AC_FLOOD_STEPS;
        rates->greetings += sent[1][0] + sent[1][1] - rates->greetings / AC_FLOOD_STEPS;
        rates->others += sent[0][0] + (flood->has_all ? sent[1][0] : 0) - rates->others / AC_FLOOD_STEPS;
    }
}

/* Attach, change or remove the filter of a socket; called each 10 ms at most. */
AC_COLD static void ac_step_flood(
    ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor, int64_t now_ns)
{
    const uint64_t begin = AC_FLOOD_STEPS * AC_FLOOD_BEGIN, end = AC_FLOOD_STEPS * AC_FLOOD_END;
    int64_t passed = (now_ns - flood->begin_ns) / AC_BUDGET_NS;
    int had_all = flood->has_all;
    /* After so many steps, nothing is left of an average. */
    ac_average(flood, passed < 1 ? 1 : passed > 1000 ? 1000 : passed);
    flood->has_all = flood->rates.greetings >= (had_all ? end : begin);
    uint64_t rate = flood->rates.frames + (flood->has_all ? flood->rates.greetings : 0);
    if (now_ns < flood->mixed_until_ns || (flood->is_filtered && rate < end))
    {
        ac_end_flood(flood, descriptor);
    }
    else if (flood->is_filtered || rate >= begin)
    {
        int is_changed = ac_note_flooders(flood, now_ns);
        is_changed |= ac_set_shift(flood);
        is_changed |= had_all != flood->has_all || 0 == flood->program || flood->version != ac_salts_version(opener, own);
        if (is_changed)
        {
            ac_note_peers(flood, opener, descriptor);
            ac_attach_filter(flood, opener, own, descriptor);
        }
    }
    memset(flood->found, 0, sizeof(flood->found));
    memset(flood->refused, 0, sizeof(flood->refused));
    flood->begin_ns = now_ns;
}

#endif
