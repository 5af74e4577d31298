// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Where a tensor of a file belongs.
struct TensorExtent {
    std::string_view name;
    const std::vector<std::int64_t>& shape;
    HostView<float> values;
};

std::vector<TensorExtent> places_of(const ParameterTable& table, HostView<float> master);

// Reads every place's tensor from the file. Names and shapes on both sides must be the same: else
// nothing is read and a config error names the first difference with both shapes, and `remedy`.
void check_places(const SafetensorsFile& file, std::span<const TensorExtent> places,
                  std::string_view remedy);
void read_places(SafetensorsFile& file, std::span<const TensorExtent> places);

void write_places(const std::string& path, std::span<const TensorExtent> places);

// Weights to start from (--init-model): `path` is a model folder, a checkpoint or a .safetensors
// file (F32 or BF16). All names and shapes must be the table's, else a config error as above.
void load_weights(const std::string& path, const ParameterTable& table, HostView<float> master);

}  // namespace lockstep::train
