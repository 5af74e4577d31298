// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/scatter.hpp"

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

    // Forgets everything. Rows are [2 * width]: keys, then values. `capacity` is the maximum number
    // of rows of a slot.
    void reset(std::size_t layers, std::size_t slots, std::int64_t capacity, std::int64_t width);

    std::int64_t slots() const noexcept { return static_cast<std::int64_t>(region_.size()); }
    std::int64_t begin(std::int32_t slot) const { return region_.at(slot) * capacity_; }
    std::int32_t length(std::int32_t slot) const { return length_.at(slot); }
    Matrix keys(std::size_t layer) const { return all(layer).columns(0, width_); }
    Matrix values(std::size_t layer) const { return all(layer).columns(width_, width_); }

    using Constant = MatrixView<const T, Space>;

    // Writes rows after a slot's current rows; extend() makes them count.
    void write(std::size_t layer, std::int32_t slot, Constant keys, Constant values);
    // Writes one row for each of several slots, at the indices that next_row() gave, which are in
    // the device's memory.
    void write_each(std::size_t layer, View<const std::int64_t, Space> next_rows, Constant keys,
                    Constant values);
    std::int64_t next_row(std::int32_t slot) const;
    void extend(std::int32_t slot, std::int32_t rows);

    // Makes slot i a continuation of slot from[i].
    void reorder(const std::vector<std::int32_t>& from);

private:
    // Calls write(from, to) for the keys and for the values, or once if they lie side by side.
    template <class Write>
    void write_both(Constant keys, Constant values, Matrix to, const Write& write) const {
        if (values.data == keys.data + width_ && values.stride == keys.stride)
            return write(Constant(keys.data, keys.rows, 2 * width_, keys.stride), to);
        write(keys, to.columns(0, width_));
        write(values, to.columns(width_, width_));
    }
    Matrix all(std::size_t layer) const {
        return {layers_.at(layer).view().data(), slots() * capacity_, 2 * width_};
    }
    void copy_region(std::int64_t from, std::int64_t to, std::int64_t rows);

    std::vector<device::Buffer<T, Space>> layers_;
    Ctx& ctx_;
    std::int64_t capacity_ = 0, width_ = 0;
    std::vector<std::int64_t> region_;
    std::vector<std::int32_t> length_;
};

template <class Ctx, class T>
void SlotCache<Ctx, T>::reset(std::size_t layers, std::size_t slots, std::int64_t capacity,
                              std::int64_t width) {
    capacity_ = capacity;
    width_ = width;
    region_.resize(slots);
    std::iota(region_.begin(), region_.end(), 0);
    length_.assign(slots, 0);
    const std::size_t size = slots * static_cast<std::size_t>(capacity * 2 * width);
    layers_.resize(layers);
    for (auto& layer : layers_) {
        if (layer.size() < size) layer = device::Buffer<T, Space>(size);
    }
}

template <class Ctx, class T>
void SlotCache<Ctx, T>::write(std::size_t layer, std::int32_t slot, Constant keys,
                              Constant values) {
    require(keys.cols == width_ && values.cols == width_ && keys.rows == values.rows &&
                length(slot) + keys.rows <= capacity_,
            "more keys than a slot's cache holds");
    write_both(keys, values, all(layer).rows_from(begin(slot) + length(slot), keys.rows),
               [&](Constant from, Matrix to) {
                   // copies: an empty Dropout drops nothing
                   kernels::dropout<T>(ctx_, {}, {}, from, to);
               });
}

template <class Ctx, class T>
void SlotCache<Ctx, T>::write_each(std::size_t layer, View<const std::int64_t, Space> next_rows,
                                   Constant keys, Constant values) {
    write_both(keys, values, all(layer), [&](Constant from, Matrix to) {
        kernels::scatter_rows<T>(ctx_, next_rows, from, to);
    });
}

template <class Ctx, class T>
std::int64_t SlotCache<Ctx, T>::next_row(std::int32_t slot) const {
    require(length(slot) < capacity_, "more keys than a slot's cache holds");
    return begin(slot) + length(slot);
}

template <class Ctx, class T>
void SlotCache<Ctx, T>::extend(std::int32_t slot, std::int32_t rows) {
    require(length(slot) + rows <= capacity_, "more keys than a slot's cache holds");
    length_[slot] += rows;
}

template <class Ctx, class T>
void SlotCache<Ctx, T>::reorder(const std::vector<std::int32_t>& from) {
    require(from.size() == region_.size(), "reorder: one entry per slot");
    constexpr std::int64_t none = -1;
    std::vector<std::int64_t> region(from.size(), none);
    std::vector<bool> taken(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::int64_t source = region_.at(from[i]);
        if (!taken[source]) region[i] = source;
        taken[source] = true;
    }
    // Regions that no slot continues are overwritten; no copy reads from them.
    std::int64_t unused = 0;
    std::vector<std::int32_t> length(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        length[i] = length_[from[i]];
        if (region[i] != none) continue;
        while (taken[unused]) ++unused;
        region[i] = unused++;
        copy_region(region_[from[i]], region[i], length[i]);
    }
    region_ = std::move(region);
    length_ = std::move(length);
}

template <class Ctx, class T>
void SlotCache<Ctx, T>::copy_region(std::int64_t from, std::int64_t to, std::int64_t rows) {
    for (auto& layer : layers_) {
        const auto region = [&](std::int64_t index) {
            return layer.view().subview(static_cast<std::size_t>(index * capacity_ * 2 * width_),
                                        static_cast<std::size_t>(rows * 2 * width_));
        };
        device::copy(ctx_, View<const T, Space>(region(from)), region(to));
    }
}

}  // namespace lockstep::model
