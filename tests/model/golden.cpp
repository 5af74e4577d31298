// SPDX-License-Identifier: Apache-2.0
#include "tests/model/golden.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/config_json.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::tests {

namespace {

constexpr std::uint32_t first_row = 100;

double uniform(std::uint32_t seed, std::size_t index) {
    std::uint32_t x = static_cast<std::uint32_t>(index) * 2654435761u + seed;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return (x ^ (x >> 16)) * 0x1p-32 - 0.5;
}

std::uint32_t fnv1a(const std::string& text) {
    std::uint32_t hash = 2166136261u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

}  // namespace

void set_pattern(const train::ParameterTable& table, HostView<float> master) {
    for (const train::Parameter& p : table.all()) {
        const bool gamma = p.name.find("norm") != std::string::npos && p.name.ends_with("weight");
        const bool is_matrix = p.shape.size() == 2;
        const double scale = is_matrix ? std::sqrt(12.0 / static_cast<double>(p.shape[1])) : 0.4;
        const double shift = !is_matrix && gamma ? 1.0 : 0.0;
        const std::uint32_t seed = fnv1a(p.name);
        for (std::size_t i = 0; i < p.count; ++i) {
            master[p.offset + i] = static_cast<float>(uniform(seed, i) * scale + shift);
        }
    }
}

Golden::Golden(const std::string& name)
    : file_("tests/golden/model/" + name + ".safetensors"),
      config_(model::config_from_json(file_.metadata().at("config"), name)) {}

std::vector<float> Golden::tensor(const std::string& name) {
    const train::TensorInfo* info = file_.find(name);
    require(info != nullptr, name.c_str());
    std::vector<float> values(info->count);
    file_.read(*info, view_of(values));
    return values;
}

std::vector<std::uint64_t> Golden::integers(const std::string& name) {
    const train::TensorInfo* info = file_.find(name);
    if (!info) return {};  // gpt2 has no source
    std::vector<std::uint64_t> values(info->count);
    file_.read(*info, view_of(values));
    return values;
}

train::RaggedTokens Golden::side(const std::string& name) {
    train::RaggedTokens side;
    for (const std::uint64_t token : integers(name)) side.tokens.push_back(static_cast<int>(token));
    const auto lengths = integers(name + ".lengths");
    if (!lengths.empty()) side.offsets.push_back(0);
    for (std::size_t row = 0; row < lengths.size(); ++row) {
        const auto length = static_cast<std::int32_t>(lengths[row]);
        side.offsets.push_back(side.offsets.back() + length);
        side.longest = std::max(side.longest, length);
    }
    return side;
}

train::Batch Golden::batch(const std::string& prefix) {
    train::Batch batch;
    batch.source = side(prefix + "source");
    batch.target = side(prefix + "target");
    for (const std::uint64_t label : integers(prefix + "labels")) {
        batch.labels.push_back(static_cast<std::int32_t>(label) - 1);
    }
    for (std::int64_t row = 0; row < batch.target.sequences(); ++row) {
        batch.rows.push_back(first_row + static_cast<std::uint32_t>(row));
    }
    batch.label_tokens = std::ranges::count_if(batch.labels, [](int label) { return label >= 0; });
    return batch;
}

void spoil(const train::ParameterTable& table, HostView<float> gradient) {
    for (const train::Parameter& p : table.all())
        std::ranges::fill(gradient.subview(p.offset, p.count),
                          std::numeric_limits<float>::quiet_NaN());
}

}  // namespace lockstep::tests
