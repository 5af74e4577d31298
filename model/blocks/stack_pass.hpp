// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/tensor_ranks.hpp"
#include "model/config.hpp"
#include "model/dropout_sites.hpp"
#include "model/parts.hpp"
#include "model/recompute.hpp"
#include "runtime/batch/batch.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/arena.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/dry/kernels.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/step_state.hpp"
#include "runtime/kernels/token_coordinates.hpp"

namespace lockstep::model {

// These are the lower limits of launch sizes: attention's kernels process tiles of 64 tokens, and a
// library's plans are made for at least 8 sequences.
constexpr std::int64_t smallest_launch_sequences = 8, smallest_launch_length = 64;

// Holds one side of a micro-batch in memory that the kernels can read.
template <class Space>
struct Ragged {
    View<const std::int32_t, Space> tokens, offsets;
    View<const std::uint32_t, Space> rows;
    kernels::TokenCoordinates<Space> coordinates;
    std::int64_t total = 0;
    std::int32_t longest = 0;

    // Returns the number of tokens that are not filler.
    View<const std::int32_t, Space> real() const { return offsets.subview(offsets.size() - 1, 1); }
};

// Returns the number of sequences in the device's copy of a batch. It may be larger than the
// batch's own number; the additional sequences are empty. launched_length() returns the longest
// sequence that launches allow for.
template <class Ctx>
std::size_t launched_sequences(std::size_t sequences) {
    return static_cast<std::size_t>(
        Ctx::launch_size(static_cast<std::int64_t>(sequences), smallest_launch_sequences));
}
template <class Ctx>
std::int32_t launched_length(std::int32_t longest) {
    return static_cast<std::int32_t>(Ctx::launch_size(longest, smallest_launch_length));
}

template <class Ctx>
View<const std::uint32_t, typename Ctx::Space> upload_rows(device::Upload<Ctx>& upload,
                                                           const std::vector<std::uint32_t>& rows) {
    return upload.add(HostView<const std::uint32_t>(view_of(rows)),
                      launched_sequences<Ctx>(rows.size()));
}

// Uploads one side of a batch; its rows have been uploaded already. locate_tokens() fills in
// `coordinates`.
template <class Ctx>
Ragged<typename Ctx::Space> upload_side(device::Upload<Ctx>& upload,
                                        const train::RaggedTokens& side,
                                        View<const std::uint32_t, typename Ctx::Space> rows) {
    const std::size_t offsets =
        side.offsets.empty() ? 0 : launched_sequences<Ctx>(side.offsets.size() - 1) + 1;
    return {upload.add(view_of(side.tokens)),
            upload.add(view_of(side.offsets), offsets),
            rows,
            {},
            side.total(),
            launched_length<Ctx>(side.longest)};
}

// Fills in side.coordinates (rows and positions of the tokens) for a side that has arrived on the
// device; they are allocated in the arena. It also writes labels if they follow the tokens.
template <class Ctx, class Space>
void locate_tokens(Ctx& ctx, device::Arena<Space>& arena, Ragged<Space>& side,
                   const kernels::FollowingLabels<Space>& labels = {}) {
    if (side.total == 0) return;
    const auto count = static_cast<std::size_t>(side.total);
    const auto positions = arena.template take<std::int32_t>(count);
    const auto rows = arena.template take<std::uint32_t>(count);
    kernels::locate_tokens(ctx, side.offsets, side.rows, positions, rows, labels);
    side.coordinates = {rows, positions};
}

// Returns at least the number of bytes that upload_side() and upload_rows() upload for one side;
// the overload for a batch includes both sides and the labels.
template <class Ctx>
std::size_t placed_bytes(const train::RaggedTokens& side) {
    const std::size_t sequences = launched_sequences<Ctx>(side.offsets.size());
    return sizeof(std::int32_t) * (side.tokens.size() + 2 * sequences + 1);
}
template <class Ctx>
std::size_t placed_bytes(const train::Batch& batch) {
    const std::size_t labels = batch.last_labels.empty()
                                   ? batch.labels.size()
                                   : 2 * launched_sequences<Ctx>(batch.rows.size());
    return placed_bytes<Ctx>(batch.source) + placed_bytes<Ctx>(batch.target) +
           sizeof(std::int32_t) * labels;
}

// Holds the settings that all layers of a stack share.
struct StackSettings {
    StackKind kind;
    NormPosition norms;
    EmbeddingNorm embedding_norm;
    Widths widths;
    kernels::NormKind norm;
    float norm_epsilon;
    kernels::AttentionShape self_attention, cross_attention;
    float rotary_scale;
    Has gate;
    kernels::Activation activation;
    float embedding_scale;
    float dropout, attention_dropout, relu_dropout, adapter_dropout;
    // The numbers, in the whole model, of the first head and of the first column of the
    // feed-forward block: dropout draws by them.
    std::uint32_t first_head = 0, first_column = 0;
};

StackSettings stack_settings(const ModelConfig& config, StackKind kind,
                             const train::TensorSlice& slice = {});

// Describes the pass of one micro-batch through one stack, at one of its layers. Activations are
// allocated in the arena. All references are borrowed. Ranks that divide the layers have a part of
// the tokens outside of the products (tensor_ranks.hpp).
template <class Ctx, class T>
struct StackPass {
    using Space = typename Ctx::Space;

