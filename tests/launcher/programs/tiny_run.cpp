// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/programs/tiny_run.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace lockstep::tests {

namespace fs = std::filesystem;

namespace {

void must_run(const std::vector<std::string>& command) {
    const ProgramResult run = run_within_limit(command);
    if (run.code != 0) throw std::runtime_error(command[1] + ": " + run.out + run.err);
}

std::set<std::string> names_of(const FolderTree& tree) {
    std::set<std::string> names;
    for (const auto& [path, bytes] : tree)
        if (path.find("events.out.tfevents") == std::string::npos) names.insert(path);
    return names;
}

bool is_checkpoint(const std::string& name) {
    return name.starts_with("model/checkpoints/step-") && name.find('.') == std::string::npos &&
           fs::path(name).parent_path() == "model/checkpoints";
}

// A writer that was killed leaves one temporary file beside the checkpoints.
bool is_temporary(const std::string& name) {
    return name.find(".tmp-") != std::string::npos && fs::path(name).parent_path() == "model";
}

// An old checkpoint may be left over whole or in part: the next save removes it. Together nothing
// larger than a checkpoint and one copy of the weights is left.
std::string names_besides(const FolderTree& tree, const FolderTree& allowed,
                          const FolderTree& expected) {
    const std::set<std::string> here = names_of(tree), known = names_of(allowed),
                                there = names_of(expected);
    std::string text;
    int old = 0, temporary = 0;
    for (const std::string& name : here) {
        if (known.contains(name) || is_checkpoint(fs::path(name).parent_path())) continue;
        if (is_temporary(name) && ++temporary == 1) continue;
        if (name.find("-before-") != std::string::npos)
            continue;  // of a start without a checkpoint
        if (!is_checkpoint(name) || ++old > 1) text += "; left over: " + name;
    }
    for (const std::string& name : there)
        if (!here.contains(name)) text += "; missing: " + name;
    return text;
}

// A save that fails is told, and the run goes on without this checkpoint, which may have got its
// name before the folder could not be synced. The last one must be there.
FolderTree without_unsaved(FolderTree expected, const ProgramResult& met) {
    for (int step = 1; step < TinyRun::last_step; ++step) {
        const std::string number = std::to_string(step);
        if ((met.out + met.err).find("of step " + number + " is not saved") == std::string::npos)
            continue;
        const std::string folder = "model/checkpoints/step-0000000" + number;
        std::erase_if(expected, [&](const auto& entry) {
            return entry.first == folder || entry.first.starts_with(folder + "/");
        });
    }
    return expected;
}

// Returns the kind, the step and the rows of each line.
std::string metrics_text(const FolderTree& tree) {
    const auto file = tree.find("model/metrics.jsonl");
    std::istringstream lines(file == tree.end() ? "" : file->second.value_or(""));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        if (!json.is_object()) return text + "a broken line";
        text += json.at("kind").get<std::string>() + " " + json.at("step").dump() + " " +
                json.value("rows", nlohmann::json("")).dump() + ", ";
    }
    return text;
}

std::string wrong_end(const ProgramResult& met) {
    if (met.code == 0) return "";
    if (met.code != 1 && met.code != 2) return "; code " + std::to_string(met.code);
    if (met.code == 2 && met.out.find("\nstep ") != std::string::npos)
        return "; code 2 after a step";
    return told_in_one_line(met);
}

}  // namespace

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

TinyRun::TinyRun() {
    copy_head("examples/shakespeare/train.txt", scratch_ / "text", 24);
    must_run({"lockstep", "prepare", "--input", scratch_ / "text", "--valid", scratch_ / "text",
              "--out", scratch_ / "data"});
    for (int step = 1; step <= last_step; ++step)
        best_weights_.insert(*after(step).at("model/model.safetensors"));
}

std::vector<std::string> TinyRun::command(const std::string& folder, int step) const {
    return words_of(
        "lockstep train --data " + (scratch_ / "data") +
        " --n-layers 1 --embedding-size 8 --ffn-size 8 --n-heads 1 --optimizer adam -lr 1e-2 -bs 8"
        " --text-truncate 16 --label-truncate 8 --threads 1 --log-every-n-steps 4 --num-workers 1"
        " --timeout 10"
        " --validation-every-n-steps 2 --save-every-n-steps 1 --precision fp32 --max-train-steps " +
        std::to_string(step) + " -mf " + folder + "/model");
}

FolderTree TinyRun::after(int step) const {
    const ScratchFolder folder;
    must_run(command(folder.path(), step));
    return read_tree(folder.path());
}

FolderTree TinyRun::finished(const FolderTree& before) const {
    const ScratchFolder folder;
    write_tree(before, folder.path());
    must_run(command(folder.path()));
    return read_tree(folder.path());
}

RunCheck::RunCheck(const TinyRun& run, const FolderTree& before, int first_step)
    : run_(run), first_step_(first_step), calm_(run.finished(before)) {}

std::string RunCheck::operator()(const std::string& folder, const ProgramResult& met,
                                 Aftermath aftermath) const {
    std::string wrong = aftermath == Aftermath::failed ? wrong_end(met) : "";
    wrong += wrong_weights(read_tree(folder));
    const ProgramResult next = run_within_limit(run_.command(folder));
    if (next.code != 0) return wrong + "; the next start: " + next.err;
    const FolderTree after = read_tree(folder);
    return wrong + wrong_beginning(next.out, met.code == 0 ? run_.last_step : first_step_) +
           names_besides(after, calm_, without_unsaved(calm_, met)) + wrong_result(after);
}

std::string RunCheck::wrong_weights(const FolderTree& tree) const {
    const auto weights = tree.find("model/model.safetensors");
    const bool good = weights == tree.end() ? first_step_ == 0
                                            : run_.are_best_weights(weights->second.value_or(""));
    return good ? "" : "; the best weights are neither the old nor the new";
}

std::string RunCheck::wrong_beginning(const std::string& out, int expected) {
    if (expected == 0) return "";
    const std::string mark = "continuing after step ";
    const auto at = out.find(mark);
    if (at == std::string::npos) return "; it does not continue";
    const int step = std::stoi(out.substr(at + mark.size()));
    return step >= expected ? "" : "; it continues after step " + std::to_string(step);
}

std::string RunCheck::wrong_result(const FolderTree& after) const {
    std::string wrong;
    const std::string lines = metrics_text(after), expected = metrics_text(calm_);
    if (lines != expected) wrong += "; metrics " + lines + "not " + expected;
    const auto weights = after.find("model/model.safetensors");
    if (weights == after.end() || weights->second != calm_.at("model/model.safetensors"))
        wrong += "; other weights than without a fault";
    return wrong;
}

}  // namespace lockstep::tests
