// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>

#include "launcher/options/run_command.hpp"
#include "launcher/programs.hpp"
#include "launcher/talker.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Prompts are shown above their replies on a terminal or a log, not in a file of replies.
enum class Echo { off, on };

// Lines that are answered together.
class PromptBatch {
public:
    PromptBatch(Talker& talker, std::ostream& out, Echo echo)
        : talker_(talker), out_(out), echo_(echo) {}

    std::size_t size() const noexcept { return prompts_.size(); }

    void add(const std::string& prompt, const std::string& origin, std::uint32_t line_number) {
        contexts_.push_back(talker_.tokens_of(prompt, origin + ":" + std::to_string(line_number)));
        prompts_.push_back(prompt);
        rows_.push_back(line_number - 1);
    }

    void answer() {
        if (prompts_.empty()) return;
        const auto replies = talker_.reply(contexts_, rows_);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            if (echo_ == Echo::on) out_ << "> " << prompts_[i] << '\n';
            out_ << replies[i] << '\n';
        }
        out_.flush();
        prompts_.clear();
        contexts_.clear();
        rows_.clear();
    }

private:
    Talker& talker_;
    std::ostream& out_;
    Echo echo_;
    std::vector<std::string> prompts_;
    std::vector<std::vector<std::int32_t>> contexts_;
    std::vector<std::uint32_t> rows_;
};

void answer_all(std::istream& in, const std::string& origin, const RunConfig& config,
                PromptBatch& batch) {
    std::uint32_t line_number = 0;
    for (std::string line; std::getline(in, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        batch.add(line, origin, ++line_number);
        if (static_cast<std::int64_t>(batch.size()) == config.batch.batchsize) batch.answer();
    }
    if (in.bad()) throw_errno("--input cannot be read to its end", origin);
    batch.answer();
}

}  // namespace

int generate_program(const std::vector<std::string>& args) {
    const auto config = parse_run(Task::generate,
                                  "lockstep generate -mf DIR [--input FILE] [options]\n"
                                  "Replies to prompts, one a line.\n",
                                  args);
    if (!config) return 0;
    std::ifstream file;
    if (!config->input.empty()) {
        file.open(config->input);
        if (!file) throw_errno("--input cannot be read", config->input);
    }
    Talker talker(*config);
    std::ofstream replies;
    if (!config->output.empty()) {
        replies.open(config->output);
        if (!replies) throw_errno("--output cannot be written", config->output);
    }
    PromptBatch batch(talker, config->output.empty() ? std::cout : replies,
                      config->output.empty() ? Echo::on : Echo::off);
    answer_all(config->input.empty() ? std::cin : file,
               config->input.empty() ? "standard input" : config->input, *config, batch);
    if (!config->output.empty() && !replies.flush())
        throw_errno("--output cannot be written", config->output);
    return 0;
}

}  // namespace lockstep::launcher
