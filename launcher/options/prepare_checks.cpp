// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "launcher/options/prepare_options.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

struct Rule {
    bool unused;
    std::vector<const char*> names;
    const char* belongs_to;
};

}  // namespace

void check_prepare(const PrepareConfig& config, const std::set<std::string>& given) {
    using data::TextFormat;
    const TextFormat format = config.options.read.format;
    const bool words = config.options.tokenizer.kind == data::TokenizerKind::re;
    const std::array rules{
        Rule{format != TextFormat::text, {"block-size", "documents"}, "--format text"},
        Rule{format != TextFormat::jsonl, {"label-turns"}, "--format jsonl"},
        Rule{format == TextFormat::text, {"history-size", "delimiter"}, "dialogues"},
        Rule{words,
             {"vocab-size", "sentencepiece-model", "sentencepiece-sample"},
             "--tokenizer sentencepiece"},
        Rule{!words, {"dict-minfreq", "dict-maxtokens"}, "--tokenizer re"},
    };
    for (const Rule& rule : rules) {
        for (const char* name : rule.names) {
            if (rule.unused && given.contains(name))
                throw Error(ErrorKind::config, "--" + std::string(name) + ": belongs to " +
                                                   rule.belongs_to + "; leave it out");
        }
    }
}

}  // namespace lockstep::launcher
