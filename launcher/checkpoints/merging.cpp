// SPDX-License-Identifier: Apache-2.0
// Merges adapters into their base, whose files stay as they are but for the values of the tensors
// that have adapters.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "data/storage/foreign_tokenizer.hpp"
#include "launcher/checkpoints/adapter_files.hpp"
#include "launcher/checkpoints/new_model.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/free_rates.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/frozen_base.hpp"
#include "model/blocks/layout.hpp"
#include "model/lora_modules.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"
#include "runtime/train/checkpoint/safetensors_header.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::checkpoints {

namespace {

namespace fs = std::filesystem;

// The factors of one adapter, [rank, in] and [rank, out].
struct Factors {
    std::vector<float> a, b;
    std::size_t rank = 0;
};

class AdapterWeights {
public:
    AdapterWeights(const model::ModelConfig& config, const std::string& weights) : file_(weights) {
        for (const model::ParameterRow& row : model::parameter_rows(config))
            if (row.place.values != model::Values::weight)
                scales_[row.parameter.name] = model::lora_scale(config, row.place);
    }

    // Of a table that was trained whole.
    std::vector<float> read(const std::string& table) {
        const auto* const tensor = file_.find(table);
        require(tensor != nullptr, "a table that was trained is there");
        std::vector<float> values(tensor->count);
        file_.read(*tensor, view_of(values));
        return values;
    }

    float scale(const train::KnownTensor& matrix) const {
        return scales_.at(train::adapter_name(matrix, train::LoraFactor::a));
    }
    bool has(const train::KnownTensor& matrix) const {
        return file_.find(train::adapter_name(matrix, train::LoraFactor::a)) != nullptr;
    }
    Factors read(const train::KnownTensor& matrix) {
        Factors factors;
        const auto one = [&](train::LoraFactor factor, std::vector<float>& values) {
            const auto* const tensor = file_.find(train::adapter_name(matrix, factor));
            require(tensor != nullptr, "an adapter has two factors");
            values.resize(tensor->count);
            file_.read(*tensor, view_of(values));
            factors.rank = static_cast<std::size_t>(tensor->shape.front());
        };
        one(train::LoraFactor::a, factors.a);
        one(train::LoraFactor::b, factors.b);
        return factors;
    }

private:
    train::SafetensorsFile file_;
    std::map<std::string, float> scales_;
};

// Adds scale * b^T a to a matrix [out, in], or to its transpose if `turned`.
void add_product(const Factors& factors, float scale, bool turned, std::span<float> matrix) {
    const std::vector<float>& rows = turned ? factors.a : factors.b;
    const std::vector<float>& columns = turned ? factors.b : factors.a;
    const std::size_t height = rows.size() / factors.rank, width = columns.size() / factors.rank;
    require(matrix.size() == height * width, "an adapter has the shape of its matrix");
    std::vector<float> sum(width);
    for (std::size_t i = 0; i < height; ++i) {
        std::ranges::fill(sum, 0.0F);
        for (std::size_t r = 0; r < factors.rank; ++r) {
            const float factor = rows[r * height + i];
            const float* const from = columns.data() + r * width;
            for (std::size_t j = 0; j < width; ++j) sum[j] += factor * from[j];
        }
        for (std::size_t j = 0; j < width; ++j) matrix[i * width + j] += scale * sum[j];
    }
}

// Changes the values, which are rounded once to their type. Returns whether it can hold them.
template <class T, class Change>
bool change_values(const Change& change, std::vector<std::byte>& bytes) {
    std::vector<T> stored(bytes.size() / sizeof(T));
    std::memcpy(stored.data(), bytes.data(), bytes.size());
    std::vector<float> values(stored.size());
    std::ranges::transform(stored, values.begin(), [](T v) { return static_cast<float>(v); });
    change(values);
    std::ranges::transform(values, stored.begin(), [](float v) { return T(v); });
    std::memcpy(bytes.data(), stored.data(), bytes.size());
    return std::ranges::all_of(stored, [](T v) { return std::isfinite(static_cast<float>(v)); });
}

template <class Change>
void change_tensor(const train::TensorInfo& tensor, const Change& change,
                   std::vector<std::byte>& bytes) {
    const bool is_finite = tensor.type == Dtype::bf16   ? change_values<bf16>(change, bytes)
                           : tensor.type == Dtype::fp16 ? change_values<fp16>(change, bytes)
                                                        : change_values<float>(change, bytes);
    if (!is_finite)
        throw Error(ErrorKind::data, tensor.name +
                                         " has values with its adapter that its type cannot hold; "
                                         "the adapters or their scale are wrong for this base");
}

void merge_tensor(const train::TensorInfo& tensor, const train::KnownTensor& known,
                  AdapterWeights& adapters, std::vector<std::byte>& bytes) {
    const Factors factors = adapters.read(known);
    const float scale = adapters.scale(known);
    change_tensor(
        tensor,
        [&](std::vector<float>& values) { add_product(factors, scale, known.turned, values); },
        bytes);
}

constexpr const char* embeddings_name = "embeddings.weight";
constexpr const char* head_name = "lm_head.weight";

// What becomes of the base's tables.
struct Tables {
    model::TrainedTables trained;
    // The base has one tensor for both, and the merged model two.
    bool adds_head = false;

