// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/tensor_slice.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

// Fewer units than ranks are held by several ranks each.
SliceRun run_of(const SplitPart& part, std::int64_t first, const TensorSlice& slice) {
    const std::int64_t size = slice.size, units = part.units;
    require(units > 0 && part.rows % units == 0, "a part's rows are not whole units");
    require(units % size == 0 || size % units == 0, "tensor ranks do not divide the units");
    const std::int64_t copies = units < size ? size / units : 1;
    const std::int64_t rows = part.rows / std::min(units, size);
    return {first + slice.rank / copies * rows, rows, static_cast<int>(copies)};
}

// Calls work(element of the part, element of the whole, count) for neighbouring elements.
template <class Work>
void by_stretches(const SliceShape& shape, const Work& work) {
    std::int64_t at = 0;
    for (const SliceRun& run : shape.runs) {
        const bool whole_rows = shape.columns == shape.whole_columns;
        const std::int64_t stretches = whole_rows ? 1 : run.rows;
        const std::int64_t count = whole_rows ? run.rows * shape.columns : shape.columns;
        for (std::int64_t i = 0; i < stretches; ++i, at += count)
            work(static_cast<std::size_t>(at),
                 static_cast<std::size_t>((run.first + i) * shape.whole_columns +
                                          shape.first_column),
                 static_cast<std::size_t>(count));
    }
}

}  // namespace

SliceShape slice_shape(const Parameter& whole, const TensorSlice& slice) {
    const std::int64_t rows = whole.shape.empty() ? 1 : whole.shape.front();
    std::int64_t columns = 1;
    for (std::size_t i = 1; i < whole.shape.size(); ++i) columns *= whole.shape[i];
    SliceShape shape{{}, 0, columns, columns};
    if (whole.split == Split::rows) {
        std::int64_t first = 0;
        for (const SplitPart& part : whole.split_parts) {
            shape.runs.push_back(run_of(part, first, slice));
            first += part.rows;
        }
        require(first == rows, "the divided parts of a parameter are not all of its rows");
        return shape;
    }
    const bool by_columns = whole.split == Split::columns;
    shape.runs = {{0, rows, by_columns ? 1 : slice.size}};
    if (!by_columns) return shape;
    require(columns % slice.size == 0, "tensor ranks do not divide the columns");
    shape.columns = columns / slice.size;
    shape.first_column = slice.rank * shape.columns;
    return shape;
}

Parameter sliced(const Parameter& whole, const TensorSlice& slice) {
    Parameter part = whole;
    if (slice.is_whole() || whole.split == Split::none) return part;
    const SliceShape shape = slice_shape(whole, slice);
    std::int64_t rows = 0;
    for (const SliceRun& run : shape.runs) rows += run.rows;
    part.shape.front() = rows;
    if (whole.split == Split::columns) part.shape.back() = shape.columns;
    part.parts.clear();
    return part;
}

ParameterTable sliced(const ParameterTable& whole, const TensorSlice& slice) {
    ParameterTable table;
    for (const Parameter& parameter : whole.all()) table.add(sliced(parameter, slice));
    return table;
}

void cut(const Parameter& whole, const TensorSlice& slice, HostView<const float> from,
         HostView<float> part) {
    by_stretches(
        slice_shape(whole, slice), [&](std::size_t at, std::size_t in_whole, std::size_t count) {
            std::ranges::copy(from.subview(in_whole, count), part.subview(at, count).begin());
        });
}

void join(const Parameter& whole, const TensorSlice& slice, HostView<const float> part,
          HostView<float> to) {
    by_stretches(
        slice_shape(whole, slice), [&](std::size_t at, std::size_t in_whole, std::size_t count) {
            std::ranges::copy(part.subview(at, count), to.subview(in_whole, count).begin());
        });
}

}  // namespace lockstep::train
