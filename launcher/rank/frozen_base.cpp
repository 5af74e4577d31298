// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/frozen_base.hpp"

#include <array>
#include <functional>
#include <vector>

#include "launcher/model_folder/adapters.hpp"
#include "model/blocks/layout.hpp"
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

// One parameter is in memory at a time.
std::string read_base(const model::ModelConfig& config, const TakeValues& take) {
    const std::string path = base_weights(config.lora);
    const train::ParameterTable table = model::frozen_table(config);
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

}  // namespace

std::string hash_of_base(const model::ModelConfig& config) {
    return train::retry_reading([&] { return read_base(config, [](const auto&, auto) {}); });
}

void load_base(const model::ModelConfig& config, model::Model& model) {
    if (config.lora.rank == 0) return;
    (void)read_base(config, [&](const train::Parameter& parameter, HostView<float> values) {
        model.write_frozen(parameter, values);
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
    if (ranks.rank() == 0) return void(read_base(config, share));
    for (const train::Parameter& parameter : model.frozen().all()) {
        std::vector<float> values(parameter.count);
        share(parameter, view_of(values));
    }
}

}  // namespace lockstep::launcher
