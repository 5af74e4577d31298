// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/joined_weights.hpp"

#include <algorithm>
#include <functional>

#include "runtime/files/hash.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"

namespace lockstep::train {

namespace {

constexpr std::size_t block_elements = std::size_t{1} << 20;

void read_all(PartFiles& parts, const ParameterTable& table,
              const std::function<void(HostView<const float>)>& take) {
    std::vector<float> block(block_elements);
    for (const Parameter& p : table.all())
        for (std::size_t at = 0; at < p.count; at += block_elements) {
            const auto values = view_of(block).subview(0, std::min(block_elements, p.count - at));
            const TensorPiece wanted{p.name, p.shape, at, values};
            parts.read({&wanted, 1});
            take(values);
        }
}

}  // namespace

WrittenFile join_weights(const std::string& path, const std::vector<std::string>& parts,
                         const ParameterTable& table, Checksum checksum, Metadata metadata,
                         const BeforeCommit& before_commit) {
    PartFiles files(parts);
    metadata["format"] = "pt";
    if (checksum == Checksum::told) {
        StreamHash hash;
        read_all(files, table,
                 [&](auto values) { hash.add(values.data(), values.size() * sizeof(float)); });
        metadata[checksum_key] = hex(hash.value());
    }
    std::vector<SafetensorsStream::Tensor> tensors;
    for (const Parameter& p : table.all()) tensors.push_back({p.name, p.shape});
    SafetensorsStream stream(path, tensors, metadata);
    read_all(files, table, [&](auto values) { stream.write(values); });
    return stream.commit(before_commit);
}

}  // namespace lockstep::train
