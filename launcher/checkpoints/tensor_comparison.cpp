// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/tensor_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lockstep::launcher::checkpoints {

namespace {

void compare_values(float a, float b, double tolerance, TensorDifference& difference) {
    if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return;
    ++difference.differing;
    const double wide_a = a, wide_b = b;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    const double size = std::max(std::abs(wide_a), std::abs(wide_b));
    const double absolute =
        finite ? std::abs(wide_a - wide_b) : std::numeric_limits<double>::infinity();
    // Zeros of both signs differ in their bits alone.
    const double relative = !finite ? absolute : size > 0 ? absolute / size : 0;
    difference.largest_absolute = std::max(difference.largest_absolute, absolute);
    difference.largest_relative = std::max(difference.largest_relative, relative);
    const bool within = tolerance > 0 && finite && absolute <= tolerance * std::max(1.0, size);
    difference.beyond_tolerance = difference.beyond_tolerance || !within;
}

TensorDifference compare_tensor(train::StoredTensors& a, const train::StoredTensor& of_a,
                                train::StoredTensors& b, const train::StoredTensor& of_b,
                                double tolerance) {
    TensorDifference difference;
    difference.name = of_a.name;
    difference.shape = of_a.shape;
    difference.values = of_a.count;
    std::vector<float> other;
    std::size_t first = 0;
    train::for_each_block(a, of_a, [&](HostView<const float> values) {
        other.resize(values.size());
        b.read(of_b, first, view_of(other));
        for (std::size_t i = 0; i < values.size(); ++i)
            compare_values(values[i], other[i], tolerance, difference);
        first += values.size();
    });
    return difference;
}

TensorDifference missing(const train::StoredTensor& tensor, const std::string& what) {
    TensorDifference difference;
    difference.name = tensor.name;
    difference.shape = tensor.shape;
    difference.missing = what;
    difference.values = tensor.count;
    difference.beyond_tolerance = true;
    return difference;
}

bool is_compared(const train::StoredTensor& tensor, Compared compared) {
    return compared == Compared::all || tensor.role == train::TensorRole::weights;
}

}  // namespace

bool TensorComparison::differs() const noexcept {
    return std::ranges::any_of(differing, &TensorDifference::beyond_tolerance);
}

std::size_t TensorComparison::within_tolerance() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count(differing, false, &TensorDifference::beyond_tolerance));
}

TensorComparison compare_tensors(train::StoredTensors& a, train::StoredTensors& b,
                                 Compared compared, double tolerance) {
    TensorComparison found;
    for (const train::StoredTensor& of_a : a.tensors()) {
        if (!is_compared(of_a, compared)) continue;
        const train::StoredTensor* of_b = b.find(of_a.name);
        if (of_b == nullptr) {
            found.differing.push_back(missing(of_a, "not in B"));
        } else if (of_b->shape != of_a.shape) {
            found.differing.push_back(missing(of_a, "B has " + train::shape_text(of_b->shape)));
        } else {
            const TensorDifference difference = compare_tensor(a, of_a, b, *of_b, tolerance);
            if (difference.differing == 0)
                ++found.equal;
            else
                found.differing.push_back(difference);
        }
    }
    for (const train::StoredTensor& of_b : b.tensors())
        if (is_compared(of_b, compared) && a.find(of_b.name) == nullptr)
            found.differing.push_back(missing(of_b, "not in A"));
    return found;
}

}  // namespace lockstep::launcher::checkpoints
