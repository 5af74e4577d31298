// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/log.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace lockstep;

TEST_CASE("rank 0 speaks, other ranks only of errors or when verbose, under their name") {
    std::ostringstream out;
    Log first(out, Verbosity::normal, 0, ""), other(out, Verbosity::normal, 3, "rank 3 on b");
    Log talkative(out, Verbosity::verbose, 2, "rank 2 on a");
    first.info("one");
    other.info("not said");
    first.detail("not said");
    talkative.detail("two");
    other.error("three");
    CHECK(out.str() == "one\nrank 2 on a: two\nrank 3 on b: three\n");
}

TEST_CASE("progress is rewritten in place on a terminal and left out of files") {
    std::ostringstream file, terminal;
    Log to_file(file, Verbosity::normal, 0, "");
    Log to_terminal(terminal, Verbosity::normal, 0, "", OutputKind::terminal);
    for (Log* log : {&to_file, &to_terminal}) {
        log->progress("50 %");
        log->progress("9 %");
        log->info("done");
    }
    CHECK(file.str() == "done\n");
    CHECK(terminal.str() == "\r50 %\r9 % \r\x1b[Kdone\n");
}
