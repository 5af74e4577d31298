// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/softmax_xent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/logit_rows.hpp"
#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels {

namespace {

using namespace cpu;

// Most rows of an untrained model stop at the first comparison.
template <class T>
bool is_first_largest(const T* x, std::int32_t label, float largest) {
    if (!(cpu::load(x[label]) == largest)) return false;
    return std::none_of(x, x + label, [&](T v) { return cpu::load(v) == largest; });
}

// What a row of logits says of its label.
struct LabelLogit {
    std::int32_t label;
    float logit;
    bool first_largest;
};

template <class T>
LabelLogit label_of(const T* x, std::int32_t label, const RowStatistics& row) {
    return {label, cpu::load(x[label]), is_first_largest(x, label, row.largest)};
}

double log_sum_of(const RowStatistics& row) {
    return double{row.largest} + std::log(double{row.exponentials});
}

LossSums losses_of(const LabelLogit& label, std::int64_t n, float smoothing,
                   const RowStatistics& row) {
    const double log_sum = log_sum_of(row);
    LossSums sums;
    sums.nll = log_sum - double{label.logit};
    sums.loss = sums.nll;
    if (smoothing > 0)
        sums.loss = (1.0 - double{smoothing}) * sums.nll +
                    double{smoothing} * (log_sum - double{row.sum} / static_cast<double>(n));
    sums.tokens = 1;
    sums.correct = label.first_largest ? 1 : 0;
    return sums;
}

// Calculates the label's entry separately: subtracting 1 from a rounded value would lose bits. The
// derivative of the z-loss is 2 z log(sum) times the probability.
template <class T>
void backward_row(T* x, std::int64_t n, const LabelLogit& label, const LossTerms& terms, float seed,
                  const RowStatistics& row) {
    const float uniform = terms.label_smoothing / static_cast<float>(n);
    const double weight =
        terms.z_loss > 0 ? 1.0 + 2.0 * double{terms.z_loss} * log_sum_of(row) : 1.0;
    const float scale = seed * static_cast<float>(weight) / row.exponentials;
    const double p =
        weight * std::exp(double{label.logit} - double{row.largest}) / double{row.exponentials};
    const double at_label =
        (p - double{uniform} - (1.0 - double{terms.label_smoothing})) * double{seed};
    gradient_row(x, n, row.largest, scale, uniform * seed);
    cpu::store(x[label.label], static_cast<float>(at_label));
}

// Returns the losses of a row of logits, which becomes their gradient.
LossSums train_row(bf16* x, std::int64_t n, std::int32_t label, const LossTerms& terms,
                   float seed) {
    const RowStatistics row = statistics(x, n);
    const LabelLogit at = label_of(x, label, row);
    backward_row(x, n, at, terms, seed, row);
    return losses_of(at, n, terms.label_smoothing, row);
}
// Floats keep their exponentials for the gradient; 16 bits could not.
LossSums train_row(float* x, std::int64_t n, std::int32_t label, const LossTerms& terms,
                   float seed) {
    RowStatistics row = largest_and_sum(x, n);
    const LabelLogit at = label_of(x, label, row);
    row.exponentials = exponentiate(x, x, n, row.largest);
    backward_row(x, n, at, terms, seed, row);
    return losses_of(at, n, terms.label_smoothing, row);
}

template <class Row>
void each_row(CpuContext& ctx, std::int64_t rows, std::int64_t vocabulary,
              HostView<const std::int32_t> labels, LossSums* losses, const Row& body) {
    require(static_cast<std::int64_t>(labels.size()) == rows, "cross entropy: one label a row");
    for (const std::int32_t label : labels)
        require(label < vocabulary, "cross entropy: a label is not in the vocabulary");
    cpu::parallel_for(ctx, rows, rows * vocabulary, [&](std::int64_t i) {
        losses[i] = body(i, labels[static_cast<std::size_t>(i)]);
    });
}

}  // namespace

void log_softmax(HostView<float> logits) {
    const auto n = static_cast<std::int64_t>(logits.size());
    const RowStatistics row = statistics(logits.data(), n);
    if (row.largest == -std::numeric_limits<float>::infinity()) return;
    subtract(logits.data(), n, row.largest, std::log(row.exponentials));
}

template <class T>
void softmax_xent_forward(CpuContext& ctx, HostMatrix<const T> logits,
                          HostView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses) {
    each_row(ctx, logits.rows, logits.cols, labels, losses,
             [&](std::int64_t i, std::int32_t label) {
                 if (label < 0) return LossSums{};
                 const T* x = logits.data + i * logits.stride;
                 const RowStatistics row = statistics(x, logits.cols);
                 return losses_of(label_of(x, label, row), logits.cols, label_smoothing, row);
             });
}

template <class T>
void softmax_xent_forward_backward(CpuContext& ctx, const StepState* state, HostMatrix<T> logits,
                                   HostView<const std::int32_t> labels, const LossTerms& terms,
                                   LossSums* sums) {
    const auto each = cpu::scratch<LossSums>(ctx, cpu::ScratchMemory::Slot::losses, logits.rows);
    const auto body = [&](std::int64_t i, std::int32_t label) {
        T* x = logits.data + i * logits.stride;
        if (label < 0) {
            std::fill_n(x, logits.cols, T{});
            return LossSums{};
        }
        return train_row(x, logits.cols, label, terms, state->loss_seed);
    };
    each_row(ctx, logits.rows, logits.cols, labels, each.data(), body);
    // Adding in order gives the same sum for any number of threads.
    LossSums total;
    for (const LossSums& losses : each) total += losses;
    *sums += total;
}

template void softmax_xent_forward(CpuContext&, HostMatrix<const float>,
                                   HostView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward(CpuContext&, HostMatrix<const bf16>,
                                   HostView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CpuContext&, const StepState*, HostMatrix<float>,
                                            HostView<const std::int32_t>, const LossTerms&,
                                            LossSums*);
template void softmax_xent_forward_backward(CpuContext&, const StepState*, HostMatrix<bf16>,
                                            HostView<const std::int32_t>, const LossTerms&,
                                            LossSums*);

}  // namespace lockstep::kernels
