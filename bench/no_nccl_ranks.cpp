// SPDX-License-Identifier: Apache-2.0
#include "bench/summing_ranks.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::bench {

SummingRanks nccl_ranks(comm::Communicator&, const comm::RankInfo&, launcher::SharedGpu, int) {
    throw Error(ErrorKind::config,
                "--backend nccl: this build has no CUDA backend; configure with nvcc in the path");
}

}  // namespace lockstep::bench
