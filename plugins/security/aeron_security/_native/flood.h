/* A filter in the kernel, while strangers flood a socket: their datagrams would take the place of others in its buffer, and the
 * time to receive them. It passes all with a salt that is admitted, or the next one of such a salt; of others, a part: a
 * sixty-fourth at least, and of handshakes of sources that do not flood an eighth, because a new peer is admitted by what passes. What the
 * filter cannot drop does not count as a flood: more of it would only harm others. The filter only decides what is received:
 * all that passes is checked as without it. Used by one thread. */
#ifndef AERON_SECURITY_FLOOD_H
#define AERON_SECURITY_FLOOD_H

#include <stddef.h>

#include "filter.h"

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
#define AC_GREETING_SHIFT 3 /* an eighth of the greetings of other sources passes at least */
/* Datagrams in 10 ms by which a source is noted: less of eight sources do no harm. It is forgotten after a second in which fewer
 * than `AC_FLOOD_FEW` pass. */
#define AC_FLOOD_LEAST (AC_FLOOD / AC_FLOOD_SOURCES)
#define AC_FLOOD_FEW 8
#define AC_SECOND_NS 1000000000LL
/* Without a filter after datagrams of a stranger and of a peer were merged: many may be lost until one is noticed again. */
#define AC_MIXED_NS 10000000000LL

/* What a datagram is for the filter. */
enum
{
    AC_IS_FRAME, /* or garbage */
    AC_IS_GREETING, /* a datagram of a handshake with this socket */
    AC_HAS_SALT /* of a peer, or of a forger: it cannot be dropped */
};

typedef struct
{
    int64_t begin_ns; /* of counting */
    uint32_t refused[2][2]; /* by kind; of other sources, or of those that are noted for this kind */
    /* Averages of the last steps, times AC_FLOOD_STEPS: datagrams in 10 ms that would be refused without the filter; of all
     * sources, and by kind of those that are not noted. */
    uint64_t rate;
    uint64_t others[2];
    ac_flooder_t found[2][AC_FLOOD_SOURCES]; /* other sources since `begin_ns`, by kind */
    ac_flooder_t noted[AC_FLOOD_SOURCES];    /* the filter passes a sixty-fourth of their datagrams */
    uint32_t shift[2];                       /* of others, one in 2^shift passes, by kind */
    uint64_t version;                        /* of the salts in the filter */
    uint64_t program;                        /* a hash of the filter; 0 if it must be attached */
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

/* Return what a datagram is for the filter, which compares as many bytes of it. */
static int ac_kind_of(const ac_opener_t *opener, const ac_sealer_t *own, const uint8_t *datagram, int length)
{
    if (length >= 12 &&
        (ac_is_passed(opener->table, AC_BY_SALT, datagram + 8) || ac_is_passed(opener->nexts, AC_BY_NEXT, datagram + 8)))
    {
        return AC_HAS_SALT;
    }
    return (opener->has_identity
                ? length >= 28 && datagram[5] >= AC_HELLO && datagram[5] <= AC_THIRD &&
                    (0 == memcmp(datagram + 24, own->salt, 4) || 0 == memcmp(datagram + 24, own->previous_salt, 4))
                : length >= 12 && (AC_CHALLENGE == datagram[5] || AC_ANSWER == datagram[5]))
        ? AC_IS_GREETING
        : AC_IS_FRAME;
}

static ac_flooder_t *ac_find_flooder(ac_flooder_t *in, const ac_flooder_t *flooder)
{
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        if (0 != in[i].offset && in[i].offset == flooder->offset && 0 == memcmp(in[i].words, flooder->words, 8))
        {
            return &in[i];
        }
    }
    return NULL;
}

/* Count a datagram that was refused. Of those that the kernel has merged, `kind` is that of the first one: the filter passes or
 * drops all of them. Of other sources, one of more than a ninth is found (Misra, Gries 1982). */
AC_COLD static void ac_count_flood(ac_flood_t *flood, int kind, const void *name)
{
    ac_flooder_t flooder;
    ac_flooder_t *found;
    if (AC_HAS_SALT == kind)
    {
        return;
    }
    ac_flooder_of(&flooder, name);
    found = ac_find_flooder(flood->noted, &flooder);
    int is_noted = NULL != found && (AC_IS_FRAME == kind || found->has_greetings);
    flood->refused[kind][is_noted]++;
    if (is_noted)
    {
        found->weight++;
        return;
    }
    found = ac_find_flooder(flood->found[kind], &flooder);
    for (int i = 0; i < AC_FLOOD_SOURCES && NULL == found; i++)
    {
        if (0 == flood->found[kind][i].weight)
        {
            found = &flood->found[kind][i];
            *found = flooder;
        }
    }
    for (int i = 0; i < AC_FLOOD_SOURCES && NULL == found; i++)
    {
        flood->found[kind][i].weight--;
    }
    if (NULL != found)
    {
        found->weight++;
    }
}

/* Return whether the kernel may merge datagrams of a source with those of a peer; each step of the filter notes the peers. */
AC_COLD static int ac_is_source_of_peer(const ac_flood_t *flood, const ac_opener_t *opener, const void *name)
{
    uint64_t source = ac_source_of(opener, name);
    for (uint32_t i = 0; i < flood->peer_count; i++)
    {
        if (flood->peers[i] == source)
        {
            return 1;
        }
    }
    return 0;
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
        if (NULL != opener->table[i] && 0 != opener->table[i]->source)
        {
            flood->peers[flood->peer_count++] = opener->table[i]->source;
        }
    }
}

