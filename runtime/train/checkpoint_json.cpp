// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint_json.hpp"

#include <fstream>

namespace lockstep::train {

nlohmann::ordered_json read_json(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw_errno("cannot be read", path);
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(in, nullptr, false);
    if (!json.is_object()) throw Error(ErrorKind::data, path + ": is damaged: not a JSON object");
    return json;
}

}  // namespace lockstep::train
