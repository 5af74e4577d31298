// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/coded_tensors.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::train {
namespace {

[[noreturn]] void mismatch(const SafetensorsFile& file, const std::string& what,
                           std::string_view remedy) {
    throw Error(ErrorKind::config, file.path() + ": " + what + "; " + std::string(remedy));
}

// Names what a user of transformers knows the tensor's presence or shape by.
std::string decided_by(const SafetensorsFile& file, std::string_view tensor, Deciding what) {
    const std::string_view keys = deciding_keys(file.names(), tensor, what);
    const char* const config = file.names() == NamesOf::peft ? "adapter_config" : "config";
    return keys.empty() ? "" : " (" + std::string(config) + ".json: " + std::string(keys) + ")";
}

// Returns the file with the weights of the folder, checkpoint or file that `path` names.
std::string weights_file_at(const std::string& path) {
    if (!is_folder(path)) return path;
    if (path_exists(path + "/manifest.json")) verify_checkpoint(path);
    if (path_exists(path + "/model.safetensors")) return path + "/model.safetensors";
    if (std::string index = path + "/" + weight_index_file; path_exists(index)) return index;
    if (const auto newest = newest_good_checkpoint(path)) return *newest + "/model.safetensors";
    throw Error(ErrorKind::config, path +
                                       ": holds neither model.safetensors nor checkpoints; give a "
                                       "model folder, a checkpoint or a .safetensors file");
}

}  // namespace

std::vector<TensorExtent> places_of(const ParameterTable& table, HostView<float> master) {
    std::vector<TensorExtent> places;
    for (const Parameter& p : table.all()) {
        places.push_back({p.name, p.shape, master.subview(p.offset, p.count)});
    }
    return places;
}

void check_places(SafetensorsFile& file, std::span<const TensorExtent> places,
                  std::string_view remedy) {
    if (std::ranges::find(places, "lm_head.weight", &TensorExtent::name) == places.end())
        file.take_as_copy_of_embeddings();
    for (const TensorExtent& place : places) {
        const TensorInfo* tensor = file.find(place.name);
        const std::string here = std::string(place.name) + " of shape " + shape_text(place.shape);
        if (tensor == nullptr)
            mismatch(file, "it lacks " + here + decided_by(file, place.name, Deciding::presence),
                     remedy);
        if (tensor->shape != place.shape) {
            mismatch(file,
                     "it has " + shape_text(tensor->shape) + " for " + here +
                         decided_by(file, place.name, Deciding::shape),
                     remedy);
        }
        if (tensor->type != Dtype::fp32 && tensor->type != Dtype::bf16 &&
            tensor->type != Dtype::fp16) {
            mismatch(file, "it has whole numbers for " + here, remedy);
        }
    }
    if (file.tensors().size() == places.size()) return;
    for (const TensorInfo& tensor : file.tensors()) {
        if (std::ranges::find(places, tensor.name, &TensorExtent::name) == places.end()) {
            mismatch(file,
                     "it has " + tensor.name + " of shape " + shape_text(tensor.shape) +
                         ", which this run lacks" +
                         decided_by(file, tensor.name, Deciding::presence),
                     remedy);
        }
    }
}

void read_places(SafetensorsFile& file, std::span<const TensorExtent> places) {
    for (const TensorExtent& place : places) {
        const TensorInfo* tensor = file.find(place.name);
        require(tensor != nullptr, "places are checked before they are read");
        if (place.codes.empty()) {
            file.read(*tensor, place.values);
            continue;
        }
        std::vector<float> values(tensor->count);
        file.read(*tensor, view_of(values));
        kernels::encode_moments(moment_map(place.name), view_of(values), place.codes, place.values);
    }
}

namespace {

bool holds_squares(std::string_view tensor) noexcept {
    return tensor.ends_with("exp_avg_sq") || tensor.ends_with("exp_avg_sq_row") ||
           tensor.ends_with("exp_avg_sq_col");
}

}  // namespace

