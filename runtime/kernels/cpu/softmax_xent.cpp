// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/softmax_xent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels {

namespace {

// What a row of logits says.
struct RowStatistics {
    float largest = -std::numeric_limits<float>::infinity();
    float exponentials = 0;  // sum of e^(x - largest)
    float sum = 0;
};

// Returns 0 if no logit is finite, because -inf - -inf would be NaN.
[[gnu::always_inline]] inline float shift_of(float largest) noexcept {
    return largest == -std::numeric_limits<float>::infinity() ? 0.0f : largest;
}

// A chunk of 16-bit logits fits the first-level cache in fp32, too: memory is read once, although
// the maximum is needed before the sum. Sums over chunks lose fewer bits than one over a row.
constexpr std::int64_t chunk = 2048;

// Writes the values in fp32. They are copied because larger loops over 16-bit elements become
// vector code of half the speed.
[[gnu::always_inline]] inline void widen(const bf16* x, std::int64_t n, float* values) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) values[j] = cpu::load(x[j]);
}

[[gnu::always_inline]] inline void take_chunk(const bf16* logits, std::int64_t n,
                                              RowStatistics& row) {
    alignas(64) float x[chunk];
    widen(logits, n, x);
    float largest = row.largest, sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        largest = x[j] > largest ? x[j] : largest;
        sum += x[j];
    }
    const float shift = shift_of(largest);
    float exponentials = 0;
#pragma omp simd reduction(+ : exponentials)
    for (std::int64_t j = 0; j < n; ++j) exponentials += cpu::exponential(x[j] - shift);
    row.exponentials = row.exponentials * cpu::exponential(row.largest - shift) + exponentials;
    row.largest = largest;
    row.sum += sum;
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] RowStatistics statistics(
    const bf16* x, std::int64_t n) {
    RowStatistics row;
    for (std::int64_t first = 0; first < n; first += chunk)
        take_chunk(x + first, std::min(chunk, n - first), row);
    return row;
}

// Returns a row's statistics without the sum of exponentials.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] RowStatistics largest_and_sum(
    const float* x, std::int64_t n) {
    RowStatistics row;
    float largest = row.largest;
    for (std::int64_t first = 0; first < n; first += chunk) {
        const std::int64_t end = std::min(first + chunk, n);
        float sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
        for (std::int64_t j = first; j < end; ++j) {
            largest = x[j] > largest ? x[j] : largest;
            sum += x[j];
        }
        row.sum += sum;
    }
    row.largest = largest;
    return row;
}

// Computes y = e^(x - shift) and returns the sum. y may be x.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float exponentiate(
    const float* x, float* y, std::int64_t n, float shift) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        y[j] = cpu::exponential(x[j] - shift);
        sum += y[j];
    }
    return sum;
}

// Adds what `sum` returns of each chunk of a row, in order.
template <class Sum>
float sum_of_chunks(std::int64_t n, const Sum& sum) {
    float total = 0;
    for (std::int64_t first = 0; first < n; first += chunk)
        total += sum(first, std::min(chunk, n - first));
    return total;
}

RowStatistics statistics(const float* x, std::int64_t n) {
    alignas(64) float unused[chunk];
    RowStatistics row = largest_and_sum(x, n);
    const float shift = shift_of(row.largest);
    row.exponentials = sum_of_chunks(n, [&](std::int64_t first, std::int64_t count) {
        return exponentiate(x + first, unused, count, shift);
    });
    return row;
}

// Computes x = scale * e^(x - shift) - uniform.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gradient_row(
    bf16* logits, std::int64_t size, float shift, float scale, float uniform) {
    alignas(64) float space[chunk];
    for (std::int64_t first = 0; first < size; first += chunk) {
        const std::int64_t n = std::min(chunk, size - first);
        widen(logits + first, n, space);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
            space[j] = scale * cpu::exponential(space[j] - shift) - uniform;
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) cpu::store(logits[first + j], space[j]);
    }
}

// Does the same in a row that holds e^(x - shift) already.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void gradient_row(
    float* x, std::int64_t n, float, float scale, float uniform) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) x[j] = scale * x[j] - uniform;
}

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

LossSums losses_of(const LabelLogit& label, std::int64_t n, float smoothing,
                   const RowStatistics& row) {
    const double log_sum = double{row.largest} + std::log(double{row.exponentials});
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

// Calculates the label's entry separately: subtracting 1 from a rounded value would lose bits.
template <class T>
void backward_row(T* x, std::int64_t n, const LabelLogit& label, float smoothing, float seed,
                  const RowStatistics& row) {
    const float uniform = smoothing / static_cast<float>(n);
    const float scale = seed / row.exponentials;
    const double p = std::exp(double{label.logit} - double{row.largest}) / double{row.exponentials};
    const double at_label = (p - double{uniform} - (1.0 - double{smoothing})) * double{seed};
    gradient_row(x, n, row.largest, scale, uniform * seed);
    cpu::store(x[label.label], static_cast<float>(at_label));
}

// Returns the losses of a row of logits, which becomes their gradient.
LossSums train_row(bf16* x, std::int64_t n, std::int32_t label, float smoothing, float seed) {
    const RowStatistics row = statistics(x, n);
    const LabelLogit at = label_of(x, label, row);
    backward_row(x, n, at, smoothing, seed, row);
    return losses_of(at, n, smoothing, row);
}
// Floats keep their exponentials for the gradient; 16 bits could not.
LossSums train_row(float* x, std::int64_t n, std::int32_t label, float smoothing, float seed) {
    RowStatistics row = largest_and_sum(x, n);
    const LabelLogit at = label_of(x, label, row);
    const float shift = shift_of(row.largest);
    row.exponentials = sum_of_chunks(n, [&](std::int64_t first, std::int64_t count) {
        return exponentiate(x + first, x + first, count, shift);
    });
    backward_row(x, n, at, smoothing, seed, row);
    return losses_of(at, n, smoothing, row);
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

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void subtract(float* x,
                                                                                    std::int64_t n,
                                                                                    float largest,
                                                                                    float log_sum) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) x[j] = x[j] - largest - log_sum;
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
                                   HostView<const std::int32_t> labels, float label_smoothing,
                                   LossSums* sums) {
    const auto each = cpu::scratch<LossSums>(ctx, cpu::ScratchMemory::Slot::losses, logits.rows);
    const auto body = [&](std::int64_t i, std::int32_t label) {
        T* x = logits.data + i * logits.stride;
        if (label < 0) {
            std::fill_n(x, logits.cols, T{});
            return LossSums{};
        }
        return train_row(x, logits.cols, label, label_smoothing, state->loss_seed);
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
                                            HostView<const std::int32_t>, float, LossSums*);
template void softmax_xent_forward_backward(CpuContext&, const StepState*, HostMatrix<bf16>,
                                            HostView<const std::int32_t>, float, LossSums*);

}  // namespace lockstep::kernels
