// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "runtime/comm/transport.hpp"

// The border between the program and the module that links MPI: one function with a C name. The
// module holds its own copy of what it needs of the libraries below, so that the program need not
// export anything; classes and exceptions look alike on both sides as both come from one build.
namespace lockstep::comm {

constexpr const char* mpi_module_function = "lockstep_connect_mpi_3";

struct MpiOptions {
    int timeout_ms = 300'000;
    std::string interface;  // network interface of MPI's TCP connections; empty: MPI chooses
    // Elements that one MPI call can count. Tests make it small.
    std::size_t max_count = std::numeric_limits<int>::max();
};

// Initialises MPI on the calling thread, which must make all later calls, and joins its world.
// `local_size`: of its ranks, those on this host: of one kernel, called by one name.
using ConnectMpi = Transport* (*)(const MpiOptions*, int* local_size);

}  // namespace lockstep::comm
