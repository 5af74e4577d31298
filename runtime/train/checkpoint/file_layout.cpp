// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/file_layout.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

constexpr std::size_t file_block = std::size_t{1} << 20;  // elements

// The rows of each of the parts, which are equal unless the parameter says otherwise.
std::vector<std::int64_t> rows_of_parts(const Parameter& parameter, std::size_t parts) {
    if (parts == 1) return {parameter.shape.front()};
    if (!parameter.parts.empty()) {
        require(parameter.parts.size() == parts, "a parameter has the parts of its tensors");
        return parameter.parts;
    }
    return std::vector<std::int64_t>(parts,
                                     parameter.shape.front() / static_cast<std::int64_t>(parts));
}

// Of the logits that the table of embeddings gives.
FileTensor zero_bias_of(const Parameter& table, std::size_t number) {
    const std::int64_t rows = table.shape.front();
    return {.name = std::string(logits_bias),
            .shape = {1, rows},
            .parameter = number,
            .first = 0,
            .count = static_cast<std::size_t>(rows),
            .zero = true};
}

}  // namespace

std::vector<FileTensor> file_layout(NamesOf names, std::span<const Parameter> parameters) {
    std::vector<FileTensor> tensors;
    for (std::size_t number = 0; number < parameters.size(); ++number) {
        const Parameter& p = parameters[number];
        const std::vector<ForeignName> theirs = names_in_transformers(names, p.name);
        if (theirs.empty())
            throw Error(ErrorKind::config, "a model of transformers has no tensor for " + p.name +
                                               "; it cannot be stored as one");
        const std::vector<std::int64_t> rows = rows_of_parts(p, theirs.size());
        const std::size_t columns = p.count / static_cast<std::size_t>(p.shape.front());
        std::size_t first = 0;
        for (std::size_t part = 0; part < theirs.size(); ++part) {
            FileTensor tensor{theirs[part].name,
                              p.shape,
                              number,
                              first,
                              static_cast<std::size_t>(rows[part]) * columns,
                              theirs[part].turned};
            tensor.shape.front() = rows[part];
            if (tensor.turned) std::swap(tensor.shape.at(0), tensor.shape.at(1));
            first += tensor.count;
            tensors.push_back(std::move(tensor));
        }
        if (is_encoder_decoder(names) && p.tied == Tied::yes)
            tensors.push_back(zero_bias_of(p, number));
    }
    return tensors;
}

namespace {

void take_turned(const FileTensor& tensor, HostView<const float> whole,
                 const std::function<void(HostView<const float>)>& take) {
    const auto rows = static_cast<std::size_t>(tensor.shape.front());
    const std::size_t columns = tensor.count / rows;  // of the file
    std::vector<float> block(std::min(file_block, tensor.count));
    for (std::size_t at = 0; at < tensor.count; at += block.size()) {
        block.resize(std::min(block.size(), tensor.count - at));
        for (std::size_t i = 0; i < block.size(); ++i)
            block[i] = whole[(at + i) % columns * rows + (at + i) / columns];
        take(view_of(block));
    }
}

}  // namespace

void for_each_in_file(const FileTensor& tensor, const Parameter& parameter, const ReadValues& read,
                      const std::function<void(HostView<const float>)>& take) {
    std::vector<float> values(tensor.turned ? tensor.count : std::min(file_block, tensor.count));
    for (std::size_t at = 0; at < tensor.count; at += values.size()) {
        values.resize(std::min(values.size(), tensor.count - at));
        if (!tensor.zero) read(parameter, tensor.first + at, view_of(values));
        if (tensor.turned)
            take_turned(tensor, view_of(values), take);
        else
            take(view_of(values));
    }
}

}  // namespace lockstep::train
