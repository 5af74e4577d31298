// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/evaluation_memory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

// A model whose activations are more than the program, and 60 rows to evaluate it on.
struct EvaluatedModel {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    EvaluatedModel() {
        copy_head("examples/shakespeare/valid.txt", scratch / "text.txt", 60);
        made("lockstep prepare --input " + (scratch / "text.txt") + " --valid " +
             (scratch / "text.txt") + " --out " + data);
        made("lockstep train --data " + data + " -mf " + model +
             " --n-layers 1 --n-heads 2 --embedding-size 128 --ffn-size 8192 --n-positions 64 "
             "--threads 1 --max-train-steps 1");
    }
    static void made(const std::string& line) {
        const ProgramResult run = run_line(line);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
    RunConfig config(const std::string& rows) const {
        return *parse_run(Task::evaluate, "",
                          {"-mf", model, "--data", data, "--device", "cpu", "--precision", "fp32",
                           "--batchsize", rows});
    }
    std::int64_t need(const std::string& rows, const EvaluatingRank& rank = {}) const {
        const RunConfig asked = config(rows);
        return evaluation_need(asked, open_data_sets("data", asked.data), rank).certain;
    }
    std::string refusal(const std::string& rows, std::int64_t bytes) const {
        const RunConfig asked = config(rows);
        const Job job = join_job(asked, rank_info_of(asked, LaunchMode::alone));
        try {
            require_evaluation_memory(asked, open_data_sets("data", asked.data), job,
                                      {{1, bytes, bytes, "this host has", "use another"}});
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::config);
            return error.what();
        }
        return "";
    }
};

}  // namespace

TEST_CASE("an evaluation that takes more memory than there is, is refused with batches that fit") {
    const EvaluatedModel model;
    const std::int64_t one = model.need("1"), all = model.need("60");
    CHECK(one < all);
    CHECK(model.need("30") < all);
    CHECK(model.need("1000") == all);
    CHECK(model.need("1000", {train::Precision::fp32, 1, 2}) < all);
    CHECK(model.refusal("1000", all).empty());
    const std::int64_t middle = (one + all) / 2;
    const std::string told = model.refusal("1000", middle), give = "give --batchsize ";
    CHECK(told.starts_with("this host has "));
    CHECK(told.find(" for weights and activations: give --batchsize ") != std::string::npos);
    CHECK(told.ends_with(", or use another"));
    const std::int64_t fits = std::stoll(told.substr(told.find(give) + give.size()));
    const std::int64_t program = std::int64_t{40} << 20;
    REQUIRE(middle - program > one);
    CHECK(model.need(std::to_string(fits)) <= middle - program);
    CHECK(model.need(std::to_string(fits + 1)) > middle - program);
    CHECK(model.refusal("1000", one + 1).find(give + "1, or") != std::string::npos);
    CHECK(model.refusal("1", one - 1).find(": take a smaller model, or") != std::string::npos);
    // Whoever opens them tells what is wrong with the data.
    std::filesystem::remove(model.data + "/index.h5");
    CHECK(model.refusal("1000", 1).empty());
}
