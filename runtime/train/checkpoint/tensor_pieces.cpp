// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/tensor_pieces.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* pieces_key = "pieces";
constexpr std::string_view part_prefix = "part-", part_suffix = ".safetensors";
constexpr std::size_t part_digits = 5;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data, path + ": is damaged: " + what);
}

// Returns the largest number for a shape that no memory holds.
std::size_t count_of(std::span<const std::int64_t> shape) noexcept {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) {
        const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(extent, 0));
        if (wide > 0 && count > std::numeric_limits<std::size_t>::max() / wide)
            return std::numeric_limits<std::size_t>::max();
        count *= wide;
    }
    return count;
}

std::string range_text(std::size_t first, std::size_t end) {
    return "elements " + std::to_string(first) + " to " + std::to_string(end - 1);
}

Json pieces_of(const SafetensorsFile& file) {
    const auto found = file.metadata().find(pieces_key);
    const bool readable = found != file.metadata().end() && json_excess(found->second).empty();
    Json pieces = readable ? parse_ordered_json(found->second) : Json();
    if (!pieces.is_object()) damaged(file.path(), "it does not say which pieces it holds");
    return pieces;
}

}  // namespace

std::vector<TensorPiece> whole_tensors(std::span<const TensorExtent> tensors) {
    std::vector<TensorPiece> pieces;
    for (const TensorExtent& tensor : tensors)
        pieces.push_back({tensor.name, tensor.shape, 0, tensor.values});
    return pieces;
}

std::size_t elements(std::span<const TensorPiece> pieces) noexcept {
    std::size_t count = 0;
    for (const TensorPiece& piece : pieces) count += piece.values.size();
    return count;
}

std::vector<TensorPiece> cut(std::span<const TensorPiece> pieces, std::size_t first,
                             std::size_t count) {
    std::vector<TensorPiece> found;
    std::size_t at = 0;
    for (const TensorPiece& piece : pieces) {
        const std::size_t size = piece.values.size();
        const std::size_t begin = std::clamp(first, at, at + size) - at;
        const std::size_t end = std::clamp(first + count, at, at + size) - at;
        if (begin < end)
            found.push_back({piece.name, piece.shape, piece.first + begin,
                             piece.values.subview(begin, end - begin)});
        at += size;
    }
    return found;
}

std::string part_name(std::size_t number) {
    std::string digits = std::to_string(number);
    digits.insert(0, digits.size() < part_digits ? part_digits - digits.size() : 0, '0');
    return std::string(part_prefix) + digits + std::string(part_suffix);
}

bool is_part_name(std::string_view name) noexcept {
    if (!name.starts_with(part_prefix) || !name.ends_with(part_suffix)) return false;
    name.remove_prefix(part_prefix.size());
    if (name.size() < part_digits + part_suffix.size()) return false;
    name.remove_suffix(part_suffix.size());
    return name.find_first_not_of("0123456789") == std::string_view::npos;
}

WrittenFile write_part(const std::string& path, std::span<const TensorPiece> pieces) {
    std::vector<TensorToWrite> tensors;
    Json described = Json::object();
    for (const TensorPiece& piece : pieces) {
        const std::size_t count = piece.values.size();
        const bool whole = count == count_of(piece.shape);
        const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(count)};
        tensors.emplace_back(std::string(piece.name), whole ? piece.shape : flat,
                             HostView<const float>(piece.values));
        described[std::string(piece.name)] = {
            {"first", piece.first}, {"count", count}, {"shape", piece.shape}};
    }
    return write_safetensors(path, tensors, {{"format", "pt"}, {pieces_key, described.dump()}});
}

PartFiles::PartFiles(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        files_.emplace_back(path);
        try {
            add(files_.back());
        } catch (const Json::exception&) {
            damaged(path, "its description of a piece is not whole");
        }
    }
    for (auto& [name, tensor] : tensors_) require_complete(name, tensor);
}

void PartFiles::add(SafetensorsFile& file) {
    const Json pieces = pieces_of(file);
    for (const auto& [name, piece] : pieces.items()) {
        const TensorInfo* info = file.find(name);
        const auto shape = piece.at("shape").get<std::vector<std::int64_t>>();
        const auto first = piece.at("first").get<std::size_t>();
        const auto count = piece.at("count").get<std::size_t>();
        const std::size_t total = count_of(shape);
        if (info == nullptr || info->type != Dtype::fp32 || info->count != count)
            damaged(file.path(), "the piece of " + name + " is not as it is described");
        if (first > total || count > total - first)
            damaged(file.path(), "the piece of " + name + " is outside of its tensor");
        const auto tensor = tensors_.try_emplace(name, Tensor{shape, {}}).first;
        if (tensor->second.shape != shape)
            damaged(file.path(), name + " has shape " + shape_text(shape) + " here and " +
                                     shape_text(tensor->second.shape) + " in another part");
        tensor->second.pieces.push_back({first, first + count, &file, info});
    }
    if (pieces.size() != file.tensors().size())
        damaged(file.path(), "it does not describe all pieces that it holds");
}

void PartFiles::require_complete(const std::string& name, Tensor& tensor) {
    std::ranges::stable_sort(tensor.pieces, {}, &Stored::first);
    const Stored* before = nullptr;
    std::size_t end = 0;
    for (const Stored& piece : tensor.pieces) {
        if (piece.first > end)
            damaged(piece.file->path(),
                    range_text(end, piece.first) + " of " + name + " are in no part");
        if (piece.first < end && before != nullptr)
            damaged(piece.file->path(), range_text(piece.first, std::min(end, piece.end)) + " of " +
                                            name + " are also in " + before->file->path());
        end = piece.end;
        before = &piece;
    }
    const std::size_t total = count_of(tensor.shape);
    if (end < total)
        damaged(tensor.pieces.front().file->path(),
                range_text(end, total) + " of " + name + " are in no part");
}

std::vector<std::pair<std::string, std::vector<std::int64_t>>> PartFiles::tensors() const {
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> found;
    for (const auto& [name, tensor] : tensors_) found.emplace_back(name, tensor.shape);
    return found;
}

void PartFiles::check(std::span<const TensorExtent> places, const std::string& where,
                      std::string_view remedy) const {
    const auto mismatch = [&](const std::string& what) {
        throw Error(ErrorKind::config, where + ": " + what + "; " + std::string(remedy));
    };
    for (const TensorExtent& place : places) {
        const auto found = tensors_.find(place.name);
        const std::string here = std::string(place.name) + " of shape " + shape_text(place.shape);
        if (found == tensors_.end()) mismatch("it lacks " + here);
        if (found->second.shape != place.shape)
            mismatch("it has " + shape_text(found->second.shape) + " for " + here);
    }
    for (const auto& [name, tensor] : tensors_)
        if (std::ranges::find(places, name, &TensorExtent::name) == places.end())
            mismatch("it has " + name + " of shape " + shape_text(tensor.shape) +
                     ", which this run lacks");
}

void PartFiles::read(std::span<const TensorPiece> wanted) {
    for (const TensorPiece& want : wanted) {
        const auto found = tensors_.find(want.name);
        require(found != tensors_.end(), "pieces are checked before they are read");
        const std::size_t want_end = want.first + want.values.size();
        for (const Stored& piece : found->second.pieces) {
            const std::size_t begin = std::max(want.first, piece.first);
            const std::size_t end = std::min(want_end, piece.end);
            if (begin >= end) continue;
            piece.file->read_range(*piece.info, begin - piece.first,
                                   want.values.subview(begin - want.first, end - begin));
        }
    }
}

}  // namespace lockstep::train
