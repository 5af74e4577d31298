// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/longest_row.hpp"

#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

std::optional<std::int64_t> longest_row(const std::string& folder) {
    const std::string path = folder + "/config.json";
    if (!is_file(path)) return std::nullopt;
    const nlohmann::json json = try_parse_json(read_json_text(path));
    if (!json.is_object()) return std::nullopt;
    for (const char* name : {"n_positions", "max_position_embeddings", "n_ctx"}) {
        const auto found = json.find(name);
        if (found == json.end() || !found->is_number_integer()) continue;
        const auto positions = found->get<std::int64_t>();
        if (positions >= 2) return positions;
    }
    return std::nullopt;
}

}  // namespace lockstep::launcher
