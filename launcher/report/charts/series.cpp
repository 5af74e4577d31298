// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/charts/series.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::launcher::report {

namespace {

Bin point(double x, double y) {
    if (!std::isfinite(y)) return {x, x, 1, 0, 0, 0, 0};
    return {x, x, 1, 1, y, y, y};
}

// Merges `later`, which must follow `bin`, into `bin`.
void merge(Bin& bin, const Bin& later) {
    if (bin.points == 0) bin.first_x = later.first_x;
    bin.last_x = later.last_x;
    bin.points += later.points;
    if (later.values == 0) return;
    bin.low = bin.values == 0 ? later.low : std::min(bin.low, later.low);
    bin.high = bin.values == 0 ? later.high : std::max(bin.high, later.high);
    bin.sum += later.sum;
    bin.values += later.values;
}

}  // namespace

void Series::add(double x, double y) {
    const Bin added = point(x, y);
    merge(all_, added);
    if (added.values > 0) last_ = y;
    const bool full = bins_.empty() || bins_.back().points == points_per_bin_;
    if (full && bins_.size() == capacity_) {
        halve();
        points_per_bin_ *= 2;
    }
    if (full) bins_.emplace_back();
    merge(bins_.back(), added);
}

void Series::halve() {
    for (std::size_t i = 0; i < bins_.size() / 2; ++i) {
        Bin both = bins_[2 * i];
        merge(both, bins_[2 * i + 1]);
        bins_[i] = both;
    }
    bins_.resize(bins_.size() / 2);
}

double Series::median() const {
    std::vector<double> means;
    for (const Bin& bin : bins_) {
        if (bin.values > 0) means.push_back(bin.mean());
    }
    std::sort(means.begin(), means.end());
    const std::size_t middle = means.size() / 2;
    return means.size() % 2 == 1 ? means[middle] : (means[middle - 1] + means[middle]) / 2;
}

}  // namespace lockstep::launcher::report
