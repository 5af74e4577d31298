// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/joined_weights.hpp"

#include <utility>

#include "runtime/train/checkpoint/tensor_pieces.hpp"
#include "runtime/train/checkpoint/weights_file.hpp"

namespace lockstep::train {

WrittenFile join_weights(const std::string& path, const std::vector<std::string>& parts,
                         const ParameterTable& table, Checksum checksum, NamesOf names,
                         Metadata metadata, const BeforeCommit& before_commit) {
    PartFiles files(parts);
    const auto tensors = file_layout(names, table.all());
    const FileWeights weights{
        table.all(), tensors,
        [&files](const Parameter& p, std::size_t first, HostView<float> values) {
            const TensorPiece wanted{p.name, p.shape, first, values};
            files.read({&wanted, 1});
        }};
    if (checksum == Checksum::told) metadata[checksum_key] = checksum_of(weights);
    return write_weights(path, weights, std::move(metadata), before_commit).file;
}

}  // namespace lockstep::train
