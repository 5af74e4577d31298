// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint_json.hpp"

#include <filesystem>

#include "runtime/core/read_file.hpp"

namespace lockstep::train {

nlohmann::ordered_json read_json(const std::string& path) {
    // Opening a pipe would wait for a writer.
    std::error_code unknown;
    if (std::filesystem::is_other(path, unknown))
        throw Error(ErrorKind::data, path + ": is damaged: it is a pipe, a socket or a device");
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(read_file(path), nullptr, false);
    if (!json.is_object()) throw Error(ErrorKind::data, path + ": is damaged: not a JSON object");
    return json;
}

}  // namespace lockstep::train
