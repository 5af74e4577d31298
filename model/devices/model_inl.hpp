// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/blocks/stage_model.hpp"
#include "model/blocks/transformer.hpp"
#include "model/decoding/transformer_decoder.hpp"
#include "model/devices/model.hpp"
#include "model/devices/model_store.hpp"
#include "model/initialize.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/step/device_engine.hpp"
#include "runtime/train/step/stage_engine.hpp"
#include "runtime/train/step/tensor_engine.hpp"

namespace lockstep::model {

template <class Ctx>
class ModelOn final : public Model {
public:
    using Space = typename Ctx::Space;
    using Collectives = comm::Collectives<Space>;
    // Makes the collectives in the device's memory among the ranks of a communicator.
    using Connect =
        std::function<std::unique_ptr<Collectives>(Ctx&, comm::Communicator&, comm::RankProgress*)>;

    // `connect` is not called if the device's memory is the host's.
    ModelOn(const ModelConfig& config, train::Precision precision, train::Master master,
            std::unique_ptr<Ctx> context, const RecomputePlan& plan,
            const train::ReplicaShare& share, Connect connect = {})
        : config_(config),
          context_(std::move(context)),
          connect_(std::move(connect)),
          rank_in_replica_(share.rank),
          tensor_{share.tensor, nullptr},
          stage_(share.pipeline),
          table_(parameter_table(config)),
          stage_tables_(tables_of_stages(config, share.pipeline)),
          store_(make_store<Space>(config, precision, master, share)),
          frozen_table_(frozen_table(config)),
          frozen_(make_frozen_store<Space>(frozen_table_, precision)),
          weights_(*context_, store_),
          passes_(make_passes(plan)),
          whole_model_(
              passes_ ? nullptr
                      : make_model<Ctx>(config, store_, *context_, plan, frozen_.get(), &tensor_)),
          model_(passes_ ? static_cast<train::ForwardBackward*>(passes_.get())
                         : whole_model_.get()) {}

    const train::ParameterTable& parameters() const noexcept override {
        return divides() ? table_ : store_.table();
    }

    const train::ParameterTable& frozen() const noexcept override { return frozen_table_; }
    void write_frozen(const train::Parameter& parameter, HostView<const float> values) override {
        device::Buffer<float, Space> whole(values.size());
        device::copy(*context_, values, whole.view());
        train::with_element(typename Ctx::Elements{}, store_.precision(), [&]<class T>() {
            kernels::cast<float, T>(
                *context_, View<const float, Space>(whole.view()),
                frozen_->template compute<T>(parameter.offset, parameter.count));
        });
        context_->synchronize();
    }

    void write_weights(const train::Parameter& parameter, HostView<const float> values) override {
        train::OwnedAccess* const owned = engine_ == nullptr ? nullptr : engine_->owned();
        if (owned == nullptr) {
            if (gets_weights()) return;
            std::ranges::copy(values,
                              weights_.fetch().subview(parameter.offset, parameter.count).begin());
            return weights_.write_back();
        }
        for (const train::RunPiece& piece : owned->current().weights)
            if (piece.name == parameter.name)
                std::ranges::copy(values.subview(piece.first, piece.values.size()),
                                  piece.values.begin());
        owned->write_back(train::OwnedAccess::Written::weights);
    }

    void initialize(std::uint64_t seed) override {
        if (gets_weights()) return;
        if (divides())
            return write_whole([&](HostView<float> all) { initial_weights(table_, seed, all); });
        initial_weights(store_.table(), seed, weights_.fetch());
        weights_.write_back();
    }
    void initialize_owned(std::uint64_t seed) override {
        train::OwnedAccess* const owned = engine().owned();
        require(owned != nullptr, "the ranks of this run do not share a replica");
        for (const train::RunPiece& piece : owned->current().weights)
            initial_weights(*store_.table().find(piece.name), seed, piece.first, piece.values);
        owned->write_back(train::OwnedAccess::Written::weights);
    }
    void load_weights(const std::string& path) override {
        if (gets_weights()) return;
        if (divides())
            return write_whole(
                [&](HostView<float> all) { train::load_weights(path, table_, all); });
        train::load_weights(path, store_.table(), weights_.fetch());
        weights_.write_back();
    }

    std::string attention() override {
        if (store_.precision() == train::Precision::fp32) return "";
        const Widths sizes = widths(config_);
        const std::string text = kernels::describe_attention(
            *context_, static_cast<int>(sizes.head_dim), config_.attention_dropout);
        const bool has_own = sizes.kv_heads != sizes.heads || config_.parts.window > 0;
        return has_own && !text.empty()
                   ? "own kernels: libraries serve neither windows nor heads that share keys"
                   : text;
    }

