/* Batches of datagrams: recvmmsg with GRO, sendmmsg with GSO. One call moves many datagrams; the packets on the wire
 * are the same. Numbers: include/uapi/linux/udp.h. */
#ifndef AERON_CORE_DATAGRAMS_H
#define AERON_CORE_DATAGRAMS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

/* include/uapi/asm-generic/socket.h; the control message has the number of the option. */
#ifndef SCM_TIMESTAMPNS
#define SCM_TIMESTAMPNS 35
#endif

#define AC_BATCH_CAPACITY 16
#define AC_CONTROL_LENGTH 64

typedef struct
{
    struct mmsghdr messages[AC_BATCH_CAPACITY];
    struct iovec vectors[AC_BATCH_CAPACITY];
    struct sockaddr_storage names[AC_BATCH_CAPACITY];
    _Alignas(struct cmsghdr) char control[AC_BATCH_CAPACITY][AC_CONTROL_LENGTH];
    int32_t lengths[AC_BATCH_CAPACITY];
    int32_t segment_lengths[AC_BATCH_CAPACITY];
    int64_t times_ns[AC_BATCH_CAPACITY]; /* of reception, in ns since the epoch; 0 if the kernel does not report it */
    int is_repeated; /* it is sent again unchanged, after a call that sent it to another destination */
} ac_batch_t;

/* Return the number of slots filled, 0 when nothing waits, -errno on failure. */
static inline int ac_receive_batch(int fd, ac_batch_t *batch, uint8_t *memory, int64_t slot_length, int slots)
{
    for (int i = 0; i < slots; i++)
    {
        struct msghdr *header = &batch->messages[i].msg_hdr;
        batch->vectors[i].iov_base = memory + i * slot_length;
        batch->vectors[i].iov_len = (size_t)slot_length;
        header->msg_name = &batch->names[i];
        header->msg_namelen = sizeof(struct sockaddr_storage);
        header->msg_iov = &batch->vectors[i];
        header->msg_iovlen = 1;
        header->msg_control = batch->control[i];
        header->msg_controllen = AC_CONTROL_LENGTH;
        header->msg_flags = 0;
    }

    int received = recvmmsg(fd, batch->messages, (unsigned int)slots, MSG_DONTWAIT, NULL);
    if (received < 0)
    {
        /* ECONNREFUSED: an ICMP "port unreachable" for an earlier send; not an error of this socket. */
        return (EAGAIN == errno || EWOULDBLOCK == errno || EINTR == errno || ECONNREFUSED == errno) ? 0 : -errno;
    }

    for (int i = 0; i < received; i++)
    {
        struct msghdr *header = &batch->messages[i].msg_hdr;
        batch->lengths[i] = (int32_t)batch->messages[i].msg_len;
        batch->segment_lengths[i] = batch->lengths[i];
        batch->times_ns[i] = 0;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); NULL != c; c = CMSG_NXTHDR(header, c))
        {
            if (SOL_UDP == c->cmsg_level && UDP_GRO == c->cmsg_type)
            {
                int segment_length;
                memcpy(&segment_length, CMSG_DATA(c), sizeof(segment_length));
                if (segment_length > 0)
                {
                    batch->segment_lengths[i] = segment_length;
                }
            }
            else if (SOL_SOCKET == c->cmsg_level && SCM_TIMESTAMPNS == c->cmsg_type)
            {
                struct timespec time;
                memcpy(&time, CMSG_DATA(c), sizeof(time));
                batch->times_ns[i] = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
            }
        }
    }

    return received;
}

/* Move what is in later slots into slots before them that became empty; return how many slots are filled. */
static inline int ac_close_gaps(ac_batch_t *batch, uint8_t *memory, int64_t slot_length, int count)
{
    int filled = 0;
    for (int i = 0; i < count; i++)
    {
        if (batch->lengths[i] <= 0)
        {
            continue;
        }
        if (i != filled)
        {
            memcpy(memory + filled * slot_length, memory + i * slot_length, (size_t)batch->lengths[i]);
            batch->names[filled] = batch->names[i];
            batch->lengths[filled] = batch->lengths[i];
            batch->segment_lengths[filled] = batch->segment_lengths[i];
            batch->times_ns[filled] = batch->times_ns[i];
        }
        filled++;
    }
    return filled;
}

