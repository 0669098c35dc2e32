// downstream.c in C++: its only node refuses.
//
//     downstream VERSION
#include <cstdio>
#include <cstring>
#include <redlock/redlock.hpp>

int main(int argc, char **argv) {
    const redlock::client client({"redis://127.0.0.1:1"});

    std::printf("%s\n", client.opened().message().c_str());
    return argc == 2 && std::strcmp(argv[1], redlock_version()) == 0 &&
                   client.opened().value() == REDLOCK_ERR_NO_QUORUM
               ? 0
               : 1;
}
