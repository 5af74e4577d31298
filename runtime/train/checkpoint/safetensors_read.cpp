// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "runtime/core/fp16.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "runtime/train/checkpoint/transformers_tensors.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"

namespace lockstep::train {

namespace {

constexpr const char* embeddings_name = "embeddings.weight";
constexpr const char* head_name = "lm_head.weight";

// Elements that are read at once where they need other memory than where they go to.
constexpr std::size_t read_block = std::size_t{1} << 20;

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
    const bool one = !is_weight_index(path_);
    std::vector<std::string> paths;
    if (one)
        paths.push_back(path_);
    else
        paths = files_of_index(path_);
    for (const std::string& file : paths) {
        OpenedSafetensors opened = open_safetensors(file);
        for (TensorInfo& tensor : opened.tensors) {
            tensor.file = files_.size();
            tensors_.push_back(std::move(tensor));
        }
        if (one) metadata_ = std::move(opened.metadata);
        files_.push_back(std::move(opened.part));
    }
    if (!one) require_tensors_of_index(path_, tensors_);
    drop_wrappers(tensors_);
    names_ = names_of(tensors_);
    if (names_ == NamesOf::lockstep) return;
    buffers_ = take_buffers(tensors_);
    // Every GPT-2 has one matrix for both.
    if (names_ == NamesOf::gpt2) take_as_copy_of_embeddings();
    if (is_encoder_decoder(names_)) copies_ = take_copies_of_shared(tensors_);
    tensors_ = with_own_names(path_, std::move(tensors_));
}

std::uint64_t SafetensorsFile::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const SafetensorsPart& file : files_) sum += file.bytes;
    return sum;
}

void SafetensorsFile::take_as_copy_of_embeddings() {
    const auto head = std::ranges::find(tensors_, head_name, &TensorInfo::name);
    if (head == tensors_.end()) return;
    copies_.push_back(*head);
    tensors_.erase(head);
}

// The two are one matrix here. A model whose head differs from its table is another kind.
void SafetensorsFile::require_equal(const TensorInfo& head, const TensorInfo& table) const {
    const auto differ = [&] {
        throw Error(ErrorKind::config, path_ + ": " + head.name +
                                           " differs from the table of embeddings, but this "
                                           "model has one matrix for both (tie_word_embeddings); "
                                           "choose another model");
    };
    if (head.type != table.type || head.shape != table.shape) differ();
    const std::size_t bytes = head.count * bytes_of(head.type);
    std::vector<std::byte> a(std::size_t{1} << 20), b(a.size());
    for (std::size_t at = 0; at < bytes; at += a.size()) {
        const std::size_t some = std::min(a.size(), bytes - at);
        read_bytes(head, at, a.data(), some);
        read_bytes(table, at, b.data(), some);
        if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(some), b.begin()))
            differ();
    }
}

// A bias would change every logit.
void SafetensorsFile::require_zero(const TensorInfo& bias) const {
    std::vector<std::byte> bytes(bias.count * bytes_of(bias.type));
    read_bytes(bias, 0, bytes.data(), bytes.size());
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    if (std::ranges::all_of(bytes, is_zero)) return;
    throw Error(ErrorKind::config, path_ + ": " + bias.name +
                                       " is not zero, but no model here adds a bias to its "
                                       "logits; choose another model");
}

void SafetensorsFile::verify() const {
    for (const TensorInfo& copy : copies_) {
        if (is_logits_bias(copy.name))
            require_zero(copy);
        else if (const TensorInfo* table = find(embeddings_name))
            require_equal(copy, *table);
    }
    const auto expected = metadata_.find(checksum_key);
    if (expected == metadata_.end()) return;
    const SafetensorsPart& file = files_.front();
    std::vector<std::byte> block(std::size_t{1} << 20);
    StreamHash hash;
    for (std::uint64_t at = file.data_begin; at < file.bytes; at += block.size()) {
        const auto bytes =
            static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file.bytes - at));
        read_at(file.file, path_, "tensors", at, block.data(), bytes);
        hash.add(block.data(), bytes);
    }
    if (hex(hash.value()) == expected->second) return;
    throw Error(ErrorKind::data,
                path_ +
                    ": is damaged: its tensors do not have the checksum in its metadata; use a "
                    "checkpoint or a copy (a program that changes the tensors must leave out "
                    "the metadata \"" +
                    std::string(checksum_key) + "\")");
}

