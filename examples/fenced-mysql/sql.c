/* MariaDB's Connector/C, see sql.h.
 *
 * Each statement is prepared, run and closed again, so nothing outlives a call. Every failure (no
 * server, a statement that it refuses, a row that another transaction keeps locked for too long)
 * ends in -1 and a line on stderr. The caller decides what that means for the transaction: rolling
 * it back is always right.
 */
#include "sql.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define VALUES_MAX 8

MYSQL *sql_connect(const char *socket, const char *user, const char *database) {
    MYSQL *db = mysql_init(NULL);
    assert(socket != NULL && database != NULL);
    /* CLIENT_FOUND_ROWS: see sql_run(). Without it the server counts the rows it has changed. */
    if (db == NULL ||
        mysql_real_connect(db, NULL, user, NULL, database, 0, socket, CLIENT_FOUND_ROWS) == NULL) {
        fprintf(stderr, "%s: %s\n", socket, db != NULL ? mysql_error(db) : "out of memory");
        mysql_close(db);
        return NULL;
    }
    return db;
}

static MYSQL_STMT *failed(MYSQL_STMT *stmt, const char *statement) {
    fprintf(stderr, "%s: %s\n", statement, stmt != NULL ? mysql_stmt_error(stmt) : "out of memory");
    if (stmt != NULL) {
        mysql_stmt_close(stmt);
    }
    return NULL;
}

static MYSQL_BIND whole_number(void *number, int is_unsigned) {
    MYSQL_BIND bind;
    memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.buffer = number;
    bind.is_unsigned = is_unsigned != 0;
    return bind;
}

/* Prepares and runs a statement. NULL on failure. */
static MYSQL_STMT *run(MYSQL *db, const char *statement, const uint64_t *values, size_t n) {
    MYSQL_BIND binds[VALUES_MAX];
    uint64_t copies[VALUES_MAX]; /* Connector/C takes pointers that are not const */
    MYSQL_STMT *stmt = mysql_stmt_init(db);
    assert(n <= VALUES_MAX);
    for (size_t i = 0; i < n; i++) {
        copies[i] = values[i];
        binds[i] = whole_number(&copies[i], 1);
    }
    if (stmt == NULL || mysql_stmt_prepare(stmt, statement, strlen(statement)) != 0) {
        return failed(stmt, statement);
    }
    assert(mysql_stmt_param_count(stmt) == n);
    if ((n > 0 && mysql_stmt_bind_param(stmt, binds) != 0) || mysql_stmt_execute(stmt) != 0) {
        return failed(stmt, statement);
    }
    return stmt;
}

int64_t sql_run(MYSQL *db, const char *statement, const uint64_t *values, size_t n) {
    MYSQL_STMT *stmt = run(db, statement, values, n);
    if (stmt == NULL) {
        return -1;
    }
    int64_t found = (int64_t)mysql_stmt_affected_rows(stmt);
    assert(found >= 0);
    mysql_stmt_close(stmt);
    return found;
}

int sql_read(MYSQL *db, const char *statement, uint64_t value, int64_t *result) {
    MYSQL_BIND bind = whole_number(result, 0);
    MYSQL_STMT *stmt = run(db, statement, &value, 1);
    if (stmt == NULL) {
        return -1;
    }
    assert(mysql_stmt_field_count(stmt) == 1);
    int status = mysql_stmt_bind_result(stmt, &bind) != 0 ? 1 : mysql_stmt_fetch(stmt);
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", statement,
                status == MYSQL_NO_DATA ? "no such row" : mysql_stmt_error(stmt));
    }
    mysql_stmt_close(stmt);
    return status == 0 ? 0 : -1;
}
