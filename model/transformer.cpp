// SPDX-License-Identifier: Apache-2.0
#include "model/transformer.hpp"

#include "model/initialize.hpp"
#include "model/output_head.hpp"
#include "model/stack_block.hpp"
#include "model/stopwatch.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

namespace {

using device::CpuContext;
using train::Batch;
using train::GradientSink;
using train::ModelSeconds;

// Tells the sink, block by block, that the gradients of the flat buffer are final.
class BlockProgress {
public:
    BlockProgress(const train::ParameterTable& table, GradientSink& sink)
        : table_(table), sink_(sink) {}

    void finish() {
        const auto& all = table_.all();
        require(next_ < all.size(), "backward finished more blocks than there are");
        const int block = all[next_].block;
        while (next_ < all.size() && all[next_].block == block) ++next_;
        const std::size_t end = next_ < all.size() ? all[next_].offset : table_.flat_size();
        sink_.ready(begin_, end - begin_);
        begin_ = end;
    }

private:
    const train::ParameterTable& table_;
    GradientSink& sink_;
    std::size_t next_ = 0, begin_ = 0;
};

void check_side(const train::RaggedTokens& side, std::size_t rows, std::int64_t n_positions) {
    require(side.offsets.size() == rows + 1 && side.real() <= side.total() &&
                side.positions.size() == side.tokens.size() &&
                side.token_rows.size() == side.tokens.size(),
            "the vectors of a batch disagree about its size");
    require(side.longest <= n_positions, "a row is longer than the model's n_positions");
}

template <class Ctx, class T>
class Transformer final : public train::Model {
public:
    using Space = typename Ctx::Space;
    using Matrix = MatrixView<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Stacks = StackBlock<Ctx, T>;

    Transformer(const ModelConfig& config, train::ParameterStore<Space>& store, Ctx& ctx)
        : config_(config),
          table_(parameter_table(config)),
          store_(store),
          weights_(bind_weights<T>(config_, table_, store)),
          encoder_(stack_settings(config, StackKind::encoder)),
          decoder_(stack_settings(config, StackKind::decoder)),
          ctx_(ctx) {}

    const train::ParameterTable& parameters() const noexcept override { return table_; }
    std::size_t peak_activation_bytes() const noexcept override { return arena_.peak_bytes(); }
    ModelSeconds take_seconds() noexcept override { return std::exchange(seconds_, {}); }

    void initialize(std::uint64_t seed) override {
        initial_weights(config_, table_, seed, store_.master());
        if (store_.precision() == train::Precision::bf16) {
            kernels::cast<float, T>(ctx_, store_.master(), store_.template compute<T>());
        }
    }

    void train(const Batch& batch, const kernels::StepState* state, kernels::LossSums* sums,
               GradientSink& sink) override {
        begin(batch);
        const Sides sides = place(batch);
        Stopwatch watch;
        Saved saved;
        forward(sides, state, saved);
        seconds_.forward += watch.lap();

        const Matrix d_output =
            arena_.template take_matrix<T>(saved.output.rows, saved.output.cols);
        OutputHead<Ctx, T>::train(ctx_, arena_, state, weights_.embeddings, saved.output,
                                  view_of(batch.labels), config_.label_smoothing, d_output,
                                  weights_.d_embeddings, sums, seconds_);
        watch.lap();

        backward(sides, state, saved, d_output, sink);
        seconds_.backward += watch.lap();
    }

    void evaluate(const Batch& batch, kernels::LossSums* sums) override {
        begin(batch);
        const Sides sides = place(batch);
        Stopwatch watch;
        Constant memory;
        if (weights_.encoder) {
            memory = Stacks::evaluate(encoder_run(sides, nullptr), *weights_.encoder,
                                      weights_.embeddings, {});
        }
        const Constant output = Stacks::evaluate(decoder_run(sides, nullptr), weights_.decoder,
                                                 weights_.embeddings, memory);
        OutputHead<Ctx, T>::evaluate(ctx_, arena_, weights_.embeddings, output,
                                     view_of(batch.labels), sums);
        seconds_.forward += watch.lap();
    }

private:
    struct Sides {
        Ragged<Space> source, target;
    };

    struct Saved {
        typename Stacks::Saved encoder, decoder;
        Constant memory, output;
    };

    void forward(const Sides& sides, const kernels::StepState* state, Saved& saved) {
        if (weights_.encoder) {
            saved.memory = Stacks::forward(encoder_run(sides, state), *weights_.encoder,
                                           weights_.embeddings, {}, saved.encoder);
        }
        saved.output = Stacks::forward(decoder_run(sides, state), weights_.decoder,
                                       weights_.embeddings, saved.memory, saved.decoder);
    }

    void backward(const Sides& sides, const kernels::StepState* state, const Saved& saved,
                  Matrix d_output, GradientSink& sink) {
        BlockProgress progress(table_, sink);
        const auto finish = [&progress] { progress.finish(); };
        const Matrix d_memory =
            arena_.template take_matrix<T>(saved.memory.rows, saved.memory.cols);
        Stacks::backward(decoder_run(sides, state), weights_.decoder, saved.decoder, d_output,
                         d_memory, weights_.d_embeddings, finish);
        if (weights_.encoder) {
            Stacks::backward(encoder_run(sides, state), *weights_.encoder, saved.encoder, d_memory,
                             {}, weights_.d_embeddings, finish);
        }
        progress.finish();  // the embedding table, tied and therefore last
    }

    void begin(const Batch& batch) {
        require(!batch.empty(), "an empty batch has no loss");
        require(batch.labels.size() == batch.target.tokens.size(),
                "the vectors of a batch disagree about its size");
        if (weights_.encoder) check_side(batch.source, batch.rows.size(), config_.n_positions);
        check_side(batch.target, batch.rows.size(), config_.n_positions);
        arena_.reset();
    }

    Sides place(const Batch& batch) const {
        return {in_place(batch.source, batch.rows), in_place(batch.target, batch.rows)};
    }

    Run<Ctx, T> encoder_run(const Sides& sides, const kernels::StepState* state) {
        return {ctx_, arena_, encoder_, sides.source, nullptr, state};
    }
    Run<Ctx, T> decoder_run(const Sides& sides, const kernels::StepState* state) {
        return {ctx_, arena_, decoder_, sides.target, &sides.source, state};
    }

    const ModelConfig config_;
    const train::ParameterTable table_;
    train::ParameterStore<Space>& store_;
    const TransformerWeights<T, Space> weights_;
    const StackSettings encoder_, decoder_;
    Ctx& ctx_;
    device::Arena<Space> arena_;
    ModelSeconds seconds_;
};

}  // namespace

std::unique_ptr<train::Model> make_model(const ModelConfig& config,
                                         train::ParameterStore<HostSpace>& store, CpuContext& ctx) {
    if (store.precision() == train::Precision::bf16) {
        return std::make_unique<Transformer<CpuContext, bf16>>(config, store, ctx);
    }
    return std::make_unique<Transformer<CpuContext, float>>(config, store, ctx);
}

}  // namespace lockstep::model
