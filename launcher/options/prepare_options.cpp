// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/prepare_options.hpp"

#include "launcher/options/tables.hpp"

namespace lockstep::launcher {

Option& add_delimiter(OptionTable& table, std::string& target) {
    return table.add("delimiter", Arity::one, "TEXT", "between the utterances of a context", "\\n",
                     [&target](const auto& given) {
                         std::string text = given.front();
                         for (std::size_t at; (at = text.find("\\n")) != std::string::npos;) {
                             text.replace(at, 2, "\n");
                         }
                         target = text;
                     });
}

namespace {

void add_held_out(OptionTable& table, data::HeldOut& held_out) {
    const auto fraction = [&table](const std::string& name, double& target, const char* help) {
        table.add(name, Arity::one, "X", help, "", [&target, name](const auto& given) {
            const double value = parse_number(name, given.front());
            if (!(value > 0 && value < 1))
                OptionTable::reject(name, given.front(), "more than 0 and less than 1");
            target = value;
        });
    };
    fraction("valid-fraction", held_out.valid,
             "hold out this share of --input for validation, by episodes or their like");
    fraction("test-fraction", held_out.test, "hold out this share of --input for test");
    table.integer("split-seed", held_out.seed, "chooses what is held out", 0);
}

}  // namespace

OptionTable prepare_table(PrepareConfig& config) {
    using data::Documents;
    using data::LabelTurns;
    using data::TalkRows;
    using data::TextFormat;
    data::PrepareOptions& o = config.options;
    OptionTable table("Text and shards");
    table.choice<TextFormat>(
        "format", o.read.format,
        {{"parlai", TextFormat::parlai},
         {"fbdialog", TextFormat::fbdialog},
         {"jsonl", TextFormat::jsonl},
         {"messages", TextFormat::messages},
         {"text", TextFormat::text}},
        "ParlAI text, FbDialog/ConvAI2, JSONL of ParlAI's conversations or of chat "
        "messages, or plain text");
    table.texts("input", o.inputs, "FILE...", "training text, plain or compressed by gzip");
    table.texts("valid", o.valid, "FILE...", "validation text");
    table.texts("test", o.test, "FILE...", "test text, as `lockstep eval --split test` reads it");
    add_held_out(table, o.held_out);
    table.text("out", o.out, "DIR", "the data directory to make");
    table.integer("shards", o.shards, "files of the training rows; best: ranks x update-freq", 1);
    table.integer("block-size", o.block_size, "plain text: tokens of a row", 2);
    table.choice<Documents>("documents", o.read.documents,
                            {{"file", Documents::file}, {"blank-line", Documents::blank_line}},
                            "plain text: where a document ends");
    table.choice<LabelTurns>("label-turns", o.read.label_turns,
                             {{"firstspeaker", LabelTurns::firstspeaker},
                              {"secondspeaker", LabelTurns::secondspeaker},
                              {"both", LabelTurns::both}},
                             "jsonl: whose turns are labels");
    table.integer("history-size,histsz", o.read.history_size, "utterances of context (-1: all)",
                  -1);
    add_delimiter(table, o.read.delimiter);
    table.integer("threads", o.threads, "0: every core", 0, max_threads);
    table.text("date", o.date, "YYYY-MM-DD",
               "messages: the day that the chat template prints; without it, there is none");
    table.choice<TalkRows>(
        "row-of", o.talk_rows,
        {{"conversation", TalkRows::conversations}, {"turn", TalkRows::turns}},
        "chat template: a row of train is a conversation, or each turn of the assistant");
    table.integer("seed", o.seed, "chooses the training label among several", 0);
    table.flag("overwrite", config.overwrite, "replace an existing data directory");
    table.flag("verbose", config.verbose, "say more");
    return table;
}

OptionTable tokenizer_table(PrepareConfig& config) {
    using data::SentencePieceModel;
    using data::TokenizerKind;
    data::TokenizerOptions& t = config.options.tokenizer;
    OptionTable table("Dictionary or tokenizer");
    table.choice<TokenizerKind>(
        "tokenizer,tok,dict-tokenizer", t.kind,
        {{"re", TokenizerKind::re},
         {"sentencepiece", TokenizerKind::sentencepiece},
         {"bytelevelbpe", TokenizerKind::byte_level_bpe},
         {"char", TokenizerKind::characters}},
        "ParlAI's word dictionary, SentencePiece, byte-level BPE as GPT-2's, or characters");
    table.text("dict-file,df", t.dict_file, "FILE", "reuse this dictionary or SentencePiece model");
    table.text("like", config.like, "FOLDER",
               "take the tokenizer of this model, Lockstep's or Hugging Face's");
    table.flag("dict-lower", config.dict_lower, "lower-case the text");
    table.integer("dict-minfreq", t.dictionary.min_freq,
                  "drop words that are rarer; bytelevelbpe: join no rarer pairs", 0);
    table.integer("dict-maxtokens", t.dictionary.max_tokens, "keep so many words (-1: all)", -1);
    // The library counts with 32 bits, and with far more pieces than texts have, does not end.
    constexpr std::uint64_t max_pieces = 1 << 24;
    table.integer("vocab-size", t.vocab_size, "SentencePiece, bytelevelbpe: pieces", 16,
                  max_pieces);
    table.choice<SentencePieceModel>(
        "sentencepiece-model", t.sentencepiece_model,
        {{"unigram", SentencePieceModel::unigram}, {"bpe", SentencePieceModel::bpe}},
        "SentencePiece: the kind of model");
    table.integer("sentencepiece-sample", t.sample_sentences,
                  "SentencePiece: lines that it is trained on, at most", 1);
    return table;
}

}  // namespace lockstep::launcher
