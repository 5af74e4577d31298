// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/kernels/attention.hpp"

// Calculates attention serially in double from its formula, on dense vectors: q is [rows, width()],
// k and v are [rows, kv_width()].
namespace lockstep::tests {

struct AttentionInput {
    kernels::AttentionShape shape;
    std::vector<std::int32_t> q_offsets, k_offsets;
    std::vector<std::uint32_t> rows;
    std::vector<double> q, k, v;
    double dropout_rate = 0;
    std::uint32_t site = 0;
    std::uint64_t seed = 0, step = 0;

    int width() const { return shape.heads * shape.head_dim; }
    int kv_width() const {
        return (shape.kv_heads == 0 ? shape.heads : shape.kv_heads) * shape.head_dim;
    }
    // Return where a query's head begins in q, and where that of its key begins in k and v.
    std::int64_t query_at(std::size_t sequence, int query, int head) const {
        return std::int64_t{q_offsets[sequence] + query} * width() + head * shape.head_dim;
    }
    std::int64_t key_at(std::size_t sequence, int key, int head) const {
        const int shared = width() / kv_width();
        return std::int64_t{k_offsets[sequence] + key} * kv_width() +
               head / shared * shape.head_dim;
    }
};

inline double dropout_factor(const AttentionInput& in, std::size_t sequence, int head, int query,
                             int key) {
    if (in.dropout_rate == 0) return 1;
    const PhiloxBlock words =
        philox<7>({in.site + static_cast<std::uint32_t>(head), in.rows[sequence],
                   static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(key / 4)},
                  mix(in.seed, in.step));
    return words[key % 4] >= in.dropout_rate * 0x1p32 ? 1 / (1 - in.dropout_rate) : 0;
}

// Calls visit(sequence, head, query, probabilities of its keys). Keys that the query does not see
// have the probability 0.
template <class Visit>
void for_each_query(const AttentionInput& in, const Visit& visit) {
    const int d = in.shape.head_dim;
    for (std::size_t s = 0; s + 1 < in.q_offsets.size(); ++s) {
        for (int h = 0; h < in.shape.heads; ++h) {
            for (int i = 0; i < in.q_offsets[s + 1] - in.q_offsets[s]; ++i) {
                const int all = in.k_offsets[s + 1] - in.k_offsets[s];
                const int keys = in.shape.mask == kernels::Mask::causal ? i + 1 : all;
                std::vector<double> p(keys);
                double sum = 0;
                for (int j = 0; j < keys; ++j) {
                    if (in.shape.window != 0 && j <= i - in.shape.window) continue;
                    double score = 0;
                    for (int c = 0; c < d; ++c)
                        score += in.q[in.query_at(s, i, h) + c] * in.k[in.key_at(s, j, h) + c];
                    sum += p[j] = std::exp(score / std::sqrt(d));
                }
                for (double& x : p) x /= sum;
                visit(s, h, i, p);
            }
        }
    }
}

inline std::vector<double> attention_forward(const AttentionInput& in) {
    std::vector<double> out(in.q.size());
    for_each_query(in, [&](std::size_t s, int h, int i, const std::vector<double>& p) {
        const std::int64_t query = in.query_at(s, i, h);
        for (int j = 0; j < static_cast<int>(p.size()); ++j) {
            const std::int64_t key = in.key_at(s, j, h);
            for (int c = 0; c < in.shape.head_dim; ++c)
                out[query + c] += p[j] * dropout_factor(in, s, h, i, j) * in.v[key + c];
        }
    });
    return out;
}

struct AttentionGradients {
    std::vector<double> dq, dk, dv;
};

inline AttentionGradients attention_backward(const AttentionInput& in,
                                             const std::vector<double>& d_out) {
    const int d = in.shape.head_dim;
    AttentionGradients g{std::vector<double>(in.q.size()), std::vector<double>(in.k.size()),
                         std::vector<double>(in.v.size())};
    for_each_query(in, [&](std::size_t s, int h, int i, const std::vector<double>& p) {
        const std::int64_t query = in.query_at(s, i, h);
        std::vector<double> dp(p.size());
        double delta = 0;
        for (int j = 0; j < static_cast<int>(p.size()); ++j) {
            const std::int64_t key = in.key_at(s, j, h);
            const double factor = dropout_factor(in, s, h, i, j);
            for (int c = 0; c < d; ++c) {
                dp[j] += factor * d_out[query + c] * in.v[key + c];
                g.dv[key + c] += p[j] * factor * d_out[query + c];
            }
            delta += p[j] * dp[j];
        }
        for (int j = 0; j < static_cast<int>(p.size()); ++j) {
            const std::int64_t key = in.key_at(s, j, h);
            const double ds = p[j] * (dp[j] - delta) / std::sqrt(d);
            for (int c = 0; c < d; ++c) {
                g.dq[query + c] += ds * in.k[key + c];
                g.dk[key + c] += ds * in.q[query + c];
            }
        }
    });
    return g;
}

}  // namespace lockstep::tests