    // Returns the name of the trained table that a tensor of the base gets the values of, or an
    // empty one.
    std::string source_of(const std::string& tensor) const {
        if (tensor == embeddings_name) return trained.embeddings ? embeddings_name : "";
        if (tensor != head_name) return "";
        if (trained.head) return head_name;
        return trained.tied ? embeddings_name : "";
    }
};

void replace_table(const train::TensorInfo& tensor, const std::string& table,
                   AdapterWeights& adapters, std::vector<std::byte>& bytes) {
    const std::vector<float> trained = adapters.read(table);
    require(trained.size() == tensor.count, "a table that was trained has its shape");
    change_tensor(
        tensor, [&](std::vector<float>& values) { values = trained; }, bytes);
}

bool is_table(const train::TensorInfo& tensor, const char* name) {
    const auto known = train::of_transformers(tensor.name);
    return known && known->name == name;
}

// Returns all that is before the tensors, without a checksum that they no longer have. The head
// that is added is the last tensor.
std::string header_of(const train::OpenedSafetensors& opened, const train::TensorInfo* added) {
    constexpr std::size_t length_bytes = 8;
    std::string header(opened.part.data_begin, '\0');
    train::read_at(opened.part.file, opened.part.path, "header", 0, header.data(), header.size());
    if (!opened.metadata.contains(train::checksum_key) && added == nullptr) return header;
    nlohmann::ordered_json json =
        nlohmann::ordered_json::parse(header.begin() + length_bytes, header.end());
    if (json.contains("__metadata__")) json["__metadata__"].erase(train::checksum_key);
    if (added != nullptr) {
        const std::uint64_t end = opened.part.bytes - opened.part.data_begin;
        json[head_name] = {{"dtype", json[added->name]["dtype"]},
                           {"shape", json[added->name]["shape"]},
                           {"data_offsets", {end, end + added->count * bytes_of(added->type)}}};
    }
    std::string text = dump_json(json);
    text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
    std::string length(length_bytes, '\0');
    for (std::size_t i = 0; i < length_bytes; ++i)
        length[i] = static_cast<char>(text.size() >> (8 * i) & 0xFFU);
    return length + text;
}

std::vector<std::byte> bytes_of_tensor(const train::OpenedSafetensors& opened,
                                       const train::TensorInfo& tensor) {
    std::vector<std::byte> bytes(tensor.count * bytes_of(tensor.type));
    train::read_at(opened.part.file, opened.part.path, tensor.name, tensor.offset, bytes.data(),
                   bytes.size());
    return bytes;
}

// Writes one file after another.
class Merge {
public:
    Merge(const model::ModelConfig& config, const std::string& weights, const Tables& tables)
        : adapters_(config, weights), tables_(tables) {}

    void file(const std::string& from, const std::string& to) {
        const train::OpenedSafetensors opened = train::open_safetensors(from);
        const auto table = std::ranges::find_if(
            opened.tensors, [](const auto& tensor) { return is_table(tensor, embeddings_name); });
        const train::TensorInfo* const added =
            tables_.adds_head && table != opened.tensors.end() ? &*table : nullptr;
        train::OutputFile out(to, train::OutputFile::Mode::create);
        out.write(header_of(opened, added));
        for (const train::TensorInfo& tensor : opened.tensors)
            out.write(std::span<const std::byte>(merged(opened, tensor)));
        if (added != nullptr) out.write(std::span<const std::byte>(head_like(opened, *added)));
        out.sync();
        out.close();
    }
    // Returns the number of matrices that were merged.
    std::size_t matrices() const noexcept { return matrices_; }

private:
    std::vector<std::byte> merged(const train::OpenedSafetensors& opened,
                                  const train::TensorInfo& tensor) {
        std::vector<std::byte> bytes = bytes_of_tensor(opened, tensor);
        const auto known = train::of_transformers(tensor.name);
        if (!known || !known->name.ends_with(".weight")) return bytes;
        if (const std::string source = tables_.source_of(known->name); !source.empty()) {
            replace_table(tensor, source, adapters_, bytes);
        } else if (adapters_.has(*known)) {
            merge_tensor(tensor, *known, adapters_, bytes);
            ++matrices_;
        }
        return bytes;
    }
    std::vector<std::byte> head_like(const train::OpenedSafetensors& opened,
                                     const train::TensorInfo& table) {
        std::vector<std::byte> bytes = bytes_of_tensor(opened, table);
        if (tables_.trained.head) replace_table(table, head_name, adapters_, bytes);
        return bytes;
    }

