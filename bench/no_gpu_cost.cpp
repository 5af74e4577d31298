// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_cost.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::bench {

namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorKind::contract, "this build has no CUDA backend, hence no GPU to ask");
}

}  // namespace

double gpu_product_ceiling(int, train::Precision) { refuse(); }
std::int64_t gpu_bytes_in_use(int) { refuse(); }

}  // namespace lockstep::bench
