// SPDX-License-Identifier: Apache-2.0
#include "model/initialize.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::model {

namespace {

using train::Parameter;

// Uses the Box-Muller transform, which makes two values of two random words. uniform() may return
// 0, so the logarithm is taken of 1 - uniform().
void fill_normal(HostView<float> values, double deviation, PhiloxStream& random) {
    for (std::size_t i = 0; i < values.size(); i += 2) {
        const double radius = deviation * std::sqrt(-2 * std::log(1 - random.uniform()));
        const double angle = 2 * std::numbers::pi * random.uniform();
        values[i] = static_cast<float>(radius * std::cos(angle));
        if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
}

void fill_uniform(HostView<float> values, double bound, PhiloxStream& random) {
    for (float& value : values) value = static_cast<float>(bound * (2 * random.uniform() - 1));
}

}  // namespace

void initial_weights(const train::ParameterTable& table, std::uint64_t seed,
                     HostView<float> master) {
    const auto& parameters = table.all();
    // Billions of values take a minute on one thread. Each parameter has its own random numbers, so
    // threads can share the work.
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        initial_weights(p, seed, 0, master.subview(p.offset, p.count));
    }
}

void initial_weights(const Parameter& p, std::uint64_t seed, std::size_t first,
                     HostView<float> values) {
    using Kind = train::InitialValues::Kind;
    require(first % 2 == 0, "the normal distribution makes two values at a time");
    const double size = p.initial.size;
    if (p.initial.kind == Kind::constant)
        return void(std::ranges::fill(values, static_cast<float>(size)));
    // Each element takes one random word, that of its own number.
    PhiloxStream random(mix(seed, hash64(p.name.data(), p.name.size(), 0)), first);
    if (p.initial.kind == Kind::normal)
        fill_normal(values, size, random);
    else
        fill_uniform(values, size, random);
    const auto zeros = static_cast<std::size_t>(p.initial.zero_rows * p.shape.back());
    if (first < zeros)
        std::ranges::fill(values.subview(0, std::min(values.size(), zeros - first)), 0.0f);
}

}  // namespace lockstep::model