    void reserve(std::size_t activation_bytes) override { model_->reserve(activation_bytes); }
    std::size_t peak_activation_bytes() const noexcept override {
        return model_->peak_activation_bytes();
    }

    std::vector<kernels::LossSums> evaluate(const train::Batch& batch) override {
        const auto tokens = static_cast<std::size_t>(batch.target.total());
        train::WeightSource all_there;
        train::WeightSource& weights = shares() ? engine().weights() : all_there;
        if (losses_.size() < tokens) {
            context_->synchronize();  // gathers of weights may be under way
            losses_ = device::Buffer<kernels::LossSums, Space>(tokens);
        }
        if (passes_)
            evaluate_in_stages(batch, losses_.view().data());
        else
            model_->evaluate(batch, losses_.view().data(), weights);
        std::vector<kernels::LossSums> each(tokens);
        const View<const kernels::LossSums, Space> losses = losses_.view();
        device::copy(*context_, losses.subview(0, tokens), view_of(each));
        context_->synchronize();
        return sums_of_rows(batch.target, each);
    }
    void evaluate_nothing() override {
        if (shares()) engine().weights().pass();
    }
    IncrementalDecoder& decoder() override {
        if (decoder_) return *decoder_;
        if (shares() || divides()) whole_.emplace(whole_store());
        decoder_ = make_decoder<Ctx>(config_, whole_ ? *whole_ : store_, *context_, frozen_.get());
        return *decoder_;
    }
    void gather_for_decoder() override {
        if (!whole_) return;
        if (passes_) return gather_from_stages();
        if (divides()) return gather_from_tensor_ranks();
        train::WeightSource& weights = engine().weights();
        const auto& segments = store_.weight_placement().segments();
        train::with_element(typename Ctx::Elements{}, store_.precision(), [&]<class T>() {
            for (std::size_t i = segments.size(); i-- > 0;) {
                const auto [first, count] = segments[i];
                weights.need(first);
                const View<const T, Space> there = store_.template compute<T>(first, count);
                device::copy(*context_, there, whole_->template compute<T>(first, count));
            }
        });
        context_->synchronize();
    }

