// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "runtime/train/parameter_table.hpp"

namespace lockstep::train {

// A tensor of a file of weights: whole rows of a parameter, or zeros, which no parameter has.
struct FileTensor {
    std::string name;
    std::vector<std::int64_t> shape;   // in the file
    std::size_t parameter = 0;         // its number
    std::size_t first = 0, count = 0;  // elements of the parameter
    bool turned = false;               // the file holds the transposed matrix
    bool zero = false;
};

// Returns the tensors of a file that holds the parameters under the names of `names`, in their
// order. Where transformers keeps several matrices apart, each is one of Parameter::parts. The
// logits of its encoder-decoders have a bias, which follows the table of embeddings. Throws kind
// config that names a parameter for which such a file has no place.
std::vector<FileTensor> file_layout(NamesOf names, std::span<const Parameter> parameters);

// Fills `values` with the elements of a parameter from `first` on.
using ReadValues =
    std::function<void(const Parameter& parameter, std::size_t first, HostView<float> values)>;

// Calls take(values) for the tensor's elements in the order of the file, a few MiB at a time. A
// tensor that is turned takes the memory of the whole.
void for_each_in_file(const FileTensor& tensor, const Parameter& parameter, const ReadValues& read,
                      const std::function<void(HostView<const float>)>& take);

}  // namespace lockstep::train
