// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/view.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Holds the name, shape and destination of one tensor of a file. A moment in int8 has codes, and
// `values` are its scales; a file holds them as NAME (U8) and NAME.scale (F32).
struct TensorExtent {
    std::string_view name;
    const std::vector<std::int64_t>& shape;
    HostView<float> values;
    HostView<std::uint8_t> codes = {};
};

std::vector<TensorExtent> places_of(const ParameterTable& table, HostView<float> master);

// Compares the file's names and shapes with `places`. Throws kind config with the first difference,
// both shapes and `remedy`; nothing is read. If no place is that of a head, the file's is taken for
// a copy of the table of embeddings.
void check_places(SafetensorsFile& file, std::span<const TensorExtent> places,
                  std::string_view remedy);
void read_places(SafetensorsFile& file, std::span<const TensorExtent> places);

// Tells whether a run can have written the value: it is finite, and a mean of squares is not
// negative.
bool is_possible(std::string_view tensor, float value) noexcept;

// Throws a data error that names `path` and the tensor if a value is not possible. No run saves
// such weights or moments, and with them every result would be NaN.
void require_possible(const std::string& path, std::span<const TensorExtent> places);

// Throws a data error if a value that a run is about to save is not finite: no run could continue
// from it, and the checkpoint that is there is better.
void require_savable(std::span<const TensorExtent> places);

WrittenFile write_places(const std::string& path, std::span<const TensorExtent> places,
                         const BeforeCommit& before_commit = {});

// The key of __metadata__ under which weights may carry the JSON of the model that they belong to.
inline constexpr const char* model_key = "model";

// Writes the model that others use, with the checksum of its tensors and `more` in the metadata.
void write_model(const std::string& path, std::span<const TensorExtent> places,
                 const BeforeCommit& before_commit = {}, const Metadata& more = {});

// What a user can do about weights of another model than the run's.
inline constexpr const char* other_weights =
    "give --init-model a model of the same kind, sizes and dictionary, or change this run's "
    "options to fit it";

// Loads weights to start from (--init-model): `path` is a model folder, a checkpoint or a
// .safetensors file (F32, BF16 or F16). Throws kind config as above if names or shapes differ from
// the table's.
void load_weights(const std::string& path, const ParameterTable& table, HostView<float> master);

// Returns the file that it reads, and checks that its bytes are those that were written.
std::string verified_weights(const std::string& path);

// Compares the names and shapes of a file's header with the table's. Throws as above, with
// `remedy`.
void check_shapes(const std::string& weights, const ParameterTable& table, std::string_view remedy);

// Reads the same file and throws the same errors, but keeps nothing: it takes the memory of the
// largest tensor.
void check_weights(const std::string& path, const ParameterTable& table);

}  // namespace lockstep::train
