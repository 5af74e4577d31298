// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/train/precision.hpp"

namespace lockstep::train {

// Parameters begin at multiples of this many elements in every flat buffer, so that a cell of this
// size never holds elements of two parameters.
constexpr std::size_t grain = 256;

enum class WeightDecay { apply, skip };  // skip: for biases and norms

struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t offset = 0;  // elements from the start of every flat buffer; a multiple of grain
    std::size_t count = 0;
    int block = 0;
    WeightDecay decay = WeightDecay::apply;
    // The rows consist of this many equal runs that are separate matrices for an optimizer that
    // treats whole matrices: 3 for queries, keys and values, which are stored as one.
    int parts = 1;
};

// Holds the shape of one part as a matrix; a vector is one row.
struct PartShape {
    std::int64_t rows, cols;
    bool is_matrix() const noexcept { return rows > 1 && cols > 1; }
};
PartShape part_shape(const Parameter& parameter) noexcept;

// Holds the names and offsets of all parameters in the flat buffers. They are added in the order in
// which backward finishes their gradients, so gradients become final front to back. A block is a
// contiguous unit (a layer); a tied embedding table is a separate block and comes last.
class ParameterTable {
public:
    // Returns the parameter's index.
    std::size_t add(std::string name, std::vector<std::int64_t> shape, int block, WeightDecay decay,
                    int parts = 1);

    const std::vector<Parameter>& all() const noexcept { return all_; }
    const Parameter& operator[](std::size_t index) const { return all_.at(index); }
    const Parameter* find(std::string_view name) const noexcept;
    std::size_t flat_size() const noexcept { return flat_size_; }  // including alignment gaps
    // Moves and extends the last block so that what lies before it and the whole flat buffer divide
    // into equal parts of whole grains for this many ranks. No parameter may be added afterwards.
    void pad_for(int ranks);
    // Returns that number of ranks; 1 unless pad_for() was called.
    int padded_for() const noexcept { return padded_for_; }
    // Says how many ranks share a replica; they divide those that the table is padded for.
    void share_among(int ranks);
    int sharing() const noexcept { return sharing_; }
    std::size_t count() const noexcept;  // excluding alignment gaps

private:
    std::vector<Parameter> all_;
    std::size_t flat_size_ = 0;
    int padded_for_ = 1, sharing_ = 1;
};

// A range of the flat buffers that one rank updates, and where it lies in the buffers that hold
// only what the rank owns. All are elements, and multiples of grain if ranks share a replica.
struct OwnedPart {
    std::size_t first = 0, count = 0;
    std::size_t packed = 0;
};

// Tells whether fp32 master weights are kept. If not, the 16-bit weights are the only ones, and
// rounding loses small changes.
enum class Master { kept, none };

// Owns the flat buffers: fp32 master weights, fp32 gradients, and for 16-bit precisions the compute
// copy. The gaps between parameters always stay zero. If ranks share a replica, the master of
// 16-bit precisions is packed: it holds the owned parts alone, one after the other. Code that
// creates a store must include the definition of Space's Buffer.
template <class Space>
class ParameterStore {
public:
    // `owned` is empty if this rank owns everything, else it is owned_parts() of step/buckets.hpp.
    ParameterStore(const ParameterTable& table, Precision precision, Master master = Master::kept,
                   std::vector<OwnedPart> owned = {})
        : table_(table),
          owned_(owned.empty() ? std::vector<OwnedPart>{{0, table.flat_size(), 0}}
                               : std::move(owned)),
          packed_size_(owned_.back().packed + owned_.back().count),
          precision_(precision),
          master_(master == Master::none         ? 0
                  : precision == Precision::fp32 ? table.flat_size()
                                                 : packed_size_),
          gradient_(table.flat_size()),
          bf16_(precision == Precision::bf16 ? table.flat_size() : 0),
          fp16_(precision == Precision::fp16 ? table.flat_size() : 0) {
        require(master == Master::kept || precision != Precision::fp32,
                "fp32 weights are the master");
    }

    const ParameterTable& table() const noexcept { return table_; }
    const std::vector<OwnedPart>& owned() const noexcept { return owned_; }
    std::size_t packed_size() const noexcept { return packed_size_; }  // elements that are owned
    bool owns_all() const noexcept { return packed_size_ == table_.flat_size(); }

    Precision precision() const noexcept { return precision_; }
    bool has_master() const noexcept { return master_.size() > 0; }
    bool has_packed_master() const noexcept { return master_.size() > 0 && !is_flat(); }
    // Returns the master of all elements; only of the owned parts if it is packed.
    View<float, Space> master() const noexcept { return master_.view(); }
    // Returns the master of an owned part; empty if there is none.
    View<float, Space> master(const OwnedPart& part) const {
        if (!has_master()) return {};
        return master().subview(is_flat() ? part.first : part.packed, part.count);
    }
    View<float, Space> gradient() const noexcept { return gradient_.view(); }
    // Returns the bytes of the weights that a run keeps and that every rank has whole: the master,
    // or the compute weights if there is no master or a packed one.
    View<std::byte, Space> kept_bytes() const noexcept {
        if (has_master() && is_flat()) return bytes_of(master_);
        return precision_ == Precision::bf16 ? bytes_of(bf16_) : bytes_of(fp16_);
    }
    // Returns the weights that the model computes with; for T = float these are the master.
    template <class T>
    View<T, Space> compute() const {
        require(precision_ == precision_of<T>, "this store computes in another precision");
        if constexpr (std::is_same_v<T, float>)
            return master_.view();
        else if constexpr (std::is_same_v<T, bf16>)
            return bf16_.view();
        else
            return fp16_.view();
    }

private:
    bool is_flat() const noexcept { return precision_ == Precision::fp32 || owns_all(); }
    template <class T>
    static View<std::byte, Space> bytes_of(const device::Buffer<T, Space>& values) noexcept {
        return {reinterpret_cast<std::byte*>(values.view().data()), values.size() * sizeof(T)};
    }

    ParameterTable table_;
    std::vector<OwnedPart> owned_;
    std::size_t packed_size_;
    Precision precision_;
    device::Buffer<float, Space> master_, gradient_;
    device::Buffer<bf16, Space> bf16_;
    device::Buffer<fp16, Space> fp16_;
};

}  // namespace lockstep::train
