// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::train {

// A range of a tensor's elements in row-major order, [first, first + size()), with the
// memory that it is written from or read into. A piece of a moment in int8 has codes, and `values`
// are the scales of its cells; it begins where a cell does.
struct TensorPiece {
    std::string_view name;
    const std::vector<std::int64_t>& shape;  // of the whole tensor
    std::size_t first = 0;
    HostView<float> values;
    HostView<std::uint8_t> codes = {};

    std::size_t size() const noexcept { return codes.empty() ? values.size() : codes.size(); }
};

// Returns one piece for each tensor, which holds all of it.
std::vector<TensorPiece> whole_tensors(std::span<const TensorExtent> tensors);
// Returns the elements [first, first + count) of the pieces laid end to end. A range that ends
// behind them is cut there. Moments in int8 are cut at the end of the cell.
std::vector<TensorPiece> cut(std::span<const TensorPiece> pieces, std::size_t first,
                             std::size_t count);
std::size_t elements(std::span<const TensorPiece> pieces) noexcept;
// Returns how many elements the shape has: the largest number for one that no memory holds.
std::size_t elements(std::span<const std::int64_t> shape) noexcept;

// A writer puts no more elements into one file.
inline constexpr std::size_t max_part_elements = std::size_t{1} << 30;

// Returns "part-00007.safetensors".
std::string part_name(std::size_t number);
bool is_part_name(std::string_view name) noexcept;

// Writes pieces as one file. Those of one tensor need not be neighbours.
WrittenFile write_part(const std::string& path, std::span<const TensorPiece> pieces);

// Reads tensors from files of pieces. It does not matter how the tensors were cut, by how many
// writers, or how they are wanted now.
class PartFiles {
public:
    // Reads the headers. Throws kind data, naming a tensor, if pieces are missing, overlap or
    // contradict each other.
    explicit PartFiles(const std::vector<std::string>& paths);

    // Returns names and shapes of the tensors, ordered by name. Scales are no tensors of their own.
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> tensors() const;
    // Throws kind config with `where`, the first difference and `remedy` if the tensors have other
    // names or shapes than `places`.
    void check(std::span<const TensorExtent> places, const std::string& where,
               std::string_view remedy) const;
    // Tells whether the tensor, which there is, is a moment in int8.
    bool is_coded(std::string_view name) const;
    // Fills the wanted pieces, whose tensors have been checked. Moments are decoded or coded if the
    // files hold them in the other kind.
    void read(std::span<const TensorPiece> wanted);

private:
    struct Stored {
        std::size_t first = 0, end = 0;
        SafetensorsFile* file = nullptr;
        const TensorInfo* info = nullptr;
    };
    struct Tensor {
        std::vector<std::int64_t> shape;
        std::vector<Stored> pieces;  // ordered by `first`

        Dtype type() const noexcept { return pieces.front().info->type; }
        bool coded() const noexcept { return !pieces.empty() && type() == Dtype::byte; }
    };

    void add(SafetensorsFile& file);
    const Tensor& tensor_of(std::string_view name) const;
    // Returns the tensor that `name` is the scales of, or nullptr.
    const Tensor* coded_by(const std::string& name) const;
    void require_scales(const std::string& name, const Tensor& tensor) const;
    template <class T>
    void read_as_stored(std::string_view name, std::size_t first, HostView<T> values);
    void read_coded(std::string_view name, std::size_t first, HostView<std::uint8_t> codes,
                    HostView<float> scales);
    void decode(const TensorPiece& want);
    void encode(const TensorPiece& want);
    static void require_complete(const std::string& name, Tensor& tensor);

    std::deque<SafetensorsFile> files_;
    std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace lockstep::train