    AdapterWeights adapters_;
    const Tables tables_;
    std::size_t matrices_ = 0;
};

// Pickles and the like hold the weights as they were.
bool holds_weights(const fs::path& path) {
    constexpr std::array endings{".safetensors", ".bin", ".pt",      ".pth", ".ckpt",
                                 ".gguf",        ".h5",  ".msgpack", ".onnx"};
    return std::ranges::any_of(endings,
                               [&](const char* ending) { return path.extension() == ending; });
}

// Of a base that a run wrote, and nothing that transformers knows.
bool is_of_run_alone(const fs::path& path) {
    const std::string name = path.filename();
    const auto& kept = data::format::foreign_tokenizer_files;
    return is_of_a_run(name) && name != "config.json" &&
           std::ranges::find(kept, name) == kept.end();
}

void copy_others(const std::string& base, const std::string& to) {
    for (const auto& entry : fs::directory_iterator(base)) {
        const fs::path& path = entry.path();
        const bool index = path.filename().string().ends_with(".index.json") &&
                           path.filename() != train::weight_index_file;
        if (!entry.is_regular_file() || holds_weights(path) || index || is_of_run_alone(path))
            continue;
        train::OutputFile out(to + "/" + path.filename().string(), train::OutputFile::Mode::create);
        read_blocks(path, "cannot be read", [&](std::string_view block) { out.write(block); });
        out.sync();
        out.close();
    }
}

// The result has the base's config.json.
void require_same_base(const model::ModelConfig& config) {
    model::ModelConfig base = open_model_folder(config.lora.base).config;
    base.lora = config.lora;
    // They belong to training, and are no part of the arithmetic.
    for (const FreeRate& rate : free_rates) base.*rate.value = config.*rate.value;
    if (base != config)
        throw Error(ErrorKind::config,
                    "the base of these adapters has changed: the config.json in " +
                        config.lora.base + " is not that which they were trained with; restore it");
}

nlohmann::ordered_json read_file_of(const std::string& path) {
    return nlohmann::ordered_json::parse(read_json_text(path));
}

// A head of its own is told by config.json, and by an index where the files have one.
void tell_head(const std::string& folder, const std::vector<std::string>& files,
               const Tables& tables) {
    const std::string config = folder + "/config.json",
                      index = folder + "/" + train::weight_index_file;
    nlohmann::ordered_json json = read_file_of(config);
    json["tie_word_embeddings"] = false;
    train::write_atomically(config, dump_json(json, 2) + "\n");
    if (!tables.adds_head || !path_exists(index)) return;
    json = read_file_of(index);
    const auto grow = [&](const char* member, std::uint64_t by) {
        nlohmann::ordered_json& metadata = json["metadata"];
        if (metadata.is_object() && metadata.contains(member) &&
            metadata[member].is_number_unsigned())
            metadata[member] = metadata[member].get<std::uint64_t>() + by;
    };
    for (const std::string& file : files) {
        const train::OpenedSafetensors opened = train::open_safetensors(file);
        for (const train::TensorInfo& tensor : opened.tensors) {
            if (!is_table(tensor, embeddings_name)) continue;
            json["weight_map"][head_name] = fs::path(file).filename().string();
            grow("total_size", tensor.count * bytes_of(tensor.type));
            grow("total_parameters", tensor.count);
        }
    }
    train::write_atomically(index, dump_json(json, 2) + "\n");
}

Tables tables_of(const model::ModelConfig& config, const std::vector<std::string>& files) {
    Tables tables{model::trained_tables(config)};
    if (model::unties(config) == model::Has::no) return tables;
    if (config.kind == model::Kind::gpt2)
        throw Error(ErrorKind::config,
                    "--merge: these adapters have another head than their table of embeddings, and "
                    "a GPT-2 of this kind is not read here; let PEFT's merge_and_unload() merge "
                    "them, or train with --lora-ensure-weight-tying");
    tables.adds_head = std::ranges::none_of(files, [](const std::string& file) {
        const train::OpenedSafetensors opened = train::open_safetensors(file);
        return std::ranges::any_of(opened.tensors, [](const train::TensorInfo& tensor) {
            return is_table(tensor, head_name);
        });
    });
    return tables;
}

}  // namespace

void write_merged(const std::string& to, const model::ModelConfig& config,
                  const std::string& weights, Existing existing) {
    (void)hash_of_base(config);
    require_same_base(config);
    train::check_weights(weights, model::parameter_table(config));
    const std::string base = base_weights(config.lora);
    const std::vector<std::string> files =
        train::is_weight_index(base) ? train::files_of_index(base) : std::vector{base};
    const Tables tables = tables_of(config, files);
    write_new_folder(to, existing, [&](const std::string& folder) {
        Merge merge(config, weights, tables);
        copy_others(config.lora.base, folder);
        for (const std::string& file : files)
            merge.file(file, folder + "/" + fs::path(file).filename().string());
        const auto layers = static_cast<std::size_t>(config.decoder_layers);
        require(merge.matrices() == config.lora.modules.size() * layers,
                "each adapter has its matrix");
        if (model::unties(config) == model::Has::yes) tell_head(folder, files, tables);
    });
}

}  // namespace lockstep::launcher::checkpoints
