// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.hpp"
#include "model/dropout_sites.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/arena.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/step_state.hpp"
#include "runtime/train/batch.hpp"

namespace lockstep::model {

// One side of a micro-batch where the kernels read it.
template <class Space>
struct Ragged {
    View<const std::int32_t, Space> tokens, positions, offsets;
    kernels::TokenPlaces<Space> places;
    View<const std::uint32_t, Space> rows;
    std::int64_t total = 0, real = 0;
    std::int32_t longest = 0;
};

// Brings one side of a batch to where the device reads it; rows are there already.
template <class Ctx>
Ragged<typename Ctx::Space> place(device::Upload<Ctx>& upload, const train::RaggedTokens& side,
                                  View<const std::uint32_t, typename Ctx::Space> rows) {
    const auto positions = upload.add(view_of(side.positions));
    return {upload.add(view_of(side.tokens)),
            positions,
            upload.add(view_of(side.offsets)),
            {upload.add(view_of(side.token_rows)), positions},
            rows,
            side.total(),
            side.real(),
            side.longest};
}

inline std::size_t bytes_of(const train::RaggedTokens& side) noexcept {
    return 4 * (3 * side.tokens.size() + side.offsets.size());
}

// What all layers of a stack have in common.
struct StackSettings {
    StackKind kind;
    NormPlace norms;
    kernels::AttentionShape self_attention, cross_attention;
    kernels::Activation activation;
    float embedding_scale;
    float dropout, attention_dropout, relu_dropout;
};

StackSettings stack_settings(const ModelConfig& config, StackKind kind);

// One stack at work on one micro-batch, at one of its layers. Activations come from the arena.
template <class Ctx, class T>
struct Run {
    using Space = typename Ctx::Space;

    Ctx& ctx;
    device::Arena<Space>& arena;
    const StackSettings& settings;
    const Ragged<Space>& batch;
    const Ragged<Space>* memory;      // the encoder's side, for cross-attention
    const kernels::StepState* state;  // null: nothing is dropped
    std::size_t layer = 0;
    // What the next branch reads, one after the other; empty: each gets memory of its own.
    MatrixView<T, Space> input_space = {};

    MatrixView<T, Space> take(std::int64_t rows, std::int64_t cols) const {
        return arena.template take_matrix<T>(rows, cols);
    }
    MatrixView<T, Space> take_input(std::int64_t rows, std::int64_t cols) const {
        return input_space.empty() ? take(rows, cols) : input_space;
    }
    View<float, Space> take_floats(std::int64_t count) const {
        return arena.template take<float>(static_cast<std::size_t>(count));
    }

    kernels::Dropout dropout(DropoutPlace place) const {
        if (!state) return {};
        const bool probabilities =
            place == DropoutPlace::self_probabilities || place == DropoutPlace::cross_probabilities;
        const float rate = probabilities                       ? settings.attention_dropout
                           : place == DropoutPlace::ffn_hidden ? settings.relu_dropout
                                                               : settings.dropout;
        return {rate, dropout_site(settings.kind, layer, place), state};
    }

    kernels::Sequences<Space> self_sequences() const {
        return {batch.offsets, batch.offsets, batch.rows, batch.longest, batch.longest};
    }
    kernels::Sequences<Space> cross_sequences() const {
        return {batch.offsets, memory->offsets, batch.rows, batch.longest, memory->longest};
    }
};

}  // namespace lockstep::model
