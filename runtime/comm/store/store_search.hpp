// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "runtime/comm/store/join_attempt.hpp"

namespace lockstep::comm {

// The places that follow wait for an attempt as long as this, so that the first place that answers
// is taken: it decides through which network the ranks talk. RFC 8305 recommends this time.
constexpr std::chrono::milliseconds usual_head_start(250);

// Tries each port at all addresses, port by port, again and again, until a store proves the secret.
// An attempt that gets no answer goes on while the next ones begin, so a program that listens and
// says nothing delays the search once, by the head start. Returns the attempt that has joined.
// Throws kind peer when none has within `timeout_ms`, and tries each place at least once. Time in
// which the process is suspended does not count: whoever answers may have been suspended, too.
JoinAttempt find_store(const std::vector<SocketAddress>& addresses, const std::vector<int>& ports,
                       const Admission& admission, int timeout_ms,
                       std::chrono::milliseconds head_start = usual_head_start);

// Connects again to a store that was found before. Throws kind peer if nobody listens there any
// more, and when the store has not proved the secret within `timeout_ms`.
JoinAttempt find_store_again(const SocketAddress& address, const Admission& admission,
                             int timeout_ms);

}  // namespace lockstep::comm
