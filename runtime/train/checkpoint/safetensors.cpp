// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/core/json_text.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::ordered_json;

std::size_t product(std::span<const std::int64_t> shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
}

template <class T>
std::span<const std::byte> bytes_of(HostView<const T> values) {
    return std::as_bytes(std::span(values.data(), values.size()));
}

// Describes tensors that lie one after the other.
class Header {
public:
    explicit Header(const Metadata& metadata) {
        if (!metadata.empty()) json_["__metadata__"] = metadata;
    }
    void add(const std::string& tensor, Dtype type, const std::vector<std::int64_t>& shape) {
        const std::size_t end = offset_ + product(shape) * bytes_of(type);
        json_[tensor] = {{"dtype", name(type)}, {"shape", shape}, {"data_offsets", {offset_, end}}};
        offset_ = end;
    }
    void write(AtomicFile& file) const {
        std::string text = dump_json(json_);
        text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data in a mapped file
        file.write(std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{text.size()}));
        file.write(text);
    }

private:
    Json json_ = Json::object();
    std::size_t offset_ = 0;
};

void check_tensors(std::span<const TensorToWrite> tensors) {
    std::set<std::string_view> names;
    for (const TensorToWrite& tensor : tensors) {
        require(names.insert(tensor.name).second, "two tensors of one name in a file");
        require(product(tensor.shape) * bytes_of(tensor.type) == tensor.bytes.size(),
                "a tensor's shape does not fit its values");
    }
}

}  // namespace

std::string_view name(Dtype type) noexcept {
    switch (type) {
        case Dtype::fp32:
            return "F32";
        case Dtype::bf16:
            return "BF16";
        case Dtype::u64:
            return "U64";
        case Dtype::byte:
            return "U8";
        case Dtype::fp16:
            return "F16";
        case Dtype::fp64:
            break;
    }
    return "unknown";
}

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
}

TensorToWrite::TensorToWrite(std::string n, std::vector<std::int64_t> s,
                             HostView<const float> values)
    : name(std::move(n)), shape(std::move(s)), type(Dtype::fp32), bytes(bytes_of(values)) {}
TensorToWrite::TensorToWrite(std::string n, std::vector<std::int64_t> s,
                             HostView<const lockstep::bf16> values)
    : name(std::move(n)), shape(std::move(s)), type(Dtype::bf16), bytes(bytes_of(values)) {}
TensorToWrite::TensorToWrite(std::string n, std::vector<std::int64_t> s,
                             HostView<const std::uint64_t> values)
    : name(std::move(n)), shape(std::move(s)), type(Dtype::u64), bytes(bytes_of(values)) {}
TensorToWrite::TensorToWrite(std::string n, std::vector<std::int64_t> s,
                             HostView<const std::uint8_t> values)
    : name(std::move(n)), shape(std::move(s)), type(Dtype::byte), bytes(bytes_of(values)) {}

namespace {

std::vector<const TensorToWrite*> in_file_order(std::span<const TensorToWrite> tensors) {
    std::vector<const TensorToWrite*> order;
    for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
    // Writing the widest elements first keeps every tensor aligned to its element.
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [](const TensorToWrite* t) { return bytes_of(t->type); });
    return order;
}

}  // namespace

std::string checksum_of(std::span<const TensorToWrite> tensors) {
    StreamHash hash;
    for (const TensorToWrite* tensor : in_file_order(tensors))
        hash.add(tensor->bytes.data(), tensor->bytes.size());
    return hex(hash.value());
}

WrittenFile write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                              const Metadata& metadata, const BeforeCommit& before_commit) {
    check_tensors(tensors);
    const std::vector<const TensorToWrite*> order = in_file_order(tensors);
    Header header(metadata);
    for (const TensorToWrite* tensor : order) header.add(tensor->name, tensor->type, tensor->shape);
    AtomicFile file(path);
    header.write(file);
    for (const TensorToWrite* tensor : order) file.write(tensor->bytes);
    if (before_commit) before_commit();
    return file.commit();
}

SafetensorsStream::SafetensorsStream(const std::string& path, std::span<const Tensor> tensors,
                                     const Metadata& metadata)
    : file_(path) {
    Header header(metadata);
    for (const Tensor& tensor : tensors) header.add(tensor.name, tensor.type, tensor.shape);
    header.write(file_);
}

void SafetensorsStream::write(std::span<const std::byte> values) { file_.write(values); }

WrittenFile SafetensorsStream::commit(const BeforeCommit& before_commit) {
    if (before_commit) before_commit();
    return file_.commit();
}

}  // namespace lockstep::train