const TensorInfo* SafetensorsFile::find(std::string_view tensor_name) const noexcept {
    const auto found = std::ranges::find(tensors_, tensor_name, &TensorInfo::name);
    return found == tensors_.end() ? nullptr : &*found;
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<float> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    read_range(tensor, 0, values);
}

void SafetensorsFile::read_range(const TensorInfo& tensor, std::size_t first,
                                 HostView<float> values) {
    require(first <= tensor.count && values.size() <= tensor.count - first,
            "a range is inside of its tensor");
    if (values.empty()) return;
    if (!tensor.rows.empty()) return read_rows(tensor, first, values);
    if (tensor.turned) return read_turned(tensor, first, values);
    const auto read_narrow = [&]<class Narrow>(std::vector<Narrow> narrow) {
        for (std::size_t at = 0; at < values.size(); at += narrow.size()) {
            narrow.resize(std::min(read_block, values.size() - at));
            read_bytes(tensor, (first + at) * sizeof(Narrow), narrow.data(),
                       narrow.size() * sizeof(Narrow));
            std::ranges::transform(narrow, values.begin() + static_cast<std::ptrdiff_t>(at),
                                   [](auto v) { return static_cast<float>(v); });
        }
    };
    if (tensor.type == Dtype::bf16) return read_narrow(std::vector<lockstep::bf16>());
    if (tensor.type == Dtype::fp16) return read_narrow(std::vector<lockstep::fp16>());
    require(tensor.type == Dtype::fp32, "the tensor holds floats");
    read_bytes(tensor, first * sizeof(float), values.data(), values.size() * sizeof(float));
}

// The rows of one tensor after the other.
void SafetensorsFile::read_rows(const TensorInfo& tensor, std::size_t first,
                                HostView<float> values) {
    std::size_t begin = 0, done = 0;
    for (const TensorInfo& part : tensor.rows) {
        const std::size_t from = first + done;
        if (done < values.size() && from < begin + part.count) {
            const std::size_t count = std::min(values.size() - done, begin + part.count - from);
            read_range(part, from - begin, values.subview(done, count));
            done += count;
        }
        begin += part.count;
    }
}

void SafetensorsFile::read_range(const TensorInfo& tensor, std::size_t first,
                                 HostView<std::uint8_t> values) {
    require(first <= tensor.count && values.size() <= tensor.count - first,
            "a range is inside of its tensor");
    require(tensor.type == Dtype::byte, "the tensor holds bytes");
    read_bytes(tensor, first, values.data(), values.size());
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<lockstep::bf16> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    require(tensor.type == Dtype::bf16, "the tensor holds bf16");
    read_bytes(tensor, 0, values.data(), values.size() * sizeof(lockstep::bf16));
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<std::uint64_t> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    require(tensor.type == Dtype::u64, "the tensor holds u64");
    read_bytes(tensor, 0, values.data(), values.size() * sizeof(std::uint64_t));
}

// Neighbours of a range lie a row of the file apart, so that the whole tensor is read, some rows of
// the file at a time.
void SafetensorsFile::read_turned(TensorInfo tensor, std::size_t first, HostView<float> values) {
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const auto columns = static_cast<std::size_t>(tensor.shape[1]);
    const std::size_t end = first + values.size();
    tensor.turned = false;
    std::vector<float> stored;
    for (std::size_t begin = 0, some = 0; begin < columns; begin += some) {
        some = std::min(std::max(read_block / rows, std::size_t{1}), columns - begin);
        stored.resize(some * rows);
        read_range(tensor, begin * rows, view_of(stored));
        for (std::size_t row = first / columns; row * columns < end; ++row)
            for (std::size_t i = 0; i < some; ++i) {
                const std::size_t at = row * columns + begin + i;
                if (at >= first && at < end) values[at - first] = stored[i * rows + row];
            }
    }
}

void SafetensorsFile::read_bytes(const TensorInfo& tensor, std::size_t from, void* to,
                                 std::size_t bytes) const {
    const SafetensorsPart& file = files_.at(tensor.file);
    read_at(file.file, file.path, "tensor " + tensor.name, tensor.offset + from, to, bytes);
}

}  // namespace lockstep::train
