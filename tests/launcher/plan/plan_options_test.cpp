// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

std::int64_t memory_of(const std::string& word) {
    return parse_run(Task::plan, "", {"--memory", word})->memory_bytes;
}

}  // namespace

TEST_CASE("--memory takes the sizes that people write") {
    CHECK(memory_of("80GiB") == std::int64_t{80} << 30);
    CHECK(memory_of("80G") == std::int64_t{80} << 30);
    CHECK(memory_of("80GB") == 80'000'000'000);
    CHECK(memory_of("512MiB") == std::int64_t{512} << 20);
    CHECK(memory_of("1.5T") == std::int64_t{3} << 39);
    for (const char* wrong : {"80", "GiB", "80 gigabytes", "-1GiB", "0GiB", "1e30TB", "80GiBs"}) {
        CAPTURE(wrong);
        CHECK_THROWS_WITH_AS(memory_of(wrong), doctest::Contains("--memory"), Error);
    }
}

TEST_CASE("a plan counts its ranks as Slurm does") {
    using Words = std::vector<std::string>;
    const auto ranks = [](const Words& words) {
        return parse_run(Task::plan, "", words)->world_size;
    };
    CHECK(ranks({"--nodes", "2", "--gpus-per-node", "4"}) == 8);
    CHECK(ranks({"-N", "2", "--gpus-per-node", "a100:4"}) == 8);
    CHECK(ranks({"-N", "3"}) == 3);
    CHECK(ranks({"--ntasks-per-node", "2"}) == 2);
    CHECK(ranks({"-N", "2", "--distributed-world-size", "8"}) == 8);
    CHECK(ranks({}) == -1);
    for (const Words& wrong : {Words{"-N", "2", "--gpus-per-node", "4", "--world-size", "9"},
                               Words{"-N", "2", "--world-size", "9"}})
        CHECK_THROWS_WITH_AS(ranks(wrong), doctest::Contains("--distributed-world-size 9"), Error);
    CHECK_THROWS_WITH_AS(ranks({"--gpus-per-node", "four"}),
                         doctest::Contains("--gpus-per-node: 'four'"), Error);
    CHECK_THROWS_WITH_AS(parse_run(Task::train, "", {"-N", "2"}, Ranks::of_job),
                         doctest::Contains("`lockstep submit`"), Error);
}

TEST_CASE("plan takes a training run's options and needs none of them") {
    const auto nothing = parse_run(Task::plan, "", {});
    CHECK(nothing->data.empty());
    CHECK(nothing->vocabulary == -1);
    const auto config =
        parse_run(Task::plan, "", {"-m", "gpt2", "-bs", "4", "--num-epochs", "3", "-opt", "sgd"});
    CHECK(config->model.kind == model::Kind::gpt2);
    CHECK_THROWS_AS(parse_run(Task::plan, "", {"--batch-tokens", "0"}), Error);
    CHECK_THROWS_WITH_AS(parse_run(Task::plan, "", {"--data", "DATA", "--vocabulary", "5"}),
                         doctest::Contains("--vocabulary contradicts --data"), Error);
}
