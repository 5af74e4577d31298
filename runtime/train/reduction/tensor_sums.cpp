// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/tensor_sums.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

void add_range(const OwnedPart& part, std::size_t number, std::size_t first, std::size_t count,
               int copies, std::vector<SharedRange>& ranges) {
    const std::size_t begin = std::max(first, part.first);
    const std::size_t end = std::min(first + count, part.first + part.count);
    if (begin < end) ranges.push_back({number, begin - part.first, end - begin, copies});
}

}  // namespace

SliceRanges slice_ranges(const ParameterTable& store_table, const ParameterTable& whole,
                         const TensorSlice& slice, const std::vector<OwnedPart>& owned) {
    const auto& parameters = store_table.all();
    require(parameters.size() == whole.all().size(), "the tables are of two models");
    SliceRanges ranges;
    for (std::size_t number = 0; number < owned.size(); ++number)
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const SliceShape shape = slice_shape(whole[i], slice);
            std::size_t first = parameters[i].offset;
            for (const SliceRun& run : shape.runs) {
                const auto count = static_cast<std::size_t>(run.rows * shape.columns);
                add_range(owned[number], number, first, count, run.copies,
                          run.copies > 1 ? ranges.shared : ranges.own);
                first += count;
            }
        }
    return ranges;
}

}  // namespace lockstep::train
