// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/options_record.hpp"

#include <nlohmann/json.hpp>

#include "data/splits/unit_borders.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {

std::string_view name(TextFormat format) noexcept {
    switch (format) {
        case TextFormat::parlai:
            return "parlai";
        case TextFormat::fbdialog:
            return "fbdialog";
        case TextFormat::jsonl:
            return "jsonl";
        case TextFormat::messages:
            return "messages";
        case TextFormat::text:
        case TextFormat::json_texts:
            return "text";
    }
    return "unknown";
}

std::string_view name(LabelTurns turns) noexcept {
    switch (turns) {
        case LabelTurns::firstspeaker:
            return "firstspeaker";
        case LabelTurns::secondspeaker:
            return "secondspeaker";
        case LabelTurns::both:
            return "both";
    }
    return "unknown";
}

std::string_view name(SentencePieceModel model) noexcept {
    return model == SentencePieceModel::unigram ? "unigram" : "bpe";
}

namespace {

nlohmann::ordered_json held_out_record(const PrepareOptions& options, const UnitSplit& units) {
    nlohmann::ordered_json counts;
    for (const SplitPart part : {SplitPart::train, SplitPart::valid, SplitPart::test})
        if (units.units(part) > 0) counts[name(part)] = units.units(part);
    nlohmann::ordered_json json;
    if (options.held_out.valid > 0) json["valid_fraction"] = options.held_out.valid;
    if (options.held_out.test > 0) json["test_fraction"] = options.held_out.test;
    json["split_seed"] = options.held_out.seed;
    json["unit"] = unit_name(options.read);
    json["units"] = std::move(counts);
    return json;
}

}  // namespace

std::string options_record(const PrepareOptions& options, const UnitSplit* units) {
    const ReadOptions& read = options.read;
    const TokenizerOptions& tokenizer = options.tokenizer;
    nlohmann::ordered_json json = {{"format", name(read.format)}, {"input", options.inputs},
                                   {"valid", options.valid},      {"test", options.test},
                                   {"shards", options.shards},    {"seed", options.seed}};
    if (units != nullptr) json["held_out"] = held_out_record(options, *units);
    if (holds_documents(read.format)) {
        json["block_size"] = options.block_size;
        json["documents"] = read.format == TextFormat::json_texts ? "json_text"
                            : read.documents == Documents::file   ? "file"
                                                                  : "blank_line";
    } else {
        json["history_size"] = read.history_size;
        json["delimiter"] = read.delimiter;
    }
    if (read.format == TextFormat::jsonl) json["label_turns"] = name(read.label_turns);
    if (read.format == TextFormat::messages && options.talk_rows == TalkRows::turns)
        json["row_of"] = "turn";
    if (!options.date.empty()) json["date"] = options.date;
    if (!tokenizer.dict_file.empty()) json["dict_file"] = tokenizer.dict_file;
    if (tokenizer.kind == TokenizerKind::re) {
        json["dict_lower"] = tokenizer.dictionary.letter_case == LetterCase::lower;
        json["dict_minfreq"] = tokenizer.dictionary.min_freq;
        json["dict_maxtokens"] = tokenizer.dictionary.max_tokens;
    } else if (tokenizer.kind == TokenizerKind::sentencepiece) {
        json["sentencepiece_model"] = name(tokenizer.sentencepiece_model);
        json["vocab_size"] = tokenizer.vocab_size;
        json["sample_sentences"] = tokenizer.sample_sentences;
    } else if (tokenizer.kind == TokenizerKind::byte_level_bpe) {
        json["tokenizer"] = "bytelevelbpe";
        json["vocab_size"] = tokenizer.vocab_size;
        json["min_frequency"] = tokenizer.dictionary.min_freq;
    } else if (tokenizer.kind == TokenizerKind::characters) {
        json["tokenizer"] = "char";
    }
    // Paths may have any bytes but JSON is UTF-8, so invalid bytes are replaced.
    return dump_json(json);
}

}  // namespace lockstep::data
