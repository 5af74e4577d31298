// SPDX-License-Identifier: Apache-2.0
// File systems and users as clusters have them: servers without locks, links or syncs, answers that
// get lost, root without rights, groups that share a folder. Everything works there, or one line
// says what does not.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

using Environment = std::map<std::string, std::string>;

struct Dialogues : PreparedDialogues {
    std::string options =
        " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 --device cpu ";

    ProgramResult train(const std::string& folder, const std::string& more,
                        const Environment& environment) const {
        return run_line("train --data " + data + options + "-mf " + folder + " " + more,
                        {"", environment, ""});
    }
    ProgramResult prepare(const std::string& out, const Environment& environment) const {
        return run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " + out +
                            " --overwrite",
                        {"", environment, ""});
    }
};

std::string call(const std::string& name, int code) { return name + "=" + std::to_string(code); }

Environment with(Environment environment, const std::string& name, const std::string& value) {
    environment[name] = value;
    return environment;
}

void refused(const ProgramResult& run, const std::vector<std::string>& said) {
    says(run, 2, said);
    CHECK(std::ranges::count(run.err, '\n') == 1);
}

// Returns the files and folders below `folder` whose modes are not those of the umask.
std::string with_other_modes(const std::string& folder, mode_t mask) {
    std::string found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        struct stat status {};
        REQUIRE(::stat(entry.path().c_str(), &status) == 0);
        const mode_t wanted = (entry.is_directory() ? 0777 : 0666) & ~mask;
        if ((status.st_mode & 0777) != wanted) found += entry.path().string() + "\n";
    }
    return found;
}

}  // namespace

TEST_CASE_FIXTURE(Dialogues, "a file server without locks holds data sets and conversations") {
    says(train(model, "--max-train-steps 1", {}), 0, {});
    for (const int code : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
        CAPTURE(code);
        const Environment no_locks = faulty_calls(call("flock", code));
        says(prepare(scratch / "unlocked", no_locks), 0, {});
        says(run_line("self_chat --num-self-chats 1 --selfchat-max-turns 2 --max-length 2 -mf " +
                          model + " --outfile " + (scratch / "chat.jsonl"),
                      {"", no_locks, ""}),
             0, {});
    }
}

TEST_CASE_FIXTURE(Dialogues, "a file system that cannot sync is written to all the same") {
    for (const int code : {EINVAL, EBADF, ENOSYS, EOPNOTSUPP}) {
        CAPTURE(code);
        const Environment no_syncs = faulty_calls(call("fsync", code));
        says(train(scratch / std::to_string(code), "--max-train-steps 1", no_syncs), 0, {});
        says(prepare(scratch / "unsynced", no_syncs), 0, {});
    }
    refused(prepare(scratch / "broken", faulty_calls(call("fsync", ENOSPC))), {"No space left"});
}

TEST_CASE_FIXTURE(Dialogues, "a file system without hard links has locks, whatever it answers") {
    for (const int code : {EPERM, EACCES, EINVAL, EMLINK, EXDEV, ENOSYS, EOPNOTSUPP}) {
        CAPTURE(code);
        says(train(scratch / std::to_string(code), "--max-train-steps 1", faulty_links(code)), 0,
             {});
    }
}

TEST_CASE_FIXTURE(Dialogues, "a failure is reported on a file system without hard links") {
    const auto run =
        run_line("multiprocessing_train --distributed-world-size 2 --max-save-failures 1 --data " +
                     data + options + "-mf " + model + " --max-train-steps 2",
                 {"",
                  with(with(faulty_links(EPERM), "LOCKSTEP_FAULTY_CALLS", call("close", EIO)),
                       "LOCKSTEP_FAULTY_CLOSED", "state.json"),
                  ""});
    says(run, 1, {"state.json"});
    CHECK(read_text(model + "/failure.json").find("\"cause\"") != std::string::npos);
}

TEST_CASE_FIXTURE(Dialogues, "a rename whose answer a file server loses is done") {
    for (const int code : {ENOENT, EEXIST}) {
        CAPTURE(code);
        const Environment lost = faulty_calls(call("renamed", code));
        says(train(scratch / std::to_string(code), "--max-train-steps 1", lost), 0, {});
        says(prepare(scratch / ("data" + std::to_string(code)), lost), 0, {});
    }
}

