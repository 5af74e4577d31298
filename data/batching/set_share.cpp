// SPDX-License-Identifier: Apache-2.0
#include "data/batching/set_share.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

// Deals the rest of `total` to the sets with the largest remainders.
void deal_rest(std::vector<SetShare>& shares, std::span<const double> ideal, std::int64_t total) {
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return ideal[a] - std::floor(ideal[a]) > ideal[b] - std::floor(ideal[b]);
    });
    std::int64_t rest = total;
    for (const SetShare& share : shares) rest -= share.rows_per_epoch;
    for (const std::size_t i : order) {
        if (rest <= 0) break;
        if (ideal[i] == 0) continue;
        ++shares[i].rows_per_epoch;
        --rest;
    }
}

}  // namespace

std::vector<SetShare> share_epoch(std::span<const std::int64_t> rows,
                                  std::span<const double> weights) {
    require(rows.size() == weights.size(), "each data set has a weight");
    const std::int64_t total = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<SetShare> shares;
    std::vector<double> ideal;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ideal.push_back(static_cast<double>(total) * (weights[i] / sum));
        shares.push_back({rows[i], static_cast<std::int64_t>(std::floor(ideal.back()))});
    }
    deal_rest(shares, ideal, total);
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (weights[i] == 0 || shares[i].rows_per_epoch > 0) continue;
        const auto largest = std::max_element(
            shares.begin(), shares.end(),
            [](const auto& a, const auto& b) { return a.rows_per_epoch < b.rows_per_epoch; });
        --largest->rows_per_epoch;
        ++shares[i].rows_per_epoch;
    }
    return shares;
}

}  // namespace lockstep::data