    Ctx& ctx;
    device::Arena<Space>& arena;
    const StackSettings& settings;
    const Ragged<Space>& batch;
    const Ragged<Space>* memory;      // the encoder's side, for cross-attention; else null
    const kernels::StepState* state;  // null: no dropout
    RecomputePlan plan = {};
    std::size_t layer = 0;
    Recompute recompute = Ctx::recompute;  // this layer's
    // All branches reuse this memory for their input; if it is empty, each input gets its own
    // memory.
    MatrixView<T, Space> input_space = {};
    // Tells whether backward overwrites the weights' gradients or adds to them. It writes each
    // once.
    kernels::Into gradients_into = kernels::Into::add;
    const TensorRanks<Space>* tensor = nullptr;  // null: this rank computes alone
    const Ragged<Space>* own_part = nullptr;     // of `batch`; null: all of it

    // The tokens of this rank; `batch` has those of all tensor ranks.
    const Ragged<Space>& own() const noexcept { return own_part != nullptr ? *own_part : batch; }

    // Moves to a layer of a training pass. `shared` is the memory for inputs of the layers whose
    // inputs are calculated again.
    void enter(std::size_t entered, MatrixView<T, Space> shared) {
        layer = entered;
        recompute = level_of<Ctx>(plan, layer);
        input_space = recompute >= Recompute::outputs ? shared : MatrixView<T, Space>();
    }

    MatrixView<T, Space> take(std::int64_t rows, std::int64_t cols) const {
        return arena.template take_matrix<T>(rows, cols);
    }
    MatrixView<T, Space> take_input(std::int64_t rows, std::int64_t cols) const {
        return input_space.empty() ? take(rows, cols) : input_space;
    }
    // Returns the number of rows that all tensor ranks have together.
    std::int64_t all_rows(std::int64_t own_rows) const noexcept {
        return tensor != nullptr ? own_rows * tensor->slice.size : own_rows;
    }
    // Returns the rows of all tensor ranks, in the arena; x itself if this rank computes alone.
    MatrixView<const T, Space> gather(MatrixView<const T, Space> x) const {
        if (tensor == nullptr) return x;
        const MatrixView<T, Space> all = take(all_rows(x.rows), x.cols);
        tensor->gather(x, all);
        return all;
    }
    // Adds the matrices of all tensor ranks, destroys `all`, and writes or adds this rank's rows of
    // the sum.
    void scatter_sums(MatrixView<T, Space> all, MatrixView<T, Space> rows,
                      kernels::Into into) const {
        const MatrixView<T, Space> sums = tensor->scatter_sums(all);
        if (into == kernels::Into::add) return kernels::add<T>(ctx, sums, rows);
        const auto count = static_cast<std::size_t>(rows.rows * rows.cols);
        device::copy(ctx, View<const T, Space>(sums.data, count), View<T, Space>(rows.data, count));
    }
    // Calls backward(x, dy, dx, into) of a branch whose products are divided, with the rows of all
    // tensor ranks.
    template <class Backward>
    void backward_of_all(MatrixView<const T, Space> x, MatrixView<const T, Space> dy,
                         MatrixView<T, Space> dx, kernels::Into into,
                         const Backward& backward) const {
        if (tensor == nullptr) return backward(x, dy, dx, into);
        const auto mark = arena.mark();
        const MatrixView<T, Space> all = take(all_rows(dx.rows), dx.cols);
        const MatrixView<const T, Space> all_x = gather(x), all_dy = gather(dy);
        backward(all_x, all_dy, all, kernels::Into::overwrite);
        scatter_sums(all, dx, into);
        arena.rewind(mark);
    }
    View<float, Space> take_floats(std::int64_t count) const {
        return arena.template take<float>(static_cast<std::size_t>(count));
    }

    kernels::Dropout dropout(DropoutSite site) const {
        if (!state) return {};
        const bool probabilities =
            site == DropoutSite::self_probabilities || site == DropoutSite::cross_probabilities;
        const float rate = probabilities                     ? settings.attention_dropout
                           : site == DropoutSite::ffn_hidden ? settings.relu_dropout
                                                             : settings.dropout;
        const std::uint32_t number = dropout_site(settings.kind, layer, site);
        if (probabilities) return {rate, number + settings.first_head, state};
        return {rate, number, state, site == DropoutSite::ffn_hidden ? settings.first_column : 0};
    }

    // Of what an adapter of the layer reads.
    kernels::Dropout adapter_dropout(std::uint32_t number) const {
        if (!state) return {};
        return {settings.adapter_dropout,
                dropout_site(settings.kind, layer, DropoutSite::adapter) + number, state};
    }

    kernels::Sequences<Space> self_sequences() const {
        return {batch.offsets, batch.offsets, batch.rows, batch.longest, batch.longest};
    }
    kernels::Sequences<Space> cross_sequences() const {
        return {batch.offsets, memory->offsets, batch.rows, batch.longest, memory->longest};
    }
};

}  // namespace lockstep::model
