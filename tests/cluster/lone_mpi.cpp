// SPDX-License-Identifier: Apache-2.0
// A module in the place of the MPI module: an MPI that does not understand the launcher's PMI, and
// so takes each process for a world of its own.
#include "runtime/comm/mpi/mpi_module.hpp"
#include "tests/support/idle_transport.hpp"

using namespace lockstep::comm;

extern "C" Transport* lockstep_connect_mpi_5(const MpiOptions*, int* local_size) {
    *local_size = 1;
    return new lockstep::tests::IdleTransport(1);
}
