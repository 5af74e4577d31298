// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/world_log.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/comm/texts.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

void WorldLog::add(std::uint32_t row, const RowTexts& texts,
                   const std::optional<std::string>& reply, const NamedValues& metrics) {
    nlohmann::ordered_json line = {{"row", row}, {"text", texts.context}, {"labels", texts.labels}};
    if (reply) line["reply"] = *reply;
    line["metrics"] = metrics;
    // A reply may end inside a character.
    lines_[row] = dump_json(line);
}

void WorldLog::write(comm::Communicator& communicator, const std::string& path) const {
    // The JSON has no line ends inside. The number before each line gives its order.
    std::string own;
    for (const auto& [row, line] : lines_) own += std::to_string(row) + " " + line + "\n";
    const auto texts = gather_texts(communicator, std::move(own), "world log");
    if (communicator.rank() != 0) return;
    std::map<std::uint32_t, std::string> all;
    for (const std::string& text : texts) {
        std::istringstream lines(text);
        std::uint32_t row = 0;
        for (std::string line; lines >> row && lines.get() && std::getline(lines, line);)
            all[row] = std::move(line);
    }
    train::AtomicFile file(path);
    for (const auto& [row, line] : all) file.write(line + "\n");
    file.commit();
}

}  // namespace lockstep::launcher
