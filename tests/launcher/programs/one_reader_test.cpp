// SPDX-License-Identifier: Apache-2.0
// Only rank 0 reads the model folder.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/support/faulty_files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Runs : PreparedDialogues {
    std::string options = " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 ";
    std::string first = " --data " + data + options + "--save-every-n-steps 2 ";

    std::vector<std::string> opened(const std::string& line, const std::string& part) const {
        const std::string log = scratch / "opened";
        std::filesystem::remove(log);
        const auto run = run_line(line, {"", logged_files(part, log), ""});
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        std::istringstream in(read_text(log));
        std::vector<std::string> lines;
        for (std::string text; std::getline(in, text);) lines.push_back(text);
        return lines;
    }
};

const std::string two_ranks = "multiprocessing_train --distributed-world-size 2 ";

}  // namespace

TEST_CASE_FIXTURE(Runs,
                  "a rank other than 0 does not look at the model folder, nor does a launcher") {
    for (const char* more : {"--max-train-steps 4", "--max-train-steps 6"}) {
        const auto lines = opened(two_ranks + first + "-mf " + model + " " + more, model);
        CHECK(lines.size() > 4);
        for (const std::string& line : lines) CHECK_MESSAGE(line.starts_with("0 "), line);
    }
}

TEST_CASE_FIXTURE(Runs, "the checksums of a checkpoint are computed once at a start") {
    REQUIRE(run_line("train" + first + "-mf " + model + " --max-train-steps 4").code == 0);
    for (const std::string& program : {std::string("train "), two_ranks}) {
        std::filesystem::remove_all(scratch / "copy");
        std::filesystem::copy(model, scratch / "copy", std::filesystem::copy_options::recursive);
        const auto lines = opened(program + "-mf " + (scratch / "copy") + " --max-train-steps 6",
                                  "step-00000004/part-00000.safetensors");
        const auto is_opened = [](const std::string& line) {
            return line.find(" looked at ") == std::string::npos;
        };
        // The checksum, the extents of all parts and the tensors.
        CHECK(std::ranges::count_if(lines, is_opened) == 3);
    }
}

TEST_CASE_FIXTURE(Runs,
                  "a folder that only rank 0 sees gives all ranks the model and the options") {
    const std::string elsewhere = scratch / "hidden";  // here -mf model names nothing
    std::filesystem::create_directory(elsewhere);
    const auto both = [&](const std::string& words) {
        return run_program({"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                            "-np", "2", "sh", "-c",
                            "[ $OMPI_COMM_WORLD_RANK = 0 ] && cd .. ; exec " +
                                program_path("lockstep") + " distributed_train -mf model " + words},
                           {"", {}, elsewhere});
    };
    says(both(first + "--max-train-steps 4"), 0, {"training ended"});
    says(both("--max-train-steps 8"), 0, {"continuing after step 4", "training ended"});
    CHECK(std::filesystem::is_empty(elsewhere));
    const std::string plain = scratch / "plain";
    says(run_line(two_ranks + first + "-mf " + plain + " --max-train-steps 8"), 0, {});
    CHECK(read_text(model + "/model.safetensors") == read_text(plain + "/model.safetensors"));
}

TEST_CASE_FIXTURE(Runs, "what rank 0 refuses ends all ranks, with one message") {
    REQUIRE(run_line("train" + first + "-mf " + model + " --max-train-steps 3").code == 0);
    const std::string other = scratch / "other";
    copy_head("examples/shakespeare/train.txt", scratch / "other.txt", 40);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "other.txt") + " --dict-file " +
                     data + "/dictionary.txt --out " + other)
                .code == 0);
    for (const std::string& words :
         {"--data " + other + " --max-train-steps 6", "--data " + (scratch / "nowhere"),
          std::string("--seed 77"), std::string("--embedding-size 32")}) {
        CAPTURE(words);
        const auto run = run_line(two_ranks + "-mf " + model + " " + words);
        says(run, 2, {"multiprocessing_train: "});
        CHECK(std::ranges::count(run.err, '\n') == 1);
    }
}

TEST_CASE_FIXTURE(Runs, "data that do not fit a continued run are refused before the ranks join") {
    REQUIRE(run_line("train" + first + "-mf " + model + " --max-train-steps 3").code == 0);
    const std::string other = scratch / "other";
    copy_head("examples/shakespeare/train.txt", scratch / "other.txt", 40);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "other.txt") + " --dict-file " +
                     data + "/dictionary.txt --out " + other)
                .code == 0);
    // The other rank never comes.
    const auto run = run_line(
        "distributed_train --rank 0 --distributed-world-size 2 --master-addr 127.0.0.1 "
        "--master-port "
        "1 --timeout 1 --data " +
        other + " -mf " + model + " --max-train-steps 6");
    says(run, 2, {"is in the middle of epoch 1 over"});
}

TEST_CASE_FIXTURE(Runs, "a file server that fails while tensors are read is not called damage") {
    REQUIRE(run_line("train" + first + "-mf " + model + " --max-train-steps 2").code == 0);
    const auto run = run_line("train -mf " + model + " --max-train-steps 4",
                              {"", faulty_reads("model.safetensors"), ""});
    says(run, 1, {"cannot be read", "EIO", "in 5 attempts"});
    CHECK(run.err.find("damaged") == std::string::npos);
    CHECK(scratch.names("model/checkpoints") == std::set<std::string>{"step-00000002"});
}
