// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/files/scratch_file.hpp"
#include "runtime/train/parameter_table.hpp"
#include "runtime/train/placement.hpp"
#include "runtime/train/precision.hpp"

namespace lockstep::train {

// A range of the flat buffers that one rank updates, and where it lies in the buffers that hold
// only what the rank owns. All are elements, and multiples of grain if ranks share a replica.
struct OwnedPart {
    std::size_t first = 0, count = 0;
    std::size_t packed = 0;
};

// Tells whether fp32 master weights are kept, and where. none: the 16-bit weights are the only
// ones, and rounding loses small changes. offloaded: in pinned host memory, where the host updates
// them (optim/offloaded_optimizer.hpp); the model computes with weights of their own, also in fp32.
// stored: in a file (optim/stored_optimizer.hpp), unless the model computes with them or fills
// slots from them; those are kept.
enum class Master { kept, none, offloaded, stored };

// Tells whether a store has memory for gradients. none: its weights are only read.
enum class Gradients { kept, none };

// Owns the weights and their gradients: fp32 master weights, fp32 gradients, and for 16-bit
// precisions the compute copy. They are flat buffers unless ranks share a replica. Then
// - the master of 16-bit precisions is packed: it holds the owned parts alone, one after the other;
// - from stage 2 on backward writes into slots (placement.hpp), and the sums of the owned parts are
//   packed;
// - at stage 3 the weights that compute lie in slots, too, and the master is packed in fp32, too.
// The gaps between parameters always stay zero, except in slots of gradients and in gradients that
// a micro-batch is about to overwrite.
// Code that creates a store must include the definition of Space's Buffer.
template <class Space>
class ParameterStore {
public:
    // `owned` is empty if this rank owns everything, else it is owned_parts() of
    // reduction/buckets.hpp; stages 2 and 3 need `segments` from there. A stored master lies in
    // `file`; the store of a dry device needs none.
    ParameterStore(const ParameterTable& table, Precision precision, Master master = Master::kept,
                   std::vector<OwnedPart> owned = {}, const std::vector<Segment>& segments = {},
                   Gradients gradients = Gradients::kept,
                   std::shared_ptr<ScratchFile> file = nullptr)
        : table_(table),
          owned_(owned.empty() ? std::vector<OwnedPart>{{0, table.flat_size(), 0}}
                               : std::move(owned)),
          packed_size_(owned_.back().packed + owned_.back().count),
          precision_(precision),
          gradient_at_(placed(table, segments, 2)),
          weights_at_(placed(table, segments, 3)),
          place_(master),
          file_(std::move(file)),
          stored_(in_file()),
          master_(
              master == Master::none || !stored_.values.empty() ? 0
              : is_flat()                                       ? table.flat_size()
                                                                : packed_size_,
              device::Content::zeroed,
              master == Master::offloaded ? device::Residence::host : device::Residence::device),
          gradient_(gradients == Gradients::kept ? gradient_at_.size() : 0),
          gradient_sums_(gradient_at_.has_slots() ? packed_size_ : 0),
          fp32_(precision == Precision::fp32 && computes_apart() ? weights_at_.size() : 0),
          bf16_(precision == Precision::bf16 ? weights_at_.size() : 0),
          fp16_(precision == Precision::fp16 ? weights_at_.size() : 0) {
        require(master != Master::none || precision != Precision::fp32,
                "fp32 weights are the master");
        require(master != Master::none || !weights_at_.has_slots(),
                "slots of weights are filled from the master");
    }

    const ParameterTable& table() const noexcept { return table_; }
    const std::vector<OwnedPart>& owned() const noexcept { return owned_; }
    std::size_t packed_size() const noexcept { return packed_size_; }  // elements that are owned
    bool owns_all() const noexcept { return packed_size_ == table_.flat_size(); }
    const Placement& gradient_placement() const noexcept { return gradient_at_; }
    const Placement& weight_placement() const noexcept { return weights_at_; }

