// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoint_size.hpp"

namespace lockstep::launcher {

std::uintmax_t bytes_of_checkpoints(std::uintmax_t weights, std::uintmax_t optimizer_values) {
    const std::uintmax_t checkpoint = weights + optimizer_values;
    return ((kept_checkpoints + 1) * checkpoint + 2 * weights) * sizeof(float);
}

std::uintmax_t optimizer_values(const train::OptimizerOptions& options, std::uintmax_t weights) {
    switch (options.kind) {
        case train::OptimizerKind::adam:
        case train::OptimizerKind::adamw:
            return (options.amsgrad ? 3 : 2) * weights;
        case train::OptimizerKind::sgd:
            return options.momentum > 0 ? weights : 0;
        case train::OptimizerKind::adafactor:
            return 0;  // rows and columns only, next to nothing
    }
    return 0;
}

}  // namespace lockstep::launcher
