// SPDX-License-Identifier: Apache-2.0
#include "data/writing/output_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// Returns how many of these writers put their folder in place, all of them at one time.
int placed_at_once(std::vector<std::unique_ptr<OutputDirectory>> writers) {
    std::barrier start(static_cast<std::ptrdiff_t>(writers.size()));
    std::vector<char> placed(writers.size(), 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < writers.size(); ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            try {
                writers[i]->commit();
                placed[i] = 1;
            } catch (const Error& error) {
                placed[i] = error.kind() == ErrorKind::config ? 0 : 2;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(std::ranges::count(placed, 2) == 0);
    return static_cast<int>(std::ranges::count(placed, 1));
}

std::vector<std::unique_ptr<OutputDirectory>> writers_to(const std::string& path, int count) {
    std::vector<std::unique_ptr<OutputDirectory>> writers;
    for (int i = 0; i < count; ++i) {
        writers.push_back(std::make_unique<OutputDirectory>(path, Existing::refuse));
        tests::write_text(writers.back()->partial() + "/dataset.json", std::to_string(i));
    }
    return writers;
}

}  // namespace

TEST_CASE("one of several writers gets a name, and nothing of the others is left") {
    const tests::ScratchFolder dir;
    for (int round = 0; round < 50; ++round) {
        const std::string path = dir / std::to_string(round);
        if (round % 2 == 1) std::filesystem::create_directory(path);
        CHECK(placed_at_once(writers_to(path, 3)) == 1);
        CHECK(std::filesystem::exists(path + "/dataset.json"));
    }
    const auto entries = std::filesystem::directory_iterator(dir.path());
    CHECK(std::distance(begin(entries), end(entries)) == 50);
}

TEST_CASE("a file or a folder that appears under the name stays as it is") {
    const tests::ScratchFolder dir;
    auto writers = writers_to(dir / "a", 2);
    tests::write_text(dir / "a/notes", "mine");
    CHECK_THROWS_WITH_AS(writers[0]->commit(), doctest::Contains("other files in it"), Error);
    CHECK(tests::read_text(dir / "a/notes") == "mine");
    std::filesystem::remove_all(dir / "a");
    tests::write_text(dir / "a", "mine");
    CHECK_THROWS_WITH_AS(writers[1]->commit(), doctest::Contains("is a file"), Error);
    CHECK(tests::read_text(dir / "a") == "mine");
}
