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
            scales_[row.parameter.name] = model::lora_scale(config, row.place);
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

// Rounds the sums once to the type of the matrix. Returns whether it can hold all of them.
template <class T>
bool merge_values(const Factors& factors, float scale, bool turned, std::vector<std::byte>& bytes) {
    std::vector<T> stored(bytes.size() / sizeof(T));
    std::memcpy(stored.data(), bytes.data(), bytes.size());
    std::vector<float> values(stored.size());
    std::ranges::transform(stored, values.begin(), [](T v) { return static_cast<float>(v); });
    add_product(factors, scale, turned, values);
    std::ranges::transform(values, stored.begin(), [](float v) { return T(v); });
    std::memcpy(bytes.data(), stored.data(), bytes.size());
    return std::ranges::all_of(stored, [](T v) { return std::isfinite(static_cast<float>(v)); });
}

void merge_tensor(const train::TensorInfo& tensor, const train::KnownTensor& known,
                  AdapterWeights& adapters, std::vector<std::byte>& bytes) {
    const Factors factors = adapters.read(known);
    const float scale = adapters.scale(known);
    const auto merged = [&]<class T>(T) {
        return merge_values<T>(factors, scale, known.turned, bytes);
    };
    const bool is_finite = tensor.type == Dtype::bf16   ? merged(bf16())
                           : tensor.type == Dtype::fp16 ? merged(fp16())
                                                        : merged(float());
    if (!is_finite)
        throw Error(ErrorKind::data, tensor.name +
                                         " has values with its adapter that its type cannot hold; "
                                         "the adapters or their scale are wrong for this base");
}

// Returns all that is before the tensors, without a checksum that they no longer have.
std::string header_of(const train::OpenedSafetensors& opened) {
    constexpr std::size_t length_bytes = 8;
    std::string header(opened.part.data_begin, '\0');
    train::read_at(opened.part.file, opened.part.path, "header", 0, header.data(), header.size());
    if (!opened.metadata.contains(train::checksum_key)) return header;
    nlohmann::ordered_json json =
        nlohmann::ordered_json::parse(header.begin() + length_bytes, header.end());
    json["__metadata__"].erase(train::checksum_key);
    std::string text = dump_json(json);
    text.resize((text.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
    std::string length(length_bytes, '\0');
    for (std::size_t i = 0; i < length_bytes; ++i)
        length[i] = static_cast<char>(text.size() >> (8 * i) & 0xFFU);
    return length + text;
}

// Returns the number of matrices that were merged.
std::size_t merge_file(const std::string& from, const std::string& to, AdapterWeights& adapters) {
    const train::OpenedSafetensors opened = train::open_safetensors(from);
    train::OutputFile out(to, train::OutputFile::Mode::create);
    out.write(header_of(opened));
    std::size_t merged = 0;
    for (const train::TensorInfo& tensor : opened.tensors) {
        std::vector<std::byte> bytes(tensor.count * bytes_of(tensor.type));
        train::read_at(opened.part.file, from, tensor.name, tensor.offset, bytes.data(),
                       bytes.size());
        const auto known = train::of_transformers(tensor.name);
        if (known && known->name.ends_with(".weight") && adapters.has(*known)) {
            merge_tensor(tensor, *known, adapters, bytes);
            ++merged;
        }
        out.write(std::span<const std::byte>(bytes));
    }
    out.sync();
    out.close();
    return merged;
}

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

}  // namespace

void write_merged(const std::string& to, const model::ModelConfig& config,
                  const std::string& weights, Existing existing) {
    (void)hash_of_base(config);
    require_same_base(config);
    train::check_weights(weights, model::parameter_table(config));
    const std::string base = base_weights(config.lora);
    const std::vector<std::string> files =
        train::is_weight_index(base) ? train::files_of_index(base) : std::vector{base};
    write_new_folder(to, existing, [&](const std::string& folder) {
        AdapterWeights adapters(config, weights);
        copy_others(config.lora.base, folder);
        std::size_t merged = 0;
        for (const std::string& file : files)
            merged += merge_file(file, folder + "/" + fs::path(file).filename().string(), adapters);
        const auto layers = static_cast<std::size_t>(config.decoder_layers);
        require(merged == config.lora.modules.size() * layers, "each adapter has its matrix");
    });
}

}  // namespace lockstep::launcher::checkpoints
