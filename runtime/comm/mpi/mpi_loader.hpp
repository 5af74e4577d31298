// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/mpi/mpi_module.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Loads the MPI module and joins MPI's world. `path` names the module; where it is empty,
// LOCKSTEP_MPI_MODULE does, else it is looked for beside the program: in ../lib/lockstep of an
// installed tree, of a build tree alike. Throws kind mpi when it is not there or does not load.
std::unique_ptr<Transport> connect_mpi(const std::string& path, const MpiOptions& options,
                                       int& local_size);

// Whether that would load a module. One that somebody named counts, so that a wrong name is told.
bool mpi_is_here(const std::string& path);

}  // namespace lockstep::comm
