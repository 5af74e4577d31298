// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/adapter_files.hpp"

#include <vector>

#include "launcher/model_folder/adapters.hpp"
#include "model/lora_modules.hpp"
#include "model/peft_config.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

// Both factors are [rank, columns] here; PEFT's B is [columns, rank].
std::vector<float> turned(const std::vector<float>& values, std::size_t rank) {
    const std::size_t columns = values.size() / rank;
    std::vector<float> other(values.size());
    for (std::size_t row = 0; row < rank; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            other[column * rank + row] = values[row * columns + column];
    return other;
}

}  // namespace

void write_adapters(const std::string& folder, const model::ModelConfig& config,
                    const std::string& weights) {
    train::SafetensorsFile file(weights);
    const std::vector<model::ParameterRow> rows = model::parameter_rows(config);
    std::vector<std::vector<float>> values;
    std::vector<train::TensorToWrite> tensors;
    values.reserve(rows.size());
    const auto add = [&](const model::ParameterPlace& place, std::vector<std::int64_t> shape) {
        tensors.emplace_back(model::peft_name(config, place), std::move(shape),
                             HostView<const float>(view_of(values.back())));
    };
    for (const model::ParameterRow& row : rows) {
        const train::TensorInfo* const tensor = file.find(row.parameter.name);
        require(tensor != nullptr && tensor->shape == row.parameter.shape,
                "the weights are those of the adapters");
        std::vector<float> read(tensor->count);
        file.read(*tensor, view_of(read));
        std::vector<std::int64_t> shape = tensor->shape;
        if (row.place.values == model::Values::lora_b) {
            read = turned(read, static_cast<std::size_t>(shape.front()));
            std::swap(shape[0], shape[1]);
        }
        values.push_back(std::move(read));
        add(row.place, std::move(shape));
    }
    // The table is the last one. PEFT writes it for both of its places.
    if (model::trained_tables(config).tied) add({model::Role::head}, rows.back().parameter.shape);
    train::write_safetensors(folder + "/" + adapter_weights_file, tensors, {{"format", "pt"}});
    train::write_atomically(folder + "/" + adapter_config_file, model::to_peft(config));
}

}  // namespace lockstep::launcher::checkpoints
