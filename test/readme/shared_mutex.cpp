// The C++ of docs/recipes.md: it is compiled, not run.
#include <mutex>
#include <shared_mutex>

#include <redlock/redlock.hpp>

static int read() {
    return 0;
}

static void write(int) {
}

static void use(redlock::client &client) {
    int settings = 0;
#include "shared_mutex.inc"
}

int main(int argc, char **) {
    if (argc > 1) {
        redlock::client client({"redis://127.0.0.1"});
        use(client);
    }
    return 0;
}
