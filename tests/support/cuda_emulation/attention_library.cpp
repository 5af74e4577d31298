// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/attention_library.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"
#include "runtime/kernels/cuda/attention/sequence_tables.hpp"

namespace lockstep::kernels::cuda {

namespace {

constexpr float not_computed = __builtin_nanf("");

template <class T>
float at(CudaMatrix<const T> m, std::int64_t row, std::int64_t col) {
    return static_cast<float>(m.data[row * m.stride + col]);
}
template <class T>
void put(CudaMatrix<T> m, std::int64_t row, std::int64_t col, float value) {
    m.data[row * m.stride + col] = T(value);
}

// Identifies a head of one sequence.
struct Head {
    std::int64_t query, key;  // first rows in queries and keys
    int queries, keys, first_column;

    bool empty() const { return queries == 0 || keys == 0; }
};

template <class Visit>
void for_each_head(const AttentionBatch& batch, const Visit& visit) {
    for (int s = 0; s < batch.sequences; ++s)
        for (int h = 0; h < batch.heads; ++h) {
            const std::int32_t *q = batch.queries.offsets + s, *k = batch.keys.offsets + s;
            visit(Head{q[0], k[0], q[1] - q[0], k[1] - k[0], h * batch.head_dim}, h);
        }
}

// Fills a row with NaN, as for every row of a sequence without queries or keys.
template <class T>
void spoil(CudaMatrix<T> m, std::int64_t row, const Head& head, int head_dim) {
    for (int c = 0; c < head_dim; ++c) put(m, row, head.first_column + c, not_computed);
}

template <class T>
float dot(CudaMatrix<const T> a, std::int64_t row_a, CudaMatrix<const T> b, std::int64_t row_b,
          const Head& head, int head_dim) {
    float sum = 0;
    for (int c = head.first_column; c < head.first_column + head_dim; ++c)
        sum += at(a, row_a, c) * at(b, row_b, c);
    return sum;
}

int visible(const AttentionBatch& batch, const Head& head, int query) {
    return batch.mask == kernels::Mask::causal ? std::min(query + 1, head.keys) : head.keys;
}

template <class T>
void forward_head(const AttentionBatch& batch, const ForwardMatrices<T>& m, const Head& head,
                  int number) {
    for (int i = 0; i < head.queries; ++i) {
        const std::int64_t row = head.query + i;
        float& log_sum_exp = m.log_sum_exp[row * batch.heads + number];
        log_sum_exp = not_computed;
        spoil(m.out, row, head, batch.head_dim);
        if (head.empty()) continue;
        std::vector<float> p(static_cast<std::size_t>(visible(batch, head, i)));
        for (std::size_t j = 0; j < p.size(); ++j)
            p[j] = batch.scale * dot(m.q, row, m.k, head.key + static_cast<std::int64_t>(j), head,
                                     batch.head_dim);
        const float largest = *std::max_element(p.begin(), p.end());
        float sum = 0;
        for (float& x : p) sum += x = std::exp(x - largest);
        log_sum_exp = largest + std::log(sum);
        for (int c = head.first_column; c < head.first_column + batch.head_dim; ++c) {
            float out = 0;
            for (std::size_t j = 0; j < p.size(); ++j)
                out += p[j] / sum * at(m.v, head.key + static_cast<std::int64_t>(j), c);
            put(m.out, row, c, out);
        }
    }
}

// Returns NaN if a tile of the head's queries contains a NaN, else 0.
template <class T>
float spread_of(const AttentionBatch& batch, const BackwardMatrices<T>& m, const Head& head,
                int number) {
    float spread = 0;
    const std::int64_t end =
        std::min(head.query + (head.queries + 63) / 64 * 64, batch.queries.total);
    for (std::int64_t row = head.query; row < end; ++row)
        spread += 0 * m.log_sum_exp.at(number, row);
    return spread;
}

template <class T>
void backward_head(const AttentionBatch& batch, const BackwardMatrices<T>& m, const Head& head,
                   int number) {
    const int d = batch.head_dim, first = head.first_column;
    for (int i = 0; head.empty() && i < head.queries; ++i) spoil(m.dq, head.query + i, head, d);
    for (int j = 0; head.empty() && j < head.keys; ++j) {
        spoil(m.dk, head.key + j, head, d);
        spoil(m.dv, head.key + j, head, d);
    }
    if (head.empty()) return;
    std::vector<float> dk(static_cast<std::size_t>(head.keys * d),
                          spread_of(batch, m, head, number)),
        dv = dk;
    for (int i = 0; i < head.queries; ++i) {
        const std::int64_t row = head.query + i;
        std::vector<float> dq(static_cast<std::size_t>(d), 0.0f);
        const float delta = dot(m.out, row, m.d_out, row, head, d);
        for (int j = 0; j < visible(batch, head, i); ++j) {
            const float p = std::exp(batch.scale * dot(m.q, row, m.k, head.key + j, head, d) -
                                     m.log_sum_exp.at(number, row));
            const float ds =
                p * (dot(m.d_out, row, m.v, head.key + j, head, d) - delta) * batch.scale;
            for (int c = 0; c < d; ++c) {
                const auto column = static_cast<std::size_t>(c);
                const auto cell = static_cast<std::size_t>(j * d + c);
                dq[column] += ds * at(m.k, head.key + j, first + c);
                dk[cell] += ds * at(m.q, row, first + c);
                dv[cell] += p * at(m.d_out, row, first + c);
            }
        }
        for (int c = 0; c < d; ++c) put(m.dq, row, first + c, dq[static_cast<std::size_t>(c)]);
    }
    for (int j = 0; j < head.keys; ++j)
        for (int c = 0; c < d; ++c) {
            put(m.dk, head.key + j, first + c, dk[static_cast<std::size_t>(j * d + c)]);
            put(m.dv, head.key + j, first + c, dv[static_cast<std::size_t>(j * d + c)]);
        }
}

EmulatedAttentionLibrary& library_of(CudaContext& ctx) {
    return ctx.cached<EmulatedAttentionLibrary>();
}

bool takes(CudaContext& ctx, const AttentionBatch& batch) {
    return library_of(ctx).on && is_for_library(ctx.cached<AttentionSettings>(), batch) &&
           batch.dropout.state == nullptr && batch.sequences > 0 && batch.queries.total > 0 &&
           batch.keys.total > 0;
}

}  // namespace

template <class T>
bool library_takes_forward(CudaContext& ctx, const AttentionBatch& batch,
                           const ForwardMatrices<T>&) {
    return takes(ctx, batch);
}

template <class T>
bool library_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    if (!takes(ctx, batch)) return false;
    device::check(emulated_submit(ctx.stream(), {.name = "attention library"},
                                  [batch, m] {
                                      for_each_head(batch, [&](const Head& head, int number) {
                                          forward_head(batch, m, head, number);
                                      });
                                  }),
                  "emulated attention");
    clear_unattended(ctx, batch, m);
    return true;
}

