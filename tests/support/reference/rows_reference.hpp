// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "runtime/kernels/activation.hpp"

// Calculates the row-wise kernels serially in double from their formulas.
namespace lockstep::tests {

using Row = std::vector<double>;

inline Row norm_reference(const Row& x, const Row& gamma, const Row& beta, double epsilon) {
    const auto d = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / d;
    for (const double v : x) variance += (v - mean) * (v - mean) / d;
    Row y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j)
        y[j] = (x[j] - mean) / std::sqrt(variance + epsilon) * gamma[j] + beta[j];
    return y;
}

inline Row rms_norm_reference(const Row& x, const Row& gamma, double epsilon) {
    double squares = 0;
    for (const double v : x) squares += v * v / static_cast<double>(x.size());
    Row y(x.size());
    for (std::size_t j = 0; j < x.size(); ++j)
        y[j] = x[j] / std::sqrt(squares + epsilon) * gamma[j];
    return y;
}

inline double activation_reference(kernels::Activation f, double x) {
    constexpr double pi = std::numbers::pi;
    switch (f) {
        case kernels::Activation::relu:
            return std::max(x, 0.0);
        case kernels::Activation::gelu_tanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
        case kernels::Activation::gelu_erf:
            return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
        case kernels::Activation::silu:
            return x / (1 + std::exp(-x));
    }
    return 0;
}

struct LossReference {
    double loss, nll;
};
inline LossReference cross_entropy_reference(const Row& x, std::size_t label, double smoothing) {
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double v : x) sum += std::exp(v - largest);
    const double log_sum = largest + std::log(sum);
    LossReference result{0, log_sum - x[label]};
    for (std::size_t j = 0; j < x.size(); ++j) {
        const double target =
            smoothing / static_cast<double>(x.size()) + (j == label ? 1 - smoothing : 0);
        result.loss += target * (log_sum - x[j]);
    }
    return result;
}

}  // namespace lockstep::tests
