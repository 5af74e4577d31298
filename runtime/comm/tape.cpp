// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/tape.hpp"

namespace lockstep::comm {

std::int64_t bytes_sent(const TapeEntry& entry, HalfSums half_sums) {
    const std::int64_t half = entry.bytes / entry.ranks * (entry.ranks - 1) +
                              entry.bytes % entry.ranks * (entry.ranks - 1) / entry.ranks;
    switch (entry.call) {
        case TapedCall::all_reduce:
            return 2 * half;
        case TapedCall::reduce_scatter:
            return half_sums == HalfSums::halves ? half : 2 * half;
        case TapedCall::all_gather:
            return half;
        case TapedCall::broadcast:
        case TapedCall::send:
            return entry.bytes;
        case TapedCall::wait:
            break;
    }
    return 0;
}

}  // namespace lockstep::comm
