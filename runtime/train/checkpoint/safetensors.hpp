// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/view.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::train {

// Returns the name of a type in the format's spelling: "F32".
std::string_view name(Dtype type) noexcept;
// Returns a text such as "[2, 3]".
std::string shape_text(std::span<const std::int64_t> shape);

using Metadata = std::map<std::string, std::string>;

// Describes a tensor to write. The values are borrowed and must outlive the call.
struct TensorToWrite {
    TensorToWrite(std::string n, std::vector<std::int64_t> s, HostView<const float> values);
    TensorToWrite(std::string n, std::vector<std::int64_t> s,
                  HostView<const lockstep::bf16> values);
    TensorToWrite(std::string n, std::vector<std::int64_t> s, HostView<const std::uint64_t> values);
    TensorToWrite(std::string n, std::vector<std::int64_t> s, HostView<const std::uint8_t> values);

    std::string name;
    std::vector<std::int64_t> shape;
    Dtype type;
    std::span<const std::byte> bytes;
};

// Writes a file in Hugging Face's safetensors format, atomically (see AtomicFile). Throws kind
// contract if names are not unique or shapes do not fit the values.
WrittenFile write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                              const Metadata& metadata, const BeforeCommit& before_commit = {});

// Writes a file of tensors whose values come one after the other, as write_safetensors() does.
class SafetensorsStream {
public:
    struct Tensor {
        std::string name;
        std::vector<std::int64_t> shape;
        Dtype type = Dtype::fp32;  // the same for all
    };
    SafetensorsStream(const std::string& path, std::span<const Tensor> tensors,
                      const Metadata& metadata);
    // Takes the next values, in the order of the tensors.
    void write(std::span<const std::byte> values);
    // Call it when all values were written.
    WrittenFile commit(const BeforeCommit& before_commit);

private:
    AtomicFile file_;
};

// The key of __metadata__ under which a file may carry checksum_of() its tensors.
inline constexpr const char* checksum_key = "xxh3";
// Returns the hexadecimal XXH3 of the bytes behind the header of a file of these tensors.
std::string checksum_of(std::span<const TensorToWrite> tensors);

struct TensorInfo {
    std::string name;
    Dtype type = Dtype::fp32;
    std::vector<std::int64_t> shape;
    std::size_t count = 0;     // number of elements
    std::uint64_t offset = 0;  // bytes from the start of the file
    bool turned = false;       // the file holds the transposed matrix
    std::size_t file = 0;      // the number of the file, if there are several
    // The stored tensors whose rows it has, one after the other; empty: it is stored as one.
    std::vector<TensorInfo> rows = {};
};

// Holds one of the files of a model.
struct SafetensorsPart {
    std::string path;
    FileDescriptor file;
    std::uint64_t data_begin = 0, bytes = 0;
};

// Reads a safetensors file, or those that an index of transformers (model.safetensors.index.json)
// names. Opening checks all headers; any error in them throws kind data with one line that names
// the file. A failure of the system throws SystemFailure, also while tensors are read. A model of
// Hugging Face's transformers appears with the names and shapes that it has in Lockstep.
class SafetensorsFile {
public:
    explicit SafetensorsFile(std::string path);

    const std::string& path() const noexcept { return path_; }
    // Returns the tensors ordered by offset.
    const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
    const TensorInfo* find(std::string_view name) const noexcept;
    const Metadata& metadata() const noexcept { return metadata_; }  // none of several files
    // Returns the names of constants that files of transformers hold and that are not read.
    const std::vector<std::string>& buffers() const noexcept { return buffers_; }
    std::uint64_t bytes() const noexcept;  // of all files
    // Says whose names the tensors have in the file.
    NamesOf names() const noexcept { return names_; }

    // Takes a head in the file for a copy of the table of embeddings, which verify() compares.
    void take_as_copy_of_embeddings();

    // Reads the whole file and throws kind data if its tensors do not have the checksum in its
    // metadata. A file that has none passes unread.
    void verify() const;

    // Reads a tensor into `values`, which must have its count. Floats are read bit for bit from F32
    // and widened from BF16 and F16.
    void read(const TensorInfo& tensor, HostView<float> values);
    void read(const TensorInfo& tensor, HostView<lockstep::bf16> values);
    void read(const TensorInfo& tensor, HostView<std::uint64_t> values);
    // Reads the elements [first, first + values.size()) of a tensor of floats, as read() does.
    void read_range(const TensorInfo& tensor, std::size_t first, HostView<float> values);
    // Reads those of a tensor of bytes (U8).
    void read_range(const TensorInfo& tensor, std::size_t first, HostView<std::uint8_t> values);

private:
    void read_bytes(const TensorInfo& tensor, std::size_t from, void* to, std::size_t bytes) const;
    void read_turned(TensorInfo tensor, std::size_t first, HostView<float> values);
    void read_rows(const TensorInfo& tensor, std::size_t first, HostView<float> values);
    void require_equal(const TensorInfo& head, const TensorInfo& table) const;
    void require_zero(const TensorInfo& bias) const;

    std::string path_;
    std::vector<SafetensorsPart> files_;
    std::vector<TensorInfo> tensors_;
    // Copies of the table of embeddings, and biases of the logits that must be zero.
    std::vector<TensorInfo> copies_;
    std::vector<std::string> buffers_;
    NamesOf names_ = NamesOf::lockstep;
    Metadata metadata_;
};

}  // namespace lockstep::train
