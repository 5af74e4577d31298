// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi_module.hpp"

#include "runtime/comm/mpi_transport.hpp"

extern "C" __attribute__((visibility("default"))) lockstep::comm::Transport* lockstep_connect_mpi_2(
    const lockstep::comm::MpiOptions* options, lockstep::comm::MpiLocality* locality) {
    auto transport = std::make_unique<lockstep::comm::MpiTransport>(*options);
    *locality = transport->locality();
    return transport.release();
}
