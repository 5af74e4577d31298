// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/mpi/mpi_module.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Loads the MPI module and joins MPI's world. `path` names the module. If it is empty,
// LOCKSTEP_MPI_MODULE names it; if that is not set either, the module is looked for in
// ../lib/lockstep relative to the program, in an installed tree and in a build tree. Throws kind
// mpi when the module does not exist or does not load.
std::unique_ptr<Transport> connect_mpi(const std::string& path, const MpiOptions& options,
                                       int& local_size);

// Tells whether connect_mpi would load a module. A module that the user named counts without a
// check, so that connect_mpi reports a wrong name.
bool mpi_is_here(const std::string& path);

}  // namespace lockstep::comm
