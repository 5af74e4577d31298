// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/secret/secret.hpp"

namespace lockstep::launcher {

// Describes a process to start: argv (looked up on PATH when it has no slash) and its whole
// environment.
struct ProcessSpec {
    std::vector<std::string> command;
    comm::Environment environment;
    int standard_output = -1, standard_error = -1;  // the caller's descriptors; -1: inherited
};

struct LocalRanks {
    std::vector<std::string> command;  // the same for every rank
    int size = 1;
    int master_port = 0;  // 0: any free port
    int threads_per_rank = 1;
    comm::Secret secret;
};

// Returns the processes of a job on this host. Their environment is `base` without what an outer
// launcher told this process about its rank (comm::without_outer_ranks), with torchrun's variables,
// the store's secret, the number of cores of each rank (OMP_NUM_THREADS, LOCKSTEP_THREADS) and the
// wait policy of OpenMP threads.
std::vector<ProcessSpec> local_ranks(const LocalRanks& ranks, const comm::Environment& base);

// Returns a port of 127.0.0.1 that is free now.
int free_port();

struct GroupOptions {
    int grace_ms = 5'000;  // time between TERM and KILL after a rank has failed
    // This is the same time after INT, TERM or HUP from outside, long enough for a checkpoint.
    // Without a value the launcher waits as long as the ranks take.
    std::optional<int> stop_grace_ms = 60'000;
    // Is called when the first INT, TERM, HUP or QUIT from outside is passed on. It must not wait.
    std::function<void(int signal)> on_request = nullptr;
    // Is asked about twice a second whether the processes shall end now; they then get TERM, and
    // have grace_ms to end.
    std::function<bool()> asked_to_end = nullptr;
};

// Tells why all ranks were killed at a request from outside before one of them had failed.
enum class KilledAtRequest { no, at_second_interrupt, when_time_was_over };

struct GroupResult {
    int failed_rank = -1;  // the first one that failed by itself; -1: none
    int status = 0;        // its exit code, or 128 + the signal that killed it
    int signal = 0;        // INT, TERM, HUP or QUIT received from outside, else 0
    KilledAtRequest killed = KilledAtRequest::no;
};

// Starts all processes and waits until all have ended. A failing process ends the others: they get
// TERM, then KILL. The function forwards INT, TERM, HUP, QUIT, USR1 and USR2 to the processes, but
// not a HUP or QUIT that this process was started to ignore (nohup). A second INT kills them; after
// QUIT, which asks for no checkpoint, they have grace_ms to end. No process survives this one,
// however it ends. It forks, so call it before any thread, MPI or OpenMP exists. Throws kind launch
// when a program cannot be started; no process is left running then.
GroupResult run_process_group(const std::vector<ProcessSpec>& processes,
                              const GroupOptions& options);

}  // namespace lockstep::launcher
