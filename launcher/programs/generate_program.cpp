// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "launcher/command_line/output_file.hpp"
#include "launcher/generate/chat_session.hpp"
#include "launcher/generate/prompts.hpp"
#include "launcher/memory/weights_memory.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/programs/reply_room.hpp"
#include "launcher/text/output_reader.hpp"
#include "launcher/text/terminal.hpp"
#include "launcher/text/unwritten_answer.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Reply& reply) {
    return {{"reply", reply.text}, {"score", reply.score}, {"tokens", reply.tokens}};
}

// Takes the text of replies.
using Sink = std::function<void(const std::string&)>;

// Writes the replies in the format that the options select.
class ReplyWriter {
public:
    // Shows prompts above their replies when people read the output and nobody typed the prompts.
    explicit ReplyWriter(const TalkConfig& talk)
        : talk_(talk),
          on_terminal_(talk.output.empty() && output_kind() == OutputKind::terminal),
          shows_prompts_(on_terminal_ && !shows_itself(talk)) {}

    void write(const Prompt& prompt, std::vector<Reply> replies) {
        ++prompts_;
        if (replies.size() < static_cast<std::size_t>(talk_.n_best)) ++prompts_with_fewer_;
        replies.resize(std::min(replies.size(), static_cast<std::size_t>(talk_.n_best)));
        if (talk_.json) return write_json(prompt, replies);
        if (shows_prompts_) {
            const std::size_t first = prompt.talk.empty() ? 0 : prompt.turns.size() - 1;
            for (std::size_t i = first; i < prompt.turns.size(); ++i)
                text_ << "> " << line_of(prompt.turns[i]) << '\n';
        }
        for (const Reply& reply : replies) {
            if (talk_.n_best > 1) text_ << prompt.number + 1 << '\t' << reply.score << '\t';
            text_ << line_of(reply.text) << '\n';
        }
    }

    // Writes what was answered since the last call.
    void flush(const Sink& sink) {
        sink(text_.str());
        text_.str("");
    }

    // Tells how many prompts have fewer replies than were asked for; empty: none.
    std::string why_fewer() const {
        if (prompts_with_fewer_ == 0) return "";
        return "--n-best " + std::to_string(talk_.n_best) + ": " +
               std::to_string(prompts_with_fewer_) + " of " + std::to_string(prompts_) +
               (prompts_ == 1 ? " prompt has" : " prompts have") +
               " fewer replies: only those count that end, unless none does, and the others "
               "reached "
               "the longest length; give a larger --max-length, or --stop TEXT at which replies "
               "end";
    }

private:
    // Somebody sees the prompt who has typed it there; among several he needs to see which it is.
    static bool shows_itself(const TalkConfig& talk) {
        if (!talk.prompts.empty()) return talk.prompts.size() == 1;
        return talk.input.empty() && isatty(STDIN_FILENO) == 1;
    }

    // A terminal must not obey what a text holds; a file gets the text as it is.
    std::string line_of(const std::string& text) const {
        return on_terminal_ ? printable_lines(on_one_line(text)) : on_one_line(text);
    }

    void write_json(const Prompt& prompt, const std::vector<Reply>& replies) {
        Json line;
        if (!prompt.talk.empty())
            line["prompt"] = Json::parse(prompt.talk)["messages"];
        else
            prompt.turns.size() == 1 ? line["prompt"] = prompt.turns.front()
                                     : line["prompt"] = prompt.turns;
        line.update(to_json(replies.front()));
        if (talk_.n_best > 1) {
            for (const Reply& reply : replies) line["n_best"].push_back(to_json(reply));
        }
        text_ << dump_json(line) << '\n';
    }

    std::ostringstream text_;
    const TalkConfig& talk_;
    const bool on_terminal_;
    const bool shows_prompts_;
    std::uint64_t prompts_ = 0, prompts_with_fewer_ = 0;
};

// Collects prompts that are answered together.
class PromptBatch {
public:
    PromptBatch(const RunConfig& config, ChatSession& talker, ReplyWriter& writer, Sink sink,
                std::int64_t size)
        : room_(config, "--batchsize"),
          talker_(talker),
          writer_(writer),
          sink_(std::move(sink)),
          size_(static_cast<std::size_t>(size)) {}

    // Says that texts went past the model's chat template; empty: none did.
    std::string why_plain() const {
        if (plain_ == 0 || !talker_.has_chat_template()) return "";
        return "warning: " + std::to_string(plain_) +
               (plain_ == 1 ? " prompt was" : " prompts were") +
               R"( read without the model's chat template; give {"messages": [{"role": "user", )" +
               R"("content": "..."}]} (docs/chat.md))";
    }

    void add(Prompt prompt) {
        if (prompt.talk.empty()) ++plain_;
        contexts_.push_back(talker_.context_of_prompt(prompt));
        rows_.push_back(prompt.number);
        prompts_.push_back(std::move(prompt));
        if (prompts_.size() == size_) answer();
    }

    void answer() {
        if (prompts_.empty()) return;
        room_.require(std::ssize(contexts_), talker_.bytes_of(contexts_));
        auto replies = talker_.ranked(contexts_, rows_);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            writer_.write(prompts_[i], std::move(replies[i]));
        }
        writer_.flush(sink_);
        prompts_.clear();
        contexts_.clear();
        rows_.clear();
    }

private:
    ReplyRoom room_;
    ChatSession& talker_;
    ReplyWriter& writer_;
    const Sink sink_;
    const std::size_t size_;
    std::vector<Prompt> prompts_;
    std::vector<std::vector<std::int32_t>> contexts_;
    std::vector<std::uint32_t> rows_;
    std::uint64_t plain_ = 0;  // prompts that are no conversations
};

