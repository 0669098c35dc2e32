/* SHA-1, so that SCRIPT LOAD can answer what Redis answers. Source: FIPS 180-4, section 6.1. */
#ifndef SERVER_SHA1_H
#define SERVER_SHA1_H

#include <stddef.h>

#define SHA1_HEX_SIZE 41

/* Writes the hash as 40 lower-case hex digits and a zero. */
void sha1_hex(const void *data, size_t length, char hex[SHA1_HEX_SIZE]);

#endif /* SERVER_SHA1_H */
