// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using Matrix = HostMatrix<bf16>;

constexpr std::int64_t block = 4096;

// Holds the numbers of one update of a direction.
struct Average {
    float gradient_scale, rest;  // rest = 1 - momentum
    MuonOptions::Kind kind;
};

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void average(
    const Average& how, float* gradient, float* moment, std::int64_t size) {
    const float scale = how.gradient_scale, rest = how.rest;
    const bool nesterov = how.kind == MuonOptions::Kind::nesterov;
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) {
        const float g = gradient[i] * scale;
        const float m = cpu::fused(rest, g - moment[i], moment[i]);
        moment[i] = m;
        gradient[i] = nesterov ? cpu::fused(rest, g - m, m) : m;
    }
}

// Writes p * x + q * y to y.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void combine(
    float p, const bf16* x, float q, bf16* y, std::int64_t size) {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i)
        cpu::store(y[i], cpu::fused(p, cpu::load(x[i]), q * cpu::load(y[i])));
}

void combine(CpuContext& ctx, float p, const Matrix& x, float q, const Matrix& y) {
    const std::int64_t size = x.rows * x.cols;
    cpu::parallel_blocks(ctx, size, block, size,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             combine(p, x.data + first, q, y.data + first, count);
                         });
}

// Writes the transpose of `from` to `to`, some rows at a time because a line of the caches holds
// elements of several of them.
template <class T>
void transpose(CpuContext& ctx, HostMatrix<const T> from, const Matrix& to) {
    constexpr std::int64_t rows = 16;
    cpu::parallel_blocks(ctx, to.rows, rows, to.rows * to.cols,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             for (std::int64_t j = 0; j < to.cols; ++j)
                                 for (std::int64_t i = first; i < first + count; ++i)
                                     cpu::store(to.data[i * to.cols + j],
                                                cpu::load(from.data[j * from.cols + i]));
                         });
}

// Copies the direction so that the matrix has no more rows than columns.
void load_wide(CpuContext& ctx, HostMatrix<const float> direction, const Matrix& x) {
    if (direction.rows > direction.cols) return transpose(ctx, direction, x);
    const std::int64_t size = x.rows * x.cols;
    cpu::parallel_blocks(ctx, size, block, size,
                         [&](std::int64_t, std::int64_t first, std::int64_t count) {
                             for (std::int64_t i = first; i < first + count; ++i)
                                 cpu::store(x.data[i], direction.data[i]);
                         });
}

// Divides by the root of the sum of squares, which as in the reference is rounded to bf16.
void normalise(CpuContext& ctx, const Matrix& x) {
    constexpr double smallest = 1e-7;
    const auto squares = cpu::scratch<double>(ctx, cpu::ScratchMemory::Slot::losses, x.rows);
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        double sum = 0;
        for (std::int64_t j = 0; j < x.cols; ++j) {
            const auto value = double{cpu::load(x.data[i * x.cols + j])};
            sum += value * value;
        }
        squares[static_cast<std::size_t>(i)] = sum;
    });
    const double root = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
    const auto norm = static_cast<float>(bf16(static_cast<float>(std::max(root, smallest))));
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        for (std::int64_t j = 0; j < x.cols; ++j) {
            bf16& value = x.data[i * x.cols + j];
            cpu::store(value, cpu::load(value) / norm);
        }
    });
}

// Brings the singular values of x near 1 and returns the result, which lies in x or in y.
Matrix newton_schulz(CpuContext& ctx, Matrix x, Matrix y, bf16* squares) {
    constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    constexpr int steps = 5;
    const Matrix gram(squares, x.rows, x.rows);
    const Matrix square(squares + x.rows * x.rows, x.rows, x.rows);
    for (int step = 0; step < steps; ++step) {
        linear_forward<bf16>(ctx, x, x, {}, gram);
        linear_forward<bf16>(ctx, gram, gram, {}, square);  // it equals its transpose
        combine(ctx, b, gram, c, square);
        linear_backward_input<bf16>(ctx, square, x, y, Into::overwrite);
        combine(ctx, a, x, 1, y);
        std::swap(x, y);
    }
    return x;
}

