/* Passes descriptors between threads over a SOCK_SEQPACKET socket, each with the address of its peer. Descriptors are
 * sent as SCM_RIGHTS, so the kernel closes those that were not received when the socket is closed. A connection request
 * of an agent also contains the inode of the agent's end; an abort request consists of that inode. Negative results are
 * -errno. */
#ifndef AERON_CORE_RELAYS_H
#define AERON_CORE_RELAYS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef union
{
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
}
ac_relay_rights_t;

#define AC_RELAY_ABORTED -100001 /* below any -errno */

static inline uint64_t ac_relay_inode(int fd)
{
    struct stat state;
    return fstat(fd, &state) < 0 ? 0 : (uint64_t)state.st_ino;
}

/* Send a descriptor: 1, or -EAGAIN if the socket is full. The caller keeps its descriptor. Inode 0 is omitted. */
static inline int ac_relay_give_with(
    int control, int fd, const struct sockaddr_storage *name, socklen_t name_length, uint64_t inode)
{
    ac_relay_rights_t rights;
    memset(&rights, 0, sizeof(rights));
    struct iovec body[2] = { { .iov_base = (void *)name, .iov_len = name_length },
        { .iov_base = &inode, .iov_len = 0 != inode ? sizeof(inode) : 0 } };
    struct msghdr message = { .msg_iov = body, .msg_iovlen = 2, .msg_control = &rights,
        .msg_controllen = sizeof(rights) };
    rights.header.cmsg_level = SOL_SOCKET;
    rights.header.cmsg_type = SCM_RIGHTS;
    rights.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&rights.header), &fd, sizeof(int));
    if (sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
    {
        return 1;
    }
    return EWOULDBLOCK == errno || EINTR == errno ? -EAGAIN : -errno;
}

static inline int ac_relay_give(int control, int fd, const struct sockaddr_storage *name, socklen_t name_length)
{
    return ac_relay_give_with(control, fd, name, name_length, 0);
}

/* Receive a descriptor; -EAGAIN if there is none, -EPIPE if the other end is closed. */
static inline int ac_relay_take(int control, struct sockaddr_storage *name, socklen_t *name_length)
{
    ac_relay_rights_t rights;
    struct iovec body = { .iov_base = name, .iov_len = sizeof(*name) };
    struct msghdr message = { .msg_iov = &body, .msg_iovlen = 1, .msg_control = &rights,
        .msg_controllen = sizeof(rights) };
    ssize_t received = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0)
    {
        return EWOULDBLOCK == errno || EINTR == errno ? -EAGAIN : -errno;
    }
    if (0 == received)
    {
        return -EPIPE;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (NULL == header || SCM_RIGHTS != header->cmsg_type || CMSG_LEN(sizeof(int)) != header->cmsg_len)
    {
        /* The kernel drops the descriptor if this process has reached its limit. */
        return -EMFILE;
    }
    int fd;
    memcpy(&fd, CMSG_DATA(header), sizeof(int));
    *name_length = (socklen_t)received;
    return fd;
}

/* Receive a request of an agent: a descriptor and the inode of its end, or AC_RELAY_ABORTED and the inode to abort. */
static inline int ac_relay_take_any(
    int control, struct sockaddr_storage *name, socklen_t *name_length, uint64_t *inode)
{
    char message[sizeof(*inode) + 1];
    ssize_t received = recv(control, message, sizeof(message), MSG_DONTWAIT | MSG_PEEK);
    if (sizeof(*inode) == received)
    {
        recv(control, inode, sizeof(*inode), MSG_DONTWAIT);
        return AC_RELAY_ABORTED;
    }
    int fd = ac_relay_take(control, name, name_length);
    if (fd >= 0 && *name_length >= sizeof(*inode))
    {
        *name_length -= (socklen_t)sizeof(*inode);
        memcpy(inode, (char *)name + *name_length, sizeof(*inode));
    }
    return fd;
}

/* Request an abort: 1, or -errno. */
static inline int ac_relay_abort(int control, int fd)
{
    uint64_t inode = ac_relay_inode(fd);
    return send(control, &inode, sizeof(inode), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 1 : -errno;
}

/* Create a socket pair, send one end to the relay, and return the other. */
static inline int ac_relay_request(int control, const struct sockaddr_storage *name, socklen_t name_length)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    {
        return -errno;
    }
    int result = ac_relay_give_with(control, ends[1], name, name_length, ac_relay_inode(ends[0]));
    close(ends[1]);
    if (result < 0)
    {
        close(ends[0]);
        return result;
    }
    return ends[0];
}

/* Whether the other end is closed, not only shut down for writing. */
static inline int ac_relay_is_cut(int fd)
{
    struct pollfd watched = { .fd = fd, .events = 0 };
    return poll(&watched, 1, 0) > 0 && 0 != (watched.revents & (POLLHUP | POLLERR));
}

#endif
