// SPDX-License-Identifier: Apache-2.0
// Outputs of several programs: whose they are, and names that only a folder can have.
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/launcher/programs/small_talk.hpp"

using namespace lockstep::tests;

namespace fs = std::filesystem;

namespace {

// Runs the line while another process holds what it writes.
ProgramResult held(const std::string& path, const std::string& line) {
    return run_program({"flock", "-n", path + ".tmp-0", "bash", "-c", "PATH=${0%/*}:$PATH; " + line,
                        program_path("lockstep")});
}

// Returns lines by the option in their refusals; FILE and each NAME are paths in the folder.
std::map<std::string, std::string> lines_that_write(const SmallTalk& talk,
                                                    const std::string& path) {
    const std::string model = " -mf " + talk.model, data = " --data " + (talk.scratch / "data"),
                      input = " --input " + (talk.scratch / "talk.txt"),
                      train = "train --threads 1 --max-train-steps 2 --n-layers 1" + data +
                              " -mf " + (talk.scratch / "m2"),
                      eval = "lockstep eval --threads 1 --split train" + model + data;
    return {
        {"--report-filename", eval + " -rf " + path},
        {"--world-logs", eval + " --world-logs " + path},
        {"--trace", train + " --trace " + path},
        {"--log-file", train + " --log-file " + path},
        {"--output", "lockstep generate --threads 1 --prompt hello" + model + " --output " + path},
        {"--outfile", "self_chat --threads 1" + model + " --outfile " + path},
        {"--out", "lockstep report" + model + " --out " + path},
        {"--dict-file", "build_dict" + input + " --dict-file " + path},
        {"--script", "lockstep submit --script " + path + " -- distributed_" + train}};
}

}  // namespace

TEST_CASE("what another program is about to write is refused at once") {
    const SmallTalk talk;
    const std::string told = ": another program writes there at this moment";
    const auto refused = [&](const std::string& path, const std::string& name,
                             const std::string& line) {
        CAPTURE(line);
        const auto run = held(path, line);
        says(run, 2, {name + path + told});
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK(!fs::exists(path));
    };
    const std::string file = talk.scratch / "file", folder = talk.scratch / "folder",
                      weights = talk.scratch / "some.safetensors";
    // Other programs add lines to these.
    for (const auto& [option, line] : lines_that_write(talk, file))
        if (option != "--log-file" && option != "--outfile") refused(file, option + " ", line);
    refused(weights, "", "lockstep checkpoint convert " + talk.model + " " + weights);
    refused(folder, "", "lockstep checkpoint convert " + talk.model + " " + folder + "/");
    const std::string prepare =
        "lockstep prepare --input " + (talk.scratch / "talk.txt") + " --out " + folder;
    refused(folder, "--out ", prepare);
    // The file of a program that was killed stays, and locks nothing.
    CHECK(fs::exists(folder + ".tmp-0"));
    says(run_line(prepare), 0, {});
    CHECK(!fs::exists(folder + ".tmp-0"));
    says(held(folder, prepare + " --overwrite"), 2, {"--out " + folder + told});
    says(run_line(lines_that_write(talk, file).at("--dict-file")), 0, {});
    says(run_line(lines_that_write(talk, talk.scratch / "page").at("--out")), 0, {});
    says(run_line("lockstep checkpoint convert " + talk.model + " " + weights), 0, {});
}

TEST_CASE("a name that only a folder can have is refused, and no folder is made") {
    const SmallTalk talk;
    fs::create_directory(talk.scratch / "folder");
    const auto before = talk.scratch.names();
    for (const char* name : {"new/", "new/.", "m2/", "m2/.", "./m2/", "folder", "folder/"})
        for (const auto& [option, line] : lines_that_write(talk, talk.scratch / name)) {
            CAPTURE(line);
            const auto run = run_line(line);
            says(run, 2, {option + " " + (talk.scratch / name), "a folder"});
            CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
            CHECK(talk.scratch.names() == before);
        }
    for (const auto& [option, line] : lines_that_write(talk, talk.scratch / "none/file")) {
        if (option == "--dict-file") continue;  // it makes the folder
        CAPTURE(line);
        says(run_line(line), 2, {option + " " + (talk.scratch / "none/file"), "folder"});
        CHECK(talk.scratch.names() == before);
    }
    says(run_line("lockstep checkpoint convert " + talk.model + " " +
                  (talk.scratch / "new.safetensors/")),
         2, {"names a folder"});
    says(run_line("build_dict --input " + (talk.scratch / "none") + " --dict-file " +
                  (talk.scratch / "new/dictionary")),
         2, {"no such file"});
    CHECK(talk.scratch.names() == before);
}

TEST_CASE("a folder that is made may be named with a slash or a dot at its end") {
    const SmallTalk talk;
    says(run_line("lockstep prepare --input " + (talk.scratch / "talk.txt") + " --out " +
                  (talk.scratch / "new/.")),
         0, {});
    CHECK(talk.scratch.names("new").contains("dataset.json"));
    says(run_line("lockstep checkpoint convert " + talk.model + " " + (talk.scratch / "copy/./")),
         0, {});
    CHECK(talk.scratch.names("copy").contains("config.json"));
}

TEST_CASE("several ranks may log into the folder of a model that is not there yet") {
    const SmallTalk talk;
    says(run_line("multiprocessing_train --distributed-world-size 2 --threads 1 --n-layers 1 "
                  "--max-train-steps 2 --data " +
                  (talk.scratch / "data") + " -mf " + (talk.scratch / "m2") + " --log-file " +
                  (talk.scratch / "m2/log")),
         0, {});
    CHECK(read_text(talk.scratch / "m2/log").find("2 ranks") != std::string::npos);
}
