// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/frozen_base.hpp"

#include <array>
#include <functional>
#include <vector>

#include "launcher/model_folder/adapters.hpp"
#include "model/blocks/layout.hpp"
#include "model/parameter_rows.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher {

namespace {

using TakeValues = std::function<void(const train::Parameter&, HostView<float>)>;

void add_to_hash(const train::Parameter& parameter, HostView<const float> values,
                 StreamHash& hash) {
    hash.add(parameter.name.data(), parameter.name.size());
    hash.add(parameter.shape.data(), parameter.shape.size() * sizeof(std::int64_t));
    hash.add(values.data(), values.size() * sizeof(float));
}

// The hash is that of the whole base, whatever of it is trained.
train::ParameterTable table_of_base(const model::ModelConfig& config) {
    model::ModelConfig base = config;
    base.lora = {};
    return model::parameter_table(base);
}

// One parameter is in memory at a time.
std::string read_base(const model::ModelConfig& config, const TakeValues& take) {
    const std::string path = base_weights(config.lora);
    const train::ParameterTable table = table_of_base(config);
    train::check_shapes(path, table, "it is not the base of these adapters; restore it");
    train::SafetensorsFile file(path);
    StreamHash hash;
    for (const train::Parameter& parameter : table.all()) {
        std::vector<float> values(parameter.count);
        file.read(*file.find(parameter.name), view_of(values));
        const std::array place{
            train::TensorExtent{parameter.name, parameter.shape, view_of(values)}};
        train::require_possible(path, place);
        add_to_hash(parameter, view_of(values), hash);
        take(parameter, view_of(values));
    }
    std::string found = hex(hash.value());
    if (!config.lora.base_hash.empty() && found != config.lora.base_hash)
        throw Error(ErrorKind::config,
                    "the base of these adapters has changed: the weights in " + config.lora.base +
                        " are not those that they were trained on; restore that folder");
    return found;
}

// The head of a base whose table is its head has the values of the table.
void read_table(const model::ModelConfig& config, const model::ParameterRow& row,
                HostView<float> values) {
    const bool is_copy =
        row.place.role == model::Role::head && config.parts.own_head == model::Has::no;
    train::retry_reading([&] {
        train::SafetensorsFile file(base_weights(config.lora));
        const auto* const tensor = file.find(is_copy ? "embeddings.weight" : row.parameter.name);
        require(tensor != nullptr && tensor->count == values.size(),
                "the base was read before, and has its tables");
        file.read(*tensor, values);
    });
}

}  // namespace

std::string hash_of_base(const model::ModelConfig& config) {
    return train::retry_reading([&] { return read_base(config, [](const auto&, auto) {}); });
}

void load_base(const model::ModelConfig& config, model::Model& model) {
    if (config.lora.rank == 0) return;
    (void)read_base(config, [&](const train::Parameter& parameter, HostView<float> values) {
        if (const auto* stays = model.frozen().find(parameter.name))
            model.write_frozen(*stays, values);
    });
}

void load_base(const model::ModelConfig& config, model::Model& model, comm::Communicator& ranks) {
    const auto share = [&](const train::Parameter& parameter, HostView<float> values) {
        if (ranks.size() > 1) {
            (void)ranks.broadcast(values, 0, "base");
            ranks.finish();
        }
        model.write_frozen(parameter, values);
    };
    if (config.lora.rank == 0) return;
    if (ranks.rank() == 0)
        return void(
            read_base(config, [&](const train::Parameter& parameter, HostView<float> values) {
                if (const auto* stays = model.frozen().find(parameter.name)) share(*stays, values);
            }));
    for (const train::Parameter& parameter : model.frozen().all()) {
        std::vector<float> values(parameter.count);
        share(parameter, view_of(values));
    }
}

void begin_tables(const model::ModelConfig& config, model::Model& model, train::Engine& engine,
                  comm::Communicator& ranks) {
    const bool shared = engine.owned() != nullptr;
    const bool is_first = ranks.rank() == 0;
    if (config.lora.saved.empty() || (!shared && !is_first)) return;
    for (const model::ParameterRow& row : model::parameter_rows(config)) {
        if (row.place.values != model::Values::weight) continue;
        const train::Parameter& table = *model.parameters().find(row.parameter.name);
        std::vector<float> values(table.count);
        if (is_first) read_table(config, row, view_of(values));
        if (shared && ranks.size() > 1) {
            (void)ranks.broadcast(view_of(values), 0, "base");
            ranks.finish();
        }
        model.write_weights(table, view_of(values));
    }
}

}  // namespace lockstep::launcher
