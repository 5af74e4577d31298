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

// A tensor on both sides.
struct Pair {
    const train::StoredTensor &a, &b;
};

TensorDifference compare_part(train::StoredTensors& a, train::StoredTensors& b, const Pair& pair,
                              const train::StoredPart& part, double tolerance) {
    constexpr std::size_t block = std::size_t{1} << 20;
    TensorDifference difference;
    difference.name = part.name;
    difference.shape = part.shape;
    difference.values = part.count;
    std::vector<float> of_a, of_b;
    for (std::size_t done = 0; done < part.count; done += of_a.size()) {
        of_a.resize(std::min(block, part.count - done));
        of_b.resize(of_a.size());
        a.read(pair.a, part.first + done, view_of(of_a));
        b.read(pair.b, part.first + done, view_of(of_b));
        for (std::size_t i = 0; i < of_a.size(); ++i)
            compare_values(of_a[i], of_b[i], tolerance, difference);
    }
    return difference;
}

// A tensor that one of the sides holds under transformers' names is compared under them.
std::vector<train::StoredPart> parts_of(const train::StoredTensor& tensor,
                                        const train::StoredTensor& other) {
    if (!tensor.parts.empty()) return tensor.parts;
    if (!other.parts.empty()) return other.parts;
    return {{tensor.name, tensor.shape, 0, tensor.count}};
}

void add_missing(const train::StoredTensor& tensor, const std::string& what,
                 TensorComparison& found) {
    for (const train::StoredPart& part : parts_of(tensor, tensor)) {
        TensorDifference difference;
        difference.name = part.name;
        difference.shape = part.shape;
        difference.missing = what;
        difference.values = part.count;
        difference.beyond_tolerance = true;
        found.differing.push_back(difference);
    }
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
            add_missing(of_a, "not in B", found);
        } else if (of_b->shape != of_a.shape) {
            add_missing(of_a, "B has " + train::shape_text(of_b->shape), found);
        } else {
            for (const train::StoredPart& part : parts_of(of_a, *of_b)) {
                const auto difference = compare_part(a, b, {of_a, *of_b}, part, tolerance);
                if (difference.differing == 0)
                    ++found.equal;
                else
                    found.differing.push_back(difference);
            }
        }
    }
    for (const train::StoredTensor& of_b : b.tensors())
        if (is_compared(of_b, compared) && a.find(of_b.name) == nullptr)
            add_missing(of_b, "not in A", found);
    return found;
}

}  // namespace lockstep::launcher::checkpoints