static inline void ac_prepare_send(
    ac_batch_t *batch, int index, const uint8_t *data, int32_t length, int32_t segment_length)
{
    struct msghdr *header = &batch->messages[index].msg_hdr;
    batch->vectors[index].iov_base = (void *)data;
    batch->vectors[index].iov_len = (size_t)length;
    batch->lengths[index] = length;
    batch->segment_lengths[index] = segment_length;
    batch->is_repeated = 0;
    memset(header, 0, sizeof(*header));
    header->msg_iov = &batch->vectors[index];
    header->msg_iovlen = 1;

    if (segment_length < length)
    {
        uint16_t segment = (uint16_t)segment_length;
        header->msg_control = batch->control[index];
        header->msg_controllen = CMSG_SPACE(sizeof(segment));
        struct cmsghdr *c = CMSG_FIRSTHDR(header);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(segment));
        memcpy(CMSG_DATA(c), &segment, sizeof(segment));
    }
}

static inline void ac_set_repeated(ac_batch_t *batch, int is_repeated)
{
    batch->is_repeated = is_repeated;
}

static inline int ac_is_repeated(const ac_batch_t *batch)
{
    return batch->is_repeated;
}

/* A full socket buffer or an unreachable peer is not a failure: return 0, nothing was sent. */
static inline int ac_send_failure(void)
{
    return (EAGAIN == errno || EWOULDBLOCK == errno || EINTR == errno || ECONNREFUSED == errno || ENOBUFS == errno) ?
        0 : -errno;
}

/* Return the number of entries sent; -errno if none was sent for a reason other than a full socket buffer or an
 * unreachable peer (then 0). */
static inline int ac_send_batch(int fd, ac_batch_t *batch, int count, const void *name, unsigned int name_length)
{
    for (int i = 0; i < count; i++)
    {
        batch->messages[i].msg_hdr.msg_name = (void *)name;
        batch->messages[i].msg_hdr.msg_namelen = name_length;
    }

    int sent = sendmmsg(fd, batch->messages, (unsigned int)count, MSG_DONTWAIT);
    return sent < 0 ? ac_send_failure() : sent;
}

/* Like ac_send_batch, but splits the entries here: for a kernel, device or path without segmentation offload. An entry
 * of which only the first datagrams were sent counts as sent, with its length reduced to them. */
static inline int ac_send_cut_batch(int fd, ac_batch_t *batch, int count, const void *name, unsigned int name_length)
{
    struct mmsghdr messages[AC_BATCH_CAPACITY];
    struct iovec vectors[AC_BATCH_CAPACITY];
    int entry = 0, failure = 0;
    int32_t taken = 0; /* bytes of `entry` */

    while (entry < count)
    {
        int filled = 0, next = entry;
        int32_t offset = taken;
        while (filled < AC_BATCH_CAPACITY && next < count)
        {
            int32_t left = batch->lengths[next] - offset;
            int32_t segment = batch->segment_lengths[next];
            vectors[filled].iov_base = (uint8_t *)batch->vectors[next].iov_base + offset;
            vectors[filled].iov_len = (size_t)(segment > 0 && segment < left ? segment : left);
            memset(&messages[filled], 0, sizeof(messages[filled]));
            messages[filled].msg_hdr.msg_name = (void *)name;
            messages[filled].msg_hdr.msg_namelen = name_length;
            messages[filled].msg_hdr.msg_iov = &vectors[filled];
            messages[filled].msg_hdr.msg_iovlen = 1;
            offset += (int32_t)vectors[filled].iov_len;
            filled++;
            if (offset >= batch->lengths[next])
            {
                next++;
                offset = 0;
            }
        }

        int sent = sendmmsg(fd, messages, (unsigned int)filled, MSG_DONTWAIT);
        if (sent < 0)
        {
            failure = ac_send_failure();
            break;
        }
        for (int i = 0; i < sent; i++)
        {
            taken += (int32_t)vectors[i].iov_len;
            if (taken >= batch->lengths[entry])
            {
                entry++;
                taken = 0;
            }
        }
        if (sent < filled)
        {
            break;
        }
    }

    if (taken > 0)
    {
        batch->lengths[entry++] = taken;
    }
    return entry > 0 ? entry : failure;
}

/* Return whether a failed send may succeed when its entries are split here: the device cannot checksum, the path's MTU
 * is less than a segment, or the kernel takes fewer segments. */
static inline int ac_is_offload_failure(const ac_batch_t *batch, int count, int result)
{
    if (-EINVAL != result && -EIO != result && -EMSGSIZE != result && -EOPNOTSUPP != result)
    {
        return 0;
    }
    for (int i = 0; i < count; i++)
    {
        if (batch->segment_lengths[i] < batch->lengths[i])
        {
            return 1;
        }
    }
    return 0;
}

#endif
