// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/shared_refusal.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "launcher/text/already_told.hpp"
#include "launcher/train/training_start.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/system_failure.hpp"
#include "tests/launcher/rank/local_rank.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

// Returns how each of `size` ranks ends: "told CODE", "refused CODE", "error CODE" or "goes on".
template <class Act>
std::vector<std::string> ends_of(int size, const Act& act) {
    std::vector<std::string> ends(static_cast<std::size_t>(size));
    comm::run_as_threads(size, [&](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        std::string& end = ends[static_cast<std::size_t>(rank)];
        try {
            act(communicator, tests::local_rank(rank, size));
            end = "goes on";
        } catch (const AlreadyTold& error) {
            end = "told " + std::to_string(exit_code(error));
        } catch (const RefusedByRank0& error) {
            end = "refused " + std::to_string(error.code());
        } catch (const Error& error) {
            end = "error " + std::to_string(exit_code(error));
        }
    });
    return ends;
}

using Ends = std::vector<std::string>;

}  // namespace

TEST_CASE("an error that a rank has told keeps its exit code") {
    CHECK(exit_code(AlreadyTold(Error(ErrorKind::config, "wrong"))) == 2);
    CHECK(exit_code(AlreadyTold(Error(ErrorKind::peer, "gone"))) == 3);
    CHECK(exit_code(AlreadyTold(SystemFailure("may pass", EIO))) == 1);
}

TEST_CASE("a reason that all ranks know ends each with its code; a lone rank leaves it to main") {
    for (const int size : {2, 4, 7}) {
        const Ends ends = ends_of(size, [](comm::Communicator& ranks, const comm::RankInfo& self) {
            checked_alike(ranks, self, [] { throw Error(ErrorKind::config, "a test's reason"); });
        });
        CHECK(ends == Ends(static_cast<std::size_t>(size), "told 2"));
    }
    CHECK(ends_of(1, [](comm::Communicator& ranks, const comm::RankInfo& self) {
              checked_alike(ranks, self, [] { throw Error(ErrorKind::config, "a test's reason"); });
          }) == Ends{"error 2"});
}

TEST_CASE("what any rank meets at its start ends all, and nothing ends them where none meets it") {
    for (const int size : {2, 4, 7}) {
        const auto ends_if = [&](const std::function<bool(int)>& fails) {
            return ends_of(size, [&](comm::Communicator& ranks, const comm::RankInfo& self) {
                start_together(ranks, self, [&] {
                    if (fails(self.rank)) throw Error(ErrorKind::config, "a test's damage");
                });
            });
        };
        Ends last(static_cast<std::size_t>(size), "told 3");
        last.back() = "told 2";
        CHECK(ends_if([&](int rank) { return rank == size - 1; }) == last);
        CHECK(ends_if([](int) { return true; }) == Ends(static_cast<std::size_t>(size), "told 2"));
        CHECK(ends_if([](int) { return false; }) ==
              Ends(static_cast<std::size_t>(size), "goes on"));
    }
    const Ends passing = ends_of(2, [](comm::Communicator& ranks, const comm::RankInfo& self) {
        start_together(ranks, self, [&] {
            if (self.rank == 1) throw SystemFailure("a test's disk", EIO);
        });
    });
    CHECK(passing == Ends{"told 3", "told 1"});
    CHECK(ends_of(1, [](comm::Communicator& ranks, const comm::RankInfo& self) {
              start_together(ranks, self,
                             [] { throw Error(ErrorKind::config, "a test's damage"); });
          }) == Ends{"error 2"});
}

TEST_CASE("what rank 0 finds ends all ranks, and nothing ends them where it finds nothing") {
    const auto check_with = [](const auto& check) {
        return [&check](comm::Communicator& ranks, const comm::RankInfo& self) {
            check_on_rank_0(ranks, self, check);
        };
    };
    const auto finds = [] { throw Error(ErrorKind::config, "a test's disk is too small"); };
    const auto finds_nothing = [] {};
    for (const int size : {2, 4, 7}) {
        Ends expected(static_cast<std::size_t>(size), "refused 2");
        expected.front() = "told 2";
        CHECK(ends_of(size, check_with(finds)) == expected);
        CHECK(ends_of(size, check_with(finds_nothing)) ==
              Ends(static_cast<std::size_t>(size), "goes on"));
    }
    CHECK(ends_of(1, check_with(finds)) == Ends{"error 2"});
    CHECK(ends_of(1, check_with(finds_nothing)) == Ends{"goes on"});
}
