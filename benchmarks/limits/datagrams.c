/*
 * Limits of UDP over loopback: two processes, with one copy more at each end than the kernel makes, as a driver has.
 *
 *     datagrams stream LENGTH SECONDS      send datagrams of LENGTH bytes, merged by GSO and GRO if the kernel has them
 *     datagrams echo LENGTH SECONDS        one datagram there and back at a time; both ends spin
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define MAX_SENT 65507L
#define MAX_SEGMENTS 64
#define RING (16L * 1024 * 1024)
#define MAX_TRIPS 4000000
#define BUFFER (2 * 1024 * 1024)

struct shared {
    _Atomic int64_t received;
    _Atomic int64_t last_ns;
    _Atomic int is_ready;
};

static int new_socket(struct sockaddr_in *address)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const int size = BUFFER;
    socklen_t length = sizeof *address;
    REQUIRE(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    REQUIRE(bind(fd, (struct sockaddr *)address, sizeof *address) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)address, &length) == 0);
    return fd;
}

/* Copy what arrives into a ring, as a receiver copies frames into a log buffer. */
static void receive(int fd, struct shared *shared)
{
    const int on = 1;
    char *ring = malloc(RING + MAX_SENT), buffer[65536];
    long offset = 0;
    REQUIRE(ring != NULL);
    memset(ring, 0, RING);
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    shared->is_ready = 1;
    for (;;) {
        const ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count < 0) {
            REQUIRE(errno == EAGAIN);
            sched_yield();
            continue;
        }
        memcpy(ring + offset, buffer, count);
        offset = (offset + count) % RING;
        shared->received += count;
        shared->last_ns = now_ns();
    }
}

static void stream(int fd, const struct sockaddr_in *to, long length, double seconds, struct shared *shared)
{
    char *ring = malloc(RING + MAX_SENT), buffer[65536];
    char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct iovec part = {.iov_base = buffer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_name = (void *)to, .msg_namelen = sizeof *to};
    long segments = MAX_SENT / length, offset = 0;
    REQUIRE(ring != NULL);
    memset(ring, 1, RING);
    segments = segments > MAX_SEGMENTS ? MAX_SEGMENTS : segments;
    part.iov_len = segments * length;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    *(uint16_t *)CMSG_DATA(header) = (uint16_t)length;
    while (!shared->is_ready)
        sched_yield();
    int64_t start = 0, begin = 0;
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8), end = warm + (int64_t)(seconds * 1e9);
    for (;;) {
        const int64_t now = now_ns();
        if (!start && now >= warm) {
            begin = shared->received;
            start = now;
        }
        if (now >= end)
            break;
        memcpy(buffer, ring + offset, part.iov_len);
        offset = (offset + (long)part.iov_len) % RING;
        if (sendmsg(fd, &message, MSG_DONTWAIT) < 0) {
            if (errno == EIO || errno == EINVAL || errno == ENOPROTOOPT) {
                /* No segmentation here: one datagram for each call. */
                REQUIRE(message.msg_controllen != 0);
                message.msg_control = NULL;
                message.msg_controllen = 0;
                part.iov_len = length;
                continue;
            }
            REQUIRE(errno == EAGAIN || errno == ENOBUFS);
            sched_yield();
        }
    }
    print_rate((double)(shared->received - begin), length, now_ns() - start);
}

static void echo(int fd, const struct sockaddr_in *to, long length, double seconds)
{
    char buffer[65536] = {0};
    int64_t *times = malloc(MAX_TRIPS * sizeof *times);
    size_t count = 0;
    REQUIRE(times != NULL);
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8), end = warm + (int64_t)(seconds * 1e9);
    /* At least one, however long the process has waited for a processor. */
    for (int64_t sent = now_ns(); (sent < end || count == 0) && count < MAX_TRIPS; sent = now_ns()) {
        REQUIRE(sendto(fd, buffer, length, 0, (const struct sockaddr *)to, sizeof *to) == length);
        while (recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) < 0)
            REQUIRE(errno == EAGAIN);
        if (sent >= warm)
            times[count++] = now_ns() - sent;
    }
    print_round_trips(times, count);
}

static void return_each(int fd)
{
    char buffer[65536];
    struct sockaddr_in from;
    for (;;) {
        socklen_t size = sizeof from;
        const ssize_t count = recvfrom(fd, buffer, sizeof buffer, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        if (count < 0)
            REQUIRE(errno == EAGAIN);
        else
            REQUIRE(sendto(fd, buffer, count, 0, (struct sockaddr *)&from, size) == count);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[1], "stream") && strcmp(argv[1], "echo"))) {
        fprintf(stderr, "usage: datagrams stream|echo LENGTH SECONDS\n");
        return 2;
    }
    const int is_echo = strcmp(argv[1], "echo") == 0;
    const long length = length_of(argv[2], 1, MAX_SENT);
    const double seconds = seconds_of(argv[3]);
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sockaddr_in here, there;
    REQUIRE(shared != MAP_FAILED);
    const int fd = new_socket(&here), other = new_socket(&there);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is_echo)
            return_each(other);
        receive(other, shared);
    }
    if (is_echo)
        echo(fd, &there, length, seconds);
    else
        stream(fd, &there, length, seconds, shared);
    /* Waited for, so that its processor time counts. */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
