// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"

namespace lockstep::model {

// The keys and values that every slot has seen, layer by layer. A slot's rows lie together in a
// region; a hypothesis that moves to another slot takes its region with it, and rows are copied
// only where one is continued twice.
template <class Ctx, class T>
class SlotCache {
public:
    using Space = typename Ctx::Space;
    using Matrix = MatrixView<T, Space>;

    explicit SlotCache(Ctx& ctx) : ctx_(ctx) {}

    // Forgets everything. Rows are [2 * d]: keys, then values.
    void reset(std::size_t layers, std::size_t slots, std::int64_t capacity, std::int64_t d);

    std::int64_t slots() const noexcept { return static_cast<std::int64_t>(region_.size()); }
    std::int64_t begin(std::int32_t slot) const { return region_.at(slot) * capacity_; }
    std::int32_t length(std::int32_t slot) const { return length_.at(slot); }
    Matrix keys(std::size_t layer) const { return all(layer).columns(0, d_); }
    Matrix values(std::size_t layer) const { return all(layer).columns(d_, d_); }

    // Writes rows [key value] past a slot's length; extend() makes them count.
    void write(std::size_t layer, std::int32_t slot, MatrixView<const T, Space> rows);
    // The same with one row for each of several slots: next_row() of them, in the device's memory.
    void write_each(std::size_t layer, View<const std::int64_t, Space> next_rows,
                    MatrixView<const T, Space> rows);
    std::int64_t next_row(std::int32_t slot) const;
    void extend(std::int32_t slot, std::int32_t rows);

    // Slot i becomes what slot from[i] is.
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
