// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/talk_options.hpp"

#include "launcher/options/prepare_options.hpp"
#include "launcher/options/tables.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::uint64_t max_count = INT32_MAX;

// Returns the text that a word of --stop means.
std::string stop_text(const std::string& word) {
    if (word.empty())
        throw Error(ErrorKind::config,
                    "--stop: an empty text would end every reply before it begins; leave it out");
    std::string text;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char next = word[i] == '\\' && i + 1 < word.size() ? word[i + 1] : ' ';
        const bool escape = next == 'n' || next == 't' || next == '\\';
        text += !escape ? word[i] : next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
        if (escape) ++i;
    }
    return text;
}

OptionTable talk_table(RunConfig& config) {
    OptionTable table("Run");
    table.text("model-file,mf", config.model_file, "DIR", "the model's folder");
    add_checkpoint(table, config);
    table.integer("seed", config.train.seed, "of what is drawn", 0);
    table.integer("threads", config.threads, "0: every core that this process may use", 0,
                  max_threads);
    return table;
}

OptionTable context_table(RunConfig& config) {
    BatchConfig& b = config.batch;
    OptionTable table("Contexts");
    table.integer("truncate,tr", b.truncate,
                  "longest context, and longest reply (-1: as --n-positions)", INT64_MIN,
                  max_positions);
    table
        .integer("text-truncate", b.text_truncate,
                 "longest context, of which the end is kept (-1: --truncate)", INT64_MIN,
                 max_positions)
        .with(Trait::model)
        .yielding_to({"truncate"});
    table
        .integer("label-truncate", b.label_truncate,
                 "longest reply, its end counted (-1: --truncate)", INT64_MIN, max_positions)
        .with(Trait::model)
        .yielding_to({"truncate"});
    table
        .integer("history-size,histsz", config.talk.history_size,
                 "turns of a context, the last ones (-1: all)", -1)
        .with(Trait::model);
    add_delimiter(table, config.talk.delimiter).with(Trait::model);
    return table;
}

OptionTable stop_table(RunConfig& config) {
    OptionTable table("Ends of replies");
    table.add("stop", Arity::many, "TEXT...",
              "a reply ends before this text; may be given several times. \\n is a line "
              "feed, \\t a tab, \\\\ a backslash",
              "", [&stops = config.talk.stops](const auto& given) {
                  stops.clear();
                  for (const std::string& text : given) stops.push_back(stop_text(text));
              });
    return table;
}

OptionTable prompt_table(RunConfig& config) {
    TalkConfig& t = config.talk;
    OptionTable table("Prompts and replies");
    table.texts("prompt", t.prompts, "TEXT...",
                "a prompt, in place of --input; may be given several times");
    table.text("input", t.input, "FILE", "prompts (default: standard input)");
    table.choice<PromptFormat>("format", t.format,
                               {{"auto", PromptFormat::automatic},
                                {"text", PromptFormat::text},
                                {"jsonl", PromptFormat::jsonl}},
                               "text: a prompt a line, in which \\n is a line feed; jsonl: "
                               "{\"text\": \"...\"}, {\"context\": [\"turn\", ...]}, "
                               "{\"messages\": [...]} or a line as prepare reads it, also of a "
                               "JSON array; auto: jsonl where --input ends with .jsonl or .json");
    table.text("output", t.output, "FILE", "replies (default: standard output)");
    table.flag("overwrite", t.overwrite, "replace the file that --output names");
    table.flag("json", t.json, "a JSON object a line: prompt, reply, score, tokens");
    table.integer("n-best", t.n_best, "so many replies to each prompt, with scores", 1,
                  max_beam_size);
    table.integer(
        "batchsize,bs", config.batch.batchsize,
        "prompts answered together; of a file as many as give 16 hypotheses, unless given", 1,
        max_count);
    return table;
}

void add_log(OptionTable& table, TalkConfig& talk) {
    table.text("outfile", talk.outfile, "FILE", "conversations are added to it");
    table.choice<LogFormat>(
        "save-format", talk.save_format,
        {{"conversations", LogFormat::conversations}, {"parlai", LogFormat::parlai}},
        "of --outfile: conversations JSONL, or ParlAI text");
}

OptionTable interactive_table(RunConfig& config) {
    OptionTable table("Talk");
    table.flag("single-turn", config.talk.single_turn, "each line is a conversation of its own");
    table.text("system", config.talk.system, "TEXT",
               "the system message of a model with a chat template");
    add_log(table, config.talk);
    return table;
}

OptionTable self_chat_table(RunConfig& config) {
    TalkConfig& t = config.talk;
    OptionTable table("Self-chat");
    table.integer("num-self-chats", t.self_chats, "conversations", 1, max_count);
    table.integer("selfchat-max-turns", t.max_turns,
                  "turns of a conversation, both speakers': the first is the greeting Hi!", 2,
                  max_count);
    table.text("seed-messages-from-file", t.seed_messages, "FILE",
               "first messages, one a line; each conversation draws one");
    table.flag("display-examples,d", t.display, "show the conversations");
    add_log(table, t);
    return table;
}

}  // namespace

std::vector<OptionTable> talk_tables(Task task, RunConfig& config) {
    std::vector<OptionTable> tables{talk_table(config), device_table(config),
                                    context_table(config)};
    if (task == Task::generate) tables.push_back(prompt_table(config));
    if (task == Task::interactive) tables.push_back(interactive_table(config));
    if (task == Task::self_chat) tables.push_back(self_chat_table(config));
    tables.push_back(stop_table(config));
    tables.push_back(generation_table(config));
    return tables;
}

}  // namespace lockstep::launcher
