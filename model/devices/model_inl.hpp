// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/blocks/transformer.hpp"
#include "model/decoding/transformer_decoder.hpp"
#include "model/devices/model.hpp"
#include "model/devices/model_store.hpp"
#include "model/initialize.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/step/device_engine.hpp"
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
          table_(parameter_table(config)),
          store_(make_store<Space>(config, precision, master, share)),
          frozen_table_(frozen_table(config)),
          frozen_(make_frozen_store<Space>(frozen_table_, precision)),
          weights_(*context_, store_),
          model_(make_model<Ctx>(config, store_, *context_, plan, frozen_.get(), &tensor_)) {}

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
    bool divides() const noexcept { return !tensor_.slice.is_whole(); }
    train::Engine& whole_engine() const {
        require(whole_engine_ != nullptr, "tensor ranks get their weights by an engine");
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
    const train::ParameterTable table_;  // of whole parameters, without padding
    std::unique_ptr<comm::Communicator> data_ranks_, tensor_ranks_;  // null: no tensor ranks
    const train::ParameterStore<Space> store_;
    const train::ParameterTable frozen_table_;
    const std::unique_ptr<const train::ParameterStore<Space>> frozen_;  // null: no adapters
    train::HostWeights<Ctx> weights_;
    const std::unique_ptr<train::ForwardBackward> model_;
    device::Buffer<kernels::LossSums, Space> losses_;    // losses of each token
    std::optional<train::ParameterStore<Space>> whole_;  // for the decoder, if ranks share weights
    std::unique_ptr<IncrementalDecoder> decoder_;
    std::unique_ptr<Collectives> collectives_;
    train::Engine* engine_ = nullptr;        // the one that was made last, of this rank's part
    train::Engine* whole_engine_ = nullptr;  // what tensor ranks have around it
};

}  // namespace lockstep::model
