// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/weights_file.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/core/bf16.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"

namespace lockstep::train {

namespace {

using TakeBytes = std::function<void(std::span<const std::byte>)>;

// Converts to the type of the file, and counts the values that this changes.
class Narrowing {
public:
    explicit Narrowing(Dtype type) : type_(type) {
        require(type == Dtype::fp32 || type == Dtype::bf16 || type == Dtype::fp16,
                "weights are stored in a type of floats");
    }
    void pass(const std::string& tensor, HostView<const float> values, const TakeBytes& take) {
        if (type_ == Dtype::bf16) return narrow(tensor, values, take, bf16s_);
        if (type_ == Dtype::fp16) return narrow(tensor, values, take, fp16s_);
        take(std::as_bytes(std::span(values.data(), values.size())));
    }
    std::uint64_t rounded() const noexcept { return rounded_; }

private:
    template <class Narrow>
    void narrow(const std::string& tensor, HostView<const float> values, const TakeBytes& take,
                std::vector<Narrow>& out) {
        out.clear();
        for (const float value : values) {
            out.push_back(Narrow(value));
            const auto back = static_cast<float>(out.back());
            if (std::isinf(back) && !std::isinf(value))
                throw Error(ErrorKind::config, "tensor " + tensor + " has the value " +
                                                   std::to_string(value) + ", which " +
                                                   std::string(name(type_)) +
                                                   " cannot hold; give --dtype fp32");
            rounded_ += back == value || std::isnan(value) ? 0 : 1;
        }
        take(std::as_bytes(std::span(out)));
    }

    Dtype type_;
    std::vector<bf16> bf16s_;
    std::vector<fp16> fp16s_;
    std::uint64_t rounded_ = 0;
};

void pass_all(const FileWeights& weights, Narrowing& narrowing, const TakeBytes& take) {
    for (const FileTensor& tensor : weights.tensors)
        for_each_in_file(
            tensor, weights.parameters[tensor.parameter], weights.read,
            [&](HostView<const float> values) { narrowing.pass(tensor.name, values, take); });
}

}  // namespace

std::string checksum_of(const FileWeights& weights) {
    StreamHash hash;
    Narrowing narrowing(weights.type);
    pass_all(weights, narrowing,
             [&](std::span<const std::byte> bytes) { hash.add(bytes.data(), bytes.size()); });
    return hex(hash.value());
}

// Python's loaders need to know whose conventions the names follow.
WrittenWeights write_weights(const std::string& path, const FileWeights& weights, Metadata metadata,
                             const BeforeCommit& before_commit) {
    metadata["format"] = "pt";
    std::vector<SafetensorsStream::Tensor> tensors;
    for (const FileTensor& tensor : weights.tensors)
        tensors.push_back({tensor.name, tensor.shape, weights.type});
    SafetensorsStream stream(path, tensors, metadata);
    Narrowing narrowing(weights.type);
    pass_all(weights, narrowing, [&](std::span<const std::byte> bytes) { stream.write(bytes); });
    const WrittenFile file = stream.commit(before_commit);
    return {file, narrowing.rounded()};
}

namespace {

// Returns the end of each file's tensors.
std::vector<std::size_t> ends_of_shards(const FileWeights& weights, std::uint64_t most_bytes) {
    std::vector<std::size_t> ends;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < weights.tensors.size(); ++i) {
        const std::uint64_t more = weights.tensors[i].count * bytes_of(weights.type);
        if (bytes > 0 && bytes + more > most_bytes) {
            ends.push_back(i);
            bytes = 0;
        }
        bytes += more;
    }
    ends.push_back(weights.tensors.size());
    return ends;
}

std::string shard_name(std::size_t number, std::size_t all) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "model-%05zu-of-%05zu.safetensors", number, all);
    return all == 1 ? weights_file : text.data();
}

}  // namespace

WrittenShards write_shards(const std::string& folder, const FileWeights& weights,
                           std::uint64_t most_bytes) {
    const std::vector<std::size_t> ends = ends_of_shards(weights, most_bytes);
    WrittenShards written{.files = ends.size()};
    nlohmann::ordered_json map = nlohmann::ordered_json::object();
    std::size_t begin = 0, elements_written = 0;
    for (std::size_t shard = 0; shard < ends.size(); ++shard) {
        const std::string name = shard_name(shard + 1, ends.size());
        FileWeights part = weights;
        part.tensors = weights.tensors.subspan(begin, ends[shard] - begin);
        written.rounded += write_weights(folder + "/" + name, part, {}).rounded;
        for (const FileTensor& tensor : part.tensors) {
            map[tensor.name] = name;
            elements_written += tensor.count;
        }
        begin = ends[shard];
    }
    written.bytes = elements_written * bytes_of(weights.type);
    if (ends.size() == 1) return written;
    const nlohmann::ordered_json index{
        {"metadata", {{"total_parameters", elements_written}, {"total_size", written.bytes}}},
        {"weight_map", map}};
    write_atomically(folder + "/" + weight_index_file, dump_json(index, 2) + "\n");
    return written;
}

}  // namespace lockstep::train
