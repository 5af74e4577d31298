// SPDX-License-Identifier: Apache-2.0
// Whatever call on the disk fails while `prepare` works, and whenever it is killed or the power is
// cut: under the data set's name is the old one or the new one, complete.
#include <doctest/doctest.h>

#include <csignal>
#include <sstream>

#include "tests/launcher/programs/fault_sweep.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

// Two texts, and the folders that hold the data set of the one or the other as FOLDER/data.
struct TwoTexts {
    ScratchFolder scratch;
    FolderTree old_set, new_set;

    TwoTexts() {
        copy_head("examples/shakespeare/train.txt", scratch / "old", 12);
        copy_head("examples/shakespeare/train.txt", scratch / "new", 24);
        old_set = prepared("old");
        new_set = prepared("new");
        REQUIRE(old_set != new_set);
    }
    std::vector<std::string> command(const std::string& text, const std::string& folder) const {
        return {"lockstep", "prepare", "--input", scratch / text, "--out", folder + "/data"};
    }

private:
    FolderTree prepared(const std::string& text) const {
        const ScratchFolder folder;
        const ProgramResult run = run_program(command(text, folder.path()));
        REQUIRE_MESSAGE(run.code == 0, run.err);
        return read_tree(folder.path());
    }
};

std::string names_in(const FolderTree& tree) {
    std::string text;
    for (const auto& [path, bytes] : tree)
        if (path.find('/') == std::string::npos) text += path + " ";
    return text;
}

// Returns the data set without what lies beside it.
FolderTree data_in(const FolderTree& tree) {
    FolderTree data;
    for (const auto& [path, bytes] : tree)
        if (path == "data" || path.starts_with("data/")) data[path] = bytes;
    return data;
}

class PrepareCheck {
public:
    PrepareCheck(const TwoTexts& texts, const FolderTree& before)
        : texts_(texts), before_(before) {}

    std::string operator()(const std::string& folder, const ProgramResult& met,
                           Aftermath aftermath) const {
        std::string wrong;
        const FolderTree tree = read_tree(folder), data = data_in(tree);
        const bool is_new = data == texts_.new_set;
        if (!is_new && data != before_)
            wrong += "; neither the old nor the new data: " + names_in(tree);
        if (met.code == 0 && !is_new) wrong += "; code 0 without the new data";
        if (aftermath == Aftermath::failed) {
            if (met.code != 0) wrong += told_in_one_line(met);
            if (met.code > 2) wrong += "; code " + std::to_string(met.code);
        }
        std::vector<std::string> again = texts_.command("new", folder);
        again.push_back("--overwrite");
        const ProgramResult next = run_within_limit(again);
        if (next.code != 0) return wrong + "; the next start: " + next.err;
        const FolderTree after = read_tree(folder);
        if (after != texts_.new_set) wrong += "; after the next start: " + names_in(after);
        return wrong;
    }

private:
    const TwoTexts& texts_;
    FolderTree before_;
};

}  // namespace

TEST_CASE("prepare makes a data set completely or not at all, whatever its disk does") {
    use_scratch_in_memory();
    const TwoTexts texts;
    SweptOperation operation;
    operation.command = [&](const std::string& folder) { return texts.command("new", folder); };
    operation.check = PrepareCheck(texts, {});
    CHECK(sweep(operation, 90).complaints.empty());
}

TEST_CASE("prepare --overwrite leaves the old data set or the new one, whatever its disk does") {
    use_scratch_in_memory();
    const TwoTexts texts;
    SweptOperation operation;
    operation.before = texts.old_set;
    operation.command = [&](const std::string& folder) {
        std::vector<std::string> words = texts.command("new", folder);
        words.push_back("--overwrite");
        return words;
    };
    operation.check = PrepareCheck(texts, texts.old_set);
    CHECK(sweep(operation, 120).complaints.empty());
}
