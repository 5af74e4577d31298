// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/input_reader.hpp"

namespace lockstep::fuzz {

enum class Peer { without_secret, with_secret };

// Connects to a store that serves on a thread of this process, sends it frames and other bytes as
// the input says, and waits until the store has ended the connection. The store must go on serving
// others.
void talk_to_store(Peer peer, InputReader& input);

}  // namespace lockstep::fuzz
