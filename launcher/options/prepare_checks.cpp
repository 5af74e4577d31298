// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/prepare_checks.hpp"

#include <array>
#include <vector>

#include "launcher/model_folder/model_files.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace {

struct PrepareRule {
    bool unused;
    std::vector<const char*> names;
    const char* belongs_to;
};

}  // namespace

void check_prepare(const PrepareConfig& config, const std::set<std::string>& given) {
    using data::TextFormat;
    const TextFormat format = config.options.read.format;
    using data::TokenizerKind;
    const TokenizerKind kind = config.options.tokenizer.kind;
    const bool pairs = kind == TokenizerKind::byte_level_bpe;
    const bool makes_folder = pairs || kind == TokenizerKind::characters;
    const bool makes_data = !config.options.out.empty();
    if (config.options.out.find('\n') != std::string::npos)
        throw Error(ErrorKind::config,
                    "--out " + shown(config.options.out) +
                        ": has a line feed in its name, with which no program opens it; name "
                        "another folder");
    const bool like = !config.like.empty();
    if (like && !is_folder(config.like))
        throw Error(ErrorKind::config, "--like " + shown(config.like) +
                                           ": is no folder; name a model's folder" +
                                           hub_hint(config.like));
    const bool reuses = makes_data && !config.options.tokenizer.dict_file.empty();
    const std::array rules{
        PrepareRule{reuses,
                    {"dict-minfreq", "dict-maxtokens", "vocab-size", "sentencepiece-model",
                     "sentencepiece-sample"},
                    "a new dictionary, not to that of --dict-file"},
        PrepareRule{like,
                    {"dict-file", "tokenizer", "dict-lower", "dict-minfreq", "dict-maxtokens",
                     "vocab-size", "sentencepiece-model", "sentencepiece-sample"},
                    "another tokenizer than that of --like"},
        PrepareRule{makes_data && config.options.inputs.empty(), {"shards"}, "the rows of --input"},
        PrepareRule{
            !config.options.held_out.any(), {"split-seed"}, "--valid-fraction and --test-fraction"},
        PrepareRule{format != TextFormat::text, {"block-size", "documents"}, "--format text"},
        PrepareRule{format != TextFormat::jsonl, {"label-turns"}, "--format jsonl"},
        PrepareRule{format == TextFormat::text, {"history-size", "delimiter"}, "dialogues"},
        PrepareRule{format != TextFormat::messages, {"date", "row-of"}, "--format messages"},
        PrepareRule{kind != TokenizerKind::sentencepiece,
                    {"sentencepiece-model", "sentencepiece-sample"},
                    "--tokenizer sentencepiece"},
        PrepareRule{kind == TokenizerKind::characters,
                    {"vocab-size"},
                    "--tokenizer sentencepiece or bytelevelbpe; --tokenizer char has a token for "
                    "each character of the text"},
        PrepareRule{kind != TokenizerKind::sentencepiece && !pairs,
                    {"vocab-size"},
                    "--tokenizer sentencepiece or bytelevelbpe"},
        PrepareRule{kind != TokenizerKind::re && !pairs,
                    {"dict-minfreq"},
                    "--tokenizer re or bytelevelbpe"},
        PrepareRule{kind != TokenizerKind::re, {"dict-maxtokens"}, "--tokenizer re"},
        PrepareRule{makes_folder, {"dict-lower"}, "--tokenizer re or sentencepiece"},
        PrepareRule{makes_folder && makes_data,
                    {"dict-file"},
                    "a dictionary of words or a SentencePiece model; for a tokenizer that exists "
                    "say --like FOLDER without --tokenizer"},
    };
    if (makes_folder && !makes_data)
        throw Error(ErrorKind::config,
                    "--tokenizer bytelevelbpe and char: are folders of files; make one with the "
                    "data by lockstep prepare --out DIR, and take it for other data with --like "
                    "DIR");
    for (const PrepareRule& rule : rules) {
        for (const char* name : rule.names) {
            if (rule.unused && given.contains(name))
                throw Error(ErrorKind::config, "--" + std::string(name) + ": belongs to " +
                                                   rule.belongs_to + "; leave it out");
        }
    }
}

}  // namespace lockstep::launcher
