// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::kernels {

// These are sums over the labelled tokens of a batch. They are in the device's memory.
struct LossSums {
    double loss = 0;  // the minimised loss, with label smoothing
    double nll = 0;   // negative log-likelihood: perplexity = exp(nll / tokens)
    double tokens = 0;
    double correct = 0;  // tokens whose most likely entry (lowest index on ties) is the label

    constexpr LossSums& operator+=(const LossSums& other) noexcept {
        loss += other.loss;
        nll += other.nll;
        tokens += other.tokens;
        correct += other.correct;
        return *this;
    }
};

}  // namespace lockstep::kernels