PromptFormat format_of(const TalkConfig& talk) {
    if (talk.format != PromptFormat::automatic) return talk.format;
    const bool json = talk.input.ends_with(".jsonl") || talk.input.ends_with(".json");
    return json ? PromptFormat::jsonl : PromptFormat::text;
}

data::Warnings for_each_given_prompt(const TalkConfig& talk,
                                     const std::function<void(Prompt)>& action) {
    const std::string origin = "--prompt";
    data::Warnings found;
    std::uint32_t number = 0;
    for (const std::string& text : talk.prompts) {
        const std::uint32_t place = number + 1;
        Prompt prompt = prompt_of(text, format_of(talk), origin + " " + std::to_string(place),
                                  {&origin, place}, found);
        prompt.number = number++;
        action(std::move(prompt));
    }
    return found;
}

// Returns what is odd in the prompts.
data::Warnings for_each_prompt(const TalkConfig& talk, const std::function<void(Prompt)>& action) {
    if (!talk.prompts.empty()) return for_each_given_prompt(talk, action);
    std::ifstream file;
    if (!talk.input.empty()) {
        // Opening a pipe waits until somebody writes to it.
        if (other_kind(talk.input) == "a pipe")
            std::cerr << "waiting for prompts from the pipe " << printable(talk.input) << '\n';
        file.open(talk.input);
        if (!file) throw_errno("--input cannot be read", talk.input);
    }
    PromptReader reader(talk.input.empty() ? std::cin : file,
                        talk.input.empty() ? "standard input" : talk.input, format_of(talk));
    for (Prompt prompt; reader.next(prompt);) action(std::move(prompt));
    return reader.warnings();
}

void require_other_files(const TalkConfig& talk, const std::string& model_folder) {
    require_other_file("--output", talk.output, model_folder);
    std::error_code none;
    if (std::filesystem::equivalent(talk.input, talk.output, none))
        throw Error(ErrorKind::config, "--output " + talk.output +
                                           ": is the --input, which it would overwrite; name "
                                           "another file");
}

void require_new_file(const TalkConfig& talk) {
    if (!talk.overwrite && is_file(talk.output) && std::filesystem::file_size(talk.output) > 0)
        throw Error(ErrorKind::config,
                    "--output " + talk.output + ": exists; name another file, or add --overwrite");
}

// Prompts of a pipe and of a person are answered as they come.
bool reads_file(const TalkConfig& talk) {
    if (!talk.prompts.empty()) return false;
    if (!talk.input.empty()) return is_file(talk.input);
    struct stat status {};
    return ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
}

// Products of several rows take less time for each, but each hypothesis takes memory.
std::int64_t prompts_together(const RunConfig& config) {
    constexpr std::int64_t hypotheses = 16;
    if (config.given.contains("batchsize") || !reads_file(config.talk))
        return config.batch.batchsize;
    const model::GenerationOptions& generation = config.generation;
    const bool greedy = generation.inference == model::Inference::greedy;
    return std::max<std::int64_t>(1, hypotheses / (greedy ? 1 : generation.beam_size));
}

// What cannot be written after the work has begun is no mistake of the request.
void as_answer(const std::function<void()>& write) {
    try {
        write();
    } catch (const SystemFailure& failure) {
        throw UnwrittenAnswer(failure.what(), failure.code());
    }
}

// Calls `answer` with what takes the replies. A file gets its name when all of them are in it; a
// pipe and standard output get each batch at once.
void write_replies(const TalkConfig& talk, const std::function<void(const Sink&)>& answer) {
    if (talk.output.empty())
        return answer([](const std::string& text) {
            std::cout << text;
            flush_output();
        });
    if (!other_kind(talk.output).empty()) {
        std::ofstream stream(talk.output);
        if (!stream) throw_errno("--output cannot be written", talk.output);
        return answer([&](const std::string& text) {
            if (!(stream << text).flush())
                throw UnwrittenAnswer(talk.output + ": --output cannot be written", errno);
        });
    }
    train::AtomicFile file(talk.output);
    answer([&](const std::string& text) { as_answer([&] { file.write(text); }); });
    as_answer([&] { file.commit(); });
}

}  // namespace

int generate_program(const std::vector<std::string>& args) {
    const auto config =
        parse_run(Task::generate,
                  "lockstep generate -mf DIR [--input FILE | --prompt TEXT] [options]\n"
                  "Replies to prompts, one a line; a line feed in a reply is written as \\n.\n",
                  args);
    if (!config) return 0;
    const TalkConfig& talk = config->talk;
    require_room_for_weights(*config);
    require_place("--output", talk.output);
    require_other_files(talk, config->model_file);
    const OutputClaim claim("--output", talk.output);
    require_new_file(talk);
    Log notes(std::cerr, Verbosity::normal, 0, "");
    // A wrong line is refused before anything starts. A pipe is read once.
    const bool twice =
        !talk.prompts.empty() || (!talk.input.empty() && other_kind(talk.input) != "a pipe");
    if (twice) for_each_prompt(talk, [](const Prompt&) {}).write(notes);
    std::optional<EndWithReader> reader;
    if (talk.output.empty()) reader.emplace();
    ChatSession talker(*config);
    write_replies(talk, [&](const Sink& sink) {
        ReplyWriter writer(talk);
        PromptBatch batch(*config, talker, writer, sink, prompts_together(*config));
        const data::Warnings found =
            for_each_prompt(talk, [&](Prompt prompt) { batch.add(std::move(prompt)); });
        batch.answer();
        if (!twice) found.write(notes);
        for (const std::string& why : {talker.why_cut(), writer.why_fewer(), batch.why_plain()})
            if (!why.empty()) std::cerr << why + "\n";
    });
    return 0;
}

}  // namespace lockstep::launcher