std::string describe_library(CudaContext&, int) { return "an emulated library"; }

template <class T>
bool library_takes_backward(CudaContext& ctx, const AttentionBatch& batch,
                            const BackwardMatrices<T>&, LibrarySums sums) {
    return takes(ctx, batch) && (sums == LibrarySums::in_any_order ||
                                 batch.queries.longest <= library_of(ctx).longest_in_fixed_order);
}

template <class T>
bool library_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                      LibrarySums sums) {
    if (!library_takes_backward(ctx, batch, m, sums)) return false;
    EmulatedAttentionLibrary& library = library_of(ctx);
    device::check(emulated_submit(ctx.stream(), {.name = "attention library"},
                                  [batch, m, &library, way = static_cast<int>(sums)] {
                                      for_each_head(batch, [&](const Head& head, int number) {
                                          backward_head(batch, m, head, number);
                                      });
                                      ++library.runs[way];
                                      emulated_device_work(library.milliseconds[way]);
                                  }),
                  "emulated attention");
    clear_unattended(ctx, batch, m);
    return true;
}

template bool library_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<bf16>&);
template bool library_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<fp16>&);
template bool library_takes_forward(CudaContext&, const AttentionBatch&,
                                    const ForwardMatrices<bf16>&);
template bool library_takes_forward(CudaContext&, const AttentionBatch&,
                                    const ForwardMatrices<fp16>&);
template bool library_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&,
                               LibrarySums);
template bool library_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&,
                               LibrarySums);
template bool library_takes_backward(CudaContext&, const AttentionBatch&,
                                     const BackwardMatrices<bf16>&, LibrarySums);
template bool library_takes_backward(CudaContext&, const AttentionBatch&,
                                     const BackwardMatrices<fp16>&, LibrarySums);

}  // namespace lockstep::kernels::cuda
