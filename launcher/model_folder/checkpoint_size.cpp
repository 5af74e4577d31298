// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/checkpoint_size.hpp"

namespace lockstep::launcher {

std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_bytes,
                                    int kept) {
    const std::uintmax_t weight_bytes = weights * sizeof(float);
    const std::uintmax_t checkpoint = weight_bytes + optimizer_bytes;
    return (static_cast<std::uintmax_t>(kept) + 1) * checkpoint + 2 * weight_bytes;
}

}  // namespace lockstep::launcher