    Precision precision() const noexcept { return precision_; }
    bool has_master() const noexcept { return master().size() > 0; }
    bool has_packed_master() const noexcept { return has_master() && !is_flat(); }
    // Tells whether the master lies elsewhere than in the device's memory.
    bool has_offloaded_master() const noexcept {
        return place_ == Master::offloaded || has_stored_master();
    }
    bool has_stored_master() const noexcept {
        return place_ == Master::stored && precision_ != Precision::fp32 &&
               !weights_at_.has_slots();
    }
    // Returns where the stored master lies in the file.
    const ScratchRange& stored_master() const noexcept { return stored_; }
    const std::shared_ptr<ScratchFile>& file() const noexcept { return file_; }
    // Tells whether the model computes with other memory than the master's.
    bool computes_apart() const noexcept {
        return precision_ != Precision::fp32 || weights_at_.has_slots() ||
               place_ == Master::offloaded;
    }
    // Returns the master of all elements; only of the owned parts if it is packed.
    View<float, Space> master() const noexcept {
        if constexpr (std::is_same_v<Space, HostSpace>)
            if (!stored_.values.empty()) return stored_.values;
        return master_.view();
    }
    // Returns the master of an owned part; empty if there is none.
    View<float, Space> master(const OwnedPart& part) const {
        if (!has_master()) return {};
        return master().subview(is_flat() ? part.first : part.packed, part.count);
    }
    // Returns the memory that backward writes, which is flat or has slots.
    View<float, Space> gradient() const noexcept { return gradient_.view(); }
    View<float, Space> gradient(std::size_t first, std::size_t count) const {
        if (gradient_.size() == 0) return {};
        return gradient().subview(gradient_at_.at(first, count), count);
    }
    // Returns the sums of the owned parts; empty if they lie in the flat gradient.
    View<float, Space> gradient_sums() const noexcept { return gradient_sums_.view(); }
    // Returns where the sum over the ranks of an owned part's gradient lies before an update.
    View<float, Space> gradient_sum(const OwnedPart& part) const {
        if (!gradient_at_.has_slots()) return gradient(part.first, part.count);
        return gradient_sums().subview(part.packed, part.count);
    }
    // Returns the bytes of the weights that a run keeps and that every rank has whole: the master,
    // or the compute weights if there is no master in the device's memory or a packed one. There
    // are none at stage 3.
    View<std::byte, Space> kept_bytes() const noexcept {
        if (weights_at_.has_slots()) return {};
        if (has_master() && is_flat() && !has_offloaded_master()) return bytes_of(master_);
        if (precision_ == Precision::fp32) return bytes_of(fp32_);
        return precision_ == Precision::bf16 ? bytes_of(bf16_) : bytes_of(fp16_);
    }
    // Returns the bytes of the memory that only computing needs, besides the master.
    std::size_t compute_bytes() const noexcept {
        return fp32_.size() * sizeof(float) + bf16_.size() * sizeof(bf16) +
               fp16_.size() * sizeof(fp16);
    }
    // Returns the weights that the model computes with, which are flat or in slots; for T =
    // float flat ones are the master.
    template <class T>
    View<T, Space> compute() const {
        require(precision_ == precision_of<T>, "this store computes in another precision");
        if constexpr (std::is_same_v<T, float>)
            return computes_apart() ? fp32_.view() : master_.view();
        else if constexpr (std::is_same_v<T, bf16>)
            return bf16_.view();
        else
            return fp16_.view();
    }
    template <class T>
    View<T, Space> compute(std::size_t first, std::size_t count) const {
        return compute<T>().subview(weights_at_.at(first, count), count);
    }

    // Returns host memory for the weights of all elements, zeros at first. It takes the place of a
    // flat master before the first step: initial or loaded weights are written there, and rank 0's
    // are shared from there.
    HostView<float> whole_weights() const {
        if (whole_.size() == 0)
            whole_ = device::Buffer<float, HostSpace>(table_.flat_size(), device::Content::zeroed);
        return whole_.view();
    }
    void drop_whole_weights() const { whole_ = {}; }

private:
    static Placement placed(const ParameterTable& table, const std::vector<Segment>& segments,
                            int from_stage) {
        return table.stage() < from_stage ? Placement(table.flat_size()) : Placement(segments);
    }
    bool is_flat() const noexcept { return owns_all() || !computes_apart(); }
    ScratchRange in_file() const {
        if constexpr (std::is_same_v<Space, HostSpace>)
            if (has_stored_master()) {
                require(file_ != nullptr, "a stored master needs a file");
                return file_->extend(is_flat() ? table_.flat_size() : packed_size_);
            }
        return {};
    }
    template <class T>
    static View<std::byte, Space> bytes_of(const device::Buffer<T, Space>& values) noexcept {
        return {reinterpret_cast<std::byte*>(values.view().data()), values.size() * sizeof(T)};
    }

    ParameterTable table_;
    std::vector<OwnedPart> owned_;
    std::size_t packed_size_;
    Precision precision_;
    Placement gradient_at_, weights_at_;
    Master place_;  // of the master
    std::shared_ptr<ScratchFile> file_;
    ScratchRange stored_;  // empty: the master is in memory
    device::Buffer<float, Space> master_, gradient_, gradient_sums_, fp32_;
    device::Buffer<bf16, Space> bf16_;
    device::Buffer<fp16, Space> fp16_;
    mutable device::Buffer<float, HostSpace> whole_;
};

}  // namespace lockstep::train
