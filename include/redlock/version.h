/* The version of libredlock. meson.build reads the three numbers out of this file, so that the
 * shared library's soversion, the pkg-config file and these macros can never disagree. */
#ifndef REDLOCK_VERSION_H
#define REDLOCK_VERSION_H

/* Its three numbers. While the first one is 0, another second one may change the ABI. */
#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0

#define REDLOCK_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
/* Three numbers as a text, "0.1.0". */
#define REDLOCK_VERSION_TEXT(major, minor, patch) REDLOCK_VERSION_TEXT_(major, minor, patch)

/* The version of the header that a program was compiled with; redlock_version() returns the
 * library's. */
#define REDLOCK_VERSION \
    REDLOCK_VERSION_TEXT(REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR, REDLOCK_VERSION_PATCH)

#endif /* REDLOCK_VERSION_H */
