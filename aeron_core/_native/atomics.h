/* Loads and stores of shared memory, with the memory order in the name.
 *
 * Fields of frames may be unaligned (receiver id of a status message), so plain accesses go through memcpy,
 * which compiles to one move. Ordered accesses must be naturally aligned, which the formats guarantee.
 *
 * acquire (loads): no later access moves before it. release (stores): no earlier access moves after it. A thread
 * that loads with acquire a value stored with release sees everything written before that store. get_and_add and
 * compare_and_set are sequentially consistent: all threads observe them in one order. */
#ifndef AERON_CORE_ATOMICS_H
#define AERON_CORE_ATOMICS_H

#include <stdint.h>
#include <string.h>

#define AC_PLAIN(name, type)                                                                                   \
    static inline type ac_get_##name(const uint8_t *p) { type v; memcpy(&v, p, sizeof v); return v; }          \
    static inline void ac_put_##name(uint8_t *p, type v) { memcpy(p, &v, sizeof v); }

#define AC_ORDERED(name, type)                                                                                 \
    static inline type ac_get_##name##_acquire(const uint8_t *p)                                               \
    { return __atomic_load_n((const type *)p, __ATOMIC_ACQUIRE); }                                             \
    static inline void ac_put_##name##_release(uint8_t *p, type v)                                             \
    { __atomic_store_n((type *)p, v, __ATOMIC_RELEASE); }                                                      \
    static inline type ac_get_and_add_##name(uint8_t *p, type v)                                               \
    { return __atomic_fetch_add((type *)p, v, __ATOMIC_SEQ_CST); }                                             \
    static inline int ac_compare_and_set_##name(uint8_t *p, type expected, type desired)                       \
    { return __atomic_compare_exchange_n((type *)p, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }

AC_PLAIN(i8, int8_t)
AC_PLAIN(u8, uint8_t)
AC_PLAIN(i16, int16_t)
AC_PLAIN(u16, uint16_t)
AC_PLAIN(i32, int32_t)
AC_PLAIN(i64, int64_t)
AC_ORDERED(i32, int32_t)
AC_ORDERED(i64, int64_t)
AC_ORDERED(u8, uint8_t)

static inline void ac_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void ac_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }

#endif
