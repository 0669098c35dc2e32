/* The server that the tests, the demo and the bench run: the one that REDLOCK_SERVER names, or
 * redis-server by PATH, or valkey-server if only that is installed. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/live.h"

/* Makes a folder whose only program has this name and runs the server of the other tests. */
static void make_program(char *folder, const char *name) {
    char path[300], script[700];
    const char *server = getenv("REDLOCK_SERVER"), *search = getenv("PATH");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(
        script, sizeof(script),
        "#!/bin/sh\nPATH='%s'\nexec \"$(command -v '%s' || command -v valkey-server)\" \"$@\"\n",
        search, server != NULL && server[0] != '\0' ? server : "redis-server");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(script, file) >= 0);
    assert_int_equal(fchmod(fileno(file), 0700), 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_program(const char *folder, const char *name) {
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Puts back an environment variable; value NULL: there was none. */
static void restore(const char *name, const char *value) {
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

static char *copy_of(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? strdup(value) : NULL;
}

LIVE_TEST(the_named_one) {
    const struct rl_local_nodes_options options = {.n = 1};
    struct rl_local_nodes *nodes;
    char error[512], *server = copy_of("REDLOCK_SERVER");
    restore("REDLOCK_SERVER", "/no/such-server");
    int status = rl_local_nodes_start(&nodes, &options, error, sizeof(error));
    restore("REDLOCK_SERVER", server);
    free(server);
    assert_int_equal(status, -1);
    assert_contains(error, "/no/such-server");
}

LIVE_TEST(valkey_alone) {
    char folder[] = "/tmp/redlock-server-XXXXXX";
    char *server = copy_of("REDLOCK_SERVER"), *search = copy_of("PATH");
    make_program(folder, "valkey-server");
    restore("REDLOCK_SERVER", NULL);
    restore("PATH", folder);
    live_start(live, 1, NULL);
    restore("REDLOCK_SERVER", server);
    restore("PATH", search);
    free(server);
    free(search);
    remove_program(folder, "valkey-server");
    live_tell(live, 0, "PING");
}

/* -- A program that is killed -- */

/* Starts a node, says which process that is, and never ends by itself. */
static void run_a_node(int to) {
    const struct rl_local_nodes_options options = {.n = 1};
    struct rl_local_nodes *nodes;
    char error[512];
    const bool runs = rl_local_nodes_start(&nodes, &options, error, sizeof(error)) == 0;
    const pid_t pid = runs ? rl_local_nodes_pid(nodes, 0) : 0;
    if (write(to, &pid, sizeof(pid)) == (ssize_t)sizeof(pid)) {
        pause();
    }
    _exit(1);
}

LIVE_TEST(leaves_nothing_when_it_is_killed) {
    int fds[2];
    pid_t node = 0;
    char cwd[40], folder[300] = "";
    live_start(live, 1, NULL);
    assert_int_equal(pipe(fds), 0);
    const pid_t program = fork();
    if (program == 0) {
        run_a_node(fds[1]);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &node, sizeof(node)), sizeof(node));
    close(fds[0]);
    assert_true(node > 0);
    snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", (int)node);
    assert_true(readlink(cwd, folder, sizeof(folder) - 1) > 0);
    assert_int_equal(access(folder, F_OK), 0);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, NULL, 0), program);
    LIVE_POLL(live, access(folder, F_OK) != 0 && kill(node, 0) != 0);
}
