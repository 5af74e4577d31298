// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/weights.hpp"

#include <cmath>

namespace lockstep::model {

std::vector<float> sinusoidal_positions(std::int64_t n_positions, std::int64_t d) {
    std::vector<double> wavelengths(static_cast<std::size_t>(d));
    for (std::int64_t j = 0; j < d; ++j)
        wavelengths[j] =
            std::pow(10000.0, 2.0 * static_cast<double>(j / 2) / static_cast<double>(d));
    std::vector<float> codes(static_cast<std::size_t>(n_positions * d));
    for (std::int64_t p = 0; p < n_positions; ++p) {
        for (std::int64_t j = 0; j < d; ++j) {
            const double angle = static_cast<double>(p) / wavelengths[j];
            codes[p * d + j] = static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    }
    return codes;
}

}  // namespace lockstep::model
