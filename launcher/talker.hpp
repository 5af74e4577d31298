// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/loaded_model.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/reply.hpp"

namespace lockstep::launcher {

// A model that answers texts, on this machine alone.
class Talker {
public:
    // Loads config.model_file.
    explicit Talker(const RunConfig& config);

    // `where` names the text in the error that says it is not UTF-8.
    std::vector<std::int32_t> tokens_of(const std::string& text, const std::string& where) const;

    // Of a context that is longer than the model's positions the end counts.
    std::vector<std::string> reply(const std::vector<std::vector<std::int32_t>>& contexts,
                                   const std::vector<std::uint32_t>& rows);

private:
    LoadedModel loaded_;
    Replier replier_;
};

}  // namespace lockstep::launcher
