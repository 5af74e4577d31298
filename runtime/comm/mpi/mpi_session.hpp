// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/secret/pmix_client.hpp"

namespace lockstep::comm {

// Throws kind mpi with the library's own text when `code` is not MPI_SUCCESS. The error says that
// memory lacks if that is the likely cause.
void check(int code, const char* what);

// Keeps MPI initialised in this process and provides the reductions that MPI lacks. It is made,
// used and destroyed on one thread.
class MpiSession {
public:
    // `interface` is the network of MPI's TCP connections unless the environment already names one;
    // if it is empty, MPI chooses. Throws kind config if this MPI library is not Open MPI and
    // `interface` is given. Returns once every rank can take messages.
    explicit MpiSession(const std::string& interface);
    // Calls MPI_Finalize unless disturbed: Finalize waits for ranks that may never come.
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    void disturb() noexcept { disturbed_ = true; }
    MPI_Op operation(Dtype element, ReduceOp reduction) const;
    static MPI_Datatype type(Dtype element) noexcept;

private:
    void meet(Clock::time_point deadline);

    std::unique_ptr<PmixClient> pmix_;                   // set under Slurm's PMIx only
    std::array<std::array<MPI_Op, 3>, 4> operations_{};  // [element][reduction]
    bool disturbed_ = false;
};

}  // namespace lockstep::comm
