// SPDX-License-Identifier: Apache-2.0
#include "launcher/talker.hpp"

#include "data/unicode.hpp"
#include "launcher/cpu_share.hpp"
#include "runtime/core/error.hpp"
#include "runtime/kernels/product_library.hpp"

namespace lockstep::launcher {

namespace {

train::Precision precision_of(PrecisionChoice choice) {
    const bool bf16 = choice == PrecisionChoice::bf16 ||
                      (choice == PrecisionChoice::automatic && kernels::multiplies_bf16());
    return bf16 ? train::Precision::bf16 : train::Precision::fp32;
}

}  // namespace

Talker::Talker(const RunConfig& config)
    : loaded_(config.model_file, precision_of(config.precision),
              config.threads > 0 ? static_cast<int>(config.threads) : usable_cores()),
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
