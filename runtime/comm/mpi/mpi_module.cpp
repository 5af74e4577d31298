// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi/mpi_module.hpp"

#include "runtime/comm/mpi/mpi_transport.hpp"

extern "C" __attribute__((visibility("default"))) lockstep::comm::Transport* lockstep_connect_mpi_5(
    const lockstep::comm::MpiOptions* options, int* local_size) {
    auto transport = std::make_unique<lockstep::comm::MpiTransport>(*options);
    *local_size = transport->local_size();
    return transport.release();
}
