// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/kernels/optimizers.hpp"

// Updates a single element in double, as torch.optim documents it, and Lion as its paper does.
namespace lockstep::tests {

struct Element {
    double w, m = 0, v = 0, largest = 0;
};

enum class Bound { none, amsgrad };

inline void adam_reference(const kernels::AdamOptions& o, Bound bound,
                           const kernels::StepState& state, double g, Element& e) {
    const double t = static_cast<double>(state.updates) + 1, lr = double{state.lr};
    g *= double{state.gradient_scale};
    if (o.decay == kernels::AdamOptions::Decay::decoupled)
        e.w -= lr * o.weight_decay * e.w;
    else
        g += o.weight_decay * e.w;
    e.m = o.beta1 * e.m + (1 - o.beta1) * g;
    e.v = o.beta2 * e.v + (1 - o.beta2) * g * g;
    e.largest = bound == Bound::amsgrad ? std::max(e.largest, e.v) : e.v;
    const double m_hat = e.m / (1 - std::pow(o.beta1, t));
    const double v_hat = e.largest / (1 - std::pow(o.beta2, t));
    e.w -= lr * m_hat / (std::sqrt(v_hat) + o.epsilon);
}

inline void sgd_reference(const kernels::SgdOptions& o, const kernels::StepState& state, double g,
                          Element& e) {
    g = g * double{state.gradient_scale} + double{o.weight_decay} * e.w;
    e.m = state.updates == 0 ? g : double{o.momentum} * e.m + g;
    const bool nesterov = o.kind == kernels::SgdOptions::Kind::nesterov;
    e.w -= double{state.lr} * (nesterov ? g + double{o.momentum} * e.m : e.m);
}

inline void lion_reference(const kernels::LionOptions& o, const kernels::StepState& state, double g,
                           Element& e) {
    g *= double{state.gradient_scale};
    const double c = o.beta1 * e.m + (1 - o.beta1) * g;
    const double sign = c == 0 ? 0 : std::copysign(1, c);
    e.w -= double{state.lr} * (sign + o.weight_decay * e.w);
    e.m = o.beta2 * e.m + (1 - o.beta2) * g;
}

}  // namespace lockstep::tests
