// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/tensor_pieces.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/ordered_json.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/train/checkpoint/coded_tensors.hpp"

namespace lockstep::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* pieces_key = "pieces";
constexpr const char* owner_key = "of";
constexpr std::string_view part_prefix = "part-", part_suffix = ".safetensors";
constexpr std::size_t part_digits = 5;

// Numbers with a fraction or an exponent are none.
bool is_count(const Json& value) { return value.is_number_unsigned(); }

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data, path + ": is damaged: " + what);
}

std::string range_text(std::size_t first, std::size_t end) {
    return "elements " + std::to_string(first) + " to " + std::to_string(end - 1);
}

Json pieces_of(const SafetensorsFile& file) {
    const auto found = file.metadata().find(pieces_key);
    const bool readable = found != file.metadata().end() && json_excess(found->second).empty();
    Json pieces = readable ? try_parse_ordered_json(found->second) : Json();
    if (!pieces.is_object()) damaged(file.path(), "it does not say which pieces it holds");
    return pieces;
}

}  // namespace

std::vector<TensorPiece> whole_tensors(std::span<const TensorExtent> tensors) {
    std::vector<TensorPiece> pieces;
    for (const TensorExtent& tensor : tensors)
        pieces.push_back({tensor.name, tensor.shape, 0, tensor.values, tensor.codes});
    return pieces;
}

std::size_t elements(std::span<const std::int64_t> shape) noexcept {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) {
        const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(extent, 0));
        if (wide > 0 && count > std::numeric_limits<std::size_t>::max() / wide)
            return std::numeric_limits<std::size_t>::max();
        count *= wide;
    }
    return count;
}

std::size_t elements(std::span<const TensorPiece> pieces) noexcept {
    std::size_t count = 0;
    for (const TensorPiece& piece : pieces) count += piece.size();
    return count;
}

namespace {

// Returns the elements [begin, end) of the piece. Those of a moment in int8 begin where a cell
// does.
TensorPiece part_of(const TensorPiece& piece, std::size_t begin, std::size_t end) {
    TensorPiece part{piece.name, piece.shape, piece.first + begin, piece.values};
    if (piece.codes.empty()) {
        part.values = piece.values.subview(begin, end - begin);
        return part;
    }
    part.codes = piece.codes.subview(begin, end - begin);
    part.values =
        piece.values.subview(begin / kernels::moment_cell, kernels::moment_scales(end - begin));
    return part;
}

// Returns where a cut at this element of the piece is made.
std::size_t cut_at(const TensorPiece& piece, std::size_t element) {
    if (piece.codes.empty()) return element;
    return std::min(piece.size(), kernels::moment_scales(element) * kernels::moment_cell);
}

}  // namespace

std::vector<TensorPiece> cut(std::span<const TensorPiece> pieces, std::size_t first,
                             std::size_t count) {
    std::vector<TensorPiece> found;
    std::size_t at = 0;
    for (const TensorPiece& piece : pieces) {
        const std::size_t size = piece.size();
        const std::size_t begin = cut_at(piece, std::clamp(first, at, at + size) - at);
        const std::size_t end = cut_at(piece, std::clamp(first + count, at, at + size) - at);
        if (begin < end) found.push_back(part_of(piece, begin, end));
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

namespace {

// The tensors of a part and their description.
class Part {
public:
    void add(const TensorPiece& piece) {
        if (piece.codes.empty()) return add(std::string(piece.name), piece, piece.values);
        add(std::string(piece.name), piece, piece.codes);
        const std::vector<std::int64_t> shape = {
            static_cast<std::int64_t>(kernels::moment_scales(elements(piece.shape)))};
        add(scales_name(piece.name), {{}, shape, piece.first / kernels::moment_cell, {}},
            piece.values);
    }
    WrittenFile write(const std::string& path) const {
        return write_safetensors(path, tensors_,
                                 {{"format", "pt"}, {pieces_key, dump_json(described_)}});
    }

private:
    template <class T>
    void add(const std::string& name, const TensorPiece& piece, HostView<T> values) {
        const std::size_t count = values.size();
        const bool whole = count == elements(piece.shape);
        const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(count)};
        const bool again = described_.contains(name);
        const std::string key = again ? name + "@" + std::to_string(piece.first) : name;
        require(!described_.contains(key), "a file has a piece twice");
        tensors_.emplace_back(key, whole ? piece.shape : flat, HostView<const T>(values));
        described_[key] = {{"first", piece.first}, {"count", count}, {"shape", piece.shape}};
        if (again) described_[key][owner_key] = name;
    }

    std::vector<TensorToWrite> tensors_;
    Json described_ = Json::object();
};

}  // namespace

WrittenFile write_part(const std::string& path, std::span<const TensorPiece> pieces) {
    Part part;
    for (const TensorPiece& piece : pieces) part.add(piece);
    return part.write(path);
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
    for (const auto& [name, tensor] : tensors_) require_scales(name, tensor);
}

void PartFiles::add(SafetensorsFile& file) {
    const Json pieces = pieces_of(file);
    for (const auto& [key, piece] : pieces.items()) {
        const TensorInfo* info = file.find(key);
        const auto name = piece.value(owner_key, key);
        const auto& extents = piece.at("shape");
        if (!is_count(piece.at("first")) || !is_count(piece.at("count")) ||
            !std::ranges::all_of(extents, is_count))
            damaged(file.path(), "the piece of " + shown(name) + " is described without counts");
        const auto shape = extents.get<std::vector<std::int64_t>>();
        const auto first = piece.at("first").get<std::size_t>();
        const auto count = piece.at("count").get<std::size_t>();
        const std::size_t total = elements(shape);
        const bool known =
            info != nullptr && (info->type == Dtype::fp32 || info->type == Dtype::byte);
        if (!known || info->count != count)
            damaged(file.path(), "the piece of " + shown(name) + " is not as it is described");
        if (first > total || count > total - first)
            damaged(file.path(), "the piece of " + shown(name) + " is outside of its tensor");
        const auto tensor = tensors_.try_emplace(name, Tensor{shape, {}}).first;
        if (tensor->second.shape != shape)
            damaged(file.path(), shown(name) + " has shape " + shown(shape_text(shape)) +
                                     " here and " + shown(shape_text(tensor->second.shape)) +
                                     " in another part");
        if (!tensor->second.pieces.empty() && tensor->second.type() != info->type)
            damaged(file.path(), shown(name) + " has another type here than in another part");
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
                    range_text(end, piece.first) + " of " + shown(name) + " are in no part");
        if (piece.first < end && before != nullptr)
            damaged(piece.file->path(), range_text(piece.first, std::min(end, piece.end)) + " of " +
                                            name + " are also in " + before->file->path());
        end = piece.end;
        before = &piece;
    }
    const std::size_t total = elements(tensor.shape);
    if (end < total)
        damaged(tensor.pieces.front().file->path(),
                range_text(end, total) + " of " + shown(name) + " are in no part");
}

