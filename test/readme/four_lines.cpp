// The C++ of docs/start.md: it is compiled, not run, for its nodes are not there.
#include <chrono>

#include <redlock/redlock.hpp>

static bool do_one_step() {
    return false;
}

int main() {
#include "four_lines.inc"
}
