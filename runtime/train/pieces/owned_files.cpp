// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/owned_files.hpp"

#include <span>
#include <vector>

#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"

namespace lockstep::train {

namespace {

std::vector<TensorPiece> views_of(const std::vector<RunPiece>& pieces) {
    std::vector<TensorPiece> views;
    for (const RunPiece& piece : pieces)
        views.push_back({piece.name, piece.shape, piece.first, piece.values, piece.codes});
    return views;
}

struct NamedShape {
    std::string name;
    const std::vector<std::int64_t>& shape;
};

// Returns the optimizer's tensors, also those of which this rank owns nothing.
std::vector<NamedShape> optimizer_tensors(const RunPieces& pieces) {
    std::vector<NamedShape> tensors;
    for (const std::string& suffix : pieces.suffixes)
        for (const Parameter& parameter : pieces.table.all())
            tensors.push_back({parameter.name + suffix, parameter.shape});
    return tensors;
}

std::vector<TensorExtent> extents_of(const std::vector<NamedShape>& tensors) {
    std::vector<TensorExtent> extents;
    for (const NamedShape& tensor : tensors) extents.push_back({tensor.name, tensor.shape, {}});
    return extents;
}

std::vector<TensorExtent> weights_of(const ParameterTable& table) {
    std::vector<TensorExtent> extents;
    for (const Parameter& p : table.all()) extents.push_back({p.name, p.shape, {}});
    return extents;
}

std::vector<TensorExtent> extents_of(const std::vector<RunPiece>& pieces) {
    std::vector<TensorExtent> values;
    for (const RunPiece& piece : pieces) values.push_back({piece.name, piece.shape, piece.values});
    return values;
}

void read_weights(SafetensorsFile& file, const RunPieces& pieces, std::string_view remedy) {
    check_places(file, weights_of(pieces.table), remedy);
    for (const RunPiece& piece : pieces.weights)
        file.read_range(*file.find(piece.name), piece.first, piece.values);
    require_possible(file.path(), extents_of(pieces.weights));
}

}  // namespace

void require_savable(const std::vector<RunPiece>& pieces) {
    train::require_savable(extents_of(pieces));
}

std::string weights_part_name(int rank) {
    std::string name = part_name(static_cast<std::size_t>(rank));
    return "weights" + name.substr(name.find('-'));
}

std::map<std::string, WrittenFile> write_owned_weights(const std::string& folder,
                                                       const Writer& writer,
                                                       const RunPieces& pieces) {
    const std::string name = weights_part_name(writer.rank);
    return {{name, write_part(folder + "/" + name, views_of(pieces.weights))}};
}

std::map<std::string, WrittenFile> write_owned_optimizer(const std::string& folder,
                                                         const Writer& writer,
                                                         const RunPieces& pieces) {
    std::map<std::string, WrittenFile> files;
    const std::vector<TensorPiece> all = views_of(pieces.optimizer);
    auto number = static_cast<std::size_t>(writer.rank);
    for (std::size_t first = 0; first < elements(all); first += max_part_elements) {
        const std::string name = part_name(number);
        files[name] = write_part(folder + "/" + name, cut(all, first, max_part_elements));
        number += static_cast<std::size_t>(writer.writers);
    }
    return files;
}

bool has_pieces(const std::string& checkpoint) { return read_manifest(checkpoint).version > 1; }

std::string load_owned(const std::string& checkpoint, const RunPieces& pieces) {
    const std::vector<NamedShape> named = optimizer_tensors(pieces);
    PartFiles parts(read_manifest(checkpoint).parts(checkpoint));
    SafetensorsFile model(checkpoint + "/" + weights_file);
    parts.check(extents_of(named), checkpoint, optimizer_remedy);
    parts.read(views_of(pieces.optimizer));
    read_weights(model, pieces, weights_remedy);
    require_possible(checkpoint, extents_of(pieces.optimizer));
    std::vector<TensorExtent> wanted;
    for (const RunPiece& piece : pieces.optimizer)
        wanted.push_back({piece.name, piece.shape, piece.values, piece.codes});
    return conversion_of(wanted, &parts);
}

void load_owned_weights(const std::string& path, const RunPieces& pieces) {
    SafetensorsFile file(path);
    read_weights(file, pieces, other_weights);
}

}  // namespace lockstep::train
