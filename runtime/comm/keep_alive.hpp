// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Keeps the memory until the operations that the communicator has queued so far have ended. They
// may use it although the caller leaves with an exception before finish().
inline void keep_alive(Communicator& communicator, std::shared_ptr<const void> memory) {
    communicator.run([memory = std::move(memory)] {}, "memory");
}

}  // namespace lockstep::comm