/* Attach a filter for the salts that are admitted now, or remove it if that fails: it must not be for those of before. */
AC_COLD static void ac_attach_filter(ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor)
{
    ac_code_t code[AC_FLOOD_CODE + 13 * AC_FLOOD_SOURCES + 14];
    uint32_t at = 0;
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
    at = ac_put_flooders(code, at, flood->noted, 1);
    at = ac_put_greetings(code, at, opener, own, flood->shift[AC_IS_GREETING]);
    at = ac_put_flooders(code, at, flood->noted, 0);
    at = ac_put_part(code, at, flood->shift[AC_IS_FRAME]);
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

/* Forget noted sources that do not flood, and note others that do; return whether the filter changes. */
AC_COLD static int ac_note_flooders(ac_flood_t *flood, int64_t passed, int64_t now_ns)
{
    int is_changed = 0;
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        ac_flooder_t *noted = &flood->noted[i];
        if (0 != noted->offset && now_ns - noted->since_ns >= AC_SECOND_NS)
        {
            is_changed |= noted->weight < AC_FLOOD_FEW;
            noted->offset = noted->weight < AC_FLOOD_FEW ? 0 : noted->offset;
            noted->weight = 0;
            noted->since_ns = now_ns;
        }
    }
    for (int i = 0; i < 2 * AC_FLOOD_SOURCES; i++)
    {
        int kind = i / AC_FLOOD_SOURCES;
        const ac_flooder_t *found = &flood->found[kind][i % AC_FLOOD_SOURCES];
        ac_flooder_t *noted = ac_find_flooder(flood->noted, found);
        for (int j = 0; j < AC_FLOOD_SOURCES && NULL == noted; j++)
        {
            /* Not in the place of another one: sources in turn would otherwise pass all of the time. */
            noted = 0 == flood->noted[j].offset ? &flood->noted[j] : NULL;
        }
        if (found->weight < AC_FLOOD_LEAST * passed || NULL == noted)
        {
            continue;
        }
        if (0 == noted->offset)
        {
            *noted = *found;
            noted->since_ns = now_ns;
            noted->weight = AC_FLOOD_FEW;
        }
        noted->has_greetings |= AC_IS_GREETING == kind;
        /* What it has sent does not count for other sources any longer. */
        flood->others[kind] = 0;
        is_changed = 1;
    }
    return is_changed;
}

/* Determine which part of other sources passes; return whether the filter changes. */
static inline int ac_set_shift(ac_flood_t *flood, int kind)
{
    const uint32_t most[2] = {AC_FLOOD_SHIFT, AC_GREETING_SHIFT};
    uint64_t others = flood->others[kind] / AC_FLOOD_STEPS;
    uint32_t before = flood->shift[kind], *shift = &flood->shift[kind];
    while (*shift < most[kind] && others >> *shift > AC_FLOOD)
    {
        ++*shift;
    }
    if (*shift == before && before > 0 && others >> (before - 1) < AC_FLOOD / 2)
    {
        --*shift;
    }
    return *shift != before;
}

/* Add what was counted in some steps to the averages. */
static inline void ac_average(ac_flood_t *flood, int64_t passed)
{
    uint64_t others[2], all = 0;
    for (int i = 0; i < 2; i++)
    {
        others[i] = ((uint64_t)flood->refused[i][0] << flood->shift[i]) / (uint64_t)passed;
        all += others[i] + ((uint64_t)flood->refused[i][1] << AC_FLOOD_SHIFT) / (uint64_t)passed;
    }
    for (int64_t i = 0; i < passed; i++)
    {
        flood->rate += all - flood->rate / AC_FLOOD_STEPS;
        flood->others[0] += others[0] - flood->others[0] / AC_FLOOD_STEPS;
        flood->others[1] += others[1] - flood->others[1] / AC_FLOOD_STEPS;
    }
}

/* Attach, change or remove the filter of a socket; called each 10 ms at most. */
AC_COLD static void ac_step_flood(
    ac_flood_t *flood, const ac_opener_t *opener, const ac_sealer_t *own, int descriptor, int64_t now_ns)
{
    int64_t passed = (now_ns - flood->begin_ns) / AC_BUDGET_NS;
    /* After so many steps, nothing is left of an average. */
    passed = passed < 1 ? 1 : passed > 1000 ? 1000 : passed;
    ac_average(flood, passed);
    uint64_t rate = flood->rate / AC_FLOOD_STEPS;
    if (now_ns < flood->mixed_until_ns || (flood->is_filtered && rate < AC_FLOOD_END))
    {
        ac_end_flood(flood, descriptor);
    }
    else if (flood->is_filtered || rate >= AC_FLOOD_BEGIN)
    {
        int is_changed = ac_note_flooders(flood, passed, now_ns);
        is_changed |= ac_set_shift(flood, AC_IS_FRAME);
        is_changed |= ac_set_shift(flood, AC_IS_GREETING);
        ac_note_peers(flood, opener, descriptor);
        if (is_changed || 0 == flood->program || flood->version != ac_salts_version(opener, own))
        {
            ac_attach_filter(flood, opener, own, descriptor);
        }
    }
    memset(flood->found, 0, sizeof(flood->found));
    memset(flood->refused, 0, sizeof(flood->refused));
    flood->begin_ns = now_ns;
}

#endif
