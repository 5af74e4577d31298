// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "runtime/comm/transport.hpp"

// This is the interface between the program and the module that links MPI: one function with a C
// name. The module holds its own copy of the libraries below it, so the program need not export
// anything. Classes and exceptions have the same layout on both sides because both come from one
// build.
namespace lockstep::comm {

constexpr const char* mpi_module_function = "lockstep_connect_mpi_5";

struct MpiOptions {
    int timeout_ms = 300'000;
    std::string interface;  // network interface of MPI's TCP connections; empty: MPI chooses
    // An MPI call handles at most this many elements. Tests make it small.
    std::size_t max_count = std::numeric_limits<int>::max();
};

// Initialises MPI on the calling thread and joins its world; all later calls must come from that
// thread. `local_size` receives the number of ranks on this host, counted as ranks with the same
// kernel boot and the same host name. The caller owns the result.
using ConnectMpi = Transport* (*)(const MpiOptions*, int* local_size);

}  // namespace lockstep::comm
