// SPDX-License-Identifier: Apache-2.0
#include "tests/model/step_work.hpp"

#include <cuda_runtime_api.h>

#include "model/blocks/layout.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/queue/local_communicator.hpp"

namespace lockstep::tests {

namespace {

model::ModelConfig with_width(model::ModelConfig config, std::int64_t heads, std::int64_t d) {
    config.vocabulary = 512;
    config.heads = heads;
    config.embedding_size = d;
    config.ffn_size = 4 * d;
    return config;
}

// Returns the size of the layers, which lie before the embedding table. The table is a bucket of
// its own.
std::size_t layers_size(const model::ModelConfig& config) {
    const auto table = model::parameter_table(config);
    return table.all().back().offset;
}

// Returns options that give as many buckets as the full model has.
train::ReducerOptions buckets_of(const CountedModel& counted) {
    train::ReducerOptions options;
    const double share = static_cast<double>(layers_size(counted.narrow)) /
                         static_cast<double>(layers_size(counted.full));
    for (std::size_t* bytes : {&options.first_bucket_bytes, &options.bucket_bytes})
        *bytes = static_cast<std::size_t>(static_cast<double>(*bytes) * share);
    return options;
}

void append_rows(train::RaggedTokens& side, std::int64_t rows, std::int32_t length) {
    side.offsets.push_back(0);
    side.longest = length;
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int32_t position = 0; position < length; ++position)
            side.tokens.push_back(static_cast<std::int32_t>((row * 31 + position * 7) % 500));
        side.offsets.push_back(static_cast<std::int32_t>(side.tokens.size()));
    }
}

}  // namespace

CountedModel gpt2_124m() {
    auto config = model::gpt2_config();
    config.vocabulary = 50257;
    config.embedding_size = 768;
    config.ffn_size = 3072;
    config.heads = 12;
    config.decoder_layers = 12;
    config.dropout = config.attention_dropout = config.relu_dropout = 0;
    return {config, with_width(config, 1, 64), 0, 256};
}

CountedModel seq2seq_17m() {
    model::ModelConfig config;
    config.positions = model::Positions::learned;
    config.embedding_scale = model::EmbeddingScale::none;
    config.vocabulary = 11016;
    config.embedding_size = 256;
    config.ffn_size = 1024;
    config.heads = 2;
    config.encoder_layers = config.decoder_layers = 8;
    config.n_positions = 104;
    config.dropout = config.attention_dropout = config.relu_dropout = 0;
    return {config, with_width(config, 1, 128), 104, 32};
}

train::Batch batch_of_rows(std::int64_t rows, std::int32_t source, std::int32_t target) {
    train::Batch batch;
    if (source > 0) append_rows(batch.source, rows, source);
    append_rows(batch.target, rows, target);
    batch.labels.assign(batch.target.tokens.begin() + 1, batch.target.tokens.end());
    batch.labels.push_back(7);
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto end = static_cast<std::size_t>((row + 1) * target);
        batch.label_starts.push_back(0);
        batch.last_labels.push_back(7);
        batch.labels[end - 1] = 7;
    }
    batch.label_tokens = batch.target.total();
    for (std::int64_t row = 0; row < rows; ++row)
        batch.rows.push_back(static_cast<std::uint32_t>(row));
    return batch;
}

tests::cuda_emulation::DeviceWork work_of_step(const CountedModel& counted, std::int64_t rows) {
    emulated_compute_capability(90);
    const auto model = model::make_cuda_model(counted.narrow, train::Precision::bf16, {});
    emulated_compute_capability(80);
    train::TrainOptions options;
    options.optimizer.kind = train::OptimizerKind::adamw;
    options.optimizer.weight_decay = 0.01;
    options.optimizer.gradient_clip = 1;
    options.reducer = buckets_of(counted);
    comm::LocalCommunicator alone;
    Trace trace(Trace::Recording::off, 0);
    const auto engine = model->make_engine(options, alone, trace, nullptr);
    model->initialize(1);
    engine->restore({}, 1);
    const auto batch = batch_of_rows(rows, counted.source, counted.target);
    kernels::StepOrder order{
        .seed = 1, .step = 0, .first_update = 0, .rates = {1e-4f, 1e-4f, 1e-4f}};
    const auto step = [&] {
        engine->queue(order, {batch});
        engine->take_result();
        order.first_update = ++order.step;
    };
    for (int i = 0; i < 4; ++i) step();
    return tests::cuda_emulation::given_by(step);
}

}  // namespace lockstep::tests
