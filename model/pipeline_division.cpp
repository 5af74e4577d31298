// SPDX-License-Identifier: Apache-2.0
#include "model/pipeline_division.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "model/architectures.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::model {

namespace {

// Returns how many layers the head is worth.
double layers_of_head(const ModelConfig& config) {
    double layer = 0;
    for (const ParameterRow& row : parameter_rows(config)) {
        if (row.place.layer != 0 || row.parameter.shape.size() < 2) continue;
        const bool of_layer = row.place.role == Role::self_qkv ||
                              row.place.role == Role::self_out || row.place.role == Role::ffn_up ||
                              row.place.role == Role::ffn_down;
        if (!of_layer) continue;
        layer += static_cast<double>(row.parameter.shape.front()) *
                 static_cast<double>(row.parameter.shape.back());
    }
    return static_cast<double>(config.vocabulary) * static_cast<double>(config.embedding_size) /
           layer;
}

// Returns how many layers the last stage has.
std::int64_t layers_of_last(const ModelConfig& config, std::int64_t stages) {
    const double head = layers_of_head(config);
    const std::int64_t layers = config.decoder_layers, others = stages - 1;
    std::int64_t best = 1;
    double least = 0;
    for (std::int64_t last = 1; last <= layers - others; ++last) {
        const auto largest = static_cast<double>((layers - last + others - 1) / others);
        const double most = std::max(largest, static_cast<double>(last) + head);
        if (last > 1 && most > least) continue;
        best = last;
        least = most;
    }
    return best;
}

bool norms_come_first(const ModelConfig& config) {
    return norm_position(config) == NormPosition::before_branch;
}

bool is_of(const ParameterRow& row, const ModelConfig& config, const train::PipelineStage& stage,
           const LayerRange& layers) {
    switch (row.place.role) {
        case Role::head:
            return stage.is_last();
        case Role::embeddings:
            return stage.is_first() || (stage.is_last() && config.parts.own_head == Has::no);
        case Role::positions:
        case Role::embedding_norm:
        case Role::first_norm:
            return stage.is_first();
        default:
            break;
    }
    const std::int64_t layer = row.place.layer;
    if (row.place.role == Role::after_ffn && norms_come_first(config)) {
        const bool final_norm = layer + 1 == config.decoder_layers;
        if (final_norm) return stage.is_last();
        return layer + 1 >= layers.first && layer + 1 < layers.end;
    }
    return layer >= layers.first && layer < layers.end;
}

}  // namespace

LayerRange layers_of(const ModelConfig& config, const train::PipelineStage& stage) {
    const std::int64_t layers = config.decoder_layers, stages = stage.stages;
    if (stages == 1) return {0, layers};
    require(stages <= layers, "a stage has no layer");
    const std::int64_t before_last = layers - layers_of_last(config, stages), others = stages - 1;
    // The first stages keep more micro-batches, and the very first one the table.
    const auto begin = [&](std::int64_t number) {
        const std::int64_t fewer = others - before_last % others;
        return number * (before_last / others) + std::max<std::int64_t>(0, number - fewer);
    };
    if (stage.is_last()) return {before_last, layers};
    return {begin(stage.number), begin(stage.number + 1)};
}

bool ends_with_sum(const ModelConfig& config, const train::PipelineStage& stage) {
    return norms_come_first(config) && !stage.is_last();
}

std::vector<ParameterRow> parameter_rows(const ModelConfig& config,
                                         const train::PipelineStage& stage) {
    std::vector<ParameterRow> all = parameter_rows(config), rows;
    if (stage.is_whole()) return all;
    const LayerRange layers = layers_of(config, stage);
    std::vector<ParameterRow> entry;  // what backward finishes last
    const auto add = [&rows](ParameterRow row, int block) {
        row.parameter.block = block;
        row.parameter.tied = train::Tied::no;
        rows.push_back(std::move(row));
    };
    int blocks = 0, last_block = -1;
    const auto block_of = [&](int block) {
        if (block != last_block) ++blocks;
        last_block = block;
        return blocks - 1;
    };
    for (ParameterRow& row : all) {
        if (!is_of(row, config, stage, layers)) continue;
        const bool of_layer_before =
            row.place.role == Role::after_ffn && row.place.layer < layers.first;
        if (of_layer_before) {
            row.place.role = Role::first_norm;
            row.place.layer = 0;
        }
        if (of_layer_before || row.place.role == Role::embeddings) {
            entry.push_back(std::move(row));
            continue;
        }
        const int block = block_of(row.parameter.block);
        add(std::move(row), block);
    }
    for (ParameterRow& row : entry) {
        const int block = block_of(row.parameter.block);
        add(std::move(row), block);
    }
    return rows;
}

int nearest_stages(const ModelConfig& config, int stages, int ranks) {
    int nearest = 1;
    if (has_encoder(config)) return nearest;
    const auto most = static_cast<int>(std::min<std::int64_t>(config.decoder_layers, ranks));
    for (int tried = 2; tried <= most; ++tried)
        if (ranks % tried == 0 && std::abs(tried - stages) <= std::abs(nearest - stages))
            nearest = tried;
    return nearest;
}

void require_stages(const ModelConfig& config, int stages) {
    if (stages == 1) return;
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorKind::config, "--pipeline " + std::to_string(stages) + ": " + why);
    };
    if (has_encoder(config))
        refuse(
            "a model with an encoder has no stages, because all layers of its decoder read the "
            "encoder's output; give --pipeline 1, or --tensor");
    if (config.lora.rank > 0) refuse("adapters have no stages; give --pipeline 1");
    constexpr int any_ranks = 720'720;  // all numbers of ranks can be started
    if (stages > config.decoder_layers)
        refuse("the model has " + std::to_string(config.decoder_layers) +
               (config.decoder_layers == 1 ? " layer" : " layers") + "; give " +
               std::to_string(nearest_stages(config, stages, any_ranks)));
}

}  // namespace lockstep::model