bool is_possible(std::string_view tensor, float value) noexcept {
    return std::isfinite(value) && (value >= 0 || !holds_squares(tensor));
}

void require_possible(const std::string& path, std::span<const TensorExtent> places) {
    for (const TensorExtent& place : places) {
        const auto bad = std::ranges::find_if(
            place.values, [&](float value) { return !is_possible(place.name, value); });
        if (bad == place.values.end()) continue;
        const char* const what = std::isnan(*bad)      ? "the value NaN"
                                 : std::isfinite(*bad) ? "a negative mean of squares"
                                                       : "the value infinity";
        throw Error(ErrorKind::data,
                    path + ": is damaged: tensor " + std::string(place.name) + " has " + what);
    }
}

namespace {

// Is calculated without branches, because a save asks it of every value.
bool all_finite(HostView<const float> values) {
    constexpr std::uint32_t exponent = 0x7f800000;
    std::uint32_t found = 0;
    for (const float value : values)
        found |= (std::bit_cast<std::uint32_t>(value) & exponent) == exponent ? 1U : 0U;
    return found == 0;
}

}  // namespace

void require_savable(std::span<const TensorExtent> places) {
    for (const TensorExtent& place : places)
        if (!all_finite(place.values))
            throw Error(ErrorKind::data, "nothing is saved: tensor " + std::string(place.name) +
                                             " is not finite; continue from the last checkpoint "
                                             "with a lower --learningrate");
}

namespace {

std::vector<TensorToWrite> to_write(std::span<const TensorExtent> places) {
    std::vector<TensorToWrite> tensors;
    for (const TensorExtent& place : places) {
        tensors.emplace_back(std::string(place.name), place.shape,
                             HostView<const float>(place.values));
    }
    return tensors;
}

}  // namespace

// Python's loaders need to know whose conventions the names follow.
WrittenFile write_places(const std::string& path, std::span<const TensorExtent> places,
                         const BeforeCommit& before_commit) {
    return write_safetensors(path, to_write(places), {{"format", "pt"}}, before_commit);
}

void write_model(const std::string& path, std::span<const TensorExtent> places,
                 const BeforeCommit& before_commit, const Metadata& more) {
    const std::vector<TensorToWrite> tensors = to_write(places);
    Metadata metadata{{"format", "pt"}, {checksum_key, checksum_of(tensors)}};
    metadata.insert(more.begin(), more.end());
    write_safetensors(path, tensors, metadata, before_commit);
}

namespace {

std::vector<TensorExtent> unread_places(const ParameterTable& table) {
    std::vector<TensorExtent> places;
    for (const Parameter& p : table.all()) places.push_back({p.name, p.shape, {}});
    return places;
}

}  // namespace

void check_shapes(const std::string& weights, const ParameterTable& table,
                  std::string_view remedy) {
    retry_reading([&] {
        SafetensorsFile file(weights);
        check_places(file, unread_places(table), remedy);
    });
}

void check_weights(const std::string& path, const ParameterTable& table) {
    const std::string weights = weights_file_at(path);
    std::vector<TensorExtent> places = unread_places(table);
    retry_reading([&] {
        SafetensorsFile file(weights);
        check_places(file, places, other_weights);
        file.verify();
        std::vector<float> values;
        for (TensorExtent& place : places) {
            values.resize(file.find(place.name)->count);
            place.values = view_of(values);
            read_places(file, {&place, 1});
            require_possible(weights, {&place, 1});
        }
    });
}

std::string verified_weights(const std::string& path) {
    std::string weights = weights_file_at(path);
    retry_reading([&] { SafetensorsFile(weights).verify(); });
    return weights;
}

void load_weights(const std::string& path, const ParameterTable& table, HostView<float> master) {
    const std::string weights = weights_file_at(path);
    const std::vector<TensorExtent> places = places_of(table, master);
    retry_reading([&] {
        SafetensorsFile file(weights);
        check_places(file, places, other_weights);
        file.verify();
        read_places(file, places);
        require_possible(weights, places);
    });
}

}  // namespace lockstep::train
