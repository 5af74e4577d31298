// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/net/environment.hpp"
#include "runtime/comm/store/secret.hpp"

namespace lockstep::launcher {

// One process to start: argv (looked up on PATH when it has no slash) and its whole environment.
struct ProcessSpec {
    std::vector<std::string> command;
    comm::Environment environment;
    int standard_output = -1, standard_error = -1;  // the caller's descriptors; -1: inherited
};

struct LocalRanks {
    std::vector<std::string> command;  // the same for every rank
    int size = 1;
    int master_port = 0;  // 0: one that is free now
    int threads_per_rank = 1;
    comm::Secret secret;
};

// The processes of a job on this machine: `base` with torchrun's variables, the store's secret and
// the cores of each rank (OMP_NUM_THREADS, LOCKSTEP_THREADS) added, and how their threads wait.
std::vector<ProcessSpec> local_ranks(const LocalRanks& ranks, const comm::Environment& base);

// A port of 127.0.0.1 that nobody uses now.
int free_port();

struct GroupOptions {
    int grace_ms = 5'000;  // between TERM and KILL when a rank has failed
    // The same after INT or TERM from outside: time for a checkpoint. None: as much as the ranks
    // take.
    std::optional<int> stop_grace_ms = 60'000;
};

struct GroupResult {
    int failed_rank = -1;  // the first to fail of its own accord, -1: none
    int status = 0;        // its exit code, or 128 + the signal that killed it
    int signal = 0;        // INT or TERM received from outside meanwhile, else 0
};

// Starts all processes and waits until all have ended. One that fails ends the others: TERM, then
// KILL. INT, TERM, USR1 and USR2 to this process are handed on; a second INT kills. However this
// process ends, no process it started stays. Forks: call it before any thread, MPI or OpenMP
// exists. Throws kind launch when a program cannot be started (nothing is left running then).
GroupResult run_process_group(const std::vector<ProcessSpec>& processes,
                              const GroupOptions& options);

}  // namespace lockstep::launcher
