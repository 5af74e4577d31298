// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/parameter_table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) {
        require(extent > 0, "a parameter has an empty dimension");
        require(
            static_cast<std::size_t>(extent) <= std::numeric_limits<std::int64_t>::max() / count,
            "a parameter has more elements than any memory");
        count *= static_cast<std::size_t>(extent);
    }
    return count;
}

}  // namespace

std::vector<PartShape> part_shapes(const Parameter& parameter) {
    const auto count = static_cast<std::int64_t>(parameter.count);
    const std::int64_t rows = parameter.shape.empty() ? 1 : parameter.shape.front();
    const bool is_vector = parameter.shape.size() < 2;
    const auto of_rows = [&](std::int64_t part) -> PartShape {
        const std::int64_t elements = count / rows * part;
        const std::int64_t cols = is_vector ? elements : parameter.shape.back();
        return {elements / cols, cols};
    };
    std::vector<PartShape> shapes;
    for (const std::int64_t part : parameter.parts) shapes.push_back(of_rows(part));
    if (shapes.empty()) shapes.push_back(of_rows(rows));
    return shapes;
}

std::size_t ParameterTable::add(std::string name, std::vector<std::int64_t> shape, int block,
                                WeightDecay decay, std::vector<std::int64_t> parts) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.shape = std::move(shape);
    parameter.block = block;
    parameter.decay = decay;
    parameter.parts = std::move(parts);
    return add(std::move(parameter));
}

std::size_t ParameterTable::add(Parameter added) {
    require(padded_for_ == 1, "a padded table takes no more parameters");
    require(find(added.name) == nullptr, "two parameters have the same name");
    const int block = added.block;
    require(
        all_.empty() ? block == 0 : block == all_.back().block || block == all_.back().block + 1,
        "blocks are contiguous and numbered from 0");
    require(all_.empty() || all_.back().tied == Tied::no, "nothing follows a tied table");
    require(added.tied == Tied::no ||
                (added.shape.size() == 2 && !all_.empty() && all_.back().block != block),
            "a tied table is a matrix in a block of its own, behind another block");
    const std::size_t count = elements_of(added.shape);
    require(added.parts.empty() || (!added.shape.empty() && std::ranges::min(added.parts) > 0 &&
                                    std::accumulate(added.parts.begin(), added.parts.end(),
                                                    std::int64_t{0}) == added.shape.front()),
            "a parameter's parts are not all of its rows");
    added.offset = flat_size_;
    added.count = count;
    index_.emplace(added.name, all_.size());
    all_.push_back(std::move(added));
    flat_size_ += (count + grain - 1) / grain * grain;
    return all_.size() - 1;
}

void ParameterTable::pad_for(int ranks) {
    require(ranks > 0 && padded_for_ == 1, "a table is padded once");
    padded_for_ = ranks;
    const std::size_t unit = static_cast<std::size_t>(ranks) * grain;
    const auto padded = [unit](std::size_t size) { return (size + unit - 1) / unit * unit; };
    std::size_t shift = 0;
    int block = 0;
    for (Parameter& parameter : all_) {
        if (parameter.block != block) shift = padded(parameter.offset + shift) - parameter.offset;
        block = parameter.block;
        parameter.offset += shift;
    }
    flat_size_ = padded(flat_size_ + shift);
}

void ParameterTable::share_among(int ranks, int stage) {
    require(ranks > 0 && padded_for_ % ranks == 0, "the table is not padded for these ranks");
    sharing_ = ranks;
    stage_ = ranks == 1 ? 0 : stage;
}

const Parameter* ParameterTable::find(std::string_view name) const noexcept {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : &all_[at->second];
}

std::size_t ParameterTable::count() const noexcept {
    std::size_t sum = 0;
    for (const Parameter& p : all_) sum += p.count;
    return sum;
}

}  // namespace lockstep::train
