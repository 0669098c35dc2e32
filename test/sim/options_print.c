/* The names of what options.h lists, and all options of a history as text. */
#include <inttypes.h>
#include <stdio.h>

#include "server/server.h"
#include "sim/options.h"

#include "sim/kind.h"

static const char *const fault_names[SIM_FAULTS] = {
#define ROW(name, text) [SIM_FAULT_##name] = text,
    SIM_FAULT_MAP(ROW)
#undef ROW
};

static const char *const trouble_names[SIM_TROUBLES] = {
    [SIM_TROUBLE_NONE] = "none",     [SIM_TROUBLE_CONNECTIONS] = "connections",
    [SIM_TROUBLE_NODES] = "nodes",   [SIM_TROUBLE_CLIENTS] = "clients",
    [SIM_TROUBLE_PLAIN] = "plain",   [SIM_TROUBLE_PARTITIONS] = "partitions",
    [SIM_TROUBLE_CLOCKS] = "clocks", [SIM_TROUBLE_ALL] = "all",
};

const char *sim_trouble_name(enum sim_trouble trouble) {
    return trouble_names[trouble];
}

const char *sim_fault_name(enum sim_fault fault) {
    return fault_names[fault];
}

const char *sim_guard_name(enum rl_guard_mode guard) {
    static const char *const guards[] = {
        [RL_GUARD_OFF] = "off", [RL_GUARD_OBSERVED] = "observed", [RL_GUARD_STRICT] = "strict"};
    return guards[guard];
}

const char *sim_break_name(uint32_t broken) {
    static const char *const names[SIM_BREAKS] = {
        [SIM_BREAK_NONE] = "none",
        [SIM_BREAK_STOPPED_CLOCK] = "stopped-clock",
        [SIM_BREAK_LONG_TTL] = "long-ttl",
        [SIM_BREAK_WALLS_APART] = "walls-apart",
        [SIM_BREAK_FLUSHALL] = "flushall",
        [SIM_BREAK_MEMBERS_UNCUT] = "members-uncut",
        [SIM_BREAK_MEMBERS_UNMET] = "members-unmet",
        [SIM_BREAK_MEMBERS_IMPATIENT] = "members-impatient",
    };
    const char *what;
    return broken < SIM_BREAKS ? names[broken] : server_break_name(broken - SIM_BREAKS, &what);
}

/* -- Printing -- */

static void print_faults(const struct sim_options *options) {
    printf("faults          every %.3f ms, up to %.3f ms long:",
           (double)options->fault_gap_ns / 1e6, (double)options->fault_ns / 1e6);
    const char *comma = " ";
    for (uint32_t i = 0; i < SIM_FAULTS; i++) {
        if (options->faults & SIM_BIT(i)) {
            printf("%s%s", comma, fault_names[i]);
            comma = ", ";
        }
    }
    printf("%s\n", options->faults == 0 ? " none" : "");
}

void sim_options_print(const struct sim_options *options) {
    printf("seed            %" PRIu64 "\n", options->seed);
    printf("preset          %s%s%s\n", sim_preset_name(options->preset),
           options->broken != SIM_BREAK_NONE ? ", broken: " : "",
           options->broken != SIM_BREAK_NONE ? sim_break_name(options->broken) : "");
    printf("size            %u nodes, %u clients with %u locks each, %u resources, %u steps\n",
           options->nodes, options->clients, options->locks, options->resources, options->steps);
    if (sim_options_has_lines(options)) {
        printf(
            "lines           trouble: %s; %u clients of other libraries; %u %% wait for long, "
            "%u %% of acquires are cancelled, %u %% of releases are the last\n",
            trouble_names[options->trouble], options->plain, options->patient_percent,
            options->cancel_percent, options->exit_percent);
    }
    sim_kind_print(options);
    printf("allowance       drift %u ppm + %u ms, lost margin %u ms\n", options->drift_ppm,
           options->drift_ms, options->lost_margin_ms);
    printf("timeouts        node %u ms, connect %u ms, reconnect %u to %u ms\n",
           options->node_timeout_ms, options->connect_timeout_ms, options->reconnect_min_ms,
           options->reconnect_max_ms);
    printf(
        "limits          %u requests out to a node, %u releases pending, %u bytes of room, "
        "%u unsent\n",
        options->requests_max, options->owed_max, options->room, options->unsent_max);
    printf("network         delay %.3f to %.3f ms, loss %u ppm, clogged up to %.3f ms\n",
           (double)options->delay_min_ns / 1e6, (double)options->delay_max_ns / 1e6,
           options->loss_ppm, (double)options->clog_ns / 1e6);
    printf("streams         %u %% of pieces split, %u %% of processes resolve names, in %.3f ms\n",
           options->split_percent, options->names_percent, (double)options->resolve_ns / 1e6);
    printf("clocks          drift up to %d ppm between two, wave %.3f ms\n",
           (int)options->clock_drift_ppm, (double)options->clock_wave_ns / 1e6);
    print_faults(options);
    printf(
        "users           ttl %u to %u ms%s, %u %% extend, think up to %u ms, "
        "hold up to %u %%, %u %% of callbacks block, %u %% of grants stop the client\n",
        options->ttl_min_ms, options->ttl_max_ms, options->same_ttl ? " (extended alike)" : "",
        options->extend_percent, options->think_max_ms, options->hold_percent,
        options->block_percent, options->grant_percent);
    printf(
        "acquires        %u %% with a watchdog, %u %% of them until silence, %u %% with a fence, "
        "%u %% linger\n",
        options->watch_percent, options->silence_percent, options->fence_percent,
        options->linger_percent);
    printf(
        "locks           %u %% of owners, %u %% of several resources, %u %% are handed over; %u "
        "elections\n",
        options->owner_percent, options->several_percent, options->adopt_percent,
        options->elections);
    if (sim_options_reads(options)) {
        printf("modes           %u %% of locks are read; %u %% of what holders do changes that\n",
               options->reader_percent, options->change_percent);
    }
    if (options->permits > 0) {
        printf(
            "permits         %u, up to %u of them for a lock; %u %% of what users do changes their "
            "number, %u %% of locks have another one\n",
            options->permits, options->take_most, options->resize_percent, options->odd_percent);
    }
    printf("guard           %s, for locks of up to %u ms\n", sim_guard_name(options->guard),
           options->max_ttl_ms);
    printf("fences          counters are kept for %u ms; wall clocks %s, %u %% of looks step\n",
           options->retention_ms,
           options->walls_agree   ? "agree to within max ttl"
           : options->walls_stand ? "stand"
                                  : "show anything",
           options->wall_percent);
}