    std::unique_ptr<train::Engine> make_engine(const train::TrainOptions& options,
                                               comm::Communicator& communicator, Trace& trace,
                                               comm::RankProgress* progress) override {
        if (passes_) return make_staged_engine(options, communicator, trace, progress);
        if (divides()) return make_divided_engine(options, communicator, trace, progress);
        Collectives& among = collectives(communicator, progress);
        auto engine = std::make_unique<train::DeviceEngine<Ctx>>(
            options, train::EngineParts<Ctx>{*context_, communicator, among, trace, *model_, store_,
                                             progress});
        engine_ = engine.get();
        return engine;
    }

private:
    static std::vector<kernels::LossSums> sums_of_rows(const train::RaggedTokens& target,
                                                       std::span<const kernels::LossSums> each) {
        std::vector<kernels::LossSums> rows;
        for (std::int64_t s = 0; s < target.sequences(); ++s) {
            kernels::LossSums sums;
            for (std::int32_t t = target.offsets[s]; t < target.offsets[s + 1]; ++t)
                sums += each[t];
            rows.push_back(sums);
        }
        return rows;
    }
    // Tells whether ranks share the weights that compute.
    bool shares() const noexcept { return store_.weight_placement().has_slots(); }
    // Tells whether this rank has a part of the model alone.
    bool divides() const noexcept { return !tensor_.slice.is_whole() || !stage_.is_whole(); }
    static std::vector<train::ParameterTable> tables_of_stages(const ModelConfig& config,
                                                               const train::PipelineStage& own) {
        std::vector<train::ParameterTable> tables;
        for (int stage = 0; !own.is_whole() && stage < own.stages; ++stage)
            tables.push_back(parameter_table(config, {}, {stage, own.stages}));
        return tables;
    }
    std::unique_ptr<train::StagePasses<Space>> make_passes(const RecomputePlan& plan) {
        if (stage_.is_whole()) return nullptr;
        if constexpr (std::is_same_v<Space, HostSpace>)
            return make_stage<Ctx>(config_, store_, *context_, plan, stage_);
        else
            throw Error(ErrorKind::config,
                        "--pipeline: only CPUs have stages; give --device cpu or --pipeline 1");
    }
    train::Engine& whole_engine() const {
        require(whole_engine_ != nullptr, "ranks with a part get their weights by an engine");
        return *whole_engine_;
    }
    // Lets rank 0, which alone has whole weights, write them.
    template <class Write>
    void write_whole(const Write& write) {
        const HostView<float> all = whole_engine().fetch().master;
        if (all.empty()) return;
        write(all);
        whole_engine().write_back();
    }
    // The engine's communicators are those of the ranks that read other rows.
    std::unique_ptr<train::Engine> make_divided_engine(const train::TrainOptions& options,
                                                       comm::Communicator& communicator,
                                                       Trace& trace, comm::RankProgress* progress) {
        if constexpr (!std::is_same_v<Space, HostSpace>) {
            throw Error(ErrorKind::config,
                        "--tensor: only CPUs divide layers; give --device cpu or --tensor 1");
        } else {
            const int size = tensor_.slice.size;
            data_ranks_ = communicator.split(communicator.rank() % size);
            tensor_ranks_ = communicator.split(communicator.rank() / size);
            tensor_.collectives = tensor_ranks_.get();
            auto engine = std::make_unique<train::DeviceEngine<Ctx>>(
                options, train::EngineParts<Ctx>{*context_,
                                                 *data_ranks_,
                                                 *data_ranks_,
                                                 trace,
                                                 *model_,
                                                 store_,
                                                 progress,
                                                 {tensor_.slice, tensor_ranks_.get(), &table_}});
            engine_ = engine.get();
            auto whole = std::make_unique<train::TensorEngine>(
                std::move(engine),
                train::TensorEngine::Parts{
                    table_, tensor_.slice, *tensor_ranks_,
                    comm::data_place(communicator.rank(), communicator.size(), size)});
            whole_engine_ = whole.get();
            return whole;
        }
    }
    std::unique_ptr<train::Engine> make_staged_engine(const train::TrainOptions& options,
                                                      comm::Communicator& communicator,
                                                      Trace& trace, comm::RankProgress* progress) {
        if constexpr (!std::is_same_v<Space, HostSpace>) {
            return nullptr;
        } else {
            const int of_stage = communicator.size() / stage_.stages;
            data_ranks_ = communicator.split(communicator.rank() / of_stage);
            stage_ranks_ = communicator.split(communicator.rank() % of_stage);
            train::StageGroup<Space> group{stage_, stage_ranks_.get(), nullptr,
                                           table_.all().back().name};
            if (config_.parts.own_head == Has::no) {
                const bool end = stage_.is_first() || stage_.is_last();
                ends_ = stage_ranks_->split(end ? 0 : stage_.number);
                if (end) group.ends = ends_.get();
            }
            auto engine = std::make_unique<train::DeviceEngine<Ctx>>(
                options, train::EngineParts<Ctx>{*context_,
                                                 *data_ranks_,
                                                 *data_ranks_,
                                                 trace,
                                                 *model_,
                                                 store_,
                                                 progress,
                                                 {},
                                                 group,
                                                 passes_.get(),
                                                 stage_ranks_.get()});
            engine_ = engine.get();
            auto whole = std::make_unique<train::StageEngine>(
                std::move(engine),
                train::StageEngine::Parts{
                    table_, stage_tables_, stage_, *stage_ranks_,
                    comm::data_place(communicator.rank(), communicator.size(), 1, stage_.stages)});
            whole_engine_ = whole.get();
            return whole;
        }
    }
    // Rows go through the stages one batch after the other, and all of them get the losses.
    void evaluate_in_stages([[maybe_unused]] const train::Batch& batch,
                            [[maybe_unused]] kernels::LossSums* losses) {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            comm::Communicator& stages = *stage_ranks_;
            if (!stage_.is_first())
                stages.finish(stages.recv(passes_->arriving(batch), stage_.number - 1, "rows"));
            const auto rows = passes_->evaluate_rows(batch, losses);
            if (!stage_.is_last()) stages.finish(stages.send(rows, stage_.number + 1, "rows"));
            const auto tokens = static_cast<std::size_t>(batch.target.total());
            stages.finish(
                stages.broadcast({losses, tokens * sizeof(kernels::LossSums), Dtype::byte},
                                 stage_.stages - 1, "losses"));
        }
    }
    // Gathers whole weights for replies.
    void gather_from_stages() {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            engine().finish_weights();
            train::with_element(typename Ctx::Elements{}, store_.precision(), [&]<class T>() {
                for (int stage = 0; stage < stage_.stages; ++stage)
                    for (const train::Parameter& part :
                         stage_tables_[static_cast<std::size_t>(stage)].all())
                        gather_stage_parameter<T>(stage, part.name);
            });
        }
    }
    template <class T>
    void gather_stage_parameter(int stage, const std::string& name) {
        const train::Parameter& to = *whole_->table().find(name);
        const View<T, Space> values = whole_->template compute<T>(to.offset, to.count);
        if (stage == stage_.number) {
            const train::Parameter& from = *store_.table().find(name);
            const View<const T, Space> own = store_.template compute<T>(from.offset, from.count);
            device::copy(*context_, own, values);
        }
        stage_ranks_->broadcast({values.data(), values.size(), dtype_of<T>}, stage,
                                "weights for replies");
        stage_ranks_->finish();
    }
    // Gathers whole weights for replies.
    void gather_from_tensor_ranks() {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            engine().finish_weights();
            train::with_element(typename Ctx::Elements{}, store_.precision(), [&]<class T>() {
                for (std::size_t i = 0; i < table_.all().size(); ++i)
                    gather_whole<T>(table_[i], store_.table()[i]);
            });
        }
    }
    template <class T>
    void gather_whole(const train::Parameter& whole, const train::Parameter& part) {
        std::vector<float> own(part.count), values(whole.count);
        std::vector<float> all(own.size() * static_cast<std::size_t>(tensor_.slice.size));
        kernels::cast<T, float>(
            *context_, View<const T, Space>(store_.template compute<T>(part.offset, part.count)),
            view_of(own));
        tensor_ranks_->all_gather(view_of(own), view_of(all), "weights for replies");
        tensor_ranks_->finish();
        const HostView<const float> parts = view_of(all);
        for (int rank = 0; rank < tensor_.slice.size; ++rank)
            train::join(whole, {rank, tensor_.slice.size},
                        parts.subview(static_cast<std::size_t>(rank) * own.size(), own.size()),
                        view_of(values));
        kernels::cast<float, T>(*context_, HostView<const float>(view_of(values)),
                                whole_->template compute<T>(whole.offset, whole.count));
    }
    train::ParameterStore<Space> whole_store() const {
        train::ParameterTable table = divides() ? table_ : store_.table();
        table.share_among(1);
        const bool fp32 = store_.precision() == train::Precision::fp32;
        return {table, store_.precision(),    fp32 ? train::Master::kept : train::Master::none, {},
                {},    train::Gradients::none};
    }
    // Tells whether this rank gets its part of the first weights from another one.
    bool gets_weights() const { return rank_in_replica_ != 0 && weights_.is_staged(); }
    train::Engine& engine() const {
        require(engine_ != nullptr, "weights that ranks share are there with an engine");
        return *engine_;
    }
    Collectives& collectives(comm::Communicator& communicator,
                             [[maybe_unused]] comm::RankProgress* progress) {
        if constexpr (std::is_same_v<Space, HostSpace>) {
            return communicator;
        } else {
            collectives_ = connect_(*context_, communicator, progress);
            return *collectives_;
        }
    }

    const ModelConfig config_;
    const std::unique_ptr<Ctx> context_;
    const Connect connect_;
    const int rank_in_replica_;
    TensorRanks<Space> tensor_;
    const train::PipelineStage stage_;
    const train::ParameterTable table_;                      // of whole parameters, without padding
    const std::vector<train::ParameterTable> stage_tables_;  // empty: one stage
    std::unique_ptr<comm::Communicator> data_ranks_, tensor_ranks_;  // null: no tensor ranks
    std::unique_ptr<comm::Communicator> stage_ranks_, ends_;         // null: one stage
    const train::ParameterStore<Space> store_;
    const train::ParameterTable frozen_table_;
    const std::unique_ptr<const train::ParameterStore<Space>> frozen_;  // null: no adapters
    train::HostWeights<Ctx> weights_;
    const std::unique_ptr<train::StagePasses<Space>> passes_;  // null: one stage
    const std::unique_ptr<train::ForwardBackward> whole_model_;
    train::ForwardBackward* const model_;                // one of the two
    device::Buffer<kernels::LossSums, Space> losses_;    // losses of each token
    std::optional<train::ParameterStore<Space>> whole_;  // for the decoder, if ranks share weights
    std::unique_ptr<IncrementalDecoder> decoder_;
    std::unique_ptr<Collectives> collectives_;
    train::Engine* engine_ = nullptr;        // the one that was made last, of this rank's part
    train::Engine* whole_engine_ = nullptr;  // what tensor ranks have around it
};

}  // namespace lockstep::model
