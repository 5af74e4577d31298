// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/exception_text.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "runtime/core/error.hpp"

using namespace lockstep;
using launcher::exception_text;

TEST_CASE("what a user is told of an exception") {
    CHECK(exception_text(Error(ErrorKind::data, "a.h5: is damaged")) == "a.h5: is damaged");
    CHECK(exception_text(std::runtime_error("[json.exception.type_error.316] a\nb")) ==
          "an unexpected failure inside Lockstep (a\\x0ab); please report it with the command");
    CHECK(exception_text(std::bad_alloc()).find("--batch-tokens") != std::string::npos);
    CHECK(exception_text(std::length_error("vector")).find("out of memory") == 0);
    const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
    CHECK(exception_text(thread).find("ulimit -u") != std::string::npos);
    const std::system_error other(std::make_error_code(std::errc::io_error));
    CHECK(exception_text(other).find("Input/output error") != std::string::npos);
}