const PartFiles::Tensor* PartFiles::coded_by(const std::string& name) const {
    const std::string suffix = scales_name("");
    if (!name.ends_with(suffix)) return nullptr;
    const auto found = tensors_.find(name.substr(0, name.size() - suffix.size()));
    return found == tensors_.end() || !found->second.coded() ? nullptr : &found->second;
}

void PartFiles::require_scales(const std::string& name, const Tensor& tensor) const {
    if (!tensor.coded()) return;
    const auto scales = tensors_.find(scales_name(name));
    const std::vector<std::int64_t> shape = {
        static_cast<std::int64_t>(kernels::moment_scales(elements(tensor.shape)))};
    if (scales == tensors_.end() || scales->second.coded() || scales->second.shape != shape)
        damaged(tensor.pieces.front().file->path(),
                shown(name) + " has codes without their scales");
}

std::vector<std::pair<std::string, std::vector<std::int64_t>>> PartFiles::tensors() const {
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> found;
    for (const auto& [name, tensor] : tensors_)
        if (coded_by(name) == nullptr) found.emplace_back(name, tensor.shape);
    return found;
}

const PartFiles::Tensor& PartFiles::tensor_of(std::string_view name) const {
    const auto found = tensors_.find(name);
    require(found != tensors_.end(), "pieces are checked before they are read");
    return found->second;
}

bool PartFiles::is_coded(std::string_view name) const { return tensor_of(name).coded(); }

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
        if (coded_by(name) == nullptr &&
            std::ranges::find(places, name, &TensorExtent::name) == places.end())
            mismatch("it has " + name + " of shape " + shape_text(tensor.shape) +
                     ", which this run lacks");
}

template <class T>
void PartFiles::read_as_stored(std::string_view name, std::size_t first, HostView<T> values) {
    const std::size_t wanted_end = first + values.size();
    for (const Stored& piece : tensor_of(name).pieces) {
        const std::size_t begin = std::max(first, piece.first);
        const std::size_t end = std::min(wanted_end, piece.end);
        if (begin >= end) continue;
        piece.file->read_range(*piece.info, begin - piece.first,
                               values.subview(begin - first, end - begin));
    }
}

void PartFiles::read_coded(std::string_view name, std::size_t first, HostView<std::uint8_t> codes,
                           HostView<float> scales) {
    read_as_stored(name, first, codes);
    read_as_stored(scales_name(name), first / kernels::moment_cell, scales);
}

void PartFiles::decode(const TensorPiece& want) {
    const std::size_t before = want.first % kernels::moment_cell;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales, values;
    for_each_block_of_cells(before + want.size(), [&](std::size_t first, std::size_t count) {
        codes.resize(count);
        values.resize(count);
        scales.resize(kernels::moment_scales(count));
        read_coded(want.name, want.first - before + first, view_of(codes), view_of(scales));
        kernels::decode_moments(moment_map(want.name), view_of(codes), view_of(scales),
                                view_of(values));
        const std::size_t skipped = first == 0 ? before : 0;
        std::copy(values.begin() + static_cast<std::ptrdiff_t>(skipped), values.end(),
                  want.values.data() + (first + skipped - before));
    });
}

void PartFiles::encode(const TensorPiece& want) {
    require(want.first % kernels::moment_cell == 0, "codes are wanted from the begin of a cell on");
    std::vector<float> values;
    for_each_block_of_cells(want.size(), [&](std::size_t first, std::size_t count) {
        values.resize(count);
        read_as_stored(want.name, want.first + first, view_of(values));
        const TensorPiece block = part_of(want, first, first + count);
        kernels::encode_moments(moment_map(want.name), view_of(values), block.codes, block.values);
    });
}

void PartFiles::read(std::span<const TensorPiece> wanted) {
    for (const TensorPiece& want : wanted) {
        const bool stored = is_coded(want.name), coded = !want.codes.empty();
        if (stored && coded)
            read_coded(want.name, want.first, want.codes, want.values);
        else if (stored)
            decode(want);
        else if (coded)
            encode(want);
        else
            read_as_stored(want.name, want.first, want.values);
    }
}

}  // namespace lockstep::train
