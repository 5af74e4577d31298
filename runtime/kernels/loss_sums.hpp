// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::kernels {

// Says what is minimised for a token beside its cross entropy. Label smoothing e gives the target
// distribution 1 - e on the label plus e / V everywhere. z_loss z adds z * log(sum of e^logit)^2
// (Chowdhery et al., "PaLM", 2022), of which no sum tells.
struct LossTerms {
    float label_smoothing = 0, z_loss = 0;
};

// These are sums over the labelled tokens of a batch. They are in the device's memory.
struct LossSums {
    double loss = 0;  // the cross entropy, with label smoothing
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
