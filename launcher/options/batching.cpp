// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/batching.hpp"

#include <algorithm>
#include <string>

#include "model/architectures.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

std::int64_t first_positive(std::int64_t a, std::int64_t b) { return a > 0 ? a : b; }

data::Dynamic eval_dynamic(const BatchConfig& batch) {
    if (batch.eval_dynamic == "off") return data::Dynamic::off;
    if (batch.eval_dynamic == "full") return data::Dynamic::full;
    if (batch.eval_dynamic == "batchsort") return data::Dynamic::batchsort;
    return batch.dynamic;
}

std::string name_of(const model::ModelConfig& model) {
    return model::architecture(model.kind).name;
}

void require_dialogues(const model::ModelConfig& model, const data::Dataset& dataset) {
    if (!model::has_encoder(model) || dataset.kind() != data::DatasetKind::language_model) return;
    throw Error(ErrorKind::config, dataset.directory() + ": holds plain text, but " +
                                       name_of(model) +
                                       " is trained on dialogues; use -m gpt2, or prepare "
                                       "dialogues");
}

void require_start(const model::ModelConfig& model, const data::Dataset& dataset) {
    if (!model::has_encoder(model) || dataset.special().start) return;
    throw Error(ErrorKind::config, dataset.directory() +
                                       ": its tokenizer has no token with which a decoder begins "
                                       "a label, and " +
                                       name_of(model) + " needs one; use -m gpt2");
}

}  // namespace

void check_lanes(const RunConfig& config, int ranks) {
    const std::int64_t lanes = config.batch.logical_shards;
    if (lanes <= 0 || lanes >= ranks) return;
    throw Error(ErrorKind::config, "--logical-shards " + std::to_string(lanes) +
                                       ": fewer than the " + std::to_string(ranks) +
                                       " ranks, of which each needs one; give at least " +
                                       std::to_string(ranks) + ", or start fewer ranks");
}

data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model,
                                     const data::Dataset& dataset) {
    require_dialogues(model, dataset);
    require_start(model, dataset);
    return train_batching(config, model);
}

data::BatchingOptions train_batching(const RunConfig& config, const model::ModelConfig& model) {
    const BatchConfig& b = config.batch;
    data::BatchingOptions options;
    options.batchsize = b.batchsize;
    options.dynamic = b.dynamic;
    options.batch_tokens = std::max<std::int64_t>(b.batch_tokens, 0);
    options.text_truncate = first_positive(b.text_truncate, b.truncate);
    options.label_truncate = first_positive(b.label_truncate, b.truncate);
    options.n_positions = model.n_positions;
    options.layout =
        model::has_encoder(model) ? data::Layout::encoder_decoder : data::Layout::decoder_only;
    return options;
}

data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model,
                                    const data::Dataset& dataset) {
    require_dialogues(model, dataset);
    require_start(model, dataset);
    return eval_batching(config, model);
}

data::BatchingOptions eval_batching(const RunConfig& config, const model::ModelConfig& model) {
    data::BatchingOptions options = train_batching(config, model);
    options.batchsize = first_positive(config.batch.eval_batchsize, options.batchsize);
    options.dynamic = eval_dynamic(config.batch);
    if (options.dynamic != data::Dynamic::full) options.batch_tokens = 0;
    return options;
}

}  // namespace lockstep::launcher
