/* Certificates and keys from files, when a client opens. The library reads no other files, except
 * for OpenSSL's access to the system's store of authorities.
 *
 * Each returns 0, or REDLOCK_ERR_INVALID or REDLOCK_ERR_NOMEM and a sentence in error that names
 * the option, the file and the remedy. */
#ifndef RL_TLS_FILES_H
#define RL_TLS_FILES_H

#include <openssl/ssl.h>
#include <stddef.h>

/* Authorities: all certificates of a PEM file, or of the PEM files of a folder, whatever their
 * names are. None at all is an error. NULL: the system's. */
int rl_tls_files_ca(SSL_CTX *context, const char *path, char *error, size_t size);

/* Our own certificate, followed by its chain, and its key. */
int rl_tls_files_pair(SSL_CTX *context, const char *cert, const char *key, char *error,
                      size_t size);

#endif
