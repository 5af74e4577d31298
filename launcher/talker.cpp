// SPDX-License-Identifier: Apache-2.0
#include "launcher/talker.hpp"

#include "data/unicode.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

Talker::Talker(const RunConfig& config)
    : loaded_(config.model_file, lone_device(config)),
      replier_(loaded_.model().decoder(), loaded_.tokenizer(), config.generation) {}

std::vector<std::int32_t> Talker::tokens_of(const std::string& text,
                                            const std::string& where) const {
    const std::size_t invalid = data::unicode::first_invalid(text);
    if (invalid != text.size()) {
        throw Error(ErrorKind::data, where + ": byte " + std::to_string(invalid + 1) +
                                         " is not UTF-8; convert the text first (iconv -t UTF-8)");
    }
    std::vector<std::int32_t> tokens;
    loaded_.tokenizer().encode(text, tokens);
    return tokens;
}

std::vector<std::string> Talker::reply(const std::vector<std::vector<std::int32_t>>& contexts,
                                       const std::vector<std::uint32_t>& rows) {
    return replier_.reply(contexts, rows);
}

}  // namespace lockstep::launcher
