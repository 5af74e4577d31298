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

// Returns the deviation for the variance 2 / (fan in + fan out).
double xavier_deviation(std::int64_t in, std::int64_t out) {
    return std::sqrt(2.0 / static_cast<double>(in + out));
}

bool has(const Parameter& p, std::string_view part) {
    return p.name.find(part) != std::string::npos;
}

// Elements of a parameter. Each takes one random word, that of its own number.
struct Elements {
    std::size_t first;
    HostView<float> values;
};

void generator_matrix(const ModelConfig& config, const Parameter& p, const Elements& elements,
                      PhiloxStream& random) {
    const HostView<float> values = elements.values;
    const std::int64_t d = config.embedding_size;
    if (has(p, "embeddings.weight")) {  // position_embeddings too
        fill_normal(values, 1 / std::sqrt(static_cast<double>(d)), random);
        const auto row = static_cast<std::size_t>(d);
        if (p.name == "embeddings.weight" && elements.first < row)
            for (float& value : values.subview(0, std::min(values.size(), row - elements.first)))
                value = 0;
    } else if (has(p, ".ffn.")) {
        // A uniform distribution's bound is sqrt(3) times its deviation.
        fill_uniform(values, std::sqrt(3.0) * xavier_deviation(p.shape[1], p.shape[0]), random);
    } else {
        fill_normal(values, xavier_deviation(d, d), random);  // qkv and kv: each [d, d] matrix
    }
}

void gpt2_matrix(const ModelConfig& config, const Parameter& p, const Elements& elements,
                 PhiloxStream& random) {
    const bool residual = has(p, ".out.weight") || has(p, ".ffn.lin2.weight");
    const double branches = 2 * static_cast<double>(config.decoder_layers);
    fill_normal(elements.values, residual ? 0.02 / std::sqrt(branches) : 0.02, random);
}

}  // namespace

void initial_weights(const ModelConfig& config, const train::ParameterTable& table,
                     std::uint64_t seed, HostView<float> master) {
    const auto& parameters = table.all();
    // Billions of values take a minute on one thread. Each parameter has its own random numbers, so
    // threads can share the work.
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        initial_weights(config, p, seed, 0, master.subview(p.offset, p.count));
    }
}

void initial_weights(const ModelConfig& config, const Parameter& p, std::uint64_t seed,
                     std::size_t first, HostView<float> values) {
    require(first % 2 == 0, "the normal distribution makes two values at a time");
    if (p.shape.size() == 1) {
        std::ranges::fill(values, has(p, "norm") && has(p, ".weight") ? 1.0f : 0.0f);
        return;
    }
    PhiloxStream random(mix(seed, hash64(p.name.data(), p.name.size(), 0)), first);
    if (config.kind == Kind::gpt2)
        gpt2_matrix(config, p, {first, values}, random);
    else
        generator_matrix(config, p, {first, values}, random);
}

}  // namespace lockstep::model
