// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::model {

// Keeps the keys and values of every slot's tokens, layer by layer. A slot's rows are contiguous in
// a region. A hypothesis that moves to another slot takes its region along; rows are copied only if
// a slot is continued twice.
template <class Ctx, class T>
class SlotCache {
public:
    using Space = typename Ctx::Space;
    using Matrix = MatrixView<T, Space>;

    explicit SlotCache(Ctx& ctx) : ctx_(ctx) {}

    // Forgets everything. Rows are [2 * d]: keys, then values. `capacity` is the maximum number of
    // rows of a slot.
    void reset(std::size_t layers, std::size_t slots, std::int64_t capacity, std::int64_t d);

    std::int64_t slots() const noexcept { return static_cast<std::int64_t>(region_.size()); }
    std::int64_t begin(std::int32_t slot) const { return region_.at(slot) * capacity_; }
    std::int32_t length(std::int32_t slot) const { return length_.at(slot); }
    Matrix keys(std::size_t layer) const { return all(layer).columns(0, d_); }
    Matrix values(std::size_t layer) const { return all(layer).columns(d_, d_); }

    // Writes rows [key value] after a slot's current rows; extend() makes them count.
    void write(std::size_t layer, std::int32_t slot, MatrixView<const T, Space> rows);
    // Writes one row for each of several slots, at the indices that next_row() gave, which are in
    // the device's memory.
    void write_each(std::size_t layer, View<const std::int64_t, Space> next_rows,
                    MatrixView<const T, Space> rows);
    std::int64_t next_row(std::int32_t slot) const;
    void extend(std::int32_t slot, std::int32_t rows);

    // Makes slot i a continuation of slot from[i].
    void reorder(const std::vector<std::int32_t>& from);

private:
    Matrix all(std::size_t layer) const {
        return {layers_.at(layer).view().data(), slots() * capacity_, 2 * d_};
    }
    void copy_region(std::int64_t from, std::int64_t to, std::int64_t rows);

    std::vector<device::Buffer<T, Space>> layers_;
    Ctx& ctx_;
    std::int64_t capacity_ = 0, d_ = 0;
    std::vector<std::int64_t> region_;
    std::vector<std::int32_t> length_;
};

}  // namespace lockstep::model
