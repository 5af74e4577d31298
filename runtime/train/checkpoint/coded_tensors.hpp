// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/kernels/moment_codes.hpp"

// How files hold moments in int8: the codes as tensor NAME (U8), and the scales of its cells of 256
// elements, in row-major order, as tensor NAME.scale (F32).
namespace lockstep::train {

// Returns the name of the tensor with the scales.
std::string scales_name(std::string_view tensor);
// Returns the map of the moment of this name: ".exp_avg_sq" is never negative.
kernels::DynamicMap moment_map(std::string_view tensor) noexcept;

// Calls body(first, count) for [0, size), a block of whole cells at a time.
template <class Body>
void for_each_block_of_cells(std::size_t size, const Body& body) {
    constexpr std::size_t largest = kernels::moment_cell << 12;
    for (std::size_t first = 0; first < size; first += largest)
        body(first, std::min(largest, size - first));
}

}  // namespace lockstep::train
