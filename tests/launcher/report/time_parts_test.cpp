// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/time_parts.hpp"

#include <doctest/doctest.h>

#include "launcher/report/time_section.hpp"

using namespace lockstep::launcher::report;

namespace {

History history_of(const std::string& seconds) {
    History history;
    history.add(
        "{\"kind\":\"train\",\"step\":10,\"seconds_forward\":1,\"seconds_backward\":2,"
        "\"seconds_optimizer\":0.5,\"seconds_comm_not_hidden\":0.25,\"seconds_data\":0.25,"
        "\"seconds\":" +
        seconds + "}");
    return history;
}

void check_parts(const std::vector<double>& parts, const std::vector<double>& wanted) {
    REQUIRE(parts.size() == wanted.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        CAPTURE(time_parts()[i].name);
        CHECK(parts[i] == doctest::Approx(wanted[i]));
    }
}

}  // namespace

TEST_CASE("the parts of the time make up the whole, with the rest") {
    const History history = history_of("5");
    check_parts(seconds_of_run(history), {1, 2, 0.5, 1, 0.25, 0.25});
    check_parts(seconds_of_bin(history, 0), {1, 2, 0.5, 1, 0.25, 0.25});
    check_parts(shares_of(seconds_of_run(history)), {0.2, 0.4, 0.1, 0.2, 0.05, 0.05});
    CHECK(time_section({Run{}}, {"run"}).find("No training line") != std::string::npos);
}

TEST_CASE("there is no rest where the parts are more than the whole, or it is not known") {
    for (const std::string seconds : {"3.9", "null"})
        check_parts(seconds_of_run(history_of(seconds)), {1, 2, 0.5, 0, 0.25, 0.25});
    check_parts(shares_of({0, 0, 0, 0, 0, 0}), {0, 0, 0, 0, 0, 0});
}