TEST_CASE_FIXTURE(Dialogues, "a container that allows no exchange replaces a data set by renames") {
    for (const int code : {EPERM, EINVAL, ENOSYS}) {
        CAPTURE(code);
        says(prepare(data, faulty_calls(call("renameat2", code))), 0, {});
        says(train(scratch / std::to_string(code), "--max-train-steps 1", {}), 0, {});
    }
}

TEST_CASE_FIXTURE(Dialogues, "a checkpoint in a layer of a container's image is removed") {
    says(train(model, "--max-train-steps 2", {}), 0, {});
    const Environment image = with(faulty_calls(call("moved", EXDEV)), "LOCKSTEP_FAULTY_MOVED",
                                   "checkpoints/step-00000002");
    const auto names = scratch.names("model/checkpoints");
    REQUIRE(names == std::set<std::string>{"step-00000002"});
    const auto run = train(model, "--max-train-steps 6 --save-every-n-steps 2", image);
    says(run, 0, {"continuing after step 2"});
    CHECK((run.out + run.err).find("cannot be removed") == std::string::npos);
    CHECK(scratch.names("model/checkpoints") ==
          std::set<std::string>{"step-00000004", "step-00000006"});
}

TEST_CASE_FIXTURE(Dialogues, "a damaged checkpoint in a layer of an image is passed over") {
    says(train(model, "--max-train-steps 4 --save-every-n-steps 2", {}), 0, {});
    const std::string damaged = model + "/checkpoints/step-00000004";
    write_text(damaged + "/state.json", "{}");
    const Environment image = with(faulty_calls(call("moved", EXDEV)), "LOCKSTEP_FAULTY_MOVED",
                                   "checkpoints/step-00000004");
    says(train(model, "--max-train-steps 6", image), 0, {damaged, "continuing after step 2"});
}

TEST_CASE_FIXTURE(Dialogues, "a quota that is full only when a file is closed is told") {
    const Environment full =
        with(faulty_calls(call("close", EDQUOT)), "LOCKSTEP_FAULTY_CLOSED", "state.json");
    says(train(model, "--max-train-steps 1", full), 1, {"EDQUOT", "state.json", "free some space"});
    const Environment interrupted =
        with(faulty_calls(call("close", EINTR)), "LOCKSTEP_FAULTY_CLOSED", "state.json");
    says(train(scratch / "interrupted", "--max-train-steps 1", interrupted), 0, {});
}

TEST_CASE_FIXTURE(Dialogues, "root learns why it may not write") {
    const Environment squashed =
        with(faulty_files("squashed/", EACCES), "LOCKSTEP_FAULTY_CALLS", "root=1");
    refused(train(scratch / "squashed", "--max-train-steps 1", squashed),
            {"squashed/run.lock", "Permission denied", "root squash", "run as the owner"});
}

TEST_CASE_FIXTURE(Dialogues, "a TMPDIR that is of no use is passed over") {
    // Nothing can be made in /proc. The ladder makes its folder before it looks at the model.
    const auto run = run_line("lockstep ladder --n-heads 3 --embedding-size 16 --data " + data,
                              {"", {{"TMPDIR", "/proc"}}, ""});
    refused(run, {"n-heads"});
}

TEST_CASE_FIXTURE(Dialogues, "all that a run writes follows the umask") {
    const std::string bin = fs::path(program_path("lockstep")).parent_path();
    constexpr mode_t of_a_group = 0002;
    const std::string shared = scratch / "shared";
    fs::create_directory(shared);
    const std::string script =
        "umask 0002; cd " + shared + " && lockstep prepare --input " + (scratch / "train.txt") +
        " --valid " + (scratch / "train.txt") +
        " --out d && distributed_launch --nproc-per-node 2 "
        "--log-dir logs --redirects 3 lockstep distributed_train --data d" +
        options +
        "-mf m --max-train-steps 2 --skip-generation true --trace trace.json "
        "--log-file run.log && "
        "lockstep report -mf m --out report.html && lockstep checkpoint convert m converted && "
        "lockstep eval --data d -mf m --report-filename report.json --skip-generation true";
    const auto run =
        run_program({"bash", "-c", script}, {"", {{"PATH", bin + ":" + std::getenv("PATH")}}, ""});
    says(run, 0, {});
    CHECK(fs::exists(shared + "/logs/attempt_0/rank_1/stderr.log"));
    CHECK(fs::exists(shared + "/run.log"));
    CHECK(with_other_modes(shared, of_a_group) == "");
}
