/* Functions of OpenSSL's libcrypto, found when the program runs: a wheel neither contains it nor needs its headers to be
 * built. Declared as in OpenSSL 3; the types are opaque. */
#ifndef AERON_SECURITY_CRYPTO_H
#define AERON_SECURITY_CRYPTO_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* openssl/evp.h */
#define AC_AEAD_GET_TAG 0x10
#define AC_AEAD_SET_TAG 0x11

/* Functions of which each call costs more than the call itself: small code matters more than inlining. */
#define AC_COLD __attribute__((noinline, cold))

typedef struct
{
    void *(*context_new)(void);
    void (*context_free)(void *context);
    int (*context_control)(void *context, int type, int argument, void *pointer);
    int (*context_set_padding)(void *context, int padding);
    int (*init)(
        void *context, const void *cipher, void *engine, const uint8_t *key, const uint8_t *nonce, int is_sealing);
    int (*update)(void *context, uint8_t *out, int *out_length, const uint8_t *in, int in_length);
    int (*final)(void *context, uint8_t *out, int *out_length);
    const void *(*sha256)(void);
    uint8_t *(*hmac)(
        const void *digest, const void *key, int key_length, const uint8_t *data, size_t length, uint8_t *out,
        unsigned int *out_length);
    void *(*cipher_fetch)(void *library, const char *algorithm, const char *properties);
} ac_crypto_t;

static ac_crypto_t ac_crypto;

/* AES-256-ECB, and the AEADs by their numbers in the protocol. Fetched once: a search for them, which each use of
 * EVP_aes_256_ecb() and others repeats, takes as long as the other work for a salt. */
static void *ac_ciphers[4];

/* Return 1 if all functions were found, 0 otherwise. Call it with the GIL, before any other function here. */
AC_COLD static int ac_crypto_load(void)
{
    static const char *const names[] = {
        "EVP_CIPHER_CTX_new", "EVP_CIPHER_CTX_free", "EVP_CIPHER_CTX_ctrl", "EVP_CIPHER_CTX_set_padding",
        "EVP_CipherInit_ex", "EVP_CipherUpdate", "EVP_CipherFinal_ex", "EVP_sha256", "HMAC", "EVP_CIPHER_fetch"};
    static const char *const ciphers[] = {"AES-256-ECB", "AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"};
    void **functions = (void **)&ac_crypto;
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
    {
        functions[i] = NULL == library ? NULL : dlsym(library, names[i]);
        if (NULL == functions[i])
        {
            return 0;
        }
    }
    /* One that a provider does not have stays NULL: then keys for it cannot be made. */
    for (int i = 0; i < 4; i++)
    {
        ac_ciphers[i] = NULL == ac_ciphers[i] ? ac_crypto.cipher_fetch(NULL, ciphers[i], NULL) : ac_ciphers[i];
    }
    return 1;
}

/* HMAC-SHA-256; `out` has 32 bytes. Return 1, or 0 on failure. */
AC_COLD static int ac_crypto_hmac(const uint8_t *key, const uint8_t *data, size_t length, uint8_t *out)
{
    unsigned int written = 0;
    return NULL != ac_crypto.hmac(ac_crypto.sha256(), key, 32, data, length, out, &written) && 32 == written;
}

#endif
