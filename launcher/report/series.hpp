// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::launcher::report {

// Some neighbouring points of a curve as one.
struct Bin {
    double first_x = 0, last_x = 0;
    std::int64_t points = 0;
    std::int64_t values = 0;  // points that have one; 0: the curve has a gap here
    double low = 0, high = 0, sum = 0;

    double x() const noexcept { return (first_x + last_x) / 2; }
    double mean() const noexcept { return sum / static_cast<double>(values); }
};

// A curve of any length in bounded memory: when `capacity` bins are full, neighbours are merged,
// and each holds twice as many points from then on. Series that got as many points have the same
// borders.
class Series {
public:
    static constexpr double none = std::numeric_limits<double>::quiet_NaN();

    // `capacity`: even.
    explicit Series(std::size_t capacity) : capacity_(capacity) {}

    // `x` is not smaller than the last one. `y` may be none.
    void add(double x, double y);

    const std::vector<Bin>& bins() const noexcept { return bins_; }
    std::int64_t values() const noexcept { return all_.values; }
    // Over all values, of which there is one.
    double total() const noexcept { return all_.sum; }
    double low() const noexcept { return all_.low; }
    double high() const noexcept { return all_.high; }
    double last() const noexcept { return last_; }
    double median() const;  // of the bins' means; of the values as long as each has its bin

private:
    void halve();

    std::size_t capacity_;
    std::int64_t points_per_bin_ = 1;
    std::vector<Bin> bins_;
    Bin all_;
    double last_ = 0;
};

}  // namespace lockstep::launcher::report
