/* The little of MariaDB's Connector/C that the worker needs: prepared statements whose parameters
 * and results are whole numbers. Errors are printed on stderr, with the server's message. */
#ifndef FENCED_MYSQL_SQL_H
#define FENCED_MYSQL_SQL_H

#include <mysql.h>
#include <stddef.h>
#include <stdint.h>

/* Connects by a Unix socket. NULL if it cannot. To be closed with mysql_close(). */
MYSQL *sql_connect(const char *socket, const char *user, const char *database);

/* Runs a statement that has no result. values: one for each question mark.
 *
 * Returns the number of rows that its WHERE has found, or -1. (Found, not changed: an UPDATE that
 * writes what is there already changes no row, and would look like one that was refused.) */
int64_t sql_run(MYSQL *db, const char *statement, const uint64_t *values, size_t n);

/* Reads the first column of the one row that the statement selects. Returns 0, or -1: also if there
 * is no such row. */
int sql_read(MYSQL *db, const char *statement, uint64_t value, int64_t *result);

#endif
