/* The program of a filter in the kernel, in classic BPF: which datagrams it passes. Used by flood.h. */
#ifndef AERON_SECURITY_FILTER_H
#define AERON_SECURITY_FILTER_H

#include <arpa/inet.h>
#include <sys/socket.h>

#include "opener.h"

#define AC_FLOOD_SOURCES 8
#define AC_FLOOD_SALTS 192 /* the filter compares them one by one; with more there is none */
#define AC_FLOOD_CODE (1 + 2 * AC_FLOOD_SALTS) /* instructions for them */
#define AC_FLOOD_SHIFT 6 /* one in 64 datagrams of a source that floods passes */

/* A network of 64 bits of IPv6, a link-local address, or an IPv4 address, as in the header at `offset`. */
typedef struct
{
    uint32_t offset; /* 0 if there is none */
    uint32_t words[2];
    uint32_t weight; /* or the number that passed since `since_ns` */
    int64_t since_ns;
    int has_greetings; /* its greetings are a flood, too */
} ac_flooder_t;

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

/* Put instructions that pass one in 2^shift datagrams, and drop the others. */
static inline uint32_t ac_put_part(ac_code_t *code, uint32_t at, uint32_t shift)
{
    at = ac_put_code(code, at, AC_LOAD, AC_RANDOM, 0);
    at = ac_put_code(code, at, AC_IS_MORE, ~0u >> shift, 1);
    at = ac_put_code(code, at, AC_RESULT, 0, 0);
    return ac_put_code(code, at, AC_RESULT, ~0u, 0);
}

/* Put instructions for the sources that are noted, with their greetings or without. */
static inline uint32_t ac_put_flooders(ac_code_t *code, uint32_t at, const ac_flooder_t *noted, int has_greetings)
{
    for (int i = 0; i < AC_FLOOD_SOURCES; i++)
    {
        const ac_flooder_t *flooder = &noted[i];
        int is_long = 12 != flooder->offset, is_local = 16 == flooder->offset;
        if (0 == flooder->offset || has_greetings != flooder->has_greetings)
        {
            continue;
        }
        /* A socket may receive both protocols, whose sources are at different offsets. */
        at = ac_put_code(code, at, AC_LOAD_BYTE, AC_FROM_IP, 0);
        at = ac_put_code(code, at, AC_SUBTRACT, is_long ? 0x60 : 0x40, 0);
        at = ac_put_code(code, at, AC_IS_MORE, 0x0f, 0);
        code[at - 1].yes = (uint8_t)(2 * is_long + 2 * is_local + 6);
        if (is_local)
        {
            /* Not the same address of another network. */
            at = ac_put_code(code, at, AC_LOAD, AC_FROM_IP + 8, 0);
            at = ac_put_code(code, at, AC_IS, 0xfe800000, 8);
        }
        at = ac_put_code(code, at, AC_LOAD, AC_FROM_IP + flooder->offset, 0);
        at = ac_put_code(code, at, AC_IS, ntohl(flooder->words[0]), (uint8_t)(2 * is_long + 4));
        if (is_long)
        {
            at = ac_put_code(code, at, AC_LOAD, AC_FROM_IP + flooder->offset + 4, 0);
            at = ac_put_code(code, at, AC_IS, ntohl(flooder->words[1]), 4);
        }
        at = ac_put_part(code, at, AC_FLOOD_SHIFT);
    }
    return at;
}

/* Put instructions that pass greetings, or a part of them. */
static inline uint32_t ac_put_greetings(
    ac_code_t *code, uint32_t at, const ac_opener_t *opener, const ac_sealer_t *own, uint32_t shift)
{
    uint32_t first = opener->has_identity ? AC_HELLO : AC_CHALLENGE, last = opener->has_identity ? AC_THIRD : AC_ANSWER, word;
    /* The kind: lesser ones are more than the last one, less the first, without a sign. */
    at = ac_put_code(code, at, AC_LOAD_BYTE, AC_UDP_LENGTH + 5, 0);
    at = ac_put_code(code, at, AC_SUBTRACT, first, 0);
    at = ac_put_code(code, at, AC_IS_MORE, last - first, 0);
    code[at - 1].yes = opener->has_identity ? 7 : 4;
    if (opener->has_identity)
    {
        at = ac_put_code(code, at, AC_LOAD, AC_UDP_LENGTH + 24, 0);
        memcpy(&word, own->salt, 4);
        at = ac_put_code(code, at, AC_IS, ntohl(word), 0);
        code[at - 1].yes = 1;
        memcpy(&word, own->previous_salt, 4);
        at = ac_put_code(code, at, AC_IS, ntohl(word), 4);
    }
    return ac_put_part(code, at, shift);
}

#endif
