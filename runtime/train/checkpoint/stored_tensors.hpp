// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"

namespace lockstep::train {

// weights: of the model. optimizer: the optimizer's buffers.
enum class TensorRole { weights, optimizer };

// Elements of a tensor that the file of a model of transformers holds as a tensor of this name.
struct StoredPart {
    std::string name;
    std::vector<std::int64_t> shape;  // in the file
    std::size_t first = 0, count = 0;
};

struct StoredTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t count = 0;  // number of elements
    TensorRole role = TensorRole::weights;
    bool coded = false;                  // a moment in int8
    std::vector<StoredPart> parts = {};  // none if the names are Lockstep's
};

// Gives access to the tensors that are on disk, whatever model they are of: those of a checkpoint
// or of one .safetensors file. Opening reads the headers. It throws kind data if a file is damaged,
// a tensor is not whole, or a tensor holds whole numbers.
//
//   StoredTensors stored("MODEL/checkpoints/step-00001234");
//   for (const StoredTensor& tensor : stored.tensors())
//       stored.read(tensor, 0, view_of(values));
class StoredTensors {
public:
    // `path` is the folder of a checkpoint, whose manifest is read, or a file.
    explicit StoredTensors(const std::string& path);

    // Returns the weights, then the optimizer's, in the order of the files.
    const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
    const StoredTensor* find(std::string_view name) const noexcept;
    // Reads the elements [first, first + values.size()); BF16 is widened, and int8 is decoded.
    void read(const StoredTensor& tensor, std::size_t first, HostView<float> values);
    // Reads all of a moment in int8 as it is stored.
    void read_codes(const StoredTensor& tensor, HostView<std::uint8_t> codes,
                    HostView<float> scales);
    // Compares the checksums that files carry in their metadata; see SafetensorsFile::verify().
    void verify() const;
    // Tells whether the file with the weights carries such a checksum.
    bool has_checksum() const;

private:
    void add(const std::string& path, TensorRole role);

    std::deque<SafetensorsFile> files_;
    std::optional<PartFiles> parts_;
    std::vector<StoredTensor> tensors_;
};

// Calls action(block) for the elements of a tensor, a block at a time. Block views are valid during
// the call.
template <class Action>
void for_each_block(StoredTensors& stored, const StoredTensor& tensor, Action action) {
    constexpr std::size_t largest = std::size_t{1} << 20;
    std::vector<float> values(std::min(largest, tensor.count));
    for (std::size_t first = 0; first < tensor.count; first += values.size()) {
        values.resize(std::min(largest, tensor.count - first));
        stored.read(tensor, first, view_of(values));
        action(HostView<const float>(view_of(values)));
    }
}

}  // namespace lockstep::train
