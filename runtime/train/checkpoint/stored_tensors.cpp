// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/stored_tensors.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::train {

namespace {

std::vector<StoredPart> parts_in_file(const TensorInfo& tensor, NamesOf names) {
    std::vector<StoredPart> parts;
    std::size_t first = 0;
    for (const TensorInfo& rows : tensor.rows) {
        parts.push_back({rows.name, rows.shape, first, rows.count});
        first += rows.count;
    }
    if (names == NamesOf::lockstep || !parts.empty()) return parts;
    for (const ForeignName& theirs : names_in_transformers(names, tensor.name))
        parts.push_back({theirs.name, tensor.shape, 0, tensor.count});
    if (parts.size() != 1) return {};
    if (tensor.turned) std::swap(parts.front().shape.at(0), parts.front().shape.at(1));
    return parts;
}

}  // namespace

StoredTensors::StoredTensors(const std::string& path) {
    if (!is_folder(path)) {
        add(path, TensorRole::weights);
        return;
    }
    const Manifest manifest = read_manifest(path);
    add(path + "/" + weights_file, TensorRole::weights);
    if (manifest.version == 1) {
        add(path + "/" + whole_optimizer_file, TensorRole::optimizer);
        return;
    }
    parts_.emplace(manifest.parts(path));
    for (const auto& [name, shape] : parts_->tensors())
        tensors_.push_back(
            {name, shape, elements(shape), TensorRole::optimizer, parts_->is_coded(name)});
}

void StoredTensors::add(const std::string& path, TensorRole role) {
    const SafetensorsFile& file = files_.emplace_back(path);
    for (const TensorInfo& tensor : file.tensors()) {
        if (tensor.type != Dtype::fp32 && tensor.type != Dtype::bf16 && tensor.type != Dtype::fp16)
            throw Error(ErrorKind::data, path + ": has whole numbers for " + tensor.name);
        tensors_.push_back({tensor.name, tensor.shape, tensor.count, role, false,
                            parts_in_file(tensor, file.names())});
    }
}

const StoredTensor* StoredTensors::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(tensors_, name, &StoredTensor::name);
    return found == tensors_.end() ? nullptr : &*found;
}

void StoredTensors::read(const StoredTensor& tensor, std::size_t first, HostView<float> values) {
    if (parts_ && tensor.role == TensorRole::optimizer) {
        const std::vector<TensorPiece> wanted{{tensor.name, tensor.shape, first, values}};
        parts_->read(wanted);
        return;
    }
    SafetensorsFile& file = tensor.role == TensorRole::weights ? files_.front() : files_.back();
    const TensorInfo* info = file.find(tensor.name);
    require(info != nullptr, "the tensor is one of tensors()");
    file.read_range(*info, first, values);
}

void StoredTensors::read_codes(const StoredTensor& tensor, HostView<std::uint8_t> codes,
                               HostView<float> scales) {
    require(tensor.coded && parts_, "the tensor is a moment in int8");
    const std::vector<TensorPiece> wanted{{tensor.name, tensor.shape, 0, scales, codes}};
    parts_->read(wanted);
}

void StoredTensors::verify() const {
    for (const SafetensorsFile& file : files_) file.verify();
}

bool StoredTensors::has_checksum() const {
    return files_.front().metadata().contains(checksum_key);
}

}  // namespace lockstep::train