double scale_of(MuonOptions::Scale scale, std::int64_t rows, std::int64_t cols) {
    const auto height = static_cast<double>(rows), width = static_cast<double>(cols);
    if (scale == MuonOptions::Scale::original) return std::sqrt(std::max(1.0, height / width));
    return 0.2 * std::sqrt(std::max(height, width));
}

// Describes a range of the flat buffers. `compute` may be null.
template <class T>
struct Range {
    const bf16* direction;
    float* master;
    T* compute;
    std::int64_t size;
};

template <class T>
[[gnu::always_inline]] inline void apply_any(float step, float shrink, const Range<T>& range) {
    const bf16* direction = range.direction;
    float* master = range.master;
#pragma omp simd
    for (std::int64_t i = 0; i < range.size; ++i)
        master[i] = cpu::fused(master[i], shrink, -(step * cpu::load(direction[i])));
    if (range.compute == nullptr) return;
    T* compute = range.compute;
#pragma omp simd
    for (std::int64_t i = 0; i < range.size; ++i) cpu::store(compute[i], master[i]);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void apply(
    float step, float shrink, const Range<float>& range) {
    apply_any(step, shrink, range);
}
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void apply(
    float step, float shrink, const Range<bf16>& range) {
    apply_any(step, shrink, range);
}

// Returns the orthogonalised direction with the shape of the direction.
Matrix orthogonalised(CpuContext& ctx, HostMatrix<const float> direction, bf16* scratch) {
    const std::int64_t rows = direction.rows, cols = direction.cols, n = rows * cols;
    const Matrix x(scratch, std::min(rows, cols), std::max(rows, cols));
    const Matrix y(scratch + n, x.rows, x.cols);
    load_wide(ctx, direction, x);
    normalise(ctx, x);
    const Matrix wide = newton_schulz(ctx, x, y, scratch + 2 * n);
    if (rows <= cols) return wide;
    const Matrix tall(wide.data == x.data ? y.data : x.data, rows, cols);
    transpose<bf16>(ctx, wide, tall);
    return tall;
}

}  // namespace

void muon_direction(CpuContext& ctx, const MuonDirection<HostSpace>& o) {
    require(o.moment.size() == o.gradient.size(), "muon: sizes differ");
    if (o.state->skip != 0) return;
    const Average how{o.state->gradient_scale, static_cast<float>(1.0 - o.options.momentum),
                      o.options.kind};
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    cpu::parallel_blocks(
        ctx, size, block, size, [&](std::int64_t, std::int64_t first, std::int64_t count) {
            average(how, o.gradient.data() + first, o.moment.data() + first, count);
        });
}

template <class T>
void muon(CpuContext& ctx, const Muon<T, HostSpace>& o) {
    check(o);
    const auto size = static_cast<std::int64_t>(o.master.size());
    if (o.state->skip != 0 || size == 0) return;
    const Matrix direction = orthogonalised(ctx, o.direction, o.scratch.data());
    const double lr = double{o.state->lr} * o.options.rate;
    const auto step =
        static_cast<float>(lr * scale_of(o.options.scale, o.direction.rows, o.direction.cols));
    const auto shrink = static_cast<float>(1.0 - lr * o.options.weight_decay);
    cpu::parallel_blocks(
        ctx, size, block, size, [&](std::int64_t, std::int64_t first, std::int64_t count) {
            apply(step, shrink,
                  Range<T>{direction.data + o.first + first, o.master.data() + first,
                           o.compute.empty() ? nullptr : o.compute.data() + first, count});
        });
}

template void muon(CpuContext&, const Muon<float, HostSpace>&);
template void muon(CpuContext&, const Muon<bf16, HostSpace>&);

}  // namespace lockstep::kernels
