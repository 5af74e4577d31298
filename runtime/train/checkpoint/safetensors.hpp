// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::train {

// The name of a type as the format spells it: "F32".
std::string_view name(Dtype type) noexcept;
// "[2, 3]"
std::string shape_text(std::span<const std::int64_t> shape);

using Metadata = std::map<std::string, std::string>;

// A tensor to write; the values are borrowed and outlive the call.
struct TensorToWrite {
    TensorToWrite(std::string n, std::vector<std::int64_t> s, HostView<const float> values);
    TensorToWrite(std::string n, std::vector<std::int64_t> s,
                  HostView<const lockstep::bf16> values);
    TensorToWrite(std::string n, std::vector<std::int64_t> s, HostView<const std::uint64_t> values);

    std::string name;
    std::vector<std::int64_t> shape;
    Dtype type;
    std::span<const std::byte> bytes;
};

// Writes a file in Hugging Face's safetensors format, atomically (see AtomicFile). Names are unique
// and shapes fit the values, else a contract error.
void write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                       const Metadata& metadata);

struct TensorInfo {
    std::string name;
    Dtype type = Dtype::fp32;
    std::vector<std::int64_t> shape;
    std::size_t count = 0;     // elements
    std::uint64_t offset = 0;  // bytes, in the file
};

// A safetensors file open for reading. Its header is checked whole on opening: whatever is wrong
// with it is a data error of one line that names the file.
class SafetensorsFile {
public:
    explicit SafetensorsFile(std::string path);

    const std::string& path() const noexcept { return path_; }
    const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }  // by offset
    const TensorInfo* find(std::string_view name) const noexcept;
    const Metadata& metadata() const noexcept { return metadata_; }

    // `values` has the tensor's count. Floats are read bit for bit from F32 and widened from BF16.
    void read(const TensorInfo& tensor, HostView<float> values);
    void read(const TensorInfo& tensor, HostView<lockstep::bf16> values);
    void read(const TensorInfo& tensor, HostView<std::uint64_t> values);

private:
    void read_bytes(const TensorInfo& tensor, void* to, std::size_t bytes);

    std::string path_;
    std::ifstream in_;
    std::vector<TensorInfo> tensors_;
    Metadata metadata_;
};

}  // namespace lockstep::train
