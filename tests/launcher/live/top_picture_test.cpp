// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/top_picture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/core/error.hpp"
#include "runtime/train/folder/lock_owner.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::live;

namespace {

const std::string golden_picture = "tests/golden/live/top.txt";

RankState rank_state(int number) {
    RankState rank;
    rank.rank = number;
    rank.host = "node" + std::to_string(number / 2 + 1);
    rank.process = 4711 + number;
    rank.step = 41;
    rank.phase = "forward and backward";
    rank.condition = "running";
    rank.work_s = 0.12;
    rank.peak_bytes = 1536LL << 20;
    return rank;
}

// The hand-made run with four ranks: one waits, one is slow, and one is lost.
TopView watched_run() {
    TopView view;
    view.folder = "runs/MODEL";
    view.now = "2026-03-01T12:00:00Z";
    view.run = launcher::report::read_run("tests/golden/report/model");
    view.state = {Going::on, "Going on: process 4711 on node1 has the folder"};
    view.states.limits = RunLimits{-1, 400, -1};
    for (int rank = 0; rank < 4; ++rank) view.states.ranks.push_back(rank_state(rank));
    std::vector<RankState>& ranks = view.states.ranks;
    ranks[1].waiting = true;
    ranks[1].operation = "all_reduce \"bucket 3\"";
    ranks[2].work_s = 0.15;
    ranks[2].excess = 0.25;
    ranks[3].lost = true;
    return view;
}

std::string lines_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("the picture of the hand-made run is the golden one") {
    const std::string text = lines_of(picture(watched_run(), 80, 0));
    if (text == tests::read_text(golden_picture)) return;
    const std::string kept = std::filesystem::temp_directory_path() / "lockstep-top.txt";
    tests::write_text(kept, text);
    FAIL("the picture differs; look at it, and if it is as wanted: cp " << kept << " "
                                                                        << golden_picture);
}

TEST_CASE("a picture is as wide and as high as its window, and leaves out ordinary ranks first") {
    TopView view = watched_run();
    for (int rank = 4; rank < 1000; ++rank) view.states.ranks.push_back(rank_state(rank));
    view.states.ranks[999].lost = true;
    view.states.ranks[998].host = "näme-\x1b[31m-of-ä-häst";
    for (const std::size_t columns : {1, 5, 20, 80, 300}) {
        for (const std::size_t rows : {1, 5, 12, 24, 2000}) {
            const auto lines = picture(view, columns, rows);
            CAPTURE(columns);
            CAPTURE(rows);
            CHECK(lines.size() <= rows);
            for (const std::string& line : lines) {
                const auto width = std::ranges::count_if(
                    line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
                CHECK(width <= static_cast<std::ptrdiff_t>(columns));
                CHECK(line.find('\x1b') == std::string::npos);
            }
        }
    }
    const std::string text = lines_of(picture(view, 80, 24));
    CHECK(text.find(" 999 node500") != std::string::npos);
    CHECK(text.find(" 3 node2") != std::string::npos);
    CHECK(text.find(" more; a longer window shows them") != std::string::npos);
}

TEST_CASE("a run of one rank, and one without a line, have a picture too") {
    TopView view = watched_run();
    view.states = {};
    CHECK(lines_of(picture(view, 80, 24)).find("rank host") == std::string::npos);
    view.run.reset();
    view.state.text = "no line yet";
    CHECK(picture(view, 80, 24).size() == 2);
}

TEST_CASE("what ranks have told is read, and what is damaged left out") {
    const tests::ScratchFolder scratch;
    const std::string folder = scratch.path();
    CHECK(read_rank_states(folder).ranks.empty());
    for (const char* damaged : {"", "{", "[]", "{\"ranks\":5}", "{\"ranks\":[5,null,{}]}",
                                "{\"ranks\":[{\"step\":1e300,\"host\":5,\"work_s\":null}]}"}) {
        CAPTURE(damaged);
        tests::write_text(scratch / "ranks.json", damaged);
        for (const RankState& rank : read_rank_states(folder).ranks) CHECK(rank.host.empty());
    }
    tests::write_text(scratch / "ranks.json",
                      R"({"limits":{"num_epochs":-1,"max_train_steps":7},"ranks":[{"host":"a",)"
                      R"("work_s":0.1},{"host":"b","work_s":0.2,"waiting":true,"lost":true}]})");
    const RankStates states = read_rank_states(folder);
    REQUIRE(states.ranks.size() == 2);
    REQUIRE(states.limits);
    CHECK(states.limits->updates == 7);
    CHECK(states.ranks[1].rank == 1);
    CHECK(states.ranks[1].excess == doctest::Approx(1));
    CHECK(place_of(states.ranks[1]) == "waiting in a collective");
    CHECK(remark_on(states.ranks[1]) == "lost");
    CHECK(remark_on(states.ranks[0]) == "");
    // The report of a failure is later.
    tests::write_text(scratch / "failure.json",
                      R"({"rank":0,"cause":"stuck","ranks":[{"host":"c","condition":"running"}]})");
    REQUIRE(read_rank_states(folder).ranks.size() == 1);
    CHECK(remark_on(read_rank_states(folder).ranks[0]) == "stuck");
}

TEST_CASE("the time that is left follows the limit that comes first") {
    TopView view = watched_run();
    const double seconds =
        view.run->history.train("seconds").total() + view.run->history.valid("seconds").total();
    const double share = static_cast<double>(view.run->history.updates()) / 400;
    auto found = reached(*view.run, view.states);
    REQUIRE(found);
    CHECK(found->share == doctest::Approx(share));
    CHECK(found->left_s == doctest::Approx(seconds / share * (1 - share)));
    view.states.limits->epochs = 1e-3;
    found = reached(*view.run, view.states);
    REQUIRE(found);
    CHECK(found->left_s == 0);
    view.states.limits = RunLimits{};
    CHECK_FALSE(reached(*view.run, view.states));
}

TEST_CASE("a run that ended, failed or was killed says so") {
    const tests::ScratchFolder scratch;
    std::filesystem::copy("tests/golden/report/model", scratch.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    CHECK(look_at(scratch.path()).state.going == Going::ended);
    std::filesystem::remove_all(scratch / "checkpoints");
    CHECK(look_at(scratch.path()).state.going == Going::silent);
    // No process has this number.
    tests::write_text(scratch / "run.lock", train::to_json([] {
                          train::LockOwner owner = train::this_process();
                          owner.pid = 1 << 30;
                          return owner;
                      }()));
    const TopView killed = look_at(scratch.path());
    CHECK(killed.state.going == Going::silent);
    CHECK(killed.state.text.find("is gone (killed?)") != std::string::npos);
    tests::write_text(scratch / "run.lock", train::to_json(train::this_process()));
    CHECK(look_at(scratch.path()).state.going == Going::on);
    tests::write_text(scratch / "failure.json", R"({"report":"rank 1 was lost","rank":1})");
    const TopView failed = look_at(scratch.path());
    CHECK(failed.state.going == Going::failed);
    CHECK(failed.state.text.find("rank 1 was lost") != std::string::npos);
    std::filesystem::remove(scratch / "metrics.jsonl");
    CHECK(look_at(scratch.path()).state.text.find("rank 1 was lost") != std::string::npos);
    CHECK_THROWS_AS(look_at(scratch / "none"), Error);
}
