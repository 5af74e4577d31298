// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

const char* name(ReduceOp reduction) noexcept {
    switch (reduction) {
        case ReduceOp::sum:
            return "sum";
        case ReduceOp::min:
            return "min";
        case ReduceOp::max:
            return "max";
    }
    return "unknown";
}

void Communicator::abort(int /*exit_code*/) {}

}  // namespace lockstep::comm
