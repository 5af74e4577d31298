// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::launcher::report {

// A bin combines several neighbouring points of a curve.
struct Bin {
    double first_x = 0, last_x = 0;
    std::int64_t points = 0;
    std::int64_t values = 0;  // points with a value; 0: the curve has a gap here
    double low = 0, high = 0, sum = 0;

    double x() const noexcept { return (first_x + last_x) / 2; }
    double mean() const noexcept { return sum / static_cast<double>(values); }
};

// Holds a curve of any length in bounded memory. When `capacity` bins are full, neighbouring bins
// are merged, and each bin holds twice as many points from then on. Series with the same number of
// points have the same bin borders.
class Series {
public:
    static constexpr double none = std::numeric_limits<double>::quiet_NaN();

    // `capacity` must be even.
    explicit Series(std::size_t capacity) : capacity_(capacity) {}

    // Adds a point. `x` must not be smaller than the last one. `y` may be none.
    void add(double x, double y);

    const std::vector<Bin>& bins() const noexcept { return bins_; }
    std::int64_t values() const noexcept { return all_.values; }
    // These functions cover all values and require at least one.
    double total() const noexcept { return all_.sum; }
    double low() const noexcept { return all_.low; }
    double high() const noexcept { return all_.high; }
    double last() const noexcept { return last_; }
    // Returns the median of the bins' means. It is the median of the values while each bin holds
    // one.
    double median() const;

private:
    void halve();

    std::size_t capacity_;
    std::int64_t points_per_bin_ = 1;
    std::vector<Bin> bins_;
    Bin all_;
    double last_ = 0;
};

}  // namespace lockstep::launcher::report
